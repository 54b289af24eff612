//! The one mapping of core errors to Python exceptions.
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
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

/// The Python exception of a core error.
pub(crate) fn to_python(error: CoreError) -> PyErr {
    match error {
        CoreError::Io(cause) => cause.into(),
        CoreError::Damaged { .. } => ProjectionDamaged::new_err(error.to_string()),
        CoreError::Invalid(text) => PyValueError::new_err(text),
        CoreError::Moved => SnapshotMoved::new_err(error.to_string()),
    }
}

/// Adds the exceptions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("SnapshotMoved", module.py().get_type::<SnapshotMoved>())?;
    module.add(
        "ProjectionDamaged",
        module.py().get_type::<ProjectionDamaged>(),
    )
}
