//! Secrets in texts.

use pyo3::prelude::*;
use pyo3::types::PyString;
use vestig_core::secrets;

/// The rule of a secret, its first character, and that behind its last one.
type Place = (&'static str, usize, usize);

#[pyfunction]
fn mask_secrets<'py>(
    py: Python<'py>,
    text: &Bound<'py, PyString>,
) -> PyResult<(Bound<'py, PyString>, Vec<Place>)> {
    let given = text.to_str()?;
    let (masked, found) = py.detach(|| secrets::mask(given));
    if found.is_empty() {
        return Ok((text.clone(), Vec::new()));
    }
    let (mut bytes, mut chars) = (0, 0);
    let mut place = |at: usize| {
        chars += given[bytes..at].chars().count();
        bytes = at;
        chars
    };
    let places = found
        .iter()
        .map(|one| (one.rule, place(one.start), place(one.end)));
    let places = places.collect();
    Ok((PyString::new(py, &masked), places))
}

/// Adds the functions of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("SECRET_RULES", secrets::rules())?;
    module.add("SECRETS_VERSION", secrets::version())?;
    module.add_function(wrap_pyfunction!(mask_secrets, module)?)
}
