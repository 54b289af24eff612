//! Ids: 16 raw bytes each.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use vestig_core::segment::Id;

/// One id of 16 bytes.
pub(crate) fn id_of(bytes: &[u8]) -> PyResult<Id> {
    let length = bytes.len();
    Id::try_from(bytes)
        .map_err(|_| PyValueError::new_err(format!("expected an id of 16 bytes, got {length}")))
}

/// Ids of 16 bytes each, one after the other.
pub(crate) fn ids_of(bytes: &[u8]) -> PyResult<Vec<Id>> {
    if !bytes.len().is_multiple_of(16) {
        let length = bytes.len();
        let text = format!("expected 16 bytes an id, got {length} bytes");
        return Err(PyValueError::new_err(text));
    }
    bytes.chunks_exact(16).map(id_of).collect()
}
