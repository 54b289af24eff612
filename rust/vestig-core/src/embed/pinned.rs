//! Files that come with an installation and are known by their hash.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::error::{CoreError, Result};

/// The bytes of a file.
///
/// `Io` where it cannot be read, `Invalid` where it has another SHA-256; `what` it holds is named.
pub(super) fn read_pinned(path: &Path, sha256: &[u8; 32], what: &str) -> Result<Vec<u8>> {
    let bytes = std::fs::read(path)?;
    let found: [u8; 32] = Sha256::digest(&bytes).into();
    if found == *sha256 {
        return Ok(bytes);
    }
    let hex = |hash: &[u8]| -> String { hash.iter().map(|byte| format!("{byte:02x}")).collect() };
    Err(CoreError::Invalid(format!(
        "expected {what} with SHA-256 {}, got {}",
        hex(sha256),
        hex(&found)
    )))
}
