//! One-bit codes of word pieces for late interaction (Khattab and Zaharia, ColBERT, 2020): last hidden
//! states without their common mean, along 256 rotated principal axes, of which the signs are kept
//! (Gong and Lazebnik, Iterative quantization, 2011).
//!
//! Mean and axes are files of the package, pinned by their hashes: they are the definition, and
//! `benches/learn_codes.py` says how they were made.

use std::path::Path;

use super::pinned::read_pinned;
use super::weights::HIDDEN;
use crate::error::{CoreError, Result};
use crate::kernels::dot::{dot, unit};
pub use crate::kernels::piece_codes::{CODE_BITS, CODE_BYTES, PIECES_MAX};
use crate::kernels::piece_codes::{QUERY_MAX, QueryPieces, to_half};

/// SHA-256 of the file of the mean.
pub const MEAN_SHA256: [u8; 32] = hash(MEAN_HEX);
/// SHA-256 of the file of the axes.
pub const AXES_SHA256: [u8; 32] = hash(AXES_HEX);
const MEAN_HEX: &[u8; 64] = b"9dee7e632ee4b071a1ff373864067fd4d87344607b1bf10a4a958d6ca396dd13";
const AXES_HEX: &[u8; 64] = b"cd0babff472fd865fb9f3936ad5a5b28c5da46d4eed306b8dd85122d417f66f7";

/// Digits of a number in these files, which is k · 2⁻¹⁸ with k from −2¹⁷ to 2¹⁷ − 1.
const DIGITS: usize = 3;
const HALF_RANGE: i32 = 1 << 17;
const STEP: f32 = 1.0 / (1 << 18) as f32;
/// Coordinates of a query are clipped at so many standard deviations.
const CLIP: f64 = 2.7;

type Coordinates = [f32; CODE_BITS];

/// The mean of word pieces and the axes of their codes.
pub struct PieceAxes {
    mean: [f32; HIDDEN],
    /// Axis by axis.
    axes: Vec<f32>,
}

impl PieceAxes {
    /// From both files.
    ///
    /// `Io` where one cannot be read, `Invalid` where it is not the pinned one.
    pub fn read(mean: &Path, axes: &Path) -> Result<Self> {
        let mean = read_pinned(mean, &MEAN_SHA256, "a mean of word pieces")?;
        let axes = read_pinned(axes, &AXES_SHA256, "axes of word pieces")?;
        Self::new(&mean, &axes)
    }

    /// From the bytes of both files: a line of 384 numbers, and 256 such lines.
    ///
    /// `Invalid`: another number of values, or other characters.
    pub fn new(mean: &[u8], axes: &[u8]) -> Result<Self> {
        let (rows, rest) = (numbers(mean)?, numbers(axes)?);
        let (Ok(mean), true) = (rows.try_into(), rest.len() == CODE_BITS * HIDDEN) else {
            return Err(CoreError::Invalid(format!(
                "expected {HIDDEN} numbers of a mean and {CODE_BITS} times as many of axes"
            )));
        };
        Ok(Self { mean, axes: rest })
    }

    /// Codes of the first 160 word pieces, 34 bytes each: bit i is 1 where coordinate i is above 0,
    /// then the mean of their sizes over their length, binary16.
    #[must_use]
    pub fn codes(&self, hidden: &[[f32; HIDDEN]]) -> Vec<u8> {
        let hidden = &hidden[..hidden.len().min(PIECES_MAX)];
        let mut codes = Vec::with_capacity(hidden.len() * CODE_BYTES);
        for along in self.coordinates(hidden) {
            for eight in along.as_chunks::<8>().0 {
                let bits = (0..8).map(|i| u8::from(eight[i] > 0.0) << i);
                codes.push(bits.sum());
            }
            let sizes = along.iter().fold(0.0, |sum, y| sum + f64::from(y.abs()));
            let length = length(&along);
            let scale = if length > 0.0 {
                sizes / CODE_BITS as f64 / length
            } else {
                0.0
            };
            codes.extend(to_half(scale).to_le_bytes());
        }
        codes
    }

    /// Codes of the first 160 word pieces of a query; `ids`: one for each row.
    ///
    /// `Invalid`: no piece, or another number of ids than rows.
    pub fn query(&self, ids: Vec<u32>, hidden: &[[f32; HIDDEN]]) -> Result<QueryPieces> {
        if ids.len() != hidden.len() {
            return Err(CoreError::Invalid(format!(
                "expected a hidden state for each of {} word pieces, got {}",
                ids.len(),
                hidden.len()
            )));
        }
        let kept = ids.len().min(PIECES_MAX);
        let each = self.coordinates(&hidden[..kept]);
        let (codes, steps) = each.iter().map(quantised).unzip();
        QueryPieces::new(ids[..kept].to_vec(), codes, steps)
    }

    /// The hidden states at unit length, without the mean, along the axes.
    fn coordinates(&self, hidden: &[[f32; HIDDEN]]) -> Vec<Coordinates> {
        let centred = hidden.iter().map(|row| {
            let mut centred = [0.0; HIDDEN];
            unit(row, &mut centred);
            for (value, mean) in centred.iter_mut().zip(&self.mean) {
                *value -= mean;
            }
            centred
        });
        let centred: Vec<[f32; HIDDEN]> = centred.collect();
        let mut along = vec![[0.0; CODE_BITS]; hidden.len()];
        for (at, axis) in self.axes.chunks_exact(HIDDEN).enumerate() {
            for (centred, along) in centred.iter().zip(&mut along) {
                along[at] = dot(centred, axis);
            }
        }
        along
    }
}

/// √ of the float64 sum of squares in index order.
fn length(along: &Coordinates) -> f64 {
    let square = |sum: f64, y: &f32| sum + f64::from(*y) * f64::from(*y);
    along.iter().fold(0.0, square).sqrt()
}

/// 4-bit codes of unit length, and their step.
fn quantised(along: &Coordinates) -> ([i8; CODE_BITS], f64) {
    let length = length(along);
    if length == 0.0 {
        return ([0; CODE_BITS], 0.0);
    }
    let unit = along.map(|y| f64::from(y) / length);
    let mean = unit.iter().fold(0.0, |sum, u| sum + u) / CODE_BITS as f64;
    let away = |sum: f64, u: &f64| sum + (u - mean) * (u - mean);
    let deviation = (unit.iter().fold(0.0, away) / CODE_BITS as f64).sqrt();
    let largest = unit.iter().fold(0.0, |most: f64, u| most.max(u.abs()));
    let most = f64::from(QUERY_MAX);
    let step = largest.min(CLIP * deviation) / most;
    if step == 0.0 {
        return ([0; CODE_BITS], 0.0);
    }
    let code = |u: f64| nearest(u / step).clamp(-most, most) as i8;
    (unit.map(code), step)
}

/// The nearest whole number of one below 2⁵¹ in size, ties to even: a sum this large has no digits
/// behind the point. The library's function is a call where the instruction set has none for it.
fn nearest(value: f64) -> f64 {
    const WHOLE: f64 = 1.5 * (1_u64 << 52) as f64;
    value + WHOLE - WHOLE
}

/// Numbers of three digits each, line breaks left out.
fn numbers(text: &[u8]) -> Result<Vec<f32>> {
    let digits: Option<Vec<i32>> = text
        .iter()
        .filter(|byte| **byte != b'\n')
        .map(|byte| digit(*byte))
        .collect();
    let Some(digits) = digits.filter(|digits| digits.len().is_multiple_of(DIGITS)) else {
        return Err(CoreError::Invalid(
            "expected numbers of three digits of base64".into(),
        ));
    };
    let number = |[a, b, c]: &[i32; DIGITS]| (a << 12 | b << 6 | c) - HALF_RANGE;
    let threes = digits.as_chunks::<DIGITS>().0.iter();
    Ok(threes.map(|three| number(three) as f32 * STEP).collect())
}

fn digit(byte: u8) -> Option<i32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(i32::from(value))
}

const fn hash(hex: &[u8; 64]) -> [u8; 32] {
    const fn value(digit: u8) -> u8 {
        if digit <= b'9' {
            digit - b'0'
        } else {
            digit - b'a' + 10
        }
    }
    let mut bytes = [0; 32];
    let mut at = 0;
    while at < 32 {
        bytes[at] = value(hex[2 * at]) << 4 | value(hex[2 * at + 1]);
        at += 1;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEAN: &[u8] = include_bytes!("../../../../python/vestig/data/piece_mean.txt");
    const AXES: &[u8] = include_bytes!("../../../../python/vestig/data/piece_axes.txt");

    #[test]
    fn numbers_are_steps_from_minus_a_half() {
        assert_eq!(numbers(b"AAA").unwrap(), [-0.5]);
        assert_eq!(numbers(b"gAAg\nAB").unwrap(), [0.0, STEP]);
        assert_eq!(numbers(b"///").unwrap(), [0.5 - STEP]);
        assert!(numbers(b"gA").is_err() && numbers(b"gA=").is_err());
    }

    #[test]
    fn halves_go_to_the_even_number() {
        for (value, wanted) in [
            (0.5, 0.0),
            (1.5, 2.0),
            (-2.5, -2.0),
            (6.4999, 6.0),
            (-7.0, -7.0),
        ] {
            assert_eq!(nearest(value), wanted);
            assert_eq!(nearest(value), f64::round_ties_even(value));
        }
    }

    #[test]
    fn axes_of_other_numbers_are_refused() {
        assert!(PieceAxes::new(MEAN, AXES).is_ok());
        assert!(PieceAxes::new(&MEAN[3..], AXES).is_err());
        assert!(PieceAxes::new(MEAN, &AXES[3..]).is_err());
    }

    #[test]
    fn a_state_at_the_mean_has_no_direction() {
        let mut axes = PieceAxes::new(MEAN, AXES).unwrap();
        axes.mean = [0.0; HIDDEN];
        let hidden = [[0.0; HIDDEN]];
        assert_eq!(axes.codes(&hidden), [0; CODE_BYTES]);
        let query = axes.query(vec![7], &hidden).unwrap();
        assert_eq!(
            (query.codes(), query.steps()),
            (&[[0; CODE_BITS]][..], &[0.0][..])
        );
        assert!(axes.query(vec![], &[]).is_err() && axes.query(vec![], &hidden).is_err());
    }
}
