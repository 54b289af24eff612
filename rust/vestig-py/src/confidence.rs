//! Confidence and scores of results.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use vestig_core::recall::confidence::{
    self, Asked, BASIC_FEATURES, BestRow, FEATURES, Features, KINDS, Logistic, MOST, OWN_FEATURES,
    ROWS_READ, Statistics, Table, Tables,
};

use crate::scan::{Row, Scoring};

/// Weights by feature, then the bias.
type Weights = (Vec<(String, f64)>, f64);
/// Code of an OriginType, or 4 for several; the values by name.
pub(crate) type Named = (usize, Vec<(String, f64)>);

/// What of the query and the scan counts: (terms, number of eligible memories, content terms,
/// number of entities, unknown names).
#[derive(FromPyObject)]
pub(crate) struct Question(Vec<String>, usize, Vec<(String, bool)>, usize, Vec<String>);

impl Question {
    pub(crate) fn asked(&self) -> Asked<'_> {
        let Self(terms, eligible, content, entities, unknown_names) = self;
        Asked {
            terms,
            content,
            entities: *entities,
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

fn values(given: &[(String, f64)]) -> PyResult<[Option<f64>; FEATURES]> {
    let mut values = [None; FEATURES];
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
    asked: &Asked<'_>,
) -> Option<Features> {
    let best: Vec<BestRow<'_>> = rows.iter().map(|row| BestRow::of(&row.hit)).collect();
    let statistics = scorings.each_ref().map(|one| Statistics::of(&one.own));
    confidence::features(&best, statistics, asked)
}

/// Fitted logistics by kind of the best rows.
#[pyclass(frozen, module = "vestig._core")]
pub(crate) struct ConfidenceTables(Tables);

#[pymethods]
impl ConfidenceTables {
    #[new]
    fn new(tables: [Vec<(Weights, Weights, f64, f64)>; KINDS]) -> PyResult<Self> {
        let table = |(belongs, answered, scale, constant)| {
            Ok(Table {
                belongs: logistic(belongs)?,
                answered: logistic(answered)?,
                scale,
                constant,
            })
        };
        let mut made = [const { Vec::new() }; KINDS];
        for (made, own) in made.iter_mut().zip(tables) {
            *made = own.into_iter().map(table).collect::<PyResult<_>>()?;
        }
        Ok(Self(Tables(made)))
    }

    fn probability(&self, kind: usize, given: Vec<(String, f64)>) -> PyResult<Option<f64>> {
        if kind >= KINDS {
            let text = format!("expected a kind below {KINDS}, got {kind}");
            return Err(PyValueError::new_err(text));
        }
        let values = values(&given)?;
        Ok(self.0.confidence(&Features { kind, values }))
    }

    fn of_scan(
        &self,
        rows: Vec<PyRef<'_, Row>>,
        scorings: [PyRef<'_, Scoring>; 4],
        question: Question,
    ) -> Option<(usize, f64)> {
        let found = features(&rows, &scorings, &question.asked())?;
        Some((found.kind, self.0.confidence(&found)?))
    }
}

#[pyfunction]
fn confidence_features(
    rows: Vec<PyRef<'_, Row>>,
    scorings: [PyRef<'_, Scoring>; 4],
    question: Question,
) -> Option<Named> {
    features(&rows, &scorings, &question.asked())
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

#[pyfunction]
fn linear_score(base: f64) -> f64 {
    confidence::linear_score(base)
}

/// Adds these names to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let signals = (MOST..FEATURES).map(confidence::feature_name);
    let signals: Vec<String> = signals.collect();
    module.add("ROWS_READ", ROWS_READ)?;
    module.add("BASIC_FEATURES", PyTuple::new(py, BASIC_FEATURES)?)?;
    module.add("OWN_FEATURES", PyTuple::new(py, OWN_FEATURES)?)?;
    module.add("SIGNAL_FEATURES", PyTuple::new(py, signals)?)?;
    module.add_function(wrap_pyfunction!(confidence_features, module)?)?;
    module.add_function(wrap_pyfunction!(scores, module)?)?;
    module.add_function(wrap_pyfunction!(logit, module)?)?;
    module.add_function(wrap_pyfunction!(linear_score, module)?)?;
    module.add_class::<ConfidenceTables>()
}
