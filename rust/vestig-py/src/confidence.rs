//! Features of confidence.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use vestig_core::kernels::math;
use vestig_core::recall::confidence::{
    self, BestRow, ConfidenceInput, FEATURES, ROWS_READ, features,
};
use vestig_core::words::ContentTerm as CoreTerm;

use crate::scan::Row;
use crate::words::ContentTerm;

/// The values of the query and the scan that count: terms of the scan, how many memories hold each,
/// number of eligible memories, content terms, whether a date is met, number of entities, unknown
/// names.
#[derive(FromPyObject)]
pub(crate) struct OwnedInput(
    Vec<String>,
    Vec<u64>,
    usize,
    #[pyo3(from_py_with = given_content)] Vec<CoreTerm>,
    bool,
    usize,
    Vec<String>,
);

fn given_content(given: &Bound<'_, PyAny>) -> PyResult<Vec<CoreTerm>> {
    let given: Vec<PyRef<'_, ContentTerm>> = given.extract()?;
    Ok(given.iter().map(|one| one.0.clone()).collect())
}

impl OwnedInput {
    pub(crate) fn view(&self) -> ConfidenceInput<'_> {
        let Self(terms, frequencies, eligible, content_terms, dates_met, entity_count, unknown) =
            self;
        ConfidenceInput {
            terms,
            eligible: *eligible,
            document_frequencies: frequencies,
            content_terms,
            dates_met: *dates_met,
            entity_count: *entity_count,
            unknown_names: unknown,
        }
    }
}

/// The features of rows of a scan, in the order of FEATURES.
#[pyfunction]
fn confidence_features(rows: Vec<PyRef<'_, Row>>, input: OwnedInput) -> Vec<f64> {
    let best: Vec<BestRow<'_>> = rows.iter().map(|row| BestRow::of(&row.hit)).collect();
    features(&best, &input.view()).to_vec()
}

/// Those of the unknown names that hold a word that is in no eligible memory.
#[pyfunction]
fn absent_names(input: OwnedInput) -> Vec<String> {
    let view = input.view();
    let names = view.unknown_names.iter();
    let absent = names.filter(|name| confidence::is_absent(name, &view));
    absent.cloned().collect()
}

#[pyfunction]
fn logistic(x: f64) -> f64 {
    math::logistic(x)
}

/// Adds these names to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ROWS_READ", ROWS_READ)?;
    module.add("FEATURES", PyTuple::new(module.py(), FEATURES)?)?;
    module.add_function(wrap_pyfunction!(confidence_features, module)?)?;
    module.add_function(wrap_pyfunction!(absent_names, module)?)?;
    module.add_function(wrap_pyfunction!(logistic, module)?)
}
