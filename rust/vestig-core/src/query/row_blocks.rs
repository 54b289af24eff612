//! Many vectors against all rows in one pass, or against each other: rows come in blocks that stay
//! in the cache while all vectors pass over them.

use std::ops::Range;

use crate::kernels::bits::{Bits, has};
use crate::kernels::tiles::{CoarseRows, Probe, products};
use crate::segment::Segment;
use crate::segment::format::Section;

/// Rows whose codes stay in the cache (384 dimensions: 192 KiB); a multiple of 64.
const ROWS: usize = 512;
/// Vectors that pass over them.
const PROBES: usize = 64;
/// Bounds pay where they leave one row of so many to multiply.
const WORTH: usize = 8;
/// Above the roundings of a float32 cosine and its bound.
const SLACK: f64 = 1e-6;

/// Who looks for rows.
pub(crate) trait Search {
    /// Rows whose cosine is below it do not matter; it may rise.
    fn floor(&self) -> f64;
    /// Returns whether any of these rows may matter.
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
    let mut room = Room {
        dots: vec![0; ROWS * PROBES],
        reached: Vec::new(),
        coarse: CoarseRows::default(),
    };
    // whether bounds pay, by chunk of searches
    let mut shorten: Vec<bool> = searches
        .chunks(PROBES)
        .map(|searches| CoarseRows::pay(searches.len()))
        .collect();
    for (number, (segment, bits)) in parts.iter().enumerate() {
        for first in (0..segment.memory_rows()).step_by(ROWS) {
            let rows = first..segment.memory_rows().min(first + ROWS);
            let words = first / 64..rows.end.div_ceil(64);
            if bits[words].iter().all(|word| *word == 0) {
                continue;
            }
            let block = Block {
                number,
                segment,
                bits,
                rows,
            };
            if shorten.contains(&true) {
                let scales = block.scales();
                room.coarse.fill(block.codes(), segment.lanes(), scales);
            }
            for (searches, shorten) in searches.chunks_mut(PROBES).zip(&mut shorten) {
                if *shorten {
                    *shorten = block.by_bounds(searches, &mut room);
                } else {
                    block.by_products(searches, &mut room.dots);
                }
            }
        }
    }
}

/// Memory that the blocks of a pass share.
struct Room {
    dots: Vec<i32>,
    reached: Vec<usize>,
    coarse: CoarseRows,
}

/// Some rows of a segment.
struct Block<'a> {
    number: usize,
    segment: &'a Segment,
    bits: &'a Bits,
    rows: Range<usize>,
}

impl Block<'_> {
    fn codes(&self) -> &[i8] {
        let lanes = self.segment.lanes();
        let codes = self.segment.column::<i8>(Section::Codes);
        &codes[self.rows.start * lanes..self.rows.end * lanes]
    }

    fn scales(&self) -> &[f32] {
        &self.segment.column::<f32>(Section::Scales)[self.rows.clone()]
    }

    fn errors(&self) -> &[f32] {
        &self.segment.column::<f32>(Section::Bounds)[self.rows.clone()]
    }

    fn concerned<'s, S: Search>(&self, searches: &'s mut [(Probe, S)]) -> Vec<&'s mut (Probe, S)> {
        let concerns =
            |(_, search): &&mut (Probe, S)| search.concerns(self.number, self.rows.clone());
        searches.iter_mut().filter(concerns).collect()
    }

    /// Least approximate cosine of a row that may matter.
    fn cut<S: Search>(&self, probe: &Probe, search: &S) -> f32 {
        let errors = self.errors().iter();
        let worst = errors.fold(0.0_f32, |most, error| most.max(*error));
        (search.floor() - f64::from(probe.bound(worst)) - SLACK) as f32
    }

    /// Offers a row whose cosine, by its approximation, may reach the floor.
    fn offer<S: Search>(&self, (probe, search): &mut (Probe, S), at: usize, value: f32) {
        if !has(self.bits, self.rows.start + at) {
            return;
        }
        let most = f64::from(value) + f64::from(probe.bound(self.errors()[at]));
        if most >= search.floor() {
            search.offer(self.number, self.rows.start + at);
        }
    }

    fn by_products<S: Search>(&self, searches: &mut [(Probe, S)], dots: &mut [i32]) {
        let mut searches = self.concerned(searches);
        let probes: Vec<&Probe> = searches.iter().map(|(probe, _)| probe).collect();
        products(&probes, self.codes(), dots);
        let mut values = [0.0_f32; ROWS];
        for (one, dots) in searches.iter_mut().zip(dots.chunks(self.rows.len())) {
            let cut = self.cut(&one.0, &one.1);
            let mut reached = false;
            for ((value, dot), scale) in values.iter_mut().zip(dots).zip(self.scales()) {
                *value = one.0.value(*dot, *scale);
                reached |= *value >= cut;
            }
            if !reached {
                continue;
            }
            for (at, value) in values[..self.rows.len()].iter().enumerate() {
                if *value >= cut {
                    self.offer(one, at, *value);
                }
            }
        }
    }

    /// Like `by_products`, but multiplies the rows alone whose bound reaches the floor; `room` has
    /// the block's coarse rows. Whether that paid.
    fn by_bounds<S: Search>(&self, searches: &mut [(Probe, S)], room: &mut Room) -> bool {
        let Room {
            dots,
            reached,
            coarse,
        } = room;
        let mut searches = self.concerned(searches);
        let (codes, lanes) = (self.codes(), self.segment.lanes());
        let probes: Vec<&Probe> = searches.iter().map(|(probe, _)| probe).collect();
        coarse.products(&probes, dots);
        let (mut multiplied, compared) = (0, self.rows.len() * searches.len());
        for (one, products_of_one) in searches.iter_mut().zip(dots.chunks(self.rows.len())) {
            let cut = self.cut(&one.0, &one.1);
            coarse.reached(&one.0, products_of_one, cut, reached);
            multiplied += reached.len();
            for &at in reached.iter() {
                let mut dot = [0];
                products(&[&one.0], &codes[at * lanes..][..lanes], &mut dot);
                let value = one.0.value(dot[0], self.scales()[at]);
                if value >= cut {
                    self.offer(one, at, value);
                }
            }
        }
        multiplied * WORTH <= compared
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
