//! Marks of byte runs: see `vestig_core::kernels::rolling_hash`.
use std::collections::HashMap;

use pyo3::prelude::*;
use vestig_core::kernels::rolling_hash;

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

/// Adds the functions of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(mark, module)?)?;
    module.add_function(wrap_pyfunction!(find_marks, module)?)
}
