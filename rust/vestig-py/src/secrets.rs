//! Secrets in texts.

use pyo3::prelude::*;
use pyo3::types::PyString;
use vestig_core::secrets;

#[pyfunction]
fn mask_secrets<'py>(
    py: Python<'py>,
    text: &Bound<'py, PyString>,
) -> PyResult<(Bound<'py, PyString>, Vec<&'static str>)> {
    let given = text.to_str()?;
    let (masked, rules) = py.detach(|| secrets::mask(given));
    if rules.is_empty() {
        return Ok((text.clone(), rules));
    }
    Ok((PyString::new(py, &masked), rules))
}

/// Adds the functions of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("SECRET_RULES", secrets::rules())?;
    module.add("SECRETS_VERSION", secrets::version())?;
    module.add_function(wrap_pyfunction!(mask_secrets, module)?)
}
