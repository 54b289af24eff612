//! Which rows can be among the best by S: bounds first, exact numbers for the rest.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::ranking::{KINDS, kind};
use super::score_table::ScoreTable;
use crate::kernels::bits::has;
use crate::kernels::top_k::{descending, top_k};
use crate::segment::Id;
use crate::segment::format::Section;

/// Rows that are looked at together: one word of bits.
const BLOCK: usize = 64;
/// Rows whose exact numbers are made before the next bound is looked at.
const EXACT_AT_ONCE: usize = 8;

/// A row with the numbers that order it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    /// Position of its part.
    pub(super) part: usize,
    pub(super) row: usize,
    pub(super) id: Id,
    /// Content cosine.
    pub(super) cosine: f64,
    /// S, exact.
    pub(super) start: f64,
}

impl Candidate {
    pub(super) fn of(table: &ScoreTable<'_>, part: usize, row: usize) -> Self {
        let columns = &table.parts[part];
        let cosine = columns.content(&table.scorer, row);
        Self {
            part,
            row,
            id: columns.segment.ids()[row],
            cosine,
            start: table.scorer.start(columns, row, cosine),
        }
    }
}

pub(super) fn by_start(a: &Candidate, b: &Candidate) -> Ordering {
    descending(a.start, b.start)
        .then(descending(a.cosine, b.cosine))
        .then(a.id.cmp(&b.id))
}

/// A float that sorts by `total_cmp`.
#[derive(PartialEq)]
struct TotalOrder(f64);

impl Eq for TotalOrder {}

impl PartialOrd for TotalOrder {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TotalOrder {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Calls `visit` with every row whose upper bound may reach what `visit` last returned, and bounds of
/// its S.
fn visit_upper_bounds(
    table: &ScoreTable<'_>,
    mut least: f64,
    mut visit: impl FnMut(usize, usize, (f64, f64)) -> f64,
) {
    let scorer = &table.scorer;
    let mut highest = [0.0; BLOCK];
    for (part, columns) in table.parts.iter().enumerate() {
        if !columns.any_eligible {
            continue;
        }
        for sparse in &columns.sparse {
            let row = sparse.row as usize;
            if has(&columns.eligible, row) {
                least = visit(part, row, scorer.bounds(columns, row));
            }
        }
        let (factors, outside) = if scorer.start_enabled {
            (scorer.factors, scorer.outside)
        } else {
            ([1.0; KINDS], 0.0)
        };
        let codes = columns.segment.column::<[u8; 8]>(Section::Attributes);
        for (at, rest) in columns.rest.chunks(BLOCK).enumerate() {
            let mut rows = columns.unlisted(at);
            if rows == 0 {
                continue;
            }
            let highest = &mut highest[..rest.len()];
            if scorer.start_enabled {
                highest.copy_from_slice(rest);
            } else {
                highest.fill(0.0);
            }
            let similarity = &columns.similarity;
            let codes = &codes[at * BLOCK..];
            if factors.iter().all(|factor| *factor == factors[0]) {
                similarity.add_highest(at * BLOCK, highest, |_| factors[0]);
            } else {
                similarity.add_highest(at * BLOCK, highest, |i| factors[kind(&codes[i])]);
            }
            // Far above the roundings of a sum in another order.
            let reaches = |high: f64| high + outside + high.abs() * 1e-12 >= least;
            if !highest.iter().fold(false, |any, high| any | reaches(*high)) {
                continue;
            }
            while rows != 0 {
                let i = rows.trailing_zeros() as usize;
                rows &= rows - 1;
                if highest[i] + outside + highest[i].abs() * 1e-12 < least {
                    continue;
                }
                let (low, high) = scorer.bounds(columns, at * BLOCK + i);
                if high >= least {
                    least = visit(part, at * BLOCK + i, (low, high));
                }
            }
        }
    }
}

/// A row with bounds of S.
struct BoundedRow {
    part: usize,
    row: usize,
    low: f64,
    high: f64,
}

/// The lowest bounds of the best rows so far.
#[derive(Default)]
struct Lowest {
    best: BinaryHeap<Reverse<TotalOrder>>,
    /// The k-th best lower bound; None = fewer rows so far.
    threshold: Option<f64>,
}

impl Lowest {
    fn add(&mut self, low: f64, k: usize) {
        self.best.push(Reverse(TotalOrder(low)));
        if self.best.len() > k {
            self.best.pop();
        }
        if self.best.len() == k {
            self.threshold = self.best.peek().map(|least| least.0.0);
        }
    }

    fn threshold(&self) -> f64 {
        self.threshold.unwrap_or(f64::NEG_INFINITY)
    }
}

/// The rows that can be among the best `k` by S.
///
/// One pass: a row whose upper bound stays below the k-th best lower bound so far is out.
fn bounded_rows(table: &ScoreTable<'_>, k: usize) -> Vec<BoundedRow> {
    let mut lowest = Lowest::default();
    let mut found: Vec<BoundedRow> = Vec::new();
    visit_upper_bounds(table, f64::NEG_INFINITY, |part, row, (low, high)| {
        if high >= lowest.threshold() {
            found.push(BoundedRow {
                part,
                row,
                low,
                high,
            });
            lowest.add(low, k);
        }
        lowest.threshold()
    });
    found.retain(|one| one.high >= lowest.threshold());
    found
}

/// The best `k` rows by S, best first, with exact numbers.
pub(super) fn candidates(table: &ScoreTable<'_>, k: usize) -> Vec<Candidate> {
    exact(table, k, bounded_rows(table, k))
}

/// The best `k` of these rows by S, best first. Those with the highest bounds come first, so that
/// the numbers of rows that cannot be among the best are not made.
fn exact(table: &ScoreTable<'_>, k: usize, mut found: Vec<BoundedRow>) -> Vec<Candidate> {
    if k == 0 {
        return Vec::new();
    }
    let mut best: Vec<Candidate> = Vec::with_capacity(found.len());
    let mut lowest = Lowest::default();
    if found.len() > k {
        found.sort_unstable_by(|a, b| b.high.total_cmp(&a.high));
    }
    for some in found.chunks(EXACT_AT_ONCE) {
        // No row from here on has a higher bound than the first.
        if some[0].high < lowest.threshold() {
            break;
        }
        for one in some {
            let candidate = Candidate::of(table, one.part, one.row);
            if found.len() > k {
                lowest.add(candidate.start, k);
            }
            best.push(candidate);
        }
    }
    top_k(&mut best, k, by_start);
    best
}

/// The best `k` rows by S in any order, as (part, row); exact numbers are made only of those whose
/// bounds leave it open.
pub(super) fn best_rows(table: &ScoreTable<'_>, k: usize) -> Vec<(usize, usize)> {
    let found = bounded_rows(table, k);
    let mut highs: Vec<TotalOrder> = found.iter().map(|one| TotalOrder(one.high)).collect();
    let next = (k < highs.len()).then(|| {
        let (_, next, _) = highs.select_nth_unstable_by(k, |a, b| b.cmp(a));
        next.0
    });
    // No more than `k` have an upper bound above that of the next.
    let surely = |one: &BoundedRow| next.is_none_or(|next| one.low > next);
    let (sure, open): (Vec<BoundedRow>, Vec<BoundedRow>) = found.into_iter().partition(surely);
    let open = exact(table, k - sure.len().min(k), open);
    let sure = sure.into_iter().map(|one| (one.part, one.row));
    sure.chain(open.into_iter().map(|one| (one.part, one.row)))
        .collect()
}

/// How many eligible rows come before each of these in order of S.
pub(super) fn ranks(table: &ScoreTable<'_>, targets: &[Candidate]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..targets.len()).collect();
    order.sort_unstable_by(|a, b| by_start(&targets[*a], &targets[*b]));
    let sorted: Vec<&Candidate> = order.iter().map(|i| &targets[*i]).collect();
    let Some(least) = sorted.last().map(|last| last.start) else {
        return Vec::new();
    };
    let mut before = vec![0_usize; sorted.len() + 1];
    visit_upper_bounds(table, least, |part, row, (low, high)| {
        let surely = sorted.partition_point(|target| target.start >= low);
        let maybe = sorted.partition_point(|target| target.start > high);
        let first = if surely == maybe {
            surely
        } else {
            let exact = Candidate::of(table, part, row);
            sorted.partition_point(|target| by_start(&exact, target) != Ordering::Less)
        };
        before[first] += 1;
        least
    });
    let mut ranks = vec![0; targets.len()];
    let mut sum = 0;
    for (place, target) in order.into_iter().enumerate() {
        sum += before[place];
        ranks[target] = sum;
    }
    ranks
}
