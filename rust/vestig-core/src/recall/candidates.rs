//! Which rows can reach the pool: bounds first, exact numbers for the rest.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::fields::Field;
use super::{Base, Candidate, Scorer, by_start};
use crate::format::Section;
use crate::kernels::select::top_k;
use crate::snapshot::has;

/// A float that sorts by `total_cmp`.
#[derive(PartialEq)]
struct Total(f64);

impl Eq for Total {}

impl PartialOrd for Total {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Total {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A cheap upper bound of S without divisions: most rows end here.
struct Screen {
    /// Per origin: constant, factor of the cosine, factor of the lexical score, sign of the error.
    factors: [(f64, f64, f64, f64); 4],
    slack: f64,
}

impl Screen {
    fn new(scorer: &Scorer<'_>) -> Self {
        let inverse = |most: f64| if most > 0.0 { 1.0 / most } else { 0.0 };
        let linear = scorer.ranking.base == Base::Linear;
        let mut slack = 0.0_f64;
        let factors = scorer.ranking.weights.map(|weights| {
            if !linear {
                return (0.0, 1.0, 0.0, 1.0);
            }
            let factor = weights.cosine.unwrap_or(0.0) * inverse(scorer.cosine_max);
            let words = scorer.lexical_max.map_or(0.0, inverse) * weights.lexical.unwrap_or(0.0);
            // Far above the roundings of both forms: each term has at most four of 2⁻⁵³.
            let lexical_most = scorer.lexical_max.unwrap_or(0.0);
            let size = weights.bias.abs() + factor.abs() + (words * lexical_most).abs();
            slack = slack.max(size * 1e-12);
            (
                weights.bias,
                factor,
                words,
                if factor < 0.0 { -1.0 } else { 1.0 },
            )
        });
        Self { factors, slack }
    }
}

/// The best `k` rows by S, best first, with exact numbers.
///
/// One pass: a row whose upper bound stays below the k-th best lower bound so far is out.
pub(super) fn candidates(fields: &[Field<'_>], scorer: &Scorer<'_>, k: usize) -> Vec<Candidate> {
    let screen = Screen::new(scorer);
    let mut lowers: BinaryHeap<Reverse<Total>> = BinaryHeap::new();
    let mut threshold = f64::NEG_INFINITY;
    let mut possible: Vec<(usize, usize, f64)> = Vec::new();
    for (i, field) in fields.iter().enumerate() {
        let attributes = field.segment.column::<[u8; 8]>(Section::Attributes);
        let memories = &attributes[..field.segment.memory_rows()];
        for (row, codes) in memories.iter().enumerate() {
            let origin = usize::from(codes[2] & 3);
            let (constant, factor, words, sign) = screen.factors[origin];
            let lexical = field.lexical(row);
            let edge = field.similarity.edge(row, sign);
            if constant + factor * edge + words * lexical + screen.slack < threshold
                || !has(&field.eligible, row)
            {
                continue;
            }
            let bounds = field.similarity.bounds(row);
            let (low, high) = scorer.bounds(&scorer.ranking.weights[origin], bounds, lexical);
            if high < threshold {
                continue;
            }
            possible.push((i, row, high));
            lowers.push(Reverse(Total(low)));
            if lowers.len() > k {
                lowers.pop();
            }
            if lowers.len() == k {
                threshold = lowers.peek().map_or(threshold, |least| least.0.0);
            }
        }
    }
    possible.retain(|(_, _, high)| *high >= threshold);
    let exact = |(i, row, _): (usize, usize, f64)| {
        let field = &fields[i];
        let cosine = match field.similarity.errors {
            None => field.similarity.bounds(row).0,
            Some(_) => scorer.exact(field.segment, row),
        };
        let weights =
            &scorer.ranking.weights[usize::from(field.segment.attributes(row).origin & 3)];
        let start = scorer.start(weights, cosine, field.lexical(row));
        Candidate {
            field: i,
            row,
            id: field.segment.ids()[row],
            cosine,
            start,
        }
    };
    let mut found: Vec<Candidate> = possible.into_iter().map(exact).collect();
    top_k(&mut found, k, by_start);
    found
}
