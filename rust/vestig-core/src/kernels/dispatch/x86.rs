//! The kernels for x86-64: part of `dispatch`, whose first lines say why they are sound.

use std::arch::x86_64::*;
use std::array::{from_mut, from_ref};

use super::{BLOCK, Lanes, Layer, Pieces, Probe, QuantisedQuery, Range, States, Sums, Token};
use super::{TILE_ROWS_MAX, Tile, dot_lanes, dot_rows_lanes, dot_unit_lanes, layer_lanes};
use crate::kernels::byte_runs::{self, STEP, Sieve};
use crate::kernels::max_sim::{NIBBLES, ROWS, SHIFT};
use crate::kernels::piece_codes::Signs;

/// Sixteen values; where there are fewer, the first one fills up, which changes no maximum.
#[inline(always)]
fn filled<T: Copy>(values: &[T]) -> [T; ROWS] {
    let mut all = [values[0]; ROWS];
    all[..values.len()].copy_from_slice(values);
    all
}

/// Bytes n of sixteen codes in the lower half of vector n, bytes n + 16 in the upper one.
#[target_feature(enable = "avx2")]
fn by_byte(rows: &[Signs; ROWS]) -> [__m256i; ROWS] {
    let mut now = [_mm256_setzero_si256(); ROWS];
    for (now, signs) in now.iter_mut().zip(rows) {
        // SAFETY: a code has 32 bytes of signs.
        *now = unsafe { _mm256_loadu_si256(signs.as_ptr().cast()) };
    }
    // Each round interleaves rows that are half of them apart; four rounds transpose 16 × 16.
    for _ in 0..4 {
        let mut next = now;
        for i in 0..ROWS / 2 {
            next[2 * i] = _mm256_unpacklo_epi8(now[i], now[i + ROWS / 2]);
            next[2 * i + 1] = _mm256_unpackhi_epi8(now[i], now[i + ROWS / 2]);
        }
        now = next;
    }
    now
}

/// Four bits of sixteen codes look up their sum at once.
#[target_feature(enable = "avx2,f16c")]
pub fn most_avx2(tokens: &[Token], pieces: Pieces<'_>, lanes: &mut [Lanes]) {
    for (signs, scales) in pieces.signs.chunks(ROWS).zip(pieces.scales.chunks(ROWS)) {
        match (signs.as_array(), scales.as_array()) {
            (Some(rows), Some(scales)) => most_of_block_avx2(tokens, rows, scales, lanes),
            _ => most_of_block_avx2(tokens, &filled(signs), &filled(scales), lanes),
        }
    }
}

#[target_feature(enable = "avx2,f16c")]
fn most_of_block_avx2(
    tokens: &[Token],
    rows: &[Signs; ROWS],
    scales: &[u16; ROWS],
    lanes: &mut [Lanes],
) {
    let low = _mm256_set1_epi8(0x0F);
    let mut nibbles = [_mm256_setzero_si256(); NIBBLES / 2];
    for (pair, bytes) in nibbles.as_chunks_mut::<2>().0.iter_mut().zip(by_byte(rows)) {
        pair[0] = _mm256_and_si256(bytes, low);
        pair[1] = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low);
    }
    let mut values = [_mm256_setzero_ps(); ROWS / 8];
    for (values, scales) in values.iter_mut().zip(scales.as_chunks::<8>().0) {
        // SAFETY: eight numbers of 16 bits.
        *values = _mm256_cvtph_ps(unsafe { _mm_loadu_si128(scales.as_ptr().cast()) });
    }
    // Two tokens share what is loaded of the codes.
    let (pairs, last) = tokens.as_chunks::<2>();
    let (pair_lanes, last_lanes) = lanes.as_chunks_mut::<2>();
    for (pair, lanes) in pairs.iter().zip(pair_lanes) {
        raise_avx2(pair, &nibbles, &values, lanes);
    }
    for (token, lanes) in last.iter().zip(last_lanes) {
        raise_avx2(from_ref(token), &nibbles, &values, from_mut(lanes));
    }
}

/// Raises the lanes of some tokens by the nibbles and scales of one block.
#[target_feature(enable = "avx2")]
fn raise_avx2<const N: usize>(
    tokens: &[Token; N],
    nibbles: &[__m256i; NIBBLES / 2],
    scales: &[__m256; ROWS / 8],
    lanes: &mut [Lanes; N],
) {
    // Sums of two bytes as one number, and those of the odd bytes.
    let zero = [_mm256_setzero_si256(); N];
    let (mut both, mut odd) = (zero, zero);
    for (at, four) in nibbles.as_chunks::<4>().0.iter().enumerate() {
        let mut sums = zero;
        for (i, nibble) in four.iter().enumerate() {
            for (sum, token) in sums.iter_mut().zip(tokens) {
                let pair = &token.sums.as_chunks::<2>().0[4 * at + i];
                // SAFETY: two tables of 16 bytes.
                let table = unsafe { _mm256_loadu_si256(pair.as_ptr().cast()) };
                // At most 4 · 2 · SHIFT, which is below 256.
                *sum = _mm256_add_epi8(*sum, _mm256_shuffle_epi8(table, *nibble));
            }
        }
        for ((both, odd), sum) in both.iter_mut().zip(&mut odd).zip(sums) {
            *both = _mm256_add_epi16(*both, sum);
            *odd = _mm256_add_epi16(*odd, _mm256_srli_epi16::<8>(sum));
        }
    }
    for ((both, odd), lanes) in both.into_iter().zip(odd).zip(lanes) {
        let even = _mm256_sub_epi16(both, _mm256_slli_epi16::<8>(odd));
        let folded = |sum| {
            let halves = _mm_add_epi16(
                _mm256_castsi256_si128(sum),
                _mm256_extracti128_si256::<1>(sum),
            );
            let shift = NIBBLES as i16 * i16::from(SHIFT);
            _mm_sub_epi16(halves, _mm_set1_epi16(shift))
        };
        let (even, odd) = (folded(even), folded(odd));
        let eights = [_mm_unpacklo_epi16(even, odd), _mm_unpackhi_epi16(even, odd)];
        let lanes = lanes.as_chunks_mut::<8>().0.iter_mut();
        for ((eight, scales), lanes) in eights.into_iter().zip(scales).zip(lanes) {
            let whole = _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(eight));
            let value = _mm256_mul_ps(*scales, whole);
            // SAFETY: eight numbers of 32 bits, twice.
            unsafe {
                let most = _mm256_max_ps(value, _mm256_loadu_ps(lanes.as_ptr()));
                _mm256_storeu_ps(lanes.as_mut_ptr(), most);
            }
        }
    }
}

/// Like `most_avx2`, with the four tables of bytes n and n + 16 at once.
#[target_feature(enable = "avx512f,avx512bw")]
pub fn most_avx512(tokens: &[Token], pieces: Pieces<'_>, lanes: &mut [Lanes]) {
    for (signs, scales) in pieces.signs.chunks(ROWS).zip(pieces.scales.chunks(ROWS)) {
        match (signs.as_array(), scales.as_array()) {
            (Some(rows), Some(scales)) => most_of_block_avx512(tokens, rows, scales, lanes),
            _ => most_of_block_avx512(tokens, &filled(signs), &filled(scales), lanes),
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn most_of_block_avx512(
    tokens: &[Token],
    rows: &[Signs; ROWS],
    scales: &[u16; ROWS],
    lanes: &mut [Lanes],
) {
    let low = _mm256_set1_epi8(0x0F);
    let mut nibbles = [_mm512_setzero_si512(); ROWS];
    for (nibbles, bytes) in nibbles.iter_mut().zip(by_byte(rows)) {
        let lower = _mm512_castsi256_si512(_mm256_and_si256(bytes, low));
        let higher = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low);
        *nibbles = _mm512_inserti64x4::<1>(lower, higher);
    }
    // SAFETY: sixteen numbers of 16 bits.
    let scales = _mm512_cvtph_ps(unsafe { _mm256_loadu_si256(scales.as_ptr().cast()) });
    for (token, lanes) in tokens.iter().zip(lanes) {
        // Sums of two bytes as one number, and those of the odd bytes.
        let (mut both, mut odd) = (_mm512_setzero_si512(), _mm512_setzero_si512());
        let fours = nibbles.as_chunks::<4>().0.iter();
        for (nibbles, sums) in fours.zip(token.sums.as_chunks::<16>().0) {
            let mut sum = _mm512_setzero_si512();
            for (nibble, tables) in nibbles.iter().zip(sums.as_chunks::<4>().0) {
                // SAFETY: four tables of 16 bytes.
                let tables = unsafe { _mm512_loadu_si512(tables.as_ptr().cast()) };
                // At most 4 · 2 · SHIFT, which is below 256.
                sum = _mm512_add_epi8(sum, _mm512_shuffle_epi8(tables, *nibble));
            }
            both = _mm512_add_epi16(both, sum);
            odd = _mm512_add_epi16(odd, _mm512_srli_epi16::<8>(sum));
        }
        let even = _mm512_sub_epi16(both, _mm512_slli_epi16::<8>(odd));
        let folded = |sum| {
            let half = _mm256_add_epi16(
                _mm512_castsi512_si256(sum),
                _mm512_extracti64x4_epi64::<1>(sum),
            );
            let quarter = _mm_add_epi16(
                _mm256_castsi256_si128(half),
                _mm256_extracti128_si256::<1>(half),
            );
            let shift = NIBBLES as i16 * i16::from(SHIFT);
            _mm_sub_epi16(quarter, _mm_set1_epi16(shift))
        };
        let (even, odd) = (folded(even), folded(odd));
        let sixteen =
            _mm256_set_m128i(_mm_unpackhi_epi16(even, odd), _mm_unpacklo_epi16(even, odd));
        let whole = _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(sixteen));
        let value = _mm512_mul_ps(scales, whole);
        // SAFETY: sixteen numbers of 32 bits.
        unsafe {
            let most = _mm512_max_ps(value, _mm512_loadu_ps(lanes.as_ptr()));
            _mm512_storeu_ps(lanes.as_mut_ptr(), most);
        }
    }
}

/// Codes of rows are widened to 16 bits as they are loaded, those of probes are kept so: sixteen
/// products are one instruction and one addition. Two rows meet four probes at once, or four rows
/// one.
#[target_feature(enable = "avx2")]
pub fn tile_avx2<const P: usize>(probes: &[&Probe; P], codes: &[i8], out: &mut [i32]) {
    let stride = probes[0].codes().len();
    let rows = codes.len() / stride;
    let (fours, ones) = probes.as_chunks::<4>();
    for (four, out) in fours.iter().zip(out.chunks_mut(4 * rows)) {
        let mut pairs = codes.chunks_exact(2 * stride);
        for (at, pair) in pairs.by_ref().enumerate() {
            let (one, two) = pair.split_at(stride);
            prefetch(pair);
            let [first, second] = small_tile([one, two], four);
            for (p, (first, second)) in fold(&first).into_iter().zip(fold(&second)).enumerate() {
                out[p * rows + 2 * at] = first;
                out[p * rows + 2 * at + 1] = second;
            }
        }
        let last = pairs.remainder();
        if !last.is_empty() {
            let [sums] = small_tile([last], four);
            for (p, sum) in fold(&sums).into_iter().enumerate() {
                out[(p + 1) * rows - 1] = sum;
            }
        }
    }
    let singles = out[fours.len() * 4 * rows..].chunks_mut(rows);
    for (probe, out) in ones.iter().zip(singles) {
        for (four, out) in codes.chunks(4 * stride).zip(out.chunks_mut(4)) {
            prefetch(four);
            let mut sums = [_mm256_setzero_si256(); 4];
            if out.len() == 4 {
                let (a, b) = four.split_at(2 * stride);
                let ((a, b), (c, d)) = (a.split_at(stride), b.split_at(stride));
                for (sum, [own]) in sums.iter_mut().zip(small_tile([a, b, c, d], &[*probe])) {
                    *sum = own;
                }
            } else {
                for (sum, row) in sums.iter_mut().zip(four.chunks_exact(stride)) {
                    [[*sum]] = small_tile([row], &[*probe]);
                }
            }
            out.copy_from_slice(&fold(&sums)[..out.len()]);
        }
    }
}

/// Codes from 0 to 15 meet 8-bit ones: 32 products are one instruction, and the sums of eight such
/// fit 16 bits (8 · 2 · 15 · 127).
#[target_feature(enable = "avx2")]
pub fn coarse_avx2(probes: &[&Probe; 4], codes: &[u8], out: &mut [i32]) {
    let stride = probes[0].codes().len();
    let rows = codes.len() / stride;
    for (at, pair) in codes.chunks(2 * stride).enumerate() {
        // a last single row meets itself
        let one = &pair[..stride];
        let two = &pair[pair.len() - stride..];
        let [first, second] = coarse_pair([one, two], probes);
        let (first, second) = (fold(&first), fold(&second));
        for p in 0..4 {
            out[p * rows + 2 * at] = first[p];
            if pair.len() > stride {
                out[p * rows + 2 * at + 1] = second[p];
            }
        }
    }
}

/// Products of two rows of codes from 0 to 15 with each probe, as eight sums each.
#[inline]
#[target_feature(enable = "avx2")]
fn coarse_pair(rows: [&[u8]; 2], probes: &[&Probe; 4]) -> [[__m256i; 4]; 2] {
    let [one, two] = rows.map(|row| row.as_chunks::<32>().0);
    let lines = one.len();
    let two = &two[..lines];
    let [a, b, c, d] = probes.map(|probe| &probe.codes().as_chunks::<32>().0[..lines]);
    let ones = _mm256_set1_epi16(1);
    let mut sums = [[_mm256_setzero_si256(); 4]; 2];
    for from in (0..lines).step_by(8) {
        let mut small = [[_mm256_setzero_si256(); 4]; 2];
        for i in from..lines.min(from + 8) {
            // SAFETY: each line is 32 bytes long.
            let (n, k) = unsafe {
                (
                    [
                        _mm256_loadu_si256(one[i].as_ptr().cast()),
                        _mm256_loadu_si256(two[i].as_ptr().cast()),
                    ],
                    [
                        _mm256_loadu_si256(a[i].as_ptr().cast()),
                        _mm256_loadu_si256(b[i].as_ptr().cast()),
                        _mm256_loadu_si256(c[i].as_ptr().cast()),
                        _mm256_loadu_si256(d[i].as_ptr().cast()),
                    ],
                )
            };
            for (small, n) in small.iter_mut().zip(&n) {
                for (small, k) in small.iter_mut().zip(&k) {
                    *small = _mm256_add_epi16(*small, _mm256_maddubs_epi16(*n, *k));
                }
            }
        }
        for (sums, small) in sums.iter_mut().zip(&small) {
            for (sum, small) in sums.iter_mut().zip(small) {
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(*small, ones));
            }
        }
    }
    sums
}

/// Products of each row with each probe, as eight sums each. No closures inside: those with
/// instructions of a level are not inlined.
#[inline]
#[target_feature(enable = "avx2")]
fn small_tile<const R: usize, const P: usize>(
    rows: [&[i8]; R],
    probes: &[&Probe; P],
) -> [[__m256i; P]; R] {
    let rows = rows.map(|row| row.as_chunks::<16>().0);
    let lines = rows[0].len();
    let rows = rows.map(|row| &row[..lines]);
    let probes: [&[[i16; 16]]; P] = std::array::from_fn(|p| &probes[p].wide()[..lines]);
    let mut sums = [[_mm256_setzero_si256(); P]; R];
    for i in 0..lines {
        let mut codes = [_mm256_setzero_si256(); R];
        for (codes, row) in codes.iter_mut().zip(&rows) {
            // SAFETY: a line of a row is 16 bytes long.
            *codes = _mm256_cvtepi8_epi16(unsafe { _mm_loadu_si128(row[i].as_ptr().cast()) });
        }
        for (p, probe) in probes.iter().enumerate() {
            // SAFETY: a line of a probe is 32 bytes long.
            let line = unsafe { _mm256_loadu_si256(probe[i].as_ptr().cast()) };
            for (sums, codes) in sums.iter_mut().zip(&codes) {
                sums[p] = _mm256_add_epi32(sums[p], _mm256_madd_epi16(*codes, line));
            }
        }
    }
    sums
}

/// The sums of the lanes of four registers.
#[inline]
#[target_feature(enable = "avx2")]
fn fold([a, b, c, d]: &[__m256i; 4]) -> [i32; 4] {
    let pairs = _mm256_hadd_epi32(_mm256_hadd_epi32(*a, *b), _mm256_hadd_epi32(*c, *d));
    let upper = _mm256_extracti128_si256::<1>(pairs);
    let folded = _mm_add_epi32(_mm256_castsi256_si128(pairs), upper);
    [
        _mm_cvtsi128_si32(folded),
        _mm_cvtsi128_si32(_mm_shuffle_epi32::<1>(folded)),
        _mm_cvtsi128_si32(_mm_shuffle_epi32::<2>(folded)),
        _mm_cvtsi128_si32(_mm_shuffle_epi32::<3>(folded)),
    ]
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
        prefetch(row);
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
    fold(&sums.map(|sum| {
        let upper = _mm512_extracti64x4_epi64::<1>(sum);
        _mm256_add_epi32(_mm512_castsi512_si256(sum), upper)
    }))
}

/// Distance of the prefetch ahead of a row, in bytes; chosen by measurement.
const AHEAD: usize = 2048;

/// Asks for the cache lines `AHEAD` bytes behind `row`. A prefetch never faults and reads nothing, so
/// the address may lie behind the array.
#[inline]
#[target_feature(enable = "sse")]
fn prefetch<T>(row: &[T]) {
    let start = row.as_ptr().cast::<i8>().wrapping_byte_add(AHEAD);
    for line in (0..size_of_val(row)).step_by(64) {
        _mm_prefetch::<_MM_HINT_T0>(start.wrapping_byte_add(line));
    }
}

#[target_feature(enable = "avx512f")]
pub fn dot_avx512(x: &[f32], y: &[f32]) -> f32 {
    dot_lanes(x, y)
}

#[target_feature(enable = "avx512f")]
pub fn dot_unit_avx512(query: &[f32], v: &[f32], length: f64) -> f32 {
    dot_unit_lanes(query, v, length)
}

#[target_feature(enable = "avx512f")]
pub fn dot_rows_avx512(query: &[f32], rows: &[f32], stride: usize, out: &mut [f32]) {
    dot_rows_lanes(query, rows, stride, out, |row| prefetch(row));
}

#[target_feature(enable = "avx2,bmi2")]
pub(crate) fn next_block_avx2<const W: usize, const S: usize>(
    sieve: Sieve<'_>,
    data: &[u8],
) -> Option<usize> {
    byte_runs::next_block::<W, S>(sieve, data)
}

#[target_feature(enable = "avx2")]
pub(crate) fn next_pair_avx2(
    starts: &[[u8; STEP]],
    ends: &[[u8; STEP]],
    pair: (u8, u8),
) -> Option<usize> {
    byte_runs::next_pair(starts, ends, pair)
}

#[target_feature(enable = "avx2")]
pub fn dot_avx2(x: &[f32], y: &[f32]) -> f32 {
    dot_lanes(x, y)
}

#[target_feature(enable = "avx2")]
pub fn dot_unit_avx2(query: &[f32], v: &[f32], length: f64) -> f32 {
    dot_unit_lanes(query, v, length)
}

#[target_feature(enable = "avx2")]
pub fn dot_rows_avx2(query: &[f32], rows: &[f32], stride: usize, out: &mut [f32]) {
    dot_rows_lanes(query, rows, stride, out, |row| prefetch(row));
}

/// Codes are widened to 16 bits, multiplied by the 16-bit query and added in pairs.
#[target_feature(enable = "avx2")]
pub fn dots_avx2(query: &QuantisedQuery, codes: &[i8], out: &mut [i32; BLOCK]) {
    for (row, value) in codes.chunks_exact(query.stride()).zip(out) {
        let (blocks, _) = row.as_chunks::<64>();
        prefetch(row);
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
        prefetch(row);
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

#[target_feature(enable = "avx2")]
pub fn encoder_layer_avx2(layer: &Layer<'_>, texts: &[Range<usize>], states: &mut States) {
    layer_lanes::<Avx2>(layer, texts, states);
}

#[target_feature(enable = "avx512f,avx512bw")]
pub fn encoder_layer_avx512(layer: &Layer<'_>, texts: &[Range<usize>], states: &mut States) {
    layer_lanes::<Avx512>(layer, texts, states);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub fn encoder_layer_vnni(layer: &Layer<'_>, texts: &[Range<usize>], states: &mut States) {
    layer_lanes::<Vnni>(layer, texts, states);
}

/// Calls `$sums` compiled for the number of rows.
macro_rules! by_rows {
    ($sums:ident, $codes:expr, $blocks:expr, $out:expr, $($rows:literal)+) => {
        match $codes.len() / (4 * $blocks.len()) {
            // SAFETY: a layer of this level runs only where the processor has its features.
            $($rows => unsafe { $sums::<$rows>($codes, $blocks, $out) },)+
            rows => debug_assert_eq!(rows, 0, "more rows than a tile has"),
        }
    };
}

pub struct Sse2;

impl Tile for Sse2 {
    /// Two registers of sums for each row, two of weights, one of codes and one of products: 14
    /// of 16.
    const ROWS: usize = 5;

    #[inline(always)]
    fn sums(codes: &[i16], blocks: &[[i8; 64]], out: &mut Sums) {
        by_rows!(tile_sums_sse2, codes, blocks, out, 1 2 3 4 5);
    }
}

pub struct Avx2;

impl Tile for Avx2 {
    /// Two registers of sums for each row, two of weights and one of codes: 15 of 16.
    const ROWS: usize = 6;

    #[inline(always)]
    fn sums(codes: &[i16], blocks: &[[i8; 64]], out: &mut Sums) {
        by_rows!(tile_sums_avx2, codes, blocks, out, 1 2 3 4 5 6);
    }
}

pub struct Avx512;

impl Tile for Avx512 {
    /// Two registers of sums for each row, two of weights, one of codes and one of products: 30 of 32.
    const ROWS: usize = 13;

    #[inline(always)]
    fn sums(codes: &[i16], blocks: &[[i8; 64]], out: &mut Sums) {
        by_rows!(tile_sums_avx512, codes, blocks, out, 1 2 3 4 5 6 7 8 9 10 11 12 13);
    }
}

pub struct Vnni;

impl Tile for Vnni {
    /// Two registers of sums for each row, two of weights and one of codes: 31 of 32.
    const ROWS: usize = TILE_ROWS_MAX;

    #[inline(always)]
    fn sums(codes: &[i16], blocks: &[[i8; 64]], out: &mut Sums) {
        by_rows!(tile_sums_vnni, codes, blocks, out, 1 2 3 4 5 6 7 8 9 10 11 12 13 14);
    }
}

/// The rows of a tile as groups of four codes.
#[inline(always)]
fn code_rows<const R: usize>(codes: &[i16], fours: usize) -> [&[[i16; 4]]; R] {
    std::array::from_fn(|row| &codes[4 * fours * row..].as_chunks().0[..fours])
}

/// Like `tile_sums_avx2`, four columns at a time.
#[target_feature(enable = "sse2")]
fn tile_sums_sse2<const R: usize>(codes: &[i16], blocks: &[[i8; 64]], out: &mut Sums) {
    let rows: [&[[i16; 4]]; R] = code_rows(codes, blocks.len());
    let zero = _mm_setzero_si128();
    for quarter in 0..4 {
        let mut sums = [[zero; 2]; R];
        for (i, block) in blocks.iter().enumerate() {
            let weights = &block.as_chunks::<16>().0[quarter];
            // SAFETY: a quarter is 16 bytes long.
            let weights = unsafe { _mm_loadu_si128(weights.as_ptr().cast()) };
            let upper = [
                _mm_unpacklo_epi8(zero, weights),
                _mm_unpackhi_epi8(zero, weights),
            ];
            let weights = upper.map(|upper| _mm_srai_epi16::<8>(upper));
            for (sums, row) in sums.iter_mut().zip(&rows) {
                // SAFETY: a row has as many groups as there are blocks; a group is 8 bytes long.
                let four = unsafe { _mm_loadl_epi64(row.as_ptr().add(i).cast()) };
                let four = _mm_unpacklo_epi64(four, four);
                for (sum, weights) in sums.iter_mut().zip(weights) {
                    *sum = _mm_add_epi32(*sum, _mm_madd_epi16(weights, four));
                }
            }
        }
        for (sums, out) in sums.iter().zip(out.iter_mut()) {
            let [a, b] = sums.map(|sum| _mm_castsi128_ps(sum));
            let even = _mm_castps_si128(_mm_shuffle_ps::<0b10_00_10_00>(a, b));
            let odd = _mm_castps_si128(_mm_shuffle_ps::<0b11_01_11_01>(a, b));
            let out = &mut out.as_chunks_mut::<4>().0[quarter];
            // SAFETY: four sums are 16 bytes long.
            unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), _mm_add_epi32(even, odd)) };
        }
    }
}

/// Weights are widened to 16 bits once for all rows of codes; a product of pairs leaves two sums
/// for each column, which are added at the end. Eight columns at a time.
#[target_feature(enable = "avx2")]
fn tile_sums_avx2<const R: usize>(codes: &[i16], blocks: &[[i8; 64]], out: &mut Sums) {
    let rows: [&[[i16; 4]]; R] = code_rows(codes, blocks.len());
    for half in 0..2 {
        let mut sums = [[_mm256_setzero_si256(); 2]; R];
        for (i, block) in blocks.iter().enumerate() {
            if half == 0 {
                prefetch(block);
            }
            let quarters = block.as_chunks::<16>().0;
            let weights = [&quarters[2 * half], &quarters[2 * half + 1]].map(|quarter| {
                // SAFETY: a quarter is 16 bytes long.
                _mm256_cvtepi8_epi16(unsafe { _mm_loadu_si128(quarter.as_ptr().cast()) })
            });
            for (sums, row) in sums.iter_mut().zip(&rows) {
                // SAFETY: a row has as many groups as there are blocks; a group is 8 bytes long.
                let four = unsafe { _mm_loadl_epi64(row.as_ptr().add(i).cast()) };
                let four = _mm256_broadcastq_epi64(four);
                for (sum, weights) in sums.iter_mut().zip(weights) {
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(weights, four));
                }
            }
        }
        for (sums, out) in sums.iter().zip(out.iter_mut()) {
            let columns = _mm256_hadd_epi32(sums[0], sums[1]);
            let columns = _mm256_permute4x64_epi64::<0b11_01_10_00>(columns);
            let out = &mut out.as_chunks_mut::<8>().0[half];
            // SAFETY: eight sums are 32 bytes long.
            unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), columns) };
        }
    }
}

/// `sums` with the products of pairs of 16 bits added.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn add_pair_products(sums: __m512i, a: __m512i, b: __m512i) -> __m512i {
    _mm512_add_epi32(sums, _mm512_madd_epi16(a, b))
}

/// Like `add_pair_products`, in one instruction: of the intrinsic the compiler makes those two,
/// which take twice as long where many sums are under way.
#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
fn add_pair_products_vnni(mut sums: __m512i, a: __m512i, b: __m512i) -> __m512i {
    // SAFETY: one instruction of avx512vnni, on registers alone.
    unsafe {
        std::arch::asm!(
            "vpdpwssd {0}, {1}, {2}",
            inout(zmm_reg) sums, in(zmm_reg) a, in(zmm_reg) b,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sums
}

/// Like `tile_sums_avx2`, sixteen columns at a time; `$add` adds the products of pairs to sums.
macro_rules! tile_sums {
    ($name:ident, $features:literal, $add:ident) => {
        #[target_feature(enable = $features)]
        fn $name<const R: usize>(codes: &[i16], blocks: &[[i8; 64]], out: &mut Sums) {
            let rows: [&[[i16; 4]]; R] = code_rows(codes, blocks.len());
            let mut sums = [[_mm512_setzero_si512(); 2]; R];
            for (i, block) in blocks.iter().enumerate() {
                prefetch(block);
                let halves = block.as_chunks::<32>().0;
                let weights = [&halves[0], &halves[1]].map(|half| {
                    // SAFETY: a half is 32 bytes long.
                    _mm512_cvtepi8_epi16(unsafe { _mm256_loadu_si256(half.as_ptr().cast()) })
                });
                for (sums, row) in sums.iter_mut().zip(&rows) {
                    // SAFETY: a row has as many groups as there are blocks; a group is 8 bytes long.
                    let four = unsafe { _mm_loadl_epi64(row.as_ptr().add(i).cast()) };
                    let four = _mm512_broadcastq_epi64(four);
                    for (sum, weights) in sums.iter_mut().zip(weights) {
                        *sum = $add(*sum, weights, four);
                    }
                }
            }
            for (sums, out) in sums.iter().zip(out.iter_mut()) {
                for (sum, out) in sums.iter().zip(out.as_chunks_mut::<8>().0) {
                    // Two sums of 32 bits in each 64: the upper one is added to the lower one.
                    let pairs = _mm512_add_epi32(*sum, _mm512_srli_epi64::<32>(*sum));
                    let columns = _mm512_cvtepi64_epi32(pairs);
                    // SAFETY: eight sums are 32 bytes long.
                    unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), columns) };
                }
            }
        }
    };
}

tile_sums!(
    tile_sums_vnni,
    "avx512f,avx512bw,avx512vnni",
    add_pair_products_vnni
);
tile_sums!(tile_sums_avx512, "avx512f,avx512bw", add_pair_products);
