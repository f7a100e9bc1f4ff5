//! The compiled module `gentle._core`, beneath the typed Python package in `python/gentle`.
//!
//! It converts arguments, runs work without the interpreter's lock so that other Python threads continue and Ctrl-C
//! works (`work`), and returns JSON for structured results and Arrow for tables (`table`).

mod analysis;
mod captures;
mod comparison;
mod error;
mod listing;
mod model;
mod queue;
mod reproduction;
mod scenario;
mod store;
mod sweep;
mod table;
#[cfg(target_os = "linux")]
mod testbed;
mod work;

use pyo3::prelude::*;

/// Module `gentle._core`.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", py.get_type::<error::Error>())?;
    module.add("InvalidInput", error::invalid_input(py)?)?;
    module.add_class::<table::Table>()?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<comparison::Comparison>()?;
    module.add_class::<queue::CustomQueue>()?;
    module.add_class::<queue::QueuedPacket>()?;
    module.add_class::<analysis::Analysis>()?;
    module.add_class::<sweep::SweepPlan>()?;
    module.add_class::<sweep::Stop>()?;
    module.add_function(wrap_pyfunction!(sweep::run_batch, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::batch_name, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::split_batch, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::describe_batch, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::only_best, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::builtin_toml, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::builtin_names, module)?)?;
    module.add_function(wrap_pyfunction!(comparison::compare, module)?)?;
    module.add_function(wrap_pyfunction!(comparison::missing_runs, module)?)?;
    module.add_function(wrap_pyfunction!(comparison::make_run, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::analyze, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::replay, module)?)?;
    module.add_class::<captures::RecordSum>()?;
    module.add_function(wrap_pyfunction!(captures::capture_tasks, module)?)?;
    module.add_function(wrap_pyfunction!(captures::record_captures, module)?)?;
    #[cfg(target_os = "linux")]
    {
        module.add_function(wrap_pyfunction!(testbed::testbed_build, module)?)?;
        module.add_function(wrap_pyfunction!(testbed::testbed_compare, module)?)?;
        module.add_function(wrap_pyfunction!(testbed::testbed_guest, module)?)?;
    }
    module.add_function(wrap_pyfunction!(model::predict, module)?)?;
    module.add_function(wrap_pyfunction!(model::prediction_text, module)?)?;
    module.add_function(wrap_pyfunction!(reproduction::reproduce, module)?)?;
    module.add_function(wrap_pyfunction!(reproduction::papers, module)?)?;
    module.add_function(wrap_pyfunction!(listing::schemes, module)?)?;
    module.add_function(wrap_pyfunction!(listing::profiles, module)?)?;
    Ok(())
}
