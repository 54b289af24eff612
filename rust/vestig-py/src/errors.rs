//! The one mapping of core errors to Python exceptions.
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use vestig_core::CoreError;

create_exception!(
    vestig._core,
    SnapshotMoved,
    PyException,
    "The projection stands at another seq than the caller's ledger view."
);
create_exception!(
    vestig._core,
    ProjectionDamaged,
    PyException,
    "A projection file failed a check during a call; discard and rebuild."
);
create_exception!(
    vestig._core,
    WeightsUnusable,
    PyException,
    "The file of packed weights is damaged or of another layout; pack the weights again."
);

/// The Python exception of a core error.
pub(crate) fn to_python(error: CoreError) -> PyErr {
    match error {
        CoreError::Io(cause) => match cause.raw_os_error() {
            // With its number, so that Python gives it a class and callers can tell full from
            // forbidden.
            Some(code) => PyOSError::new_err((code, cause.to_string())),
            None => cause.into(),
        },
        CoreError::Damaged { .. } => ProjectionDamaged::new_err(error.to_string()),
        CoreError::Weights(text) => WeightsUnusable::new_err(text),
        CoreError::Invalid(text) => PyValueError::new_err(text),
        CoreError::Moved => SnapshotMoved::new_err(error.to_string()),
    }
}

/// Runs without the interpreter. A panic becomes a RuntimeError: snapshots are replaced whole, so
/// the projection is as it was before the call.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> vestig_core::Result<T> + Send,
) -> PyResult<T> {
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(done) => done.map_err(to_python),
        Err(_) => Err(PyRuntimeError::new_err(
            "the core met a state that should not exist; nothing was changed: run `vestig rebuild`",
        )),
    }
}

/// Adds the exceptions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("SnapshotMoved", module.py().get_type::<SnapshotMoved>())?;
    module.add("WeightsUnusable", module.py().get_type::<WeightsUnusable>())?;
    module.add(
        "ProjectionDamaged",
        module.py().get_type::<ProjectionDamaged>(),
    )
}
