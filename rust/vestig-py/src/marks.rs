//! Marks of byte runs, and digests of texts: see `vestig_core::kernels::{rolling_hash, digests}`.
use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use vestig_core::kernels::{digests, rolling_hash};

#[pyfunction]
fn mark(key: u64, run: &[u8]) -> u64 {
    rolling_hash::mark(key, run)
}

/// Mark → (how often, first offset).
#[pyfunction]
fn find_marks(
    py: Python<'_>,
    key: u64,
    data: &[u8],
    seen: usize,
    length: usize,
    wanted: std::collections::HashSet<u64>,
) -> HashMap<u64, (u64, usize)> {
    py.detach(|| {
        let found = rolling_hash::find(key, data, seen, length, &wanted).into_iter();
        found.map(|(m, f)| (m, (f.count, f.offset))).collect()
    })
}

#[pyfunction]
fn first_mismatched_text(texts: Vec<(PyBackedStr, PyBackedBytes)>) -> Option<usize> {
    let pairs = texts.iter();
    digests::first_mismatch(pairs.map(|(text, digest)| (text.as_bytes(), digest.as_ref())))
}

/// Adds the functions of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(first_mismatched_text, module)?)?;
    module.add_function(wrap_pyfunction!(mark, module)?)?;
    module.add_function(wrap_pyfunction!(find_marks, module)?)
}
