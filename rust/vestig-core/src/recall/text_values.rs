//! Values that follow from what a row keeps of its text (`words::text_flags`).

use std::sync::OnceLock;

use crate::kernels::math;
use crate::words::flag;

/// Lengths of texts that are told apart.
const LENGTHS: usize = flag::LENGTH as usize + 1;
/// Code points from which a text is long.
const LONG: f64 = 300.0;
/// Content words from which a text is not short at all.
const CONTENT_WORDS: f64 = 8.0;

/// 1 − content words / 8, at least 0.
pub(super) fn shortness(features: u32) -> f64 {
    let words = features >> flag::CONTENT_AT & flag::CONTENT_MAX;
    (1.0 - f64::from(words) / CONTENT_WORDS).max(0.0)
}

/// Returns whether the text ends with a question mark.
pub(super) fn asks(features: u32) -> bool {
    features & flag::QUESTION != 0
}

/// The shortness of a question, at least ½ where it states nothing beside; 0 of all else.
pub(super) fn question_value(features: u32) -> f64 {
    if features & flag::ASKS != 0 {
        shortness(features).max(0.5)
    } else if asks(features) {
        shortness(features)
    } else {
        0.0
    }
}

/// ln((1 + code points) / 300), at least 0.
pub(super) fn long_value(features: u32) -> f64 {
    static VALUES: OnceLock<[f64; LENGTHS]> = OnceLock::new();
    let of = |length: usize| math::ln((1.0 + length as f64) / LONG).max(0.0);
    VALUES.get_or_init(|| std::array::from_fn(of))[(features & flag::LENGTH) as usize % LENGTHS]
}
