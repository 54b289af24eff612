//! Ids: 16 raw bytes each, and their text form, a prefix and a lower-case UUID.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use vestig_core::segment::Id;

/// Characters of a UUID.
const UUID_CHARS: usize = 36;

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

/// The text form of an id: the prefix, 32 hexadecimal digits and four dashes.
pub(crate) fn text_of(prefix: &str, id: &Id) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(prefix.len() + 1 + UUID_CHARS);
    text.push_str(prefix);
    for (at, byte) in id.iter().enumerate() {
        match at {
            0 => text.push('_'),
            4 | 6 | 8 | 10 => text.push('-'),
            _ => {}
        }
        for nibble in [byte >> 4, byte & 15] {
            text.push(char::from(DIGITS[usize::from(nibble)]));
        }
    }
    text
}

#[pyfunction]
fn id_text(prefix: &str, raw: &[u8]) -> PyResult<String> {
    Ok(text_of(prefix, &id_of(raw)?))
}

#[pyfunction]
fn id_bytes<'py>(py: Python<'py>, id: &str) -> PyResult<Bound<'py, PyBytes>> {
    let malformed = || PyValueError::new_err("expected an id with 32 hexadecimal digits");
    let start = id.len().checked_sub(UUID_CHARS).ok_or_else(malformed)?;
    let digits = id.get(start..).ok_or_else(malformed)?;
    let (mut raw, mut count) = ([0_u8; 16], 0);
    for digit in digits.bytes().filter(|byte| *byte != b'-') {
        let value = char::from(digit).to_digit(16).ok_or_else(malformed)?;
        let byte = raw.get_mut(count / 2).ok_or_else(malformed)?;
        *byte = *byte << 4 | value as u8;
        count += 1;
    }
    if count == 32 {
        Ok(PyBytes::new(py, &raw))
    } else {
        Err(malformed())
    }
}

/// The id that these random bytes are: version 4, and the variant, whose two highest bits are 10.
#[pyfunction]
fn random_id(prefix: &str, raw: &[u8]) -> PyResult<String> {
    let mut id = id_of(raw)?;
    id[6] = id[6] & 0x0f | 0x40;
    id[8] = id[8] & 0x3f | 0x80;
    Ok(text_of(prefix, &id))
}

/// Adds the functions of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(id_text, module)?)?;
    module.add_function(wrap_pyfunction!(id_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(random_id, module)?)
}
