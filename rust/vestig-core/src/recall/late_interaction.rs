//! Late interaction: the word pieces of the query against those of the best rows, and of the turns
//! beside them in their sessions.

use super::analysed_query::Query;
use super::candidates::best_rows;
use super::metadata_signals::fill_sparse;
use super::ranking::Base;
use super::score_table::ScoreTable;
use super::scorer::Scorer;
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
/// Up to so many eligible rows are counted one by one at first, without counts of all rows of
/// the segment.
const FEW_ROWS: usize = 1024;
/// The similarity from which two word pieces are alike: more says nothing. A question that is answered
/// in other words has many fair matches, one that is repeated has few strong ones.
const ALIKE: f64 = 0.4;

/// Compares the best `late_pool` rows by L₂ and puts them into the pool. Without codes of the query
/// the signals are unavailable. `dates_met`: an eligible memory meets a date of the query, whose word
/// pieces then weigh nothing.
pub(super) fn fill(
    table: &mut ScoreTable<'_>,
    query: &Query,
    (eligible, dates_met): (usize, bool),
) {
    let ranking = table.scorer.ranking;
    let weighed = Signal::LATE.map(|signal| ranking.weighs(signal));
    let Some(pieces) = query.pieces.as_ref().filter(|_| weighed.contains(&true)) else {
        return;
    };
    debug_assert!(ranking.base == Base::Linear, "nothing else weighs signals");
    let rows = table.by_level(|table| best_rows(table, ranking.late_pool));
    let mut weights = weights_of(&table.parts, pieces.ids(), eligible);
    for place in query.pieces_in_time.iter().filter(|_| dates_met) {
        if let Some(weight) = weights.get_mut(*place as usize) {
            *weight = 0.0;
        }
    }
    let window = ranking.weighs(Signal::LateWindow);
    let index = window.then(|| TurnIndex::of_parts(&table.parts, ranking.sittings));
    let mut late = Late::new(&table.parts, pieces, weights);
    let mut found: [Vec<(Node, f64)>; Signal::LATE.len()] = Default::default();
    for (part, row) in rows.iter().copied() {
        let node = Node {
            part: part as u32,
            row: row as u32,
        };
        let own = late.own(part, row);
        let near = index
            .as_ref()
            .map_or(own, |index| late.raised(own, index, index.turn(part, row)));
        let value = late.mean(own);
        let values = [value, late.mean(near) - value];
        for (found, value) in found.iter_mut().zip(values) {
            found.push((node, value));
        }
    }
    for ((signal, weighs), found) in Signal::LATE.into_iter().zip(weighed).zip(found) {
        if weighs {
            fill_sparse(&mut table.parts, signal, found);
            table.known[signal] = true;
        }
    }
    set_outside(table, &rows);
}

/// Marks the rows of the pool, and what all others have in the place of the late terms.
fn set_outside(table: &mut ScoreTable<'_>, rows: &[(usize, usize)]) {
    let mut marks = vec![Vec::new(); table.parts.len()];
    for (part, row) in rows {
        marks[*part].push((*row as u32, ()));
    }
    for (columns, rows) in table.parts.iter_mut().zip(marks) {
        columns.set_sparse(rows, |sparse, ()| sparse.pooled = true);
    }
    let added = rows.iter().filter_map(|(part, row)| {
        let columns = &table.parts[*part];
        let weights = &table.scorer.weights[Scorer::kind(columns, *row)].signals;
        let sparse = columns.sparse_row(*row)?;
        let late = Signal::LATE.into_iter();
        Some(late.fold(0.0, |sum, signal| {
            sum + weights[signal] * sparse.value(signal)
        }))
    });
    table.scorer.outside = added.reduce(f64::min).unwrap_or(0.0);
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

    /// The largest of these values and of the turns up to two away; `near`: None = no values.
    fn raised(&mut self, near: Option<usize>, index: &TurnIndex, turn: usize) -> Option<usize> {
        let mut made = None;
        for offset in [-2, -1, 1, 2] {
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

    /// Weighted by idf; sums go in the order of the query's word pieces.
    fn mean(&self, at: Option<usize>) -> f64 {
        match at {
            Some(at) if self.total > 0.0 => {
                let best = &self.best[at..at + self.tokens.count()];
                let shares = self.weights.iter().zip(best);
                shares.map(|(idf, best)| idf * best.min(ALIKE)).sum::<f64>() / self.total
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
