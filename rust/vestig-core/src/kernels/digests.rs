//! SHA-256 of texts.

use sha2::{Digest, Sha256};

/// Place of the first text whose SHA-256 is not the digest beside it.
pub fn first_mismatch<'a>(mut texts: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Option<usize> {
    texts.position(|(text, digest)| Sha256::digest(text).as_slice() != digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_text_that_is_not_its_digest() {
        let own = |text: &'static str| (text.as_bytes(), Sha256::digest(text));
        let texts = ["Ada", "", "plays the flute"].map(own);
        let pairs = || {
            texts
                .iter()
                .map(|(text, digest)| (*text, digest.as_slice()))
        };
        assert_eq!(first_mismatch(pairs()), None);
        let changed = |(text, digest)| {
            if text == b"" {
                (b" ".as_slice(), digest)
            } else {
                (text, digest)
            }
        };
        assert_eq!(first_mismatch(pairs().map(changed)), Some(1));
        assert_eq!(
            first_mismatch(pairs().map(|(text, digest)| (text, &digest[1..]))),
            Some(0)
        );
    }
}
