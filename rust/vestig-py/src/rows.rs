//! Rows from the ledger to the core.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use vestig_core::segment::EventRow;
use vestig_core::tail::NewRow;

use crate::numbers::floats;
use crate::query::id_of;

/// `ports.ProjectionRow`, in its order.
pub(crate) fn new_row(row: &Bound<'_, PyAny>) -> PyResult<NewRow> {
    let row = row.cast::<PyTuple>()?;
    if row.len() != 24 {
        return Err(PyValueError::new_err(format!(
            "expected 24 fields a row, got {}",
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
        lists: [field(row, 20)?, field(row, 21)?, field(row, 22)?],
        events: events.into_iter().map(event).collect(),
    })
}
