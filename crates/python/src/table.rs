//! Arrow tables, which Python libraries read without a copy.

use crate::error::{failed, invalid};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
    TimestampNanosecondArray, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use std::sync::Arc;

/// A table of results, which Polars, pandas, DuckDB and pyarrow read without a copy (Arrow PyCapsule interface):
/// `polars.DataFrame(table)`, `pyarrow.table(table)`.
#[pyclass(module = "gentle", frozen)]
pub(crate) struct Table(RecordBatch);

/// A column with its name. `None` entries are missing values.
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) values: ArrayRef,
}

impl Table {
    /// Table of columns of equal length.
    pub(crate) fn new(columns: Vec<Column>) -> PyResult<Table> {
        let fields = columns.iter().map(|column| {
            let is_nullable = column.values.null_count() > 0;
            Field::new(&column.name, column.values.data_type().clone(), is_nullable)
        });
        let schema = Schema::new(fields.collect::<Vec<_>>());
        let values = columns.into_iter().map(|column| column.values).collect();
        let batch = RecordBatch::try_new(Arc::new(schema), values).map_err(failed)?;
        Ok(Table(batch))
    }
}

/// A list of Python as a column: texts, whole numbers, or numbers; `None` is a missing value.
fn array(name: &str, values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    if let Ok(texts) = values.extract::<Vec<Option<String>>>() {
        return Ok(Arc::new(StringArray::from(texts)));
    }
    if let Ok(numbers) = values.extract::<Vec<Option<i64>>>() {
        return Ok(Arc::new(Int64Array::from(numbers)));
    }
    match values.extract::<Vec<Option<f64>>>() {
        Ok(numbers) => Ok(Arc::new(Float64Array::from(numbers))),
        Err(_) => Err(invalid(format!("{name}: expected a list of texts or of numbers"))),
    }
}

/// Arguments of the function that makes a table again.
type Kept<'py> = (Vec<(String, String, Bound<'py, PyAny>)>,);

/// Calls `$call!(array type, type of values)` for the type of a column.
macro_rules! for_type {
    ($kind:expr, $call:ident) => {
        match $kind {
            DataType::Utf8 => $call!(StringArray, String),
            DataType::Boolean => $call!(BooleanArray, bool),
            DataType::UInt16 => $call!(UInt16Array, u16),
            DataType::UInt32 => $call!(UInt32Array, u32),
            DataType::UInt64 => $call!(UInt64Array, u64),
            DataType::Int64 => $call!(Int64Array, i64),
            DataType::Float64 => $call!(Float64Array, f64),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => $call!(TimestampNanosecondArray, i64),
            other => Err(failed(format!("{other}: a column of another type"))),
        }
    };
}

/// Values of a column as a list of Python; times are nanoseconds.
fn listed<'py>(py: Python<'py>, values: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    macro_rules! list {
        ($array:ty, $value:ty) => {
            match values.as_any().downcast_ref::<$array>() {
                Some(array) => array.iter().collect::<Vec<_>>().into_bound_py_any(py),
                None => Err(failed("a column of another type")),
            }
        };
    }
    for_type!(values.data_type(), list)
}

/// A column of a type, from a list of Python.
fn typed(kind: &str, values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    macro_rules! array {
        ($array:ty, $value:ty) => {{
            let array: $array = values.extract::<Vec<Option<$value>>>()?.into_iter().collect();
            Ok(Arc::new(array) as ArrayRef)
        }};
    }
    let kind: DataType = kind.parse().map_err(invalid)?;
    let array = for_type!(&kind, array)?;
    match (&kind, array.as_any().downcast_ref::<TimestampNanosecondArray>()) {
        (DataType::Timestamp(_, zone), Some(times)) => Ok(Arc::new(times.clone().with_timezone_opt(zone.clone()))),
        _ => Ok(array),
    }
}

#[pymethods]
impl Table {
    /// Makes a table from lists by name.
    #[staticmethod]
    fn from_pydict(columns: &Bound<'_, PyDict>) -> PyResult<Table> {
        let columns = columns.iter().map(|(name, values)| {
            let name: String = name.extract()?;
            let values = array(&name, &values)?;
            Ok(Column { name, values })
        });
        Table::new(columns.collect::<PyResult<_>>()?)
    }

    /// Makes a table from the result of [`Table::columns`].
    #[staticmethod]
    fn from_columns(columns: Vec<(String, String, Bound<'_, PyAny>)>) -> PyResult<Table> {
        let columns = columns.into_iter().map(|(name, kind, values)| {
            let values = typed(&kind, &values)?;
            Ok(Column { name, values })
        });
        Table::new(columns.collect::<PyResult<_>>()?)
    }

    /// Name, type and values of each column, to keep a table.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, String, Bound<'py, PyAny>)>> {
        let schema = self.0.schema();
        let columns = schema.fields().iter().zip(self.0.columns());
        columns
            .map(|(field, values)| {
                let kind = field.data_type().to_string();
                Ok((field.name().clone(), kind, listed(py, values)?))
            })
            .collect()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Kept<'py>)> {
        let restore = py.import("gentle._restore")?.getattr("table")?;
        Ok((restore, (self.columns(py)?,)))
    }

    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        let schema = self.0.schema();
        schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Number of rows and columns.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.0.num_rows(), self.0.num_columns())
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __repr__(&self) -> String {
        let (rows, columns) = self.shape();
        format!("<gentle.Table of {rows} rows and {columns} columns>")
    }

    /// Schema as a capsule (Arrow PyCapsule interface).
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema().as_ref()).map_err(failed)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Data as a capsule (Arrow PyCapsule interface). The table ignores `requested_schema`, as the interface permits.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}
