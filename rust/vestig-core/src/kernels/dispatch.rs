//! Run-time choice of the instruction level: with `map` the only `unsafe` code of the crate.
//!
//! Two kinds of unsafe operations live here, each with one reason why it is sound:
//! * calling a function compiled for an instruction set: a [`Level`] other than portable can only
//!   be obtained after the processor was asked for every feature its functions name;
//! * loads of the integer kernels: they read through pointers of arrays taken from slices by
//!   `as_chunks`, so each load lies inside of its array; unaligned loads are used throughout.
//!
//! The float lane loop is generic code compiled several times. Compilers never reorder or fuse
//! float operations on their own, so each copy computes the same bits.

use std::sync::OnceLock;

use super::dot::{dot_lanes, dot_rows_lanes};
use super::quantised::{BLOCK, QuantisedQuery, dots_lanes};
use super::tiles::{Probe, tile_lanes};

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
            let avx2 = std::is_x86_feature_detected!("avx2");
            let avx512 = avx2 && std::is_x86_feature_detected!("avx512f");
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
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            levels.push(Self(Kind::Neon));
        }
        levels.push(Self::PORTABLE);
        levels
    }

    /// The best level of this machine; asked once per process.
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

    /// `avx512-vnni`, `avx512`, `avx2`, `neon` or `portable`.
    pub const fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512Vnni => "avx512-vnni",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2",
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
        Kind::Portable => dot_lanes(x, y),
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
        Kind::Portable => dot_rows_lanes(query, rows, stride, out, |_| ()),
    }
}

/// Integer dot products of up to [`BLOCK`] rows of codes by one level; see `quantised`.
#[inline]
pub(crate) fn dots(level: Level, query: &QuantisedQuery, codes: &[i8], out: &mut [i32; BLOCK]) {
    match level.0 {
        // SAFETY: the level says that the processor has avx512f and avx512vnni.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512Vnni => unsafe { x86::dots_vnni(query, codes, out) },
        // SAFETY: the level says that the processor has avx2.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 | Kind::Avx2 => unsafe { x86::dots_avx2(query, codes, out) },
        // SAFETY: the level says that the processor has neon.
        #[cfg(target_arch = "aarch64")]
        Kind::Neon => unsafe { arm::dots_neon(query, codes, out) },
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
        // SAFETY: the level says that the processor has avx512f and avx512vnni.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512Vnni => unsafe { x86::tile_vnni(probes, codes, out) },
        // SAFETY: the level says that the processor has avx2.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 | Kind::Avx2 => unsafe { x86::tile_avx2(probes, codes, out) },
        // SAFETY: the level says that the processor has neon.
        #[cfg(target_arch = "aarch64")]
        Kind::Neon => unsafe { arm::tile_neon(probes, codes, out) },
        Kind::Portable => tile_lanes(probes, codes, out),
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::{BLOCK, Probe, QuantisedQuery, dot_lanes, dot_rows_lanes, dots_lanes, tile_lanes};

    #[target_feature(enable = "neon")]
    pub fn tile_neon<const P: usize>(probes: &[&Probe; P], codes: &[i8], out: &mut [i32]) {
        tile_lanes(probes, codes, out);
    }

    #[target_feature(enable = "neon")]
    pub fn dot_neon(x: &[f32], y: &[f32]) -> f32 {
        dot_lanes(x, y)
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

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{BLOCK, Probe, QuantisedQuery, dot_lanes, dot_rows_lanes, tile_lanes};

    #[target_feature(enable = "avx2")]
    pub fn tile_avx2<const P: usize>(probes: &[&Probe; P], codes: &[i8], out: &mut [i32]) {
        tile_lanes(probes, codes, out);
    }

    /// Codes of rows are shifted to 0 … 255: Σ ck = Σ(c+128)k − 128·Σk. A row is loaded once for
    /// all probes.
    #[target_feature(enable = "avx512f,avx512vnni")]
    pub fn tile_vnni<const P: usize>(probes: &[&Probe; P], codes: &[i8], out: &mut [i32]) {
        let stride = probes[0].codes().len();
        let rows = codes.len() / stride;
        let shift = _mm512_set1_epi8(-128);
        let lines: [&[[i8; 64]]; P] = std::array::from_fn(|p| probes[p].codes().as_chunks().0);
        let lines = lines.map(|of| &of[..stride / 64]);
        for (r, row) in codes.chunks_exact(stride).enumerate() {
            let (blocks, _) = row.as_chunks::<64>();
            prefetch::<i8, 64>(row);
            let mut sums = [_mm512_setzero_si512(); P];
            for (i, block) in blocks.iter().enumerate() {
                // SAFETY: `block` is 64 bytes long.
                let a = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
                let a = _mm512_xor_si512(a, shift);
                for (sum, lines) in sums.iter_mut().zip(&lines) {
                    // SAFETY: a line is 64 bytes long.
                    let k = unsafe { _mm512_loadu_si512(lines[i].as_ptr().cast()) };
                    *sum = _mm512_dpbusd_epi32(*sum, a, k);
                }
            }
            let (fours, ones) = sums.as_chunks::<4>();
            for (j, four) in fours.iter().enumerate() {
                let four = fold_four(four);
                for (k, dot) in four.into_iter().enumerate() {
                    let p = 4 * j + k;
                    out[p * rows + r] = dot.wrapping_sub(probes[p].sum().wrapping_mul(128));
                }
            }
            for (p, sum) in ones.iter().enumerate() {
                let p = 4 * fours.len() + p;
                let dot = _mm512_reduce_add_epi32(*sum);
                out[p * rows + r] = dot.wrapping_sub(probes[p].sum().wrapping_mul(128));
            }
        }
    }

    /// The sums of the lanes of four registers.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn fold_four(sums: &[__m512i; 4]) -> [i32; 4] {
        let [a, b, c, d] = sums.map(|sum| {
            let upper = _mm512_extracti64x4_epi64::<1>(sum);
            _mm256_add_epi32(_mm512_castsi512_si256(sum), upper)
        });
        let pairs = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
        let upper = _mm256_extracti128_si256::<1>(pairs);
        let folded = _mm_add_epi32(_mm256_castsi256_si128(pairs), upper);
        [
            _mm_cvtsi128_si32(folded),
            _mm_cvtsi128_si32(_mm_shuffle_epi32::<1>(folded)),
            _mm_cvtsi128_si32(_mm_shuffle_epi32::<2>(folded)),
            _mm_cvtsi128_si32(_mm_shuffle_epi32::<3>(folded)),
        ]
    }

    /// How far ahead of a row the memory is asked for, in bytes; chosen by measurement.
    const AHEAD: usize = 2048;

    /// Asks for the cache lines `AHEAD` bytes behind `row`. LINE = values per cache line.
    /// A prefetch never faults and reads nothing, so the address may lie behind the array.
    #[inline]
    #[target_feature(enable = "sse")]
    fn prefetch<T, const LINE: usize>(row: &[T]) {
        for line in row.chunks(LINE) {
            _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast::<i8>().wrapping_byte_add(AHEAD));
        }
    }

    #[target_feature(enable = "avx512f")]
    pub fn dot_avx512(x: &[f32], y: &[f32]) -> f32 {
        dot_lanes(x, y)
    }

    #[target_feature(enable = "avx512f")]
    pub fn dot_rows_avx512(query: &[f32], rows: &[f32], stride: usize, out: &mut [f32]) {
        dot_rows_lanes(query, rows, stride, out, |row| prefetch::<f32, 16>(row));
    }

    #[target_feature(enable = "avx2")]
    pub fn dot_avx2(x: &[f32], y: &[f32]) -> f32 {
        dot_lanes(x, y)
    }

    #[target_feature(enable = "avx2")]
    pub fn dot_rows_avx2(query: &[f32], rows: &[f32], stride: usize, out: &mut [f32]) {
        dot_rows_lanes(query, rows, stride, out, |row| prefetch::<f32, 16>(row));
    }

    /// Codes are widened to 16 bits, multiplied by the 16-bit query and added in pairs.
    #[target_feature(enable = "avx2")]
    pub fn dots_avx2(query: &QuantisedQuery, codes: &[i8], out: &mut [i32; BLOCK]) {
        for (row, value) in codes.chunks_exact(query.stride()).zip(out) {
            let (blocks, _) = row.as_chunks::<64>();
            prefetch::<i8, 64>(row);
            let mut sum = _mm256_setzero_si256();
            for (block, line) in blocks.iter().zip(query.lines()) {
                let (c, _) = block.as_chunks::<16>();
                let (q, _) = line.codes.as_chunks::<16>();
                for (a, b) in c.iter().zip(q) {
                    // SAFETY: `a` is 16 bytes and `b` 32 bytes long.
                    let (a, b) = unsafe {
                        (
                            _mm_loadu_si128(a.as_ptr().cast()),
                            _mm256_loadu_si256(b.as_ptr().cast()),
                        )
                    };
                    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_cvtepi8_epi16(a), b));
                }
            }
            let half = _mm_add_epi32(
                _mm256_castsi256_si128(sum),
                _mm256_extracti128_si256::<1>(sum),
            );
            let pair = _mm_add_epi32(half, _mm_unpackhi_epi64(half, half));
            let one = _mm_add_epi32(pair, _mm_shuffle_epi32::<1>(pair));
            *value = _mm_cvtsi128_si32(one);
        }
    }

    /// Codes are shifted to 0 … 255 (the instruction multiplies unsigned by signed bytes) and
    /// multiplied by the query's high and low bytes: Σ cq = 256·Σ(c+128)h + Σ(c+128)l − 128·Σq.
    /// Sums wrap around, the result fits (see `QuantisedQuery`), so it is exact.
    #[target_feature(enable = "avx512f,avx512vnni")]
    pub fn dots_vnni(query: &QuantisedQuery, codes: &[i8], out: &mut [i32; BLOCK]) {
        let shift = _mm512_set1_epi8(-128);
        let correction = query.sum().wrapping_mul(128);
        for (row, value) in codes.chunks_exact(query.stride()).zip(out) {
            let (blocks, _) = row.as_chunks::<64>();
            prefetch::<i8, 64>(row);
            let mut highs = _mm512_setzero_si512();
            let mut lows = _mm512_setzero_si512();
            for (block, line) in blocks.iter().zip(query.lines()) {
                // SAFETY: all three arrays are 64 bytes long.
                let (a, h, l) = unsafe {
                    (
                        _mm512_loadu_si512(block.as_ptr().cast()),
                        _mm512_loadu_si512(line.high.as_ptr().cast()),
                        _mm512_loadu_si512(line.low.as_ptr().cast()),
                    )
                };
                let a = _mm512_xor_si512(a, shift);
                highs = _mm512_dpbusd_epi32(highs, a, h);
                lows = _mm512_dpbusd_epi32(lows, a, l);
            }
            let sums = _mm512_add_epi32(_mm512_slli_epi32::<8>(highs), lows);
            *value = _mm512_reduce_add_epi32(sums).wrapping_sub(correction);
        }
    }
}
