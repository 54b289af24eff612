//! Run-time choice of the instruction level: with `map` the only `unsafe` code of the crate.
//!
//! Three kinds of unsafe operations live here, each with one reason why it is sound:
//! * calling a function compiled for an instruction set: a [`Level`] other than portable can only
//!   be obtained after the processor was asked for every feature its functions name;
//! * loads and stores of vectors: they go through pointers of arrays whose length is that of the
//!   vector, so each lies inside of its array; unaligned ones are used throughout;
//! * one instruction as assembler: it reads and writes registers alone.
//!
//! The float lane loop is generic code compiled several times. Compilers never reorder or fuse
//! float operations on their own, so each copy computes the same bits.

use std::ops::Range;
use std::sync::OnceLock;

use super::byte_runs::{self, STEP, Sieve};
use super::dot::{dot_lanes, dot_rows_lanes, dot_unit_lanes};
use super::encoder::{Layer, Portable, States, layer_lanes};
#[cfg(target_arch = "x86_64")]
use super::encoder::{Sums, TILE_ROWS_MAX, Tile};
use super::max_sim::{Lanes, Token, most_lanes};
use super::piece_codes::Pieces;
use super::quantised::{BLOCK, QuantisedQuery, dots_lanes};
use super::tiles::{COARSE_PROBES, Probe, coarse_lanes, tile_lanes};

#[cfg(target_arch = "x86_64")]
mod x86;

/// An instruction level that this machine has. Higher levels only run faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    #[cfg(target_arch = "x86_64")]
    Avx512Vnni,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Sse2,
    #[cfg(target_arch = "aarch64")]
    Neon,
    Portable,
}

impl Level {
    /// The level every machine has.
    pub const PORTABLE: Self = Self(Kind::Portable);

    /// The levels of this machine, best first, ending with portable.
    pub fn available() -> Vec<Self> {
        let mut levels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = std::is_x86_feature_detected!("avx2")
                && std::is_x86_feature_detected!("bmi2")
                && std::is_x86_feature_detected!("f16c");
            let avx512 = avx2
                && std::is_x86_feature_detected!("avx512f")
                && std::is_x86_feature_detected!("avx512bw");
            let vnni = std::is_x86_feature_detected!("avx512vnni");
            if avx512 && vnni {
                levels.push(Self(Kind::Avx512Vnni));
            }
            if avx512 {
                levels.push(Self(Kind::Avx512));
            }
            if avx2 {
                levels.push(Self(Kind::Avx2));
            }
            levels.push(Self(Kind::Sse2));
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            levels.push(Self(Kind::Neon));
        }
        levels.push(Self::PORTABLE);
        levels
    }

    /// The best level of this machine; detected once per process.
    #[inline]
    pub fn best() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| Self::available().first().copied().unwrap_or(Self::PORTABLE))
    }

    /// The level of that name, if this machine has it.
    pub fn named(name: &str) -> Option<Self> {
        Self::available()
            .into_iter()
            .find(|level| level.name() == name)
    }

    /// `avx512-vnni`, `avx512`, `avx2`, `sse2`, `neon` or `portable`.
    pub const fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512Vnni => "avx512-vnni",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Kind::Sse2 => "sse2",
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => "neon",
            Kind::Portable => "portable",
        }
    }
}

/// Names of [`Level::available`], best first; always ends with `portable`.
pub fn levels() -> Vec<&'static str> {
    Level::available().into_iter().map(Level::name).collect()
}

/// Dot product by one level.
#[inline]
pub(crate) fn dot(level: Level, x: &[f32], y: &[f32]) -> f32 {
    match level.0 {
        // SAFETY: the level says that the processor has avx512f.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512Vnni | Kind::Avx512 => unsafe { x86::dot_avx512(x, y) },
        // SAFETY: the level says that the processor has avx2.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 => unsafe { x86::dot_avx2(x, y) },
        // SAFETY: the level says that the processor has neon.
        #[cfg(target_arch = "aarch64")]
        Kind::Neon => unsafe { arm::dot_neon(x, y) },
        #[cfg(target_arch = "x86_64")]
        Kind::Sse2 => dot_lanes(x, y),
        Kind::Portable => dot_lanes(x, y),
    }
}

/// See [`byte_runs::next_block`], by one level.
#[inline]
pub(crate) fn next_block<const W: usize, const S: usize>(
    level: Level,
    sieve: Sieve<'_>,
    data: &[u8],
) -> Option<usize> {
    match level.0 {
        // SAFETY: the level says that the processor has avx2 and bmi2.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512Vnni | Kind::Avx512 | Kind::Avx2 => unsafe {
            x86::next_block_avx2::<W, S>(sieve, data)
        },
        _ => byte_runs::next_block::<W, S>(sieve, data),
    }
}

/// See [`byte_runs::next_pair`], by one level.
#[inline]
pub(crate) fn next_pair(
    level: Level,
    starts: &[[u8; STEP]],
    ends: &[[u8; STEP]],
    pair: (u8, u8),
) -> Option<usize> {
    match level.0 {
        // SAFETY: the level says that the processor has avx2.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512Vnni | Kind::Avx512 | Kind::Avx2 => unsafe {
            x86::next_pair_avx2(starts, ends, pair)
        },
        _ => byte_runs::next_pair(starts, ends, pair),
    }
}

/// Dot product with a vector divided by its length by one level.
#[inline]
pub(crate) fn dot_unit(level: Level, query: &[f32], v: &[f32], length: f64) -> f32 {
    match level.0 {
        // SAFETY: the level says that the processor has avx512f.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512Vnni | Kind::Avx512 => unsafe { x86::dot_unit_avx512(query, v, length) },
        // SAFETY: the level says that the processor has avx2.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 => unsafe { x86::dot_unit_avx2(query, v, length) },
        // SAFETY: the level says that the processor has neon.
        #[cfg(target_arch = "aarch64")]
        Kind::Neon => unsafe { arm::dot_unit_neon(query, v, length) },
        #[cfg(target_arch = "x86_64")]
        Kind::Sse2 => dot_unit_lanes(query, v, length),
        Kind::Portable => dot_unit_lanes(query, v, length),
    }
}

/// Dot products with consecutive rows by one level.
#[inline]
pub(crate) fn dot_rows(level: Level, query: &[f32], rows: &[f32], stride: usize, out: &mut [f32]) {
    match level.0 {
        // SAFETY: the level says that the processor has avx512f.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512Vnni | Kind::Avx512 => unsafe {
            x86::dot_rows_avx512(query, rows, stride, out)
        },
        // SAFETY: the level says that the processor has avx2.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 => unsafe { x86::dot_rows_avx2(query, rows, stride, out) },
        // SAFETY: the level says that the processor has neon.
        #[cfg(target_arch = "aarch64")]
        Kind::Neon => unsafe { arm::dot_rows_neon(query, rows, stride, out) },
        #[cfg(target_arch = "x86_64")]
        Kind::Sse2 => dot_rows_lanes(query, rows, stride, out, |_| ()),
        Kind::Portable => dot_rows_lanes(query, rows, stride, out, |_| ()),
    }
}

/// Integer dot products of up to [`BLOCK`] rows of codes by one level; see `quantised`.
#[inline]
pub(crate) fn dots(level: Level, query: &QuantisedQuery, codes: &[i8], out: &mut [i32; BLOCK]) {
    match level.0 {
        // SAFETY: the level says that the processor has avx512f, avx512bw and avx512vnni.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512Vnni => unsafe { x86::dots_vnni(query, codes, out) },
        // SAFETY: the level says that the processor has avx2.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 | Kind::Avx2 => unsafe { x86::dots_avx2(query, codes, out) },
        // SAFETY: the level says that the processor has neon.
        #[cfg(target_arch = "aarch64")]
        Kind::Neon => unsafe { arm::dots_neon(query, codes, out) },
        #[cfg(target_arch = "x86_64")]
        Kind::Sse2 => dots_lanes(query, codes, out),
        Kind::Portable => dots_lanes(query, codes, out),
    }
}

/// Integer products of 8-bit probes with rows of their length by one level; see `tiles`.
#[inline]
pub(crate) fn tile<const P: usize>(
    level: Level,
    probes: &[&Probe; P],
    codes: &[i8],
    out: &mut [i32],
) {
    match level.0 {
        // SAFETY: the level says that the processor has avx512f, avx512bw and avx512vnni.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512Vnni => unsafe { x86::tile_vnni(probes, codes, out) },
        // SAFETY: the level says that the processor has avx2.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 | Kind::Avx2 => unsafe { x86::tile_avx2(probes, codes, out) },
        // SAFETY: the level says that the processor has neon.
        #[cfg(target_arch = "aarch64")]
        Kind::Neon => unsafe { arm::tile_neon(probes, codes, out) },
        #[cfg(target_arch = "x86_64")]
        Kind::Sse2 => tile_lanes(probes, codes, out),
        Kind::Portable => tile_lanes(probes, codes, out),
    }
}

/// Returns whether the products of coarse codes take less time than those of whole ones.
pub(crate) const fn coarse_pays(level: Level) -> bool {
    match level.0 {
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 | Kind::Avx2 => true,
        _ => false,
    }
}

/// Integer products of 8-bit probes with rows of codes from 0 to 15 by one level; see `tiles`.
#[inline]
pub(crate) fn coarse(
    level: Level,
    probes: &[&Probe; COARSE_PROBES],
    codes: &[u8],
    out: &mut [i32],
) {
    match level.0 {
        // SAFETY: the level says that the processor has avx2.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512Vnni | Kind::Avx512 | Kind::Avx2 => unsafe {
            x86::coarse_avx2(probes, codes, out);
        },
        _ => coarse_lanes(probes, codes, out),
    }
}

/// Raises the lanes of each token by the codes of a memory by one level; see `max_sim`.
#[inline]
pub(crate) fn most(level: Level, tokens: &[Token], pieces: Pieces<'_>, lanes: &mut [Lanes]) {
    match level.0 {
        // SAFETY: the level says that the processor has avx512f and avx512bw.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512Vnni | Kind::Avx512 => unsafe { x86::most_avx512(tokens, pieces, lanes) },
        // SAFETY: the level says that the processor has avx2 and f16c.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 => unsafe { x86::most_avx2(tokens, pieces, lanes) },
        // SAFETY: the level says that the processor has neon.
        #[cfg(target_arch = "aarch64")]
        Kind::Neon => unsafe { arm::most_neon(tokens, pieces, lanes) },
        #[cfg(target_arch = "x86_64")]
        Kind::Sse2 => most_lanes(tokens, pieces, lanes),
        Kind::Portable => most_lanes(tokens, pieces, lanes),
    }
}

/// One layer of the encoder by one level; see `encoder`.
pub(crate) fn encoder_layer(
    level: Level,
    layer: &Layer<'_>,
    texts: &[Range<usize>],
    states: &mut States,
) {
    match level.0 {
        // SAFETY: the level says that the processor has avx512f, avx512bw and avx512vnni.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512Vnni => unsafe { x86::encoder_layer_vnni(layer, texts, states) },
        // SAFETY: the level says that the processor has avx512f and avx512bw.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 => unsafe { x86::encoder_layer_avx512(layer, texts, states) },
        // SAFETY: the level says that the processor has avx2.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 => unsafe { x86::encoder_layer_avx2(layer, texts, states) },
        // SAFETY: the level says that the processor has neon.
        #[cfg(target_arch = "aarch64")]
        Kind::Neon => unsafe { arm::encoder_layer_neon(layer, texts, states) },
        #[cfg(target_arch = "x86_64")]
        Kind::Sse2 => layer_lanes::<x86::Sse2>(layer, texts, states),
        Kind::Portable => layer_lanes::<Portable>(layer, texts, states),
    }
}

/// The sums of as many rows of codes as a tile of a level has; how many these are.
#[cfg(test)]
pub(crate) fn encoder_sums(
    level: Level,
    codes: &[i16],
    blocks: &[[i8; 64]],
    sums: &mut Sums,
) -> usize {
    fn of<T: Tile>(codes: &[i16], blocks: &[[i8; 64]], sums: &mut Sums) -> usize {
        let rows = (codes.len() / (4 * blocks.len())).min(T::ROWS);
        T::sums(&codes[..rows * 4 * blocks.len()], blocks, sums);
        rows
    }
    match level.0 {
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512Vnni => of::<x86::Vnni>(codes, blocks, sums),
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 => of::<x86::Avx512>(codes, blocks, sums),
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 => of::<x86::Avx2>(codes, blocks, sums),
        #[cfg(target_arch = "x86_64")]
        Kind::Sse2 => of::<x86::Sse2>(codes, blocks, sums),
        #[cfg(target_arch = "aarch64")]
        Kind::Neon => of::<Portable>(codes, blocks, sums),
        Kind::Portable => of::<Portable>(codes, blocks, sums),
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::{
        BLOCK, Lanes, Layer, Pieces, Portable, Probe, QuantisedQuery, Range, States, Token,
        dot_lanes, dot_rows_lanes, dot_unit_lanes, dots_lanes, layer_lanes, most_lanes, tile_lanes,
    };

    #[target_feature(enable = "neon")]
    pub fn encoder_layer_neon(layer: &Layer<'_>, texts: &[Range<usize>], states: &mut States) {
        layer_lanes::<Portable>(layer, texts, states);
    }

    #[target_feature(enable = "neon")]
    pub fn most_neon(tokens: &[Token], pieces: Pieces<'_>, lanes: &mut [Lanes]) {
        most_lanes(tokens, pieces, lanes);
    }

    #[target_feature(enable = "neon")]
    pub fn tile_neon<const P: usize>(probes: &[&Probe; P], codes: &[i8], out: &mut [i32]) {
        tile_lanes(probes, codes, out);
    }

    #[target_feature(enable = "neon")]
    pub fn dot_neon(x: &[f32], y: &[f32]) -> f32 {
        dot_lanes(x, y)
    }

    #[target_feature(enable = "neon")]
    pub fn dot_unit_neon(query: &[f32], v: &[f32], length: f64) -> f32 {
        dot_unit_lanes(query, v, length)
    }

    #[target_feature(enable = "neon")]
    pub fn dot_rows_neon(query: &[f32], rows: &[f32], stride: usize, out: &mut [f32]) {
        dot_rows_lanes(query, rows, stride, out, |_| ());
    }

    #[target_feature(enable = "neon")]
    pub fn dots_neon(query: &QuantisedQuery, codes: &[i8], out: &mut [i32; BLOCK]) {
        dots_lanes(query, codes, out);
    }
}
