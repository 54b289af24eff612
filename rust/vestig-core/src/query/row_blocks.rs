//! Many vectors against all rows in one pass, or against each other: rows come in blocks that stay
//! in the cache while all vectors pass over them.

use std::ops::Range;

use crate::kernels::bits::{Bits, has};
use crate::kernels::tiles::{Probe, products};
use crate::segment::Segment;
use crate::segment::format::Section;

/// Rows whose codes stay in the cache (384 dimensions: 192 KiB); a multiple of 64.
const ROWS: usize = 512;
/// Vectors that pass over them.
const PROBES: usize = 64;
/// Above the roundings of a float32 cosine and its bound.
const SLACK: f64 = 1e-6;

/// Who looks for rows.
pub(crate) trait Search {
    /// Rows whose cosine is below it do not matter; it may rise.
    fn floor(&self) -> f64;
    /// Whether any of these rows may matter.
    fn concerns(&self, _part: usize, _rows: Range<usize>) -> bool {
        true
    }
    /// A row whose cosine may reach the floor.
    fn offer(&mut self, part: usize, row: usize);
}

/// A segment with those of these rows that have a vector.
pub(crate) fn with_vectors(segment: &Segment, mut rows: Bits) -> (&Segment, Bits) {
    let embedded = segment.embedded().iter();
    rows.iter_mut()
        .zip(embedded)
        .for_each(|(rows, has)| *rows &= has);
    (segment, rows)
}

/// Offers each search every set row that can reach its floor, in order of part and row; each
/// thread has some of the searches.
pub(crate) fn pass<S: Search + Send>(
    parts: &[(&Segment, Bits)],
    searches: &mut [(Probe, S)],
    threads: usize,
) {
    let share = searches.len().div_ceil(threads.max(1)).max(1);
    if share >= searches.len() {
        return pass_here(parts, searches);
    }
    std::thread::scope(|scope| {
        for searches in searches.chunks_mut(share) {
            scope.spawn(|| pass_here(parts, searches));
        }
    });
}

fn pass_here<S: Search>(parts: &[(&Segment, Bits)], searches: &mut [(Probe, S)]) {
    let mut dots = vec![0_i32; ROWS * PROBES];
    for searches in searches.chunks_mut(PROBES) {
        for (number, (segment, bits)) in parts.iter().enumerate() {
            for first in (0..segment.memory_rows()).step_by(ROWS) {
                let rows = first..segment.memory_rows().min(first + ROWS);
                let words = first / 64..rows.end.div_ceil(64);
                if bits[words].iter().any(|word| *word != 0) {
                    block((number, segment, bits), rows, searches, &mut dots);
                }
            }
        }
    }
}

fn block<S: Search>(
    (number, segment, bits): (usize, &Segment, &Bits),
    rows: Range<usize>,
    searches: &mut [(Probe, S)],
    dots: &mut [i32],
) {
    let lanes = segment.lanes();
    let codes = &segment.column::<i8>(Section::Codes)[rows.start * lanes..rows.end * lanes];
    let scales = &segment.column::<f32>(Section::Scales)[rows.clone()];
    let errors = &segment.column::<f32>(Section::Bounds)[rows.clone()];
    let worst = errors.iter().fold(0.0_f32, |most, error| most.max(*error));
    let concerned = |(_, search): &&mut (Probe, S)| search.concerns(number, rows.clone());
    let mut searches: Vec<&mut (Probe, S)> = searches.iter_mut().filter(concerned).collect();
    let probes: Vec<&Probe> = searches.iter().map(|(probe, _)| probe).collect();
    products(&probes, codes, dots);
    let mut values = [0.0_f32; ROWS];
    for ((probe, search), dots) in searches.iter_mut().zip(dots.chunks(rows.len())) {
        let cut = (search.floor() - f64::from(probe.bound(worst)) - SLACK) as f32;
        let mut reached = false;
        for ((value, dot), scale) in values.iter_mut().zip(dots).zip(scales) {
            *value = probe.value(*dot, *scale);
            reached |= *value >= cut;
        }
        if !reached {
            continue;
        }
        for (i, value) in values[..rows.len()].iter().enumerate() {
            if *value < cut || !has(bits, rows.start + i) {
                continue;
            }
            let most = f64::from(*value) + f64::from(probe.bound(errors[i]));
            if most >= search.floor() {
                search.offer(number, rows.start + i);
            }
        }
    }
}

/// Offers each vector those before it whose cosine may reach `at_least`, ascending:
/// `offer(vector, earlier)`.
pub(crate) fn pass_earlier(vectors: &[&Probe], at_least: f64, mut offer: impl FnMut(usize, usize)) {
    let mut dots = vec![0_i32; ROWS * PROBES];
    for (block, rows) in vectors.chunks(ROWS).enumerate() {
        let first = block * ROWS;
        let codes: Vec<i8> = rows.iter().flat_map(|row| row.codes()).copied().collect();
        for (chunk, probes) in vectors[first..].chunks(PROBES).enumerate() {
            products(probes, &codes, &mut dots);
            for (p, (probe, dots)) in probes.iter().zip(dots.chunks(rows.len())).enumerate() {
                let later = chunk * PROBES + p;
                for (r, (row, dot)) in rows.iter().zip(dots).enumerate().take(later) {
                    let most = probe.value(*dot, row.scale()) + probe.bound(row.error());
                    if f64::from(most) >= at_least - SLACK {
                        offer(first + later, first + r);
                    }
                }
            }
        }
    }
}
