//! Late interaction: the tokens of the query against those of chosen rows, and of what stands
//! beside them in their sessions.

use super::analysed_query::Query;
use super::metadata_signals::fill_sparse;
use super::ranking::Weights;
use super::score_table::ScoreTable;
use super::scorer::{Scorer, origin};
use super::segment_columns::SegmentColumns;
use super::signal::Signal;
use super::turn_index::TurnIndex;
use crate::kernels::bits::{count, set_bits};
use crate::kernels::lexical;
use crate::kernels::max_sim::Tokens;
use crate::kernels::number_map::NumberMap;
use crate::kernels::piece_codes::{QueryPieces, stored_id};
use crate::query::graph::Node;
use crate::segment::Segment;
use crate::segment::format::Section;

/// Word piece of a query that stands for no word: it weighs nothing where pieces are weighed.
pub(super) const NO_WORD: u32 = u32::MAX;
/// What is computed here.
const LATE: [Signal; 4] = [
    Signal::LateOwnIdf,
    Signal::LateW1Idf,
    Signal::LateW2Idf,
    Signal::LateW2Cube,
];
/// Up to so many eligible rows are counted one by one at first, without counts of all rows of
/// the segment.
const FEW_ROWS: usize = 1024;

/// Whether the weights of an origin weigh any of these signals.
pub(super) fn weighed(weights: &Weights) -> bool {
    LATE.iter().any(|signal| weights.weigh(*signal))
}

/// Fills in the values of these rows, given as (columns, row), and the maxima of the signals; by
/// code of OriginType whether any of the rows has word pieces. Without codes of the query the
/// signals are unavailable.
pub(super) fn fill(
    table: &mut ScoreTable<'_>,
    scorer: &mut Scorer<'_>,
    query: &Query,
    eligible: usize,
    rows: &[(usize, usize)],
) -> [bool; 4] {
    let mut known = [false; 4];
    let wanted = LATE.map(|signal| scorer.weighs(signal));
    let Some(pieces) = query.pieces.as_ref().filter(|_| wanted.contains(&true)) else {
        return known;
    };
    let weights = weights_of(&table.parts, pieces.ids(), eligible);
    let beside = wanted[1..].contains(&true);
    let beside = beside.then(|| TurnIndex::of_parts(&table.parts, scorer));
    let mut late = Late::new(&table.parts, pieces, weights);
    let mut found: [Vec<(Node, f64)>; LATE.len()] = Default::default();
    for (columns, row) in rows.iter().copied() {
        let node = Node {
            part: columns as u32,
            row: row as u32,
        };
        let own = late.own(columns, row);
        known[origin(table.parts[columns].segment, row)] |= own.is_some();
        let mut values = [late.weighted(own), 0.0, 0.0, 0.0];
        if let Some(index) = &beside {
            let turn = index.turn(columns, row);
            let one = late.raised(own, index, turn, 1);
            values[1] = late.weighted(one);
            if wanted[2] || wanted[3] {
                let two = late.raised(one, index, turn, 2);
                (values[2], values[3]) = (late.weighted(two), late.cubes(two));
            }
        }
        for (found, value) in found.iter_mut().zip(values) {
            found.push((node, value));
        }
    }
    for ((signal, wanted), found) in LATE.into_iter().zip(wanted).zip(found) {
        if wanted {
            scorer.maxima[signal] = Some(fill_sparse(&mut table.parts, signal, found));
        }
    }
    known
}

/// Similarities of the query's tokens with those of memories, each memory once.
struct Late<'a> {
    /// Each with the number of rows of all parts before it.
    segments: Vec<(&'a Segment, u32)>,
    tokens: Tokens,
    /// By token.
    weights: Vec<f64>,
    total: f64,
    /// By memory: by token, the largest similarity.
    best: Vec<f64>,
    /// By row over all parts, where a memory's begin in `best`; None = it has no pieces.
    known: NumberMap<Option<usize>>,
}

impl<'a> Late<'a> {
    /// Tokens that weigh nothing are left out: they change no sum.
    fn new(parts: &[SegmentColumns<'a>], query: &QueryPieces, mut weights: Vec<f64>) -> Self {
        let tokens = Tokens::new(query, |token| weights[token] != 0.0);
        weights.retain(|weight| *weight != 0.0);
        let segments = parts.iter().scan(0, |before, columns| {
            let first = *before;
            *before += columns.segment.memory_rows() as u32;
            Some((columns.segment, first))
        });
        Self {
            segments: segments.collect(),
            tokens,
            total: weights.iter().sum(),
            weights,
            best: Vec::new(),
            known: NumberMap::default(),
        }
    }

    fn own(&mut self, part: usize, row: usize) -> Option<usize> {
        let (tokens, best) = (&mut self.tokens, &mut self.best);
        let (segment, first) = self.segments[part];
        *self.known.entry(first + row as u32).or_insert_with(|| {
            let (start, pieces) = (best.len(), segment.pieces(row));
            tokens.best(pieces, best);
            (!pieces.signs.is_empty()).then_some(start)
        })
    }

    /// The largest of these values and of the memories so many positions before and behind; `near`:
    /// None = no values.
    fn raised(
        &mut self,
        near: Option<usize>,
        index: &TurnIndex,
        turn: usize,
        distance: isize,
    ) -> Option<usize> {
        let mut made = None;
        for offset in [-distance, distance] {
            for other in index.beside(turn, offset) {
                let (part, row) = index.row(other);
                let Some(other) = self.own(part, row) else {
                    continue;
                };
                let Some(into) = made else {
                    // Copied, because values of a memory are read again.
                    let first = near.unwrap_or(other);
                    made = Some(self.best.len());
                    self.best
                        .extend_from_within(first..first + self.tokens.count());
                    if near.is_some() {
                        self.raise(self.best.len() - self.tokens.count(), other);
                    }
                    continue;
                };
                self.raise(into, other);
            }
        }
        made.or(near)
    }

    fn raise(&mut self, into: usize, other: usize) {
        for token in 0..self.tokens.count() {
            self.best[into + token] = self.best[into + token].max(self.best[other + token]);
        }
    }

    fn weighted(&self, at: Option<usize>) -> f64 {
        self.mean(at, |similarity| similarity)
    }

    fn cubes(&self, at: Option<usize>) -> f64 {
        self.mean(at, |similarity| {
            let above = similarity.max(0.0);
            above * above * above
        })
    }

    /// Weighted by idf; sums go in the order of the query's word pieces.
    fn mean(&self, at: Option<usize>, of: impl Fn(f64) -> f64) -> f64 {
        match at {
            Some(at) if self.total > 0.0 => {
                let best = &self.best[at..at + self.tokens.count()];
                let shares = self.weights.iter().zip(best);
                shares.map(|(idf, best)| idf * of(*best)).sum::<f64>() / self.total
            }
            _ => 0.0,
        }
    }
}

/// idf of each word piece of the query over the eligible.
fn weights_of(parts: &[SegmentColumns<'_>], ids: &[u32], eligible: usize) -> Vec<f64> {
    let words = ids.iter().filter(|id| **id != NO_WORD);
    let mut asked: Vec<u16> = words.map(|id| stored_id(*id)).collect();
    asked.sort_unstable();
    asked.dedup();
    let mut holding = vec![0_u64; asked.len()];
    for columns in parts.iter().filter(|columns| columns.any_eligible) {
        let counts = count_eligible(columns, &asked);
        holding
            .iter_mut()
            .zip(counts)
            .for_each(|(sum, n)| *sum += n);
    }
    // Pieces that stand for no word are not asked for.
    let weight = |id: &u32| match asked.binary_search(&stored_id(*id)) {
        Ok(at) => lexical::idf(eligible as u64, holding[at]),
        Err(_) => 0.0,
    };
    ids.iter().map(weight).collect()
}

/// How many eligible rows hold each of these pieces, of which none is a special one and which ascend.
fn count_eligible(columns: &SegmentColumns<'_>, asked: &[u16]) -> Vec<u64> {
    let segment = columns.segment;
    let rows = segment.memory_rows();
    let eligible = count(&columns.eligible);
    if eligible < rows / 2 || (eligible <= FEW_ROWS && !segment.piece_counts_pay()) {
        return count_pieces(segment, asked, set_bits(&columns.eligible));
    }
    let others = (0..rows.div_ceil(64)).map(|word| {
        let known = u64::MAX >> (64 * (word + 1)).saturating_sub(rows);
        !columns.eligible[word] & known
    });
    let others: Vec<u64> = others.collect();
    let left_out = count_pieces(segment, asked, set_bits(&others));
    let all = asked
        .iter()
        .map(|id| u64::from(segment.piece_row_count(*id)));
    all.zip(left_out).map(|(all, out)| all - out).collect()
}

fn count_pieces(segment: &Segment, asked: &[u16], rows: impl Iterator<Item = usize>) -> Vec<u64> {
    let offsets = segment.column::<u32>(Section::PieceOffsets);
    let ids = segment.column::<u16>(Section::PieceIds);
    // Most pieces are not in the query: their last bits exclude them cheaply.
    let mut possible = vec![false; 1 << 12];
    let low = |id: u16| usize::from(id & 0xFFF);
    asked.iter().for_each(|id| possible[low(*id)] = true);
    let (mut counts, mut seen) = (vec![0; asked.len()], vec![usize::MAX; asked.len()]);
    for row in rows {
        for id in &ids[offsets[row] as usize..offsets[row + 1] as usize] {
            if !possible[low(*id)] {
                continue;
            }
            if let Ok(at) = asked.binary_search(id)
                && seen[at] != row
            {
                seen[at] = row;
                counts[at] += 1;
            }
        }
    }
    counts
}
