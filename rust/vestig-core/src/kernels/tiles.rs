//! Many vectors against many rows, both as 8-bit codes with a proven error bound.
//!
//! The bound is that of `quantised` with the codes of a probe in the place of the query's 16-bit
//! ones: with q ≈ t·k, f ≥ ‖q − t·k‖ and m ≈ s·c, e ≥ ‖m − s·c‖,
//! |q·m − (tk)·(sc)| ≤ ‖q‖·e + f·(‖m‖ + e), plus the same roundings. Coarser than one query's pass
//! (about 0.015 at 384 dimensions), but a probe costs half as much, and eight share each load of a
//! row. |c·k| ≤ 127² · 8192 fits 32 bits, so every level computes the same integers.
//!
//! **Coarse codes.** A code c is 16·n − 120 + r with n = ⌊(c + 128) / 16⌋ from 0 to 15. So
//! c·k ≤ 16·(n·k) − 120·Σk + ‖r‖·‖k‖ (Cauchy–Schwarz; −8 ≤ r ≤ 7), and n·k takes half as many instructions as
//! c·k where bytes are multiplied in pairs: rows that this bound rules out need no more.

use super::dispatch::{self, Level};
use super::dot::{LANES, padded};
use super::quantised::{quantise_row, round_up};

/// Probes that share the load of a row.
pub(crate) const WIDE: usize = 8;
/// The same for coarse codes.
pub(crate) const COARSE_PROBES: usize = 4;

/// A unit vector (or zero) as codes.
#[derive(Clone, Debug)]
pub struct Probe {
    codes: Vec<i8>,
    /// The same codes in 16 bits, read by the levels of x86 alone.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    wide: Vec<[i16; 16]>,
    sum: i32,
    /// At least scale times the length of `codes`.
    norm: f32,
    scale: f32,
    /// At least the distance between the vector and what its codes stand for.
    error: f32,
    base: f32,
    slope: f32,
}

impl Probe {
    /// Codes of d values, at most 8192.
    #[must_use]
    pub fn new(vector: &[f32]) -> Self {
        let mut codes = vec![0; padded(vector.len())];
        let (scale, error) = quantise_row(vector, &mut codes);
        let squares: f64 = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
        let (norm, own_error) = (squares.sqrt(), error);
        let error = f64::from(own_error);
        let steps = (codes.len() / LANES + 16) as f64;
        let rounding = steps * f64::from(f32::EPSILON) / 2.0 * 1.1 * norm.max(1.0);
        let unit = 1.0 + f64::from(f32::EPSILON) * 8.0;
        Self {
            sum: codes.iter().map(|code| i32::from(*code)).sum(),
            norm: round_up(
                norm_above(codes.iter().map(|code| i32::from(*code))) * f64::from(scale),
            ),
            wide: codes
                .as_chunks()
                .0
                .iter()
                .map(|line| line.map(i16::from))
                .collect(),
            codes,
            scale,
            error: own_error,
            base: round_up((error * unit + rounding) * (1.0 + 1e-6)),
            slope: round_up((norm + error) * (1.0 + 1e-6)),
        }
    }

    /// Upper bound of |cosine − approximation| for a row whose stored error is `error`.
    #[inline]
    #[must_use]
    pub fn bound(&self, error: f32) -> f32 {
        self.base + self.slope * error
    }

    /// The approximate cosine of an integer product with a row of that scale.
    #[inline]
    #[must_use]
    pub fn value(&self, dot: i32, scale: f32) -> f32 {
        dot as f32 * (scale * self.scale)
    }

    pub(crate) fn codes(&self) -> &[i8] {
        &self.codes
    }

    pub(crate) fn scale(&self) -> f32 {
        self.scale
    }

    pub(crate) fn error(&self) -> f32 {
        self.error
    }

    #[cfg(target_arch = "x86_64")]
    pub(crate) fn wide(&self) -> &[[i16; 16]] {
        &self.wide
    }

    #[cfg(target_arch = "x86_64")]
    pub(crate) fn sum(&self) -> i32 {
        self.sum
    }
}

/// At least the length of a vector of integers below 256.
fn norm_above(values: impl Iterator<Item = i32>) -> f64 {
    let squares: i32 = values.map(|value| value * value).sum();
    f64::from(squares).sqrt() * (1.0 + 1e-9)
}

/// Above the float32 roundings of a bound, whose two terms are at most about one.
const COARSE_SLACK: f32 = 1e-5;

/// Rows of codes, shortened to four bits each, and what that may cost.
#[derive(Default)]
pub struct CoarseRows {
    codes: Vec<u8>,
    scales: Vec<f32>,
    /// Scale times at least the length of what each row lost.
    lost: Vec<f32>,
}

impl CoarseRows {
    /// Returns whether bounds of shortened codes take less time than products of whole ones.
    #[must_use]
    pub fn pay(probes: usize) -> bool {
        probes >= WIDE && dispatch::coarse_pays(Level::best())
    }

    /// Takes the place of what was there: rows of `stride` codes with their scales.
    pub fn fill(&mut self, codes: &[i8], stride: usize, scales: &[f32]) {
        let short = |code: &i8| (*code as u8 ^ 0x80) >> 4;
        self.codes.clear();
        self.codes.extend(codes.iter().map(short));
        self.scales.clear();
        self.scales.extend_from_slice(scales);
        let rest = |code: &i8| i32::from(*code & 15) - 8;
        let rows = codes.chunks_exact(stride).zip(scales);
        let lost =
            rows.map(|(row, scale)| round_up(norm_above(row.iter().map(rest)) * f64::from(*scale)));
        self.lost.clear();
        self.lost.extend(lost);
    }

    /// Products of each probe with each shortened row, for [`CoarseRows::reached`]:
    /// `out[p · rows + r]`.
    pub fn products(&self, probes: &[&Probe], out: &mut [i32]) {
        self.products_with(Level::best(), probes, out);
    }

    /// [`CoarseRows::products`] by a named level.
    pub fn products_with(&self, level: Level, probes: &[&Probe], out: &mut [i32]) {
        let rows = self.lost.len();
        let (fours, rest) = probes.as_chunks::<COARSE_PROBES>();
        let (many, few) = out.split_at_mut(fours.len() * COARSE_PROBES * rows);
        for (four, out) in fours.iter().zip(many.chunks_mut(COARSE_PROBES * rows)) {
            dispatch::coarse(level, four, &self.codes, out);
        }
        if let Some(last) = rest.last() {
            let mut four = [*last; COARSE_PROBES];
            four[..rest.len()].copy_from_slice(rest);
            let mut all = vec![0; COARSE_PROBES * rows];
            dispatch::coarse(level, &four, &self.codes, &mut all);
            let wanted = rest.len() * rows;
            few[..wanted].copy_from_slice(&all[..wanted]);
        }
    }

    /// Rows whose approximate cosine ([`Probe::value`] of the product of whole codes) may reach
    /// `cut`, ascending, by the probe's `products`.
    pub fn reached(&self, probe: &Probe, products: &[i32], cut: f32, rows: &mut Vec<usize>) {
        rows.clear();
        let (shift, norm, cut) = (120 * probe.sum, probe.norm, cut - COARSE_SLACK);
        let bound = |product: i32, scale: f32, lost: f32| {
            (16 * product - shift) as f32 * (scale * probe.scale) + lost * norm
        };
        let sizes = self.scales.iter().zip(&self.lost);
        let mut any = false;
        for (product, (scale, lost)) in products.iter().zip(sizes.clone()) {
            any |= bound(*product, *scale, *lost) >= cut;
        }
        if any {
            let found = products.iter().zip(sizes).enumerate();
            let found = found.filter(|(_, (n, (scale, lost)))| bound(**n, **scale, **lost) >= cut);
            rows.extend(found.map(|(row, _)| row));
        }
    }
}

/// The products of coarse codes in portable code.
pub(crate) fn coarse_lanes(probes: &[&Probe; COARSE_PROBES], codes: &[u8], out: &mut [i32]) {
    let stride = probes[0].codes.len();
    let rows = codes.len() / stride;
    for (r, row) in codes.chunks_exact(stride).enumerate() {
        for (p, probe) in probes.iter().enumerate() {
            let pairs = row.iter().zip(&probe.codes);
            out[p * rows + r] = pairs.map(|(n, k)| i32::from(*n) * i32::from(*k)).sum();
        }
    }
}

/// Integer products of each probe with each row: `out[p · rows + r]`.
pub fn products(probes: &[&Probe], codes: &[i8], out: &mut [i32]) {
    products_with(Level::best(), probes, codes, out);
}

/// [`products`] by a named level.
pub fn products_with(level: Level, probes: &[&Probe], codes: &[i8], out: &mut [i32]) {
    let Some(stride) = probes.first().map(|probe| probe.codes.len()) else {
        return;
    };
    if stride == 0 {
        out.fill(0);
        return;
    }
    let rows = codes.len() / stride;
    debug_assert!(out.len() >= rows * probes.len());
    let (wide, rest) = probes.as_chunks::<WIDE>();
    let (many, few) = out.split_at_mut(wide.len() * WIDE * rows);
    for (probes, out) in wide.iter().zip(many.chunks_mut(WIDE * rows)) {
        dispatch::tile(level, probes, codes, out);
    }
    for (probe, out) in rest.iter().zip(few.chunks_mut(rows)) {
        dispatch::tile(level, &[*probe], codes, out);
    }
}

/// The products in portable code.
#[inline(always)]
pub(crate) fn tile_lanes<const P: usize>(probes: &[&Probe; P], codes: &[i8], out: &mut [i32]) {
    let stride = probes[0].codes.len();
    let rows = codes.len() / stride;
    for (r, row) in codes.chunks_exact(stride).enumerate() {
        for (p, probe) in probes.iter().enumerate() {
            let (a, _) = row.as_chunks::<LANES>();
            let (b, _) = probe.codes.as_chunks::<LANES>();
            out[p * rows + r] = a.iter().zip(b).map(|(a, b)| line(a, b)).sum();
        }
    }
}

#[inline(always)]
fn line(a: &[i8; LANES], b: &[i8; LANES]) -> i32 {
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::dot::{dot, unit};
    use proptest::prelude::*;

    fn vectors() -> impl Strategy<Value = (usize, Vec<Vec<f32>>, Vec<Vec<f32>>)> {
        (1_usize..150).prop_flat_map(|d| {
            let vector = prop::collection::vec(-1.0_f32..1.0, d);
            let many = prop::collection::vec(vector, 1..20);
            (Just(d), many.clone(), many)
        })
    }

    proptest! {
        #[test]
        fn every_level_has_the_same_products_inside_the_bound((d, probes, rows) in vectors()) {
            let made = |given: &[Vec<f32>]| -> Vec<Vec<f32>> {
                given.iter().map(|vector| {
                    let mut out = vec![0.0; padded(d)];
                    unit(vector, &mut out);
                    out
                }).collect()
            };
            let (probes, rows) = (made(&probes), made(&rows));
            let (mut codes, mut sizes) = (Vec::new(), Vec::new());
            for row in &rows {
                let mut own = vec![0; padded(d)];
                sizes.push(quantise_row(row, &mut own));
                codes.extend(own);
            }
            let coded: Vec<Probe> = probes.iter().map(|probe| Probe::new(probe)).collect();
            let refs: Vec<&Probe> = coded.iter().collect();
            let mut wanted = vec![0; probes.len() * rows.len()];
            products_with(Level::PORTABLE, &refs, &codes, &mut wanted);
            for level in Level::available() {
                let mut found = vec![0; wanted.len()];
                products_with(level, &refs, &codes, &mut found);
                prop_assert_eq!(&found, &wanted, "{}", level.name());
            }
            let mut coarse = CoarseRows::default();
            let scales: Vec<f32> = sizes.iter().map(|(scale, _)| *scale).collect();
            coarse.fill(&codes, padded(d), &scales);
            let mut short = vec![0; wanted.len()];
            coarse.products_with(Level::PORTABLE, &refs, &mut short);
            for level in Level::available() {
                let mut found = vec![0; wanted.len()];
                coarse.products_with(level, &refs, &mut found);
                prop_assert_eq!(&found, &short, "{}", level.name());
            }
            for (p, own) in short.chunks(rows.len()).enumerate() {
                for cut in [-1.0, -0.3, 0.0, 0.2, 0.9] {
                    let mut found = Vec::new();
                    coarse.reached(&coded[p], own, cut, &mut found);
                    for (r, scale) in scales.iter().enumerate() {
                        let value = coded[p].value(wanted[p * rows.len() + r], *scale);
                        prop_assert!(value < cut || found.contains(&r), "{value} {cut}");
                    }
                }
            }
            for (p, probe) in probes.iter().enumerate() {
                for (r, row) in rows.iter().enumerate() {
                    let value = coded[p].value(wanted[p * rows.len() + r], sizes[r].0);
                    let error = (f64::from(value) - f64::from(dot(probe, row))).abs();
                    prop_assert!(error <= f64::from(coded[p].bound(sizes[r].1)));
                }
            }
        }
    }
}
