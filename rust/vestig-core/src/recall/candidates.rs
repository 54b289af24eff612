//! Which rows can reach the pool: bounds first, exact numbers for the rest.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::ranking::Base;
use super::row_groups::RowGroup;
use super::score_bounds::SLACK;
use super::score_table::ScoreTable;
use super::scorer::{RowSignals, Scorer, origin};
use super::segment_columns::{SegmentColumns, Similarity};
use super::signal::Signal;
use super::turn_signals::TurnSignals;
use crate::kernels::bits::has;
use crate::kernels::top_k::{descending, top_k};
use crate::segment::Id;
use crate::segment::format::Section;

/// Rows that are screened at once: one word of bits.
const BLOCK: usize = 64;

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
    /// Of a row of the group.
    pub(super) fn of(group: &RowGroup<'_>, part: usize, row: usize) -> Self {
        let RowGroup { table, scorer, .. } = group;
        let columns = &table.parts[part];
        let cosine = columns.content(scorer, row);
        let row_signals = table.row_signals(scorer, part, row);
        Self {
            part,
            row,
            id: columns.segment.ids()[row],
            cosine,
            start: scorer.start(origin(columns.segment, row), cosine, &row_signals),
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

/// Of an origin: constant, factor of the cosine, factor of the lexical score, sign of the error.
type Factors = (f64, f64, f64, f64);

/// A cheap upper bound of S without divisions, of rows that have nothing but a cosine and a lexical
/// score beside the signals that few rows have: most rows end here.
struct Screen {
    linear: bool,
    factors: [Factors; 4],
    /// The only origin of eligible rows, if there is but one.
    only: Option<usize>,
    slack: f64,
}

impl Screen {
    fn new(scorer: &Scorer<'_>) -> Self {
        let inverse = |most: f64| if most > 0.0 { 1.0 / most } else { 0.0 };
        let linear = scorer.ranking.base == Base::Linear && scorer.start_enabled;
        let lexical_max = scorer.maxima[Signal::Lexical];
        let mut slack = 0.0_f64;
        let factors = std::array::from_fn(|origin| {
            if !linear {
                return (0.0, 1.0, 0.0, 1.0);
            }
            let weights = &scorer.ranking.candidate_weights[origin];
            let (scale, sum) = scorer
                .evidence
                .map_or((1.0, 0.0), |evidence| (evidence.scale, evidence.sum));
            let bias = scale * scorer.constant(origin, false);
            let cosine = scale * weights.signals[Signal::Cosine].unwrap_or(0.0);
            let factor = cosine * scorer.maxima[Signal::Cosine].map_or(0.0, inverse);
            let words = scale * weights.signals[Signal::Lexical].unwrap_or(0.0);
            let words = lexical_max.map_or(0.0, inverse) * words;
            // Far above the roundings of both forms: each term has at most eight of 2⁻⁵³.
            let most = (words * lexical_max.unwrap_or(0.0)).abs();
            slack = slack.max((bias.abs() + sum.abs() + factor.abs() + most) * 1e-12);
            let sign = if factor < 0.0 { -1.0 } else { 1.0 };
            (bias + sum, factor, words, sign)
        });
        let mut origins = (0..4).filter(|origin| scorer.origins[*origin]);
        Self {
            linear,
            factors,
            only: origins.next().filter(|_| origins.next().is_none()),
            slack,
        }
    }

    /// An upper bound of S, but for what signals add that few rows have.
    #[inline]
    fn bound(&self, columns: &SegmentColumns<'_>, origin: usize, row: usize) -> f64 {
        let (constant, factor, words, sign) = self.factors[origin];
        let edge = columns.similarity.edge(row, sign);
        constant + factor * edge + words * columns.lexical(row) + self.slack
    }

    /// `bound` of the rows from `start` on with these attributes.
    fn bounds(
        &self,
        columns: &SegmentColumns<'_>,
        start: usize,
        codes: &[[u8; 8]],
        out: &mut [f64],
    ) {
        match self.only {
            Some(origin) => {
                let factors = self.factors[origin];
                self.fill(columns, start, codes, out, |_| factors);
            }
            None => self.fill(columns, start, codes, out, |codes| {
                self.factors[usize::from(codes[2] & 3)]
            }),
        }
    }

    #[inline(always)]
    fn fill(
        &self,
        columns: &SegmentColumns<'_>,
        start: usize,
        codes: &[[u8; 8]],
        out: &mut [f64],
        factors: impl Fn(&[u8; 8]) -> Factors,
    ) {
        let rows = start..start + codes.len();
        for (out, codes) in out.iter_mut().zip(codes) {
            *out = factors(codes).0 + self.slack;
        }
        let Similarity { values, errors } = &columns.similarity;
        if !values.is_empty() {
            let rows_of = out.iter_mut().zip(codes).zip(&values[rows.clone()]);
            if let Some((errors, query)) = errors {
                for (((out, codes), value), error) in rows_of.zip(&errors[rows.clone()]) {
                    let (_, factor, _, sign) = factors(codes);
                    let edge = f64::from(*value) + sign * f64::from(query.bound(*error));
                    *out += factor * edge;
                }
            } else {
                for ((out, codes), value) in rows_of {
                    *out += factors(codes).1 * f64::from(*value);
                }
            }
        }
        if !columns.lexical.is_empty() {
            let scores = &columns.lexical[rows];
            for ((out, codes), score) in out.iter_mut().zip(codes).zip(scores) {
                *out += factors(codes).2 * score;
            }
        }
    }
}

/// Calls `visit` with every row of the group whose upper bound may reach what `visit` last returned.
fn visit_upper_bounds(
    group: &RowGroup<'_>,
    mut least: f64,
    mut visit: impl FnMut(usize, usize, (f64, f64)) -> f64,
) {
    let RowGroup { table, scorer, .. } = group;
    if let Some(signals) = table.signals.as_ref().filter(|_| scorer.start_enabled) {
        return visit_by_turn(table, signals, scorer, least, visit);
    }
    let screen = Screen::new(scorer);
    for (part, columns) in table.parts.iter().enumerate() {
        if !columns.any_eligible {
            continue;
        }
        let bounds = |row: usize| {
            let row_signals = if scorer.start_enabled {
                columns.row_signals(row)
            } else {
                RowSignals::NOTHING
            };
            let content = columns.content_bounds(row);
            scorer.bounds(origin(columns.segment, row), content, &row_signals)
        };
        for sparse in &columns.sparse {
            let row = sparse.row as usize;
            if !has(&columns.eligible, row) {
                continue;
            }
            if columns.screened && screen.linear && sparse.adds_only() {
                let origin = origin(columns.segment, row);
                let (few, size) = scorer.sparse_share(origin, sparse);
                if screen.bound(columns, origin, row) + few + size * SLACK < least {
                    continue;
                }
            }
            least = visit(part, row, bounds(row));
        }
        let attributes = columns.segment.column::<[u8; 8]>(Section::Attributes);
        let memories = &attributes[..columns.segment.memory_rows()];
        let mut edges = [f64::INFINITY; BLOCK];
        for (at, codes) in memories.chunks(BLOCK).enumerate() {
            let mut rows = columns.unlisted(at);
            if columns.screened && rows != 0 {
                let edges = &mut edges[..codes.len()];
                screen.bounds(columns, at * BLOCK, codes, edges);
                if !edges.iter().fold(false, |any, edge| any | (*edge >= least)) {
                    continue;
                }
            }
            while rows != 0 {
                let i = rows.trailing_zeros() as usize;
                rows &= rows - 1;
                if columns.screened && edges[i] < least {
                    continue;
                }
                let (low, high) = bounds(at * BLOCK + i);
                if high >= least {
                    least = visit(part, at * BLOCK + i, (low, high));
                }
            }
        }
    }
}

/// As `visit_upper_bounds`, by the bounds of all turns.
fn visit_by_turn(
    table: &ScoreTable<'_>,
    signals: &TurnSignals<'_>,
    scorer: &Scorer<'_>,
    mut least: f64,
    mut visit: impl FnMut(usize, usize, (f64, f64)) -> f64,
) {
    let (low, high) = (&signals.bounds.low, &signals.bounds.high);
    for (i, columns) in table.parts.iter().enumerate() {
        for sparse in &columns.sparse {
            let row = sparse.row as usize;
            if has(&columns.eligible, row) {
                let of = origin(columns.segment, row);
                if let Some(level) = sparse.chosen {
                    let start = scorer.of_level(of, level, true, sparse.value(Signal::Rerank));
                    least = visit(i, row, (start, start));
                    continue;
                }
                let (few, size) = scorer.sparse_share(of, sparse);
                let turn = signals.index.turn(i, row);
                let slack = (size + low[turn].abs()) * SLACK;
                let bounds = (low[turn] + few - slack, high[turn] + few + slack);
                least = visit(i, row, bounds);
            }
        }
    }
    for (turn, most) in high.iter().enumerate() {
        if *most >= least {
            let (i, row) = signals.index.row(turn);
            if !table.parts[i].is_sparse(row) {
                least = visit(i, row, (low[turn], *most));
            }
        }
    }
}

/// Rows whose exact numbers are made together.
const EXACT_AT_ONCE: usize = 8;

/// A row with bounds of S.
struct BoundedRow {
    /// Place of its group.
    group: usize,
    part: usize,
    row: usize,
    low: f64,
    high: f64,
}

/// By code of OriginType: the list in which the rows of that origin compete; None = in none.
type Lists = [Option<usize>; 4];

/// Every origin in one list.
const ONE_LIST: Lists = [Some(0); 4];

/// Each of these origins in a list of its own.
fn own_lists(origins: [bool; 4]) -> Lists {
    std::array::from_fn(|origin| origins[origin].then_some(origin))
}

/// The lowest bounds of a list's best rows so far.
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

/// By list, the rows that can be among its best `k` by S.
///
/// One pass: a row whose upper bound stays below the k-th best lower bound of its list so far is
/// out.
fn bounded_rows(groups: &[RowGroup<'_>], k: usize, lists: Lists) -> [Vec<BoundedRow>; 4] {
    let occurs = |of: usize| groups.iter().any(|group| group.scorer.origins[of]);
    let lists: Lists = std::array::from_fn(|of| lists[of].filter(|_| occurs(of)));
    let mut lowest: [Lowest; 4] = Default::default();
    let mut found: [Vec<BoundedRow>; 4] = Default::default();
    let least = |lowest: &[Lowest; 4]| {
        let used = lists.iter().flatten().map(|list| lowest[*list].threshold());
        used.fold(f64::INFINITY, f64::min)
    };
    let mut threshold = least(&lowest);
    for (place, group) in groups.iter().enumerate() {
        let parts = &group.table.parts;
        visit_upper_bounds(group, threshold, |part, row, (low, high)| {
            let list = lists[origin(parts[part].segment, row)];
            if let Some(list) = list.filter(|list| high >= lowest[*list].threshold()) {
                found[list].push(BoundedRow {
                    group: place,
                    part,
                    row,
                    low,
                    high,
                });
                lowest[list].add(low, k);
                threshold = least(&lowest);
            }
            threshold
        });
    }
    for (found, lowest) in found.iter_mut().zip(&lowest) {
        found.retain(|one| one.high >= lowest.threshold());
    }
    found
}

/// The best `k` rows of these groups by S, best first, with exact numbers.
pub(super) fn candidates(groups: &[RowGroup<'_>], k: usize) -> Vec<Candidate> {
    let [found, ..] = bounded_rows(groups, k, ONE_LIST);
    exact(groups, k, found)
}

/// The best `k` of these rows by S, best first. Those with the highest bounds come first, so that
/// the numbers of rows that cannot be among the best are not made.
fn exact(groups: &[RowGroup<'_>], k: usize, mut found: Vec<BoundedRow>) -> Vec<Candidate> {
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
        for (place, group) in groups.iter().enumerate() {
            let own = some.iter().filter(|one| one.group == place);
            group.table.prepare(own.map(|one| (one.part, one.row)));
        }
        for one in some {
            let candidate = Candidate::of(&groups[one.group], one.part, one.row);
            if found.len() > k {
                lowest.add(candidate.start, k);
            }
            best.push(candidate);
        }
    }
    top_k(&mut best, k, by_start);
    best
}

/// The best `k` rows by S of each of these origins, in any order, as (columns, row); exact numbers
/// are made only of those whose bounds leave it open.
pub(super) fn best_rows(group: &RowGroup<'_>, k: usize, origins: [bool; 4]) -> Vec<(usize, usize)> {
    let groups = std::slice::from_ref(group);
    let mut rows = Vec::new();
    for found in bounded_rows(groups, k, own_lists(origins)) {
        let mut highs: Vec<TotalOrder> = found.iter().map(|one| TotalOrder(one.high)).collect();
        let next = (k < highs.len()).then(|| {
            let (_, next, _) = highs.select_nth_unstable_by(k, |a, b| b.cmp(a));
            next.0
        });
        // No more than `k` have an upper bound above that of the next.
        let surely = |one: &BoundedRow| next.is_none_or(|next| one.low > next);
        let (sure, open): (Vec<BoundedRow>, Vec<BoundedRow>) = found.into_iter().partition(surely);
        let open = exact(groups, k - sure.len().min(k), open);
        rows.extend(sure.into_iter().map(|one| (one.part, one.row)));
        rows.extend(open.into_iter().map(|one| (one.part, one.row)));
    }
    rows
}

/// How many eligible rows come before each of these in order of S.
pub(super) fn ranks(groups: &[RowGroup<'_>], targets: &[Candidate]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..targets.len()).collect();
    order.sort_unstable_by(|a, b| by_start(&targets[*a], &targets[*b]));
    let sorted: Vec<&Candidate> = order.iter().map(|i| &targets[*i]).collect();
    let Some(least) = sorted.last().map(|last| last.start) else {
        return Vec::new();
    };
    let mut before = vec![0_usize; sorted.len() + 1];
    for group in groups {
        visit_upper_bounds(group, least, |part, row, (low, high)| {
            let surely = sorted.partition_point(|target| target.start >= low);
            let maybe = sorted.partition_point(|target| target.start > high);
            let first = if surely == maybe {
                surely
            } else {
                let exact = Candidate::of(group, part, row);
                sorted.partition_point(|target| by_start(&exact, target) != Ordering::Less)
            };
            before[first] += 1;
            least
        });
    }
    let mut ranks = vec![0; targets.len()];
    let mut sum = 0;
    for (place, target) in order.into_iter().enumerate() {
        sum += before[place];
        ranks[target] = sum;
    }
    ranks
}
