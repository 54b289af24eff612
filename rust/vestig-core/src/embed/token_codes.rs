//! Token vectors for late interaction (Khattab and Zaharia, ColBERT, 2020), made from last hidden
//! states: projected to 64 dimensions by random signs (Achlioptas, Database-friendly random
//! projections, 2003) and quantised to 8 bits.

use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use super::weights::HIDDEN;
pub use crate::kernels::token_vectors::{PIECE_LANES, PIECES_MAX};

const NAME: &[u8] = b"vestig-late-1";
const CODE_MAX: f32 = 127.0;

type Signs = [[f32; PIECE_LANES]; HIDDEN];

/// The fixed sign matrix: row r takes the bits, highest first, of SHA-256 over `vestig-late-1`,
/// 0x00, decimal r, 0x00, `0`; 1 is +1, 0 is −1.
fn signs() -> &'static Signs {
    static SIGNS: OnceLock<Box<Signs>> = OnceLock::new();
    SIGNS.get_or_init(|| {
        let mut matrix = Box::new([[0.0; PIECE_LANES]; HIDDEN]);
        for (number, row) in matrix.iter_mut().enumerate() {
            let mut drawn = Sha256::new_with_prefix(NAME);
            drawn.update(format!("\0{number}\00"));
            let bits: [u8; 32] = drawn.finalize().into();
            for (at, sign) in row.iter_mut().enumerate() {
                let bit = bits[at / 8] >> (7 - at % 8) & 1;
                *sign = if bit == 1 { 1.0 } else { -1.0 };
            }
        }
        matrix
    })
}

/// Codes and scales of the first 160 word pieces: vectors of unit length, `PIECE_LANES` codes a
/// piece, value = code · scale. A row of zeros has codes and scale 0.
///
/// Lanes run over the 64 dimensions; the 384 terms of each are added in order, none of them fused.
#[must_use]
pub fn token_codes(hidden: &[[f32; HIDDEN]]) -> (Vec<i8>, Vec<f32>) {
    let hidden = &hidden[..hidden.len().min(PIECES_MAX)];
    let mut codes = Vec::with_capacity(hidden.len() * PIECE_LANES);
    let mut scales = Vec::with_capacity(hidden.len());
    for row in hidden {
        let mut unit = [0.0_f32; PIECE_LANES];
        for (value, signs) in row.iter().zip(signs()) {
            for (sum, sign) in unit.iter_mut().zip(signs) {
                *sum += value * sign;
            }
        }
        let squares = |sum: f64, value: &f32| sum + f64::from(*value) * f64::from(*value);
        let length = unit.iter().fold(0.0, squares).sqrt() as f32;
        if length > 0.0 {
            unit = unit.map(|value| value / length);
        }
        let most = unit
            .iter()
            .fold(0.0, |most: f32, value| most.max(value.abs()));
        let scale = most / CODE_MAX;
        let code = |value: f32| {
            if scale > 0.0 {
                // At most 127 in size, up to one rounding.
                (value / scale).round_ties_even() as i8
            } else {
                0
            }
        };
        codes.extend(unit.map(code));
        scales.push(scale);
    }
    (codes, scales)
}
