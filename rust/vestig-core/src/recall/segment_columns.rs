//! The columns of one segment during one query: eligible rows, cosines, lexical scores, and what
//! only some rows have.

use super::ranking::Effort;
use super::scorer::Scorer;
use super::signal::{BySignal, Signal};
use crate::kernels::bits::{Bits, count, set_bits};
use crate::kernels::dot::{cosine, dot, dot_rows};
use crate::kernels::lexical::{self, Norms};
use crate::kernels::quantised::{QuantisedQuery, approx_rows};
use crate::segment::Segment;
use crate::segment::format::Section;
use crate::snapshot::Part;

/// Rows that are compared with one query after the other: their codes or vectors fill no more than
/// the second level of a cache.
const BLOCK_ROWS: usize = 256;

/// Cosines of a part's rows: exact dots, or approximations with the query that made them.
pub(super) struct Similarity<'a> {
    pub(super) values: Vec<f32>,
    pub(super) errors: Option<(&'a [f32], &'a QuantisedQuery)>,
}

impl Similarity<'_> {
    /// Bounds of a row's cosine; equal when it is exact.
    #[inline]
    pub(super) fn bounds(&self, row: usize) -> (f64, f64) {
        let Some(value) = self.values.get(row) else {
            return (0.0, 0.0);
        };
        match self.errors {
            None => (cosine(*value), cosine(*value)),
            Some((errors, query)) => {
                let (value, bound) = (f64::from(*value), f64::from(query.bound(errors[row])));
                (
                    (value - bound).clamp(-1.0, 1.0),
                    (value + bound).clamp(-1.0, 1.0),
                )
            }
        }
    }
}

impl Similarity<'_> {
    /// Adds `factor` times the bound that makes the sums of the rows from `start` on largest.
    /// `factor`: by the place of a row behind `start`.
    #[inline]
    pub(super) fn add_highest(
        &self,
        start: usize,
        sums: &mut [f64],
        factor: impl Fn(usize) -> f64,
    ) {
        if self.values.is_empty() {
            return;
        }
        let values = &self.values[start..start + sums.len()];
        let rows = sums.iter_mut().zip(values).enumerate();
        let Some((errors, query)) = self.errors else {
            for (at, (sum, value)) in rows {
                *sum += factor(at) * f64::from(*value);
            }
            return;
        };
        for ((at, (sum, value)), error) in rows.zip(&errors[start..]) {
            let (factor, error) = (factor(at), f64::from(query.bound(*error)));
            let edge = if factor < 0.0 { -error } else { error };
            *sum += factor * (f64::from(*value) + edge);
        }
    }
}

/// Values that few rows have.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SparseRow {
    pub(super) row: u32,
    /// Raw values of `Signal::SPARSE`.
    pub(super) values: [f64; Signal::SPARSE.len()],
    /// The nearest question with its cosine; then `content` is the exact cosine of the memory.
    pub(super) question: Option<(u32, f64)>,
    pub(super) content: f64,
    /// Its word pieces are compared.
    pub(super) pooled: bool,
}

impl SparseRow {
    /// The raw value of one of `Signal::SPARSE`.
    pub(super) fn value(&self, signal: Signal) -> f64 {
        signal
            .sparse_place()
            .map_or(0.0, |place| self.values[place])
    }
}

/// One segment during a call.
pub(super) struct SegmentColumns<'a> {
    pub(super) segment: &'a Segment,
    /// Rows that no later version masks.
    pub(super) live: &'a Bits,
    pub(super) eligible: Bits,
    /// True if any row is eligible.
    pub(super) any_eligible: bool,
    pub(super) similarity: Similarity<'a>,
    /// BM25 by row, of the text alone; empty = all 0.
    pub(super) words: Vec<f64>,
    /// Raw values by row of signals that are columns (`Source::Column`); empty = all 0.
    pub(super) values: BySignal<Vec<f64>>,
    /// By metadata signal and row; empty = all 0.
    pub(super) metadata: [Vec<f64>; 4],
    /// By row, what S is made of before the cosine; of every eligible row.
    pub(super) rest: Vec<f64>,
    /// By row.
    pub(super) sparse: Vec<SparseRow>,
    /// Rows in `sparse`; empty = none.
    sparse_bits: Bits,
}

impl<'a> SegmentColumns<'a> {
    pub(super) fn new(part: &'a Part, eligible: Bits) -> Self {
        Self {
            segment: &part.segment,
            live: &part.live,
            any_eligible: eligible.iter().any(|word| *word != 0),
            eligible,
            similarity: Similarity {
                values: Vec::new(),
                errors: None,
            },
            words: Vec::new(),
            values: BySignal::default(),
            metadata: Default::default(),
            rest: Vec::new(),
            sparse: Vec::new(),
            sparse_bits: Bits::new(),
        }
    }

    #[inline]
    pub(super) fn is_sparse(&self, row: usize) -> bool {
        self.sparse_bits
            .get(row / 64)
            .is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    /// Eligible rows of a word of bits that are not in `sparse`.
    #[inline]
    pub(super) fn unlisted(&self, word: usize) -> u64 {
        self.eligible[word] & !self.sparse_bits.get(word).copied().unwrap_or(0)
    }

    pub(super) fn sparse_row(&self, row: usize) -> Option<&SparseRow> {
        if !self.is_sparse(row) {
            return None;
        }
        let at = self
            .sparse
            .binary_search_by_key(&(row as u32), |s| s.row)
            .ok()?;
        Some(&self.sparse[at])
    }

    /// Sets sparse values of rows; a row that has none yet gets an entry.
    pub(super) fn set_sparse<T>(&mut self, rows: Vec<(u32, T)>, set: impl Fn(&mut SparseRow, T)) {
        if rows.is_empty() {
            return;
        }
        if self.sparse_bits.is_empty() {
            self.sparse_bits = vec![0; self.eligible.len()];
        }
        let known = self.sparse.len();
        let mut fresh: Vec<(u32, T)> = Vec::new();
        for (row, value) in rows {
            match self.sparse[..known].binary_search_by_key(&row, |s| s.row) {
                Ok(at) => set(&mut self.sparse[at], value),
                Err(_) => fresh.push((row, value)),
            }
        }
        if fresh.is_empty() {
            return;
        }
        fresh.sort_unstable_by_key(|(row, _)| *row);
        for (row, value) in fresh {
            self.sparse_bits[row as usize / 64] |= 1 << (row % 64);
            let mut sparse = SparseRow {
                row,
                ..SparseRow::default()
            };
            set(&mut sparse, value);
            self.sparse.push(sparse);
        }
        // Two ascending runs, which a stable sort merges.
        self.sparse.sort_by_key(|sparse| sparse.row);
    }

    /// The nearest stored question of a row and its cosine.
    pub(super) fn question(&self, row: usize) -> Option<(u32, f64)> {
        self.sparse_row(row)?.question
    }

    /// Bounds of a row's content cosine; equal when it is exact.
    pub(super) fn content_bounds(&self, row: usize) -> (f64, f64) {
        match self.sparse_row(row) {
            Some(sparse) if sparse.question.is_some() => (sparse.content, sparse.content),
            _ => self.similarity.bounds(row),
        }
    }

    /// The exact content cosine of an eligible row.
    pub(super) fn content(&self, scorer: &Scorer<'_>, row: usize) -> f64 {
        match self.similarity.errors {
            None => self.content_bounds(row).0,
            Some(_) => scorer.exact(self.segment, row),
        }
    }
}

pub(super) fn unembedded(columns: &SegmentColumns<'_>) -> usize {
    let words = columns.eligible.iter().zip(columns.segment.embedded());
    words
        .map(|(eligible, embedded)| (eligible & !embedded).count_ones() as usize)
        .sum()
}

/// The vector of a query, whole lanes; `quantised`: where bounds come first.
#[derive(Clone, Copy)]
pub(super) struct CosineQuery<'a> {
    pub(super) unit: &'a [f32],
    pub(super) quantised: Option<&'a QuantisedQuery>,
}

impl CosineQuery<'_> {
    /// Returns whether so few rows are eligible that each is compared alone.
    fn by_row(&self, columns: &SegmentColumns<'_>) -> bool {
        self.quantised.is_none() && count(&columns.eligible) < columns.segment.memory_rows() / 8
    }

    /// Like `compare`, without blocks in which no row is eligible.
    fn compare_eligible(&self, columns: &SegmentColumns<'_>, first: usize, out: &mut [f32]) {
        let words = BLOCK_ROWS / 64;
        let (end, mut from) = (first + out.len(), first);
        while from < end {
            let block = from / BLOCK_ROWS;
            let to = end.min((block + 1) * BLOCK_ROWS);
            let mut of_block = columns.eligible.iter().skip(block * words).take(words);
            if of_block.any(|word| *word != 0) {
                self.compare(columns.segment, from, &mut out[from - first..to - first]);
            }
            from = to;
        }
    }

    /// Cosines of rows in a row, or approximations: `out` begins at row `first`.
    fn compare(&self, segment: &Segment, first: usize, out: &mut [f32]) {
        let lanes = segment.lanes();
        match self.quantised {
            Some(query) => {
                let codes = &segment.column::<i8>(Section::Codes)[first * lanes..];
                approx_rows(
                    query,
                    codes,
                    &segment.column::<f32>(Section::Scales)[first..],
                    out,
                );
            }
            None => {
                let vectors = &segment.column::<f32>(Section::Vectors)[first * lanes..];
                dot_rows(self.unit, vectors, lanes, out);
            }
        }
    }
}

/// By query, cosines of all rows of a segment as `fill_cosines` takes them. Each block of rows is
/// compared with every query while it lies in the cache.
pub(super) fn cosines_of_many(
    columns: &SegmentColumns<'_>,
    queries: &[CosineQuery<'_>],
) -> Vec<Vec<f32>> {
    let rows = columns.segment.memory_rows();
    let scanned = |query: &CosineQuery<'_>| {
        columns.any_eligible && !query.unit.is_empty() && !query.by_row(columns)
    };
    let mut found: Vec<Vec<f32>> = queries
        .iter()
        .map(|query| vec![0.0; if scanned(query) { rows } else { 0 }])
        .collect();
    for first in (0..rows).step_by(BLOCK_ROWS) {
        let last = (first + BLOCK_ROWS).min(rows);
        for (query, values) in queries.iter().zip(&mut found) {
            if !values.is_empty() {
                query.compare(columns.segment, first, &mut values[first..last]);
            }
        }
    }
    found
}

/// Cosines of all eligible rows of a segment: exact, or by 8-bit codes.
///
/// `known`: what `cosines_of_many` found; empty where rows are compared alone.
pub(super) fn fill_cosines<'a>(
    columns: &mut SegmentColumns<'a>,
    query: CosineQuery<'a>,
    known: Option<Vec<f32>>,
    effort: Effort,
) {
    let segment = columns.segment;
    let mut values = known.unwrap_or_default();
    if values.is_empty() {
        values = cosines(columns, query, effort);
    }
    let errors = (query.quantised).map(|query| (segment.column::<f32>(Section::Bounds), query));
    mask_ineligible(&mut values, &columns.eligible);
    columns.similarity = Similarity { values, errors };
}

/// Of the rows of a segment, or of the eligible ones alone, exact or by 8-bit codes.
pub(super) fn cosines(
    columns: &SegmentColumns<'_>,
    query: CosineQuery<'_>,
    effort: Effort,
) -> Vec<f32> {
    let segment = columns.segment;
    let rows = segment.memory_rows();
    let mut values = vec![0.0; rows];
    let share = rows
        .div_ceil(effort.threads.max(1))
        .max(effort.thread_rows.max(1));
    if query.by_row(columns) {
        for row in set_bits(&columns.eligible) {
            values[row] = dot(query.unit, segment.vector(row));
        }
    } else if share >= rows {
        query.compare_eligible(columns, 0, &mut values);
    } else {
        std::thread::scope(|scope| {
            for (i, out) in values.chunks_mut(share).enumerate() {
                scope.spawn(move || query.compare_eligible(columns, i * share, out));
            }
        });
    }
    values
}

/// The nearest stored question of every eligible row that has some. Their cosines leave
/// the common column, so that no scan takes them for S_query.
pub(super) fn score_stored_questions(columns: &mut SegmentColumns<'_>, vector: &[f32]) {
    let segment = columns.segment;
    if segment.question_count() == 0 {
        return;
    }
    let mut found = Vec::new();
    for row in set_bits(&columns.eligible) {
        let mut best: Option<(u32, f64)> = None;
        for (i, number) in segment.questions(row).enumerate() {
            let value = cosine(dot(vector, segment.question_vector(number)));
            if best.is_none_or(|(_, most)| value > most) {
                best = Some((i as u32, value));
            }
        }
        if best.is_some() {
            let content = cosine(dot(vector, segment.vector(row)));
            found.push((row as u32, (best, content)));
        }
    }
    for (row, _) in &found {
        columns.similarity.values[*row as usize] = f32::NEG_INFINITY;
    }
    columns.set_sparse(found, |sparse, (question, content)| {
        sparse.question = question;
        sparse.content = content;
    });
}

/// Ineligible rows get a value below every cosine, so that scans need not look at the bits.
fn mask_ineligible(values: &mut [f32], eligible: &[u64]) {
    for (values, word) in values.chunks_mut(64).zip(eligible) {
        if *word == u64::MAX {
            continue;
        }
        for (i, value) in values.iter_mut().enumerate() {
            if word >> i & 1 == 0 {
                *value = f32::NEG_INFINITY;
            }
        }
    }
}

/// Makes rows below the threshold ineligible; it is rounded to float32 before comparing.
pub(super) fn apply_min_similarity(columns: &mut SegmentColumns<'_>, own: &[f32], least: f64) {
    let least = f64::from(least as f32);
    let similarity = |row: usize| match own {
        [] => 0.0,
        own => cosine(dot(own, columns.segment.vector(row))),
    };
    let below: Vec<usize> = set_bits(&columns.eligible)
        .filter(|row| similarity(*row) < least)
        .collect();
    for row in below {
        columns.eligible[row / 64] &= !(1 << (row % 64));
    }
    mask_ineligible(&mut columns.similarity.values, &columns.eligible);
}

/// Statistics of the query's terms over the eligible rows.
pub(super) struct TermStatistics {
    /// Of each term.
    pub(super) idfs: Vec<f64>,
    /// By term, how many of the rows hold it.
    pub(super) document_frequencies: Vec<u64>,
    /// By term and part, its number there.
    pub(super) numbers: Vec<Vec<Option<u32>>>,
    pub(super) norms: Norms,
}

/// Fills in the scores by words: BM25 as a share of the idf of all terms.
pub(super) fn fill_words(
    parts: &mut [SegmentColumns<'_>],
    terms: &[String],
    eligible: usize,
) -> TermStatistics {
    let total: u64 = parts.iter().map(total_length).sum();
    let norms = Norms::new(total, eligible as u64);
    let TermLookup {
        whole,
        numbers,
        idfs,
        document_frequencies,
    } = TermLookup::of(parts, terms, eligible);
    for (numbers, idf) in numbers.iter().zip(&idfs) {
        for ((columns, number), whole) in parts.iter_mut().zip(numbers).zip(&whole) {
            let Some(number) = number else { continue };
            if columns.words.is_empty() {
                columns.words = vec![0.0; columns.segment.memory_rows()];
            }
            let bits = (!whole).then_some(columns.eligible.as_slice());
            let lengths = columns.segment.column::<u32>(Section::Lengths);
            let postings = columns.segment.postings(*number as usize);
            let frequency = lexical::frequency;
            let scores = &mut columns.words;
            lexical::accumulate(scores, *idf, postings, frequency, lengths, bits, &norms);
        }
    }
    let whole: f64 = idfs.iter().sum();
    for score in parts.iter_mut().flat_map(|columns| &mut columns.words) {
        *score /= whole;
    }
    TermStatistics {
        idfs,
        document_frequencies,
        numbers,
        norms,
    }
}

/// Of each term its number in every part, how many eligible rows hold it, and its idf; of each part
/// whether all rows are eligible.
struct TermLookup {
    whole: Vec<bool>,
    numbers: Vec<Vec<Option<u32>>>,
    idfs: Vec<f64>,
    document_frequencies: Vec<u64>,
}

impl TermLookup {
    fn of(parts: &[SegmentColumns<'_>], terms: &[String], eligible: usize) -> Self {
        let whole: Vec<bool> = parts
            .iter()
            .map(|columns| count(&columns.eligible) == columns.segment.memory_rows())
            .collect();
        let of_parts = |term: &String| {
            let parts = parts.iter();
            parts
                .map(|columns| columns.segment.term_number(term))
                .collect()
        };
        let numbers: Vec<Vec<Option<u32>>> = terms.iter().map(of_parts).collect();
        let frequency = |numbers: &Vec<Option<u32>>| {
            let mut holding = 0;
            for ((columns, number), whole) in parts.iter().zip(numbers).zip(&whole) {
                if let Some(number) = number {
                    let bits = (!whole).then_some(columns.eligible.as_slice());
                    let rows = columns.segment.postings(*number as usize).0;
                    holding += lexical::document_frequency(rows, bits);
                }
            }
            holding
        };
        let document_frequencies: Vec<u64> = numbers.iter().map(frequency).collect();
        let idf = |holding: &u64| lexical::idf(eligible as u64, *holding);
        Self {
            whole,
            idfs: document_frequencies.iter().map(idf).collect(),
            document_frequencies,
            numbers,
        }
    }
}

/// idf of each of these terms over the eligible rows.
pub(super) fn idfs(parts: &[SegmentColumns<'_>], terms: &[String], eligible: usize) -> Vec<f64> {
    TermLookup::of(parts, terms, eligible).idfs
}

fn total_length(columns: &SegmentColumns<'_>) -> u64 {
    let lengths = columns.segment.column::<u32>(Section::Lengths);
    columns
        .eligible
        .iter()
        .zip(lengths.chunks(64))
        .map(|(word, lengths)| match *word {
            0 => 0,
            u64::MAX => lengths.iter().map(|n| u64::from(*n)).sum(),
            word => {
                let counted = |(i, n): (usize, &u32)| u64::from(*n) * (word >> i & 1);
                lengths.iter().enumerate().map(counted).sum::<u64>()
            }
        })
        .sum()
}
