//! Confidence and scores of results.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use vestig_core::recall::confidence::{
    self, BASIC_FEATURES, BestRow, ConfidenceInput, FEATURE_COUNT, Features, KIND_COUNT, Logistic,
    OWN_FEATURES, ROWS_READ, SIGNALS_START, Statistics, Table, Tables,
};
use vestig_core::words::ContentTerm as CoreTerm;

use crate::scan::{Row, Scoring};
use crate::words::ContentTerm;

/// Weights by feature, then the bias.
type Weights = (Vec<(String, f64)>, f64);
/// Code of an OriginType, or 4 for several; the values by name.
pub(crate) type Named = (usize, Vec<(String, f64)>);

/// What of the query and the scan counts: terms of the scan, content terms, number of entities,
/// unknown names, number of eligible memories.
#[derive(FromPyObject)]
pub(crate) struct OwnedInput(
    Vec<String>,
    #[pyo3(from_py_with = given_content)] Vec<CoreTerm>,
    usize,
    Vec<String>,
    usize,
);

fn given_content(given: &Bound<'_, PyAny>) -> PyResult<Vec<CoreTerm>> {
    let given: Vec<PyRef<'_, ContentTerm>> = given.extract()?;
    Ok(given.iter().map(|one| one.0.clone()).collect())
}

impl OwnedInput {
    pub(crate) fn view(&self) -> ConfidenceInput<'_> {
        let Self(terms, content_terms, entity_count, unknown_names, eligible) = self;
        ConfidenceInput {
            terms,
            content_terms,
            entity_count: *entity_count,
            unknown_names,
            eligible: *eligible,
        }
    }
}

pub(crate) fn named(found: &Features) -> Named {
    let value = |(place, value): (usize, &Option<f64>)| {
        value.map(|value| (confidence::feature_name(place), value))
    };
    let values = found.values.iter().enumerate().filter_map(value);
    (found.kind, values.collect())
}

fn place(name: &str) -> PyResult<usize> {
    let unknown = || PyValueError::new_err(format!("expected a feature, got {name}"));
    confidence::feature(name).ok_or_else(unknown)
}

fn values(given: &[(String, f64)]) -> PyResult<[Option<f64>; FEATURE_COUNT]> {
    let mut values = [None; FEATURE_COUNT];
    for (name, value) in given {
        values[place(name)?] = Some(*value);
    }
    Ok(values)
}

fn logistic((weights, bias): Weights) -> PyResult<Logistic> {
    let weight = |(name, weight): (String, f64)| Ok((place(&name)?, weight));
    let weights = weights.into_iter().map(weight).collect::<PyResult<_>>()?;
    Ok(Logistic { bias, weights })
}

/// The features of rows of a scan.
fn features(
    rows: &[PyRef<'_, Row>],
    scorings: &[PyRef<'_, Scoring>; 4],
    input: &ConfidenceInput<'_>,
) -> Option<Features> {
    let best: Vec<BestRow<'_>> = rows.iter().map(|row| BestRow::of(&row.hit)).collect();
    let statistics = scorings.each_ref().map(|one| Statistics::of(&one.own));
    confidence::features(&best, statistics, input)
}

/// Fitted logistics by kind of the best rows.
#[pyclass(frozen, module = "vestig._core")]
pub(crate) struct ConfidenceTables(Tables);

#[pymethods]
impl ConfidenceTables {
    #[new]
    fn new(tables: [Vec<(Weights, Weights, f64, f64)>; KIND_COUNT]) -> PyResult<Self> {
        let table = |(belongs, answered, scale, constant)| {
            Ok(Table {
                belongs: logistic(belongs)?,
                answered: logistic(answered)?,
                scale,
                constant,
            })
        };
        let mut made = [const { Vec::new() }; KIND_COUNT];
        for (made, own) in made.iter_mut().zip(tables) {
            *made = own.into_iter().map(table).collect::<PyResult<_>>()?;
        }
        Ok(Self(Tables(made)))
    }

    fn probability(&self, kind: usize, given: Vec<(String, f64)>) -> PyResult<Option<f64>> {
        if kind >= KIND_COUNT {
            let text = format!("expected a kind below {KIND_COUNT}, got {kind}");
            return Err(PyValueError::new_err(text));
        }
        let values = values(&given)?;
        Ok(self.0.confidence(&Features { kind, values }))
    }

    fn of_scan(
        &self,
        rows: Vec<PyRef<'_, Row>>,
        scorings: [PyRef<'_, Scoring>; 4],
        input: OwnedInput,
    ) -> Option<(usize, f64)> {
        let found = features(&rows, &scorings, &input.view())?;
        Some((found.kind, self.0.confidence(&found)?))
    }
}

#[pyfunction]
fn confidence_features(
    rows: Vec<PyRef<'_, Row>>,
    scorings: [PyRef<'_, Scoring>; 4],
    input: OwnedInput,
) -> Option<Named> {
    features(&rows, &scorings, &input.view())
        .as_ref()
        .map(named)
}

#[pyfunction]
fn scores(finals: Vec<f64>, confidence: f64, a: f64, b: f64, c: f64) -> Vec<f64> {
    confidence::scores(&finals, confidence, (a, b, c))
}

#[pyfunction]
fn logit(probability: f64) -> f64 {
    confidence::logit(probability)
}

/// Adds these names to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let signals = (SIGNALS_START..FEATURE_COUNT).map(confidence::feature_name);
    let signals: Vec<String> = signals.collect();
    module.add("ROWS_READ", ROWS_READ)?;
    module.add("BASIC_FEATURES", PyTuple::new(py, BASIC_FEATURES)?)?;
    module.add("OWN_FEATURES", PyTuple::new(py, OWN_FEATURES)?)?;
    module.add("SIGNAL_FEATURES", PyTuple::new(py, signals)?)?;
    module.add_function(wrap_pyfunction!(confidence_features, module)?)?;
    module.add_function(wrap_pyfunction!(scores, module)?)?;
    module.add_function(wrap_pyfunction!(logit, module)?)?;
    module.add_class::<ConfidenceTables>()
}
