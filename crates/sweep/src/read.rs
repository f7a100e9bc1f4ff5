//! Columns of the Parquet files of a store.

use crate::error::SweepError;
use crate::seal;
use bytes::Bytes;
use parquet::basic::{ConvertedType, Encoding, Type as Physical};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fmt::Display;

/// Maximum number of rows of a file of a store: batches are smaller by far.
const MOST_ROWS: usize = 1 << 20;

/// A value per row of a column; `None` is a missing value.
pub(crate) type Cells<T> = Vec<Option<<T as DataType>::T>>;

/// A file of a store.
pub(crate) struct File<'a> {
    name: &'a str,
    reader: SerializedFileReader<Bytes>,
    /// Number of rows.
    pub(crate) rows: usize,
}

/// A file of a store as it was written, and its digest.
pub(crate) fn intact(name: &str, bytes: Bytes) -> Result<(File<'_>, String), SweepError> {
    let digest = seal::digest(name, &bytes)?;
    Ok((File::open(name, bytes)?, digest))
}

impl<'a> File<'a> {
    fn open(name: &'a str, bytes: Bytes) -> Result<File<'a>, SweepError> {
        let reader = SerializedFileReader::new(bytes).map_err(|error| damaged(name, error))?;
        let groups = reader.metadata().row_groups().iter();
        let rows =
            groups.fold(0, |rows: usize, group| rows.saturating_add(group.num_rows().try_into().unwrap_or(usize::MAX)));
        match rows <= MOST_ROWS {
            true => Ok(File { name, reader, rows }),
            false => Err(damaged(name, "it has too many rows")),
        }
    }

    /// Values of the first column with a name; `None` without such a column, or if it has values of another type. Byte
    /// arrays count only if they are texts.
    pub(crate) fn column<T: DataType>(&self, name: &str) -> Result<Option<Cells<T>>, SweepError> {
        let metadata = self.reader.metadata();
        let schema = metadata.file_metadata().schema_descr();
        // Whole names are compared: a dot in the name of a column is not a path.
        let mut columns = schema.columns().iter();
        let Some(position) = columns.position(|column| *column.path().parts() == [name]) else {
            return Ok(None);
        };
        let column = schema.column(position);
        let is_text = column.converted_type() == ConvertedType::UTF8;
        if column.physical_type() != T::get_physical_type()
            || is_text != (T::get_physical_type() == Physical::BYTE_ARRAY)
            || column.max_rep_level() > 0
        {
            return Ok(None);
        }
        let mut rows = Vec::with_capacity(self.rows);
        for index in 0..metadata.num_row_groups() {
            let (values, levels) = self.group::<T>(index, position).map_err(|error| damaged(self.name, error))?;
            let mut values = values.into_iter();
            match column.max_def_level() {
                0 => rows.extend(values.map(Some)),
                _ => rows.extend(levels.iter().map(|level| match level {
                    1 => values.next(),
                    _ => None,
                })),
            }
        }
        match rows.len() == self.rows {
            true => Ok(Some(rows)),
            false => Err(damaged(self.name, format!("values are missing in {name}"))),
        }
    }

    /// Present values and definition levels of a column of a row group.
    fn group<T: DataType>(&self, group: usize, column: usize) -> Result<(Vec<T::T>, Vec<i16>), ParquetError> {
        let metadata = self.reader.metadata();
        let chunk = metadata.row_group(group).column(column);
        let start = chunk.dictionary_page_offset();
        if start.unwrap_or(chunk.data_page_offset()) < 0 || chunk.compressed_size() < 0 {
            return Err(ParquetError::General("a column has a negative offset or size".to_owned()));
        }
        let description = metadata.file_metadata().schema_descr().column(column);
        let pages = Pages {
            pages: self.reader.get_row_group(group)?.get_column_page_reader(column)?,
            is_text: T::get_physical_type() == Physical::BYTE_ARRAY,
            has_levels: description.max_def_level() > 0,
            has_dictionary: false,
        };
        let mut reader = ColumnReaderImpl::<T>::new(description, Box::new(pages));
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        let rows = metadata.row_group(group).num_rows().try_into()?;
        reader.read_records(rows, Some(&mut levels), None, &mut values)?;
        Ok((values, levels))
    }
}

/// Pages of a column. The decoders of parquet 60.1 panic on some damaged pages; here, these are errors. The pages of
/// sweeps have version 1, and values that are plain or in a dictionary.
struct Pages {
    pages: Box<dyn PageReader>,
    is_text: bool,
    has_levels: bool,
    has_dictionary: bool,
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        let mut page = self.pages.get_next_page()?;
        let is_whole = match &mut page {
            None => true,
            Some(Page::DictionaryPage { buf, num_values, .. }) => {
                self.has_dictionary = true;
                // Memory is allocated for as many values as the page claims to have; each takes 4 bytes at least.
                *num_values as usize <= buf.len() / 4 && (!self.is_text || end_texts(buf, 0))
            }
            Some(Page::DataPage { buf, encoding, def_level_encoding: Encoding::RLE, .. }) => match *encoding {
                Encoding::PLAIN if self.is_text => {
                    let length = buf.first_chunk().filter(|_| self.has_levels);
                    let start = length.map_or(0, |length| 4 + u32::from_le_bytes(*length) as usize);
                    end_texts(buf, start)
                }
                Encoding::PLAIN => true,
                Encoding::RLE_DICTIONARY => self.has_dictionary,
                _ => false,
            },
            Some(_) => false,
        };
        match is_whole {
            true => Ok(page),
            false => Err(ParquetError::General("a page is malformed".to_owned())),
        }
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        self.pages.skip_next_page()
    }
}

impl Iterator for Pages {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

/// True if a page from `start` on has whole texts, each after its length. Appends a length that exceeds any page: the
/// decoder panics where a page ends before a length, and returns an error where it ends before the end of a text.
fn end_texts(page: &mut Bytes, start: usize) -> bool {
    let mut texts = page.get(start..);
    while let Some((length, rest)) = texts.and_then(<[u8]>::split_first_chunk) {
        texts = rest.get(u32::from_le_bytes(*length) as usize..);
    }
    let is_whole = texts.is_some_and(<[u8]>::is_empty);
    *page = [&page[..], &[0xff; 4]].concat().into();
    is_whole
}

pub(crate) fn damaged(file: &str, problem: impl Display) -> SweepError {
    SweepError::File { file: file.to_owned(), problem: problem.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Table, Values, csv, whole};
    use crate::write::{file, in_memory, parquet, properties, small_file};
    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    const NAMES: [&str; 5] = ["a.b", "a", "b", "key \"x\",\n\u{fc}", ""];

    type Row = (Option<String>, Option<f64>, u64, u32);

    fn table(rows: &[Row]) -> Table {
        let text = Values::Text(rows.iter().map(|row| row.0.clone()).collect());
        let number = Values::Number(rows.iter().map(|row| row.1).collect());
        let count = Values::Count(rows.iter().map(|row| row.2).collect());
        let count32 = Values::Count32(rows.iter().map(|row| row.3).collect());
        let present = Values::Text(rows.iter().map(|row| Some(row.2.to_string())).collect());
        let values = [text, number, count, count32, present];
        let columns = NAMES.into_iter().zip(values).enumerate();
        Table::new(columns.map(|(index, (name, values))| (name, index < 3, values)))
    }

    fn read(bytes: Vec<u8>) -> Result<Vec<Row>, SweepError> {
        let file = File::open("x", bytes.into())?;
        let texts = file.column::<ByteArrayType>(NAMES[0])?.unwrap_or_default();
        let numbers = file.column::<DoubleType>(NAMES[1])?.unwrap_or_default();
        let counts = file.column::<Int64Type>(NAMES[2])?.unwrap_or_default();
        let counts32 = file.column::<Int32Type>(NAMES[3])?.unwrap_or_default();
        let present = file.column::<ByteArrayType>(NAMES[4])?.unwrap_or_default();
        assert!(present.iter().all(Option::is_some));
        let text = |text: &Option<ByteArray>| Some(text.as_ref()?.as_utf8().ok()?.to_owned());
        let rows = texts.iter().zip(numbers).zip(counts).zip(counts32);
        let rows = rows.map(|(((texts, number), count), count32)| {
            let count = count.unwrap_or_default().cast_unsigned();
            let count32 = count32.unwrap_or_default().cast_unsigned();
            (text(texts), number, count, count32)
        });
        Ok(rows.collect())
    }

    /// A file without dictionaries, as columns of many different values have none.
    fn plain(rows: &[Row]) -> Vec<u8> {
        let properties = properties().set_dictionary_enabled(false);
        in_memory(&table(rows), properties).unwrap()
    }

    fn rows(most: usize) -> impl Strategy<Value = Vec<Row>> {
        let number = any::<f64>().prop_filter("NaN is not equal to itself", |n| !n.is_nan());
        let row = (option::of(".{0,9}"), option::of(number), any::<u64>(), any::<u32>());
        vec(row, 0..most)
    }

    #[test]
    fn columns_are_found_by_their_whole_names_and_types() {
        let file = |bytes: Vec<u8>| File::open("x", bytes.into()).unwrap();
        let written = file(small_file(&table(&[(None, Some(0.5), 1, 2)])).unwrap());
        assert_eq!(written.column::<DoubleType>("a").unwrap(), Some(vec![Some(0.5)]));
        for name in ["a.b", "b", "x", "a.b.c", "A"] {
            assert_eq!(written.column::<DoubleType>(name).unwrap(), None, "{name}");
        }
        assert_eq!(written.column::<ByteArrayType>("a").unwrap(), None);
        let empty = file(small_file(&table(&[])).unwrap());
        assert_eq!(empty.rows, 0);
        assert_eq!(empty.column::<DoubleType>("a").unwrap(), Some(vec![]));
        assert!(file(small_file(&Table::default()).unwrap()).column::<DoubleType>("a").unwrap().is_none());
    }

    #[test]
    fn parts_become_groups_of_rows() {
        let row = |n: u64| (Some(n.to_string()), (n % 3 != 1).then_some(n as f64), n, n as u32);
        let all: Vec<Row> = (0..40_000).map(row).collect();
        let parts = || all.chunks(4_096).map(|part| Ok(table(part)));
        let mut bytes = Vec::new();
        parquet(parts(), &mut bytes).unwrap();
        let file = File::open("x", bytes.clone().into()).unwrap();
        assert_eq!((file.rows, file.reader.num_row_groups()), (40_000, 3));
        assert_eq!(read(bytes).unwrap(), all);
        let whole = whole(parts()).unwrap();
        assert_eq!(whole, table(&all));
        let [mut one, mut many] = [Vec::new(), Vec::new()];
        csv([Ok(whole)].into_iter(), &mut one).unwrap();
        csv(parts(), &mut many).unwrap();
        assert!(one == many && one.starts_with("a.b,a,b,\"key \"\"x\"\", ü\",".as_bytes()));
        let other = Table::new([("a", true, Values::Count(vec![1]))]);
        assert!(parquet([Ok(table(&[])), Ok(other)].into_iter(), Vec::new()).is_err());
    }

    /// Without a look at its digest, a damaged file gives an error or other values.
    #[test]
    fn no_flipped_bit_panics() {
        let texts = ["one", "two", "one", "another"].map(|text| Some(text.to_owned()));
        let rows: Vec<Row> = (1..).zip(texts).map(|(n, text)| (text, Some(0.5), n, 7)).collect();
        for bytes in [small_file(&table(&rows)).unwrap(), plain(&rows)] {
            for bit in 0..8 * bytes.len() {
                let mut bytes = bytes.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                let _ = read(bytes);
            }
        }
    }

    /// Every flipped bit and every end that is missing is found, whatever the content looks like.
    #[test]
    fn a_digest_finds_every_damage() {
        let digests = "SHA-256 of this file with 64 zeros here: ".repeat(2) + &"0".repeat(64);
        let rows = [(Some(digests), Some(0.5), 1, 7), (None, None, 2, 8)];
        let bytes = small_file(&table(&rows)).unwrap();
        assert_eq!(read(bytes.clone()).unwrap(), rows);
        assert!(intact("x", bytes.clone().into()).is_ok());
        for bit in 0..8 * bytes.len() {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(intact("x", bytes.into()).is_err(), "bit {bit}");
        }
        for end in 0..bytes.len() {
            assert!(intact("x", Bytes::copy_from_slice(&bytes[..end])).is_err());
        }
        let mut longer = bytes;
        longer.push(0);
        assert!(intact("x", longer.into()).is_err());
    }

    proptest! {
        #[test]
        fn a_table_reads_back(rows in rows(40)) {
            prop_assert_eq!(&read(small_file(&table(&rows)).unwrap()).unwrap(), &rows);
            prop_assert_eq!(&read(file(&table(&rows)).unwrap()).unwrap(), &rows);
            prop_assert_eq!(&read(plain(&rows)).unwrap(), &rows);
        }

        #[test]
        fn no_damage_panics(
            rows in rows(9),
            is_plain: bool,
            changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            end in option::of(any::<prop::sample::Index>()),
        ) {
            let mut bytes = match is_plain {
                true => plain(&rows),
                false => small_file(&table(&rows)).unwrap(),
            };
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes.truncate(end.map_or(bytes.len(), |end| end.index(bytes.len())));
            let _ = read(bytes);
        }
    }
}
