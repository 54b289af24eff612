//! Token vectors of one text: word-piece ids, 8-bit vectors, scales.

use crate::error::{CoreError, Result};

/// Numbers of a token vector.
pub const PIECE_LANES: usize = 64;
/// Word pieces of a text that have a vector.
pub const PIECES_MAX: usize = 160;

/// The word pieces of a text, in its order; none when it has no token vectors.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pieces<'a> {
    /// Of the vocabulary.
    pub ids: &'a [u32],
    /// `PIECE_LANES` a piece.
    pub codes: &'a [i8],
    /// A token's vector ≈ scale · codes; finite, at least 0.
    pub scales: &'a [f32],
}

/// As `Pieces`, owned.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OwnedPieces {
    ids: Vec<u32>,
    codes: Vec<i8>,
    scales: Vec<f32>,
}

impl OwnedPieces {
    /// From little-endian ids, codes and little-endian scales.
    ///
    /// `Invalid`: no piece, more than `PIECES_MAX`, lengths that do not fit, a code of −128, or a
    /// scale that is no finite number of at least 0.
    pub fn from_bytes(ids: &[u8], codes: &[u8], scales: &[u8]) -> Result<Self> {
        let count = ids.len() / 4;
        let fits = ids.len() == count * 4
            && (1..=PIECES_MAX).contains(&count)
            && codes.len() == count * PIECE_LANES
            && scales.len() == count * 4;
        if !fits {
            let (ids, codes, scales) = (ids.len(), codes.len(), scales.len());
            return Err(CoreError::Invalid(format!(
                "expected 1 to {PIECES_MAX} word pieces with 4 bytes of id, {PIECE_LANES} of codes \
                 and 4 of scale each, got {ids}, {codes} and {scales} bytes"
            )));
        }
        let words = |bytes: &[u8]| bytes.as_chunks::<4>().0.to_vec();
        let pieces = Self {
            ids: words(ids).into_iter().map(u32::from_le_bytes).collect(),
            codes: codes.iter().map(|code| code.cast_signed()).collect(),
            scales: words(scales).into_iter().map(f32::from_le_bytes).collect(),
        };
        if !pieces.scales.iter().all(is_scale) || pieces.codes.contains(&i8::MIN) {
            return Err(CoreError::Invalid(
                "expected codes from -127 to 127 and finite scales of at least 0".into(),
            ));
        }
        Ok(pieces)
    }

    /// As kernels take them.
    #[must_use]
    pub fn view(&self) -> Pieces<'_> {
        Pieces {
            ids: &self.ids,
            codes: &self.codes,
            scales: &self.scales,
        }
    }
}

/// Whether this is a scale.
pub(crate) fn is_scale(scale: &f32) -> bool {
    scale.is_finite() && *scale >= 0.0
}
