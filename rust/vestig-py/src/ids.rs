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

/// The text form of an id: the prefix, 32 hexadecimal digits and four dashes.
pub(crate) fn text_of(prefix: &str, id: &Id) -> String {
    let mut text = String::with_capacity(prefix.len() + 37);
    text.push_str(prefix);
    for (at, byte) in id.iter().enumerate() {
        text.push(match at {
            0 => '_',
            4 | 6 | 8 | 10 => '-',
            _ => {
                push_byte(&mut text, *byte);
                continue;
            }
        });
        push_byte(&mut text, *byte);
    }
    text
}

fn push_byte(text: &mut String, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for nibble in [byte >> 4, byte & 15] {
        text.push(char::from(DIGITS[usize::from(nibble)]));
    }
}
