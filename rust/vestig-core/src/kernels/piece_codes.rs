//! One-bit codes of word pieces, and the 4-bit codes that those of a query are compared with.

use crate::error::{CoreError, Result};

/// Bits of a code.
pub const CODE_BITS: usize = 256;
/// Bytes of the bits of a code.
pub const SIGN_BYTES: usize = CODE_BITS / 8;
/// Bytes of a code: bits, then the scale.
pub const CODE_BYTES: usize = SIGN_BYTES + 2;
/// Word pieces of a text that have a code.
pub const PIECES_MAX: usize = 160;
/// Codes of a query are from −7 to 7.
pub const QUERY_MAX: i8 = 7;
/// Stored number of the pieces that stand for no word.
pub const SPECIAL: u16 = u16::MAX;
/// Binary16 numbers from this on are infinite, no number or negative.
const INFINITE: u16 = 0x7C00;

/// Bits of a code: bit i is bit i mod 8 of byte i div 8.
pub type Signs = [u8; SIGN_BYTES];
/// A 4-bit code, one number a bit of the other side.
pub type QueryCode = [i8; CODE_BITS];

/// The word pieces of a text, in its order; none when it has no codes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pieces<'a> {
    /// As [`stored_id`] gives them.
    pub ids: &'a [u16],
    /// A set bit stands for +1, another for −1.
    pub signs: &'a [Signs],
    /// Binary16: what a piece's signs are multiplied by; finite, at least 0.
    pub scales: &'a [u16],
}

/// Like `Pieces`, owned.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OwnedPieces {
    ids: Vec<u16>,
    signs: Vec<Signs>,
    scales: Vec<u16>,
}

/// The number under which a word piece is stored: special pieces, 2³² − 1, have [`SPECIAL`], others
/// theirs modulo 65,535. Of a larger vocabulary, pieces with one number are counted together.
#[must_use]
pub fn stored_id(id: u32) -> u16 {
    if id == u32::MAX {
        SPECIAL
    } else {
        (id % u32::from(SPECIAL)) as u16
    }
}

impl OwnedPieces {
    /// From ids of 32 bits, little-endian, and codes of 34 bytes.
    ///
    /// `Invalid`: no piece, more than `PIECES_MAX`, lengths that do not fit, or a scale that is no
    /// finite number of at least 0.
    pub fn from_bytes(ids: &[u8], codes: &[u8]) -> Result<Self> {
        let count = ids.len() / 4;
        let fits = ids.len() == count * 4
            && (1..=PIECES_MAX).contains(&count)
            && codes.len() == count * CODE_BYTES;
        if !fits {
            let (ids, codes) = (ids.len(), codes.len());
            return Err(CoreError::Invalid(format!(
                "expected 1 to {PIECES_MAX} word pieces with 4 bytes of id and {CODE_BYTES} of code \
                 each, got {ids} and {codes} bytes"
            )));
        }
        let mut pieces = Self {
            ids: numbers(ids).map(stored_id).collect(),
            signs: Vec::with_capacity(count),
            scales: Vec::with_capacity(count),
        };
        for code in codes.as_chunks::<CODE_BYTES>().0 {
            let (signs, [low, high]) = halves(code);
            pieces.signs.push(signs);
            pieces.scales.push(u16::from_le_bytes([low, high]));
        }
        if !pieces.scales.iter().all(is_scale) {
            return Err(CoreError::Invalid(
                "expected scales of word pieces that are finite numbers of at least 0".into(),
            ));
        }
        Ok(pieces)
    }

    /// As kernels take them.
    #[must_use]
    pub fn view(&self) -> Pieces<'_> {
        Pieces {
            ids: &self.ids,
            signs: &self.signs,
            scales: &self.scales,
        }
    }
}

impl Pieces<'_> {
    /// The numbers in 32 bits each, little-endian; those of special pieces as they were given.
    #[must_use]
    pub fn id_bytes(&self) -> Vec<u8> {
        let given = |id: &u16| match *id {
            SPECIAL => u32::MAX,
            id => id.into(),
        };
        self.ids
            .iter()
            .flat_map(|id| given(id).to_le_bytes())
            .collect()
    }

    /// Codes of 34 bytes, one behind the other.
    #[must_use]
    pub fn code_bytes(&self) -> Vec<u8> {
        let codes = self.signs.iter().zip(self.scales);
        codes
            .flat_map(|(signs, scale)| signs.iter().copied().chain(scale.to_le_bytes()))
            .collect()
    }
}

/// The word pieces of a query, in its order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueryPieces {
    ids: Vec<u32>,
    codes: Vec<QueryCode>,
    steps: Vec<f64>,
}

impl QueryPieces {
    /// A coordinate of piece i is about `codes[i] · steps[i]`.
    ///
    /// `Invalid`: no piece, more than `PIECES_MAX`, lists of other lengths, a code beyond 7, or a
    /// step that is no finite number of at least 0.
    pub fn new(ids: Vec<u32>, codes: Vec<QueryCode>, steps: Vec<f64>) -> Result<Self> {
        let fits = (1..=PIECES_MAX).contains(&ids.len())
            && codes.len() == ids.len()
            && steps.len() == ids.len();
        if !fits {
            let (ids, codes, steps) = (ids.len(), codes.len(), steps.len());
            return Err(CoreError::Invalid(format!(
                "expected 1 to {PIECES_MAX} word pieces of a query with a code of {CODE_BITS} \
                 numbers and a step each, got {ids} ids, {codes} codes and {steps} steps"
            )));
        }
        let code = |value: &i8| (-QUERY_MAX..=QUERY_MAX).contains(value);
        let step = |value: &f64| value.is_finite() && *value >= 0.0;
        if !codes.as_flattened().iter().all(code) || !steps.iter().all(step) {
            return Err(CoreError::Invalid(
                "expected codes of a query from -7 to 7 and finite steps of at least 0".into(),
            ));
        }
        Ok(Self { ids, codes, steps })
    }

    /// From little-endian ids, codes of 256 bytes and float64 steps; as [`Self::new`].
    pub fn from_bytes(ids: &[u8], codes: &[u8], steps: &[u8]) -> Result<Self> {
        let (eights, steps_rest) = steps.as_chunks::<8>();
        let (rows, codes_rest) = codes.as_chunks::<CODE_BITS>();
        if !ids.len().is_multiple_of(4) || !steps_rest.is_empty() || !codes_rest.is_empty() {
            let (ids, codes, steps) = (ids.len(), codes.len(), steps.len());
            return Err(CoreError::Invalid(format!(
                "expected word pieces of a query with 4 bytes of id, {CODE_BITS} of code and 8 of \
                 step each, got {ids}, {codes} and {steps} bytes"
            )));
        }
        let codes = rows.iter().map(|row| row.map(u8::cast_signed)).collect();
        let steps = eights.iter().map(|eight| f64::from_le_bytes(*eight));
        Self::new(numbers(ids).collect(), codes, steps.collect())
    }

    /// Of the vocabulary.
    #[must_use]
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// By piece.
    #[must_use]
    pub fn codes(&self) -> &[QueryCode] {
        &self.codes
    }

    /// By piece.
    #[must_use]
    pub fn steps(&self) -> &[f64] {
        &self.steps
    }
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u32> {
    let fours = bytes.as_chunks::<4>().0.iter();
    fours.map(|four| u32::from_le_bytes(*four))
}

fn halves(code: &[u8; CODE_BYTES]) -> (Signs, [u8; 2]) {
    let (mut signs, mut scale) = ([0; SIGN_BYTES], [0; 2]);
    signs.copy_from_slice(&code[..SIGN_BYTES]);
    scale.copy_from_slice(&code[SIGN_BYTES..]);
    (signs, scale)
}

/// Returns whether this is a scale.
pub(crate) fn is_scale(scale: &u16) -> bool {
    *scale < INFINITE
}

/// The value of a binary16 number that is a scale; exact.
#[must_use]
pub fn from_half(half: u16) -> f64 {
    let (exponent, fraction) = (i32::from(half >> 10), f64::from(half & 0x3FF));
    if exponent == 0 {
        fraction * power_of_two(-24)
    } else {
        (1024.0 + fraction) * power_of_two(exponent - 25)
    }
}

/// The nearest binary16 number, ties to even, of a number from 0 to 65504.
#[must_use]
pub fn to_half(value: f64) -> u16 {
    let exponent = ((value.to_bits() >> 52) as i32 - 1023).max(-14);
    let steps = (value / power_of_two(exponent - 10)).round_ties_even() as u32;
    // A rounding up to the next power of two is carried into the exponent.
    ((((exponent + 14) as u32) << 10) + steps) as u16
}

/// Exponent from −1022 to 1023.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_read_and_written_exactly() {
        for half in 0..INFINITE {
            assert_eq!(to_half(from_half(half)), half);
        }
        assert_eq!((from_half(0x3C00), from_half(1)), (1.0, power_of_two(-24)));
        assert_eq!(to_half(0.0), 0);
    }

    #[test]
    fn ties_go_to_even_and_carry_into_the_exponent() {
        let step = power_of_two(-10);
        assert_eq!(to_half(1.0 + step / 2.0), 0x3C00);
        assert_eq!(to_half(1.0 + 1.5 * step), 0x3C02);
        assert_eq!(to_half(2.0 - step / 2.0), 0x4000);
        assert_eq!(to_half(power_of_two(-14) - power_of_two(-26)), 0x0400);
    }
}
