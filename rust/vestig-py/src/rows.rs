//! Rows from the ledger to the core.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use vestig_core::segment::{EdgeVersion, EventRow, NO_TIME};
use vestig_core::tail::NewRow;

use crate::numbers::floats;
use crate::query::id_of;

/// Fields of a `ports.ProjectionRow`.
pub(crate) const FIELDS: usize = 29;

type Edge<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    u8,
    f64,
    Option<f64>,
    i64,
    Option<i64>,
);

fn edge(given: Edge<'_>) -> PyResult<EdgeVersion> {
    let (id, end, kind, weight, confidence, created, expired) = given;
    Ok(EdgeVersion {
        id: id_of(id.as_bytes())?,
        end: id_of(end.as_bytes())?,
        kind,
        weight,
        confidence,
        created,
        expired: expired.unwrap_or(NO_TIME),
    })
}

/// `ports.ProjectionRow`, in its order.
pub(crate) fn new_row(row: &Bound<'_, PyAny>) -> PyResult<NewRow> {
    let row = row.cast::<PyTuple>()?;
    let full = row.len() == FIELDS;
    if !full && row.len() != 24 {
        return Err(PyValueError::new_err(format!(
            "expected {FIELDS} fields a row, got {}",
            row.len()
        )));
    }
    fn field<'py, T>(row: &Bound<'py, PyTuple>, i: usize) -> PyResult<T>
    where
        T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
    {
        row.get_item(i)?.extract().map_err(Into::into)
    }
    let embedding = row.get_item(19)?;
    let event = |(kind, occurred, recorded, seq, row)| EventRow {
        kind,
        occurred,
        recorded,
        seq,
        row,
    };
    let events: Vec<(u8, i64, i64, i64, i64)> = field(row, 23)?;
    let (mut edges, mut questions) = (Vec::<Edge<'_>>::new(), Vec::<Bound<'_, PyAny>>::new());
    let (mut keywords, mut windows, mut names) = Default::default();
    if full {
        keywords = field(row, 24)?;
        windows = field(row, 25)?;
        edges = field(row, 26)?;
        questions = field(row, 27)?;
        names = field(row, 28)?;
    }
    Ok(NewRow {
        id: id_of(row.get_item(0)?.cast::<PyBytes>()?.as_bytes())?,
        seq: field(row, 1)?,
        wseq: field(row, 2)?,
        content: field(row, 3)?,
        author: field(row, 4)?,
        namespace: field(row, 5)?,
        scope: field(row, 6)?,
        kind: field(row, 7)?,
        status: field(row, 8)?,
        role: field(row, 9)?,
        session: field(row, 10)?,
        sequence: field(row, 11)?,
        origin: field(row, 12)?,
        stability: field(row, 13)?,
        pinned: field(row, 14)?,
        t_valid: field(row, 15)?,
        t_invalid: field(row, 16)?,
        t_created: field(row, 17)?,
        t_expired: field(row, 18)?,
        embedding: if embedding.is_none() {
            None
        } else {
            Some(floats("embedding", &embedding)?)
        },
        lists: [field(row, 20)?, field(row, 21)?, field(row, 22)?, keywords],
        events: events.into_iter().map(event).collect(),
        windows,
        edges: edges.into_iter().map(edge).collect::<PyResult<_>>()?,
        questions: questions
            .iter()
            .map(|vector| floats("question", vector))
            .collect::<PyResult<_>>()?,
        names,
    })
}
