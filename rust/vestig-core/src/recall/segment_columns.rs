//! The columns of one call: eligible rows of a segment, their cosines and lexical scores.

use super::scorer::{Known, Scorer};
use super::signal::{BySignal, Signal};
use super::types::Effort;
use crate::kernels::bits::{Bits, count, set_bits};
use crate::kernels::dot::{cosine, dot, dot_rows};
use crate::kernels::lexical::{self, Norms};
use crate::kernels::quantised::{QuantisedQuery, approx_rows};
use crate::segment::Segment;
use crate::segment::format::Section;

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
    /// The upper (sign 1) or lower (sign −1) bound, not clamped.
    #[inline]
    pub(super) fn edge(&self, row: usize, sign: f64) -> f64 {
        let Some(value) = self.values.get(row) else {
            return 0.0;
        };
        let value = f64::from(*value);
        match self.errors {
            None => value,
            Some((errors, query)) => value + sign * f64::from(query.bound(errors[row])),
        }
    }
}

/// What few rows have.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Special {
    pub(super) row: u32,
    /// Raw values of `Signal::SPARSE`.
    pub(super) few: [f64; Signal::SPARSE.len()],
    /// The nearest question with its cosine; then `content` is the exact cosine of the memory.
    pub(super) question: Option<(u32, f64)>,
    pub(super) content: f64,
}

/// One segment during a call.
pub(super) struct Field<'a> {
    pub(super) segment: &'a Segment,
    pub(super) eligible: Bits,
    /// Whether any row is eligible.
    pub(super) any: bool,
    pub(super) similarity: Similarity<'a>,
    /// Raw lexical score by row; empty = all 0.
    pub(super) lexical: Vec<f64>,
    /// Raw values of `Signal::DENSE` by row; empty = all 0.
    pub(super) dense: [Vec<f64>; Signal::DENSE.len()],
    /// Whether S is made of cosine and lexical score alone, except in `special`.
    pub(super) screened: bool,
    /// By row.
    pub(super) special: Vec<Special>,
    /// Rows in `special`; empty = none.
    marks: Bits,
}

impl<'a> Field<'a> {
    pub(super) fn new(segment: &'a Segment, eligible: Bits) -> Self {
        Self {
            segment,
            any: eligible.iter().any(|word| *word != 0),
            eligible,
            similarity: Similarity {
                values: Vec::new(),
                errors: None,
            },
            lexical: Vec::new(),
            dense: Default::default(),
            screened: true,
            special: Vec::new(),
            marks: Bits::new(),
        }
    }

    pub(super) fn lexical(&self, row: usize) -> f64 {
        self.lexical.get(row).copied().unwrap_or(0.0)
    }

    #[inline]
    pub(super) fn is_special(&self, row: usize) -> bool {
        self.marks
            .get(row / 64)
            .is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    pub(super) fn special(&self, row: usize) -> Option<&Special> {
        if !self.is_special(row) {
            return None;
        }
        let at = self
            .special
            .binary_search_by_key(&(row as u32), |s| s.row)
            .ok()?;
        Some(&self.special[at])
    }

    /// Changes what is special about rows; later values of a row are added by `set`.
    pub(super) fn mark<T>(&mut self, rows: Vec<(u32, T)>, set: impl Fn(&mut Special, T)) {
        if rows.is_empty() {
            return;
        }
        if self.marks.is_empty() {
            self.marks = vec![0; self.eligible.len()];
        }
        let known = self.special.len();
        let mut fresh: Vec<(u32, T)> = Vec::new();
        for (row, value) in rows {
            match self.special[..known].binary_search_by_key(&row, |s| s.row) {
                Ok(at) => set(&mut self.special[at], value),
                Err(_) => fresh.push((row, value)),
            }
        }
        for (row, value) in fresh {
            self.marks[row as usize / 64] |= 1 << (row % 64);
            let mut special = Special {
                row,
                ..Special::default()
            };
            set(&mut special, value);
            self.special.push(special);
        }
        self.special.sort_unstable_by_key(|special| special.row);
    }

    /// What is known of a row beside its cosine.
    #[inline]
    pub(super) fn known(&self, row: usize) -> Known {
        let mut raw = BySignal::of(0.0);
        raw[Signal::Lexical] = self.lexical(row);
        if !self.screened {
            for (at, column) in Signal::DENSE.into_iter().zip(&self.dense) {
                raw[at] = column.get(row).copied().unwrap_or(0.0);
            }
        }
        let mut question = None;
        if let Some(special) = self.special(row) {
            for (term, value) in Signal::SPARSE.into_iter().zip(special.few) {
                raw[term] = value;
            }
            question = special.question;
        }
        Known { question, raw }
    }

    /// Bounds of a row's content cosine; equal when it is exact.
    pub(super) fn content_bounds(&self, row: usize) -> (f64, f64) {
        match self.special(row) {
            Some(special) if special.question.is_some() => (special.content, special.content),
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

pub(super) fn unembedded(field: &Field<'_>) -> usize {
    let words = field.eligible.iter().zip(field.segment.embedded());
    words
        .map(|(eligible, embedded)| (eligible & !embedded).count_ones() as usize)
        .sum()
}

/// Cosines of all eligible rows of a segment: exact, or by 8-bit codes.
pub(super) fn measure<'a>(
    field: &mut Field<'a>,
    vector: &[f32],
    quantised: Option<&'a QuantisedQuery>,
    effort: Effort,
) {
    let segment = field.segment;
    let (rows, lanes) = (segment.memory_rows(), segment.lanes());
    let mut values = vec![0.0_f32; rows];
    let vectors = segment.column::<f32>(Section::Vectors);
    let codes = segment.column::<i8>(Section::Codes);
    let scales = segment.column::<f32>(Section::Scales);
    let sparse = count(&field.eligible) < rows / 8;
    let part = |first: usize, out: &mut [f32]| match quantised {
        _ if sparse && quantised.is_none() => {}
        Some(query) => approx_rows(query, &codes[first * lanes..], &scales[first..], out),
        None => dot_rows(vector, &vectors[first * lanes..], lanes, out),
    };
    let share = rows
        .div_ceil(effort.threads.max(1))
        .max(effort.thread_rows.max(1));
    if share >= rows {
        part(0, &mut values);
    } else {
        std::thread::scope(|scope| {
            for (i, out) in values.chunks_mut(share).enumerate() {
                let part = &part;
                scope.spawn(move || part(i * share, out));
            }
        });
    }
    if sparse && quantised.is_none() {
        for row in set_bits(&field.eligible) {
            values[row] = dot(vector, segment.vector(row));
        }
    }
    let errors = quantised.map(|query| (segment.column::<f32>(Section::Bounds), query));
    poison(&mut values, &field.eligible);
    field.similarity = Similarity { values, errors };
}

/// The nearest stored question of every eligible row that has some. Their cosines leave
/// the common column, so that no scan takes them for S_query.
pub(super) fn ask(field: &mut Field<'_>, vector: &[f32]) {
    let segment = field.segment;
    if segment.question_count() == 0 {
        return;
    }
    let mut found = Vec::new();
    for row in set_bits(&field.eligible) {
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
        field.similarity.values[*row as usize] = f32::NEG_INFINITY;
    }
    field.mark(found, |special, (question, content)| {
        special.question = question;
        special.content = content;
    });
}

/// Ineligible rows get a value below every cosine, so that scans need not look at the bits.
fn poison(values: &mut [f32], eligible: &[u64]) {
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

/// B-16: the threshold is rounded to float32 before comparing.
pub(super) fn drop_dissimilar(field: &mut Field<'_>, least: f64) {
    let least = f64::from(least as f32);
    let below: Vec<usize> = set_bits(&field.eligible)
        .filter(|row| field.similarity.bounds(*row).0 < least)
        .collect();
    for row in below {
        field.eligible[row / 64] &= !(1 << (row % 64));
    }
    poison(&mut field.similarity.values, &field.eligible);
}

/// Statistics of the query's terms over the eligible rows.
pub(super) struct Words {
    /// Of each term.
    pub(super) idfs: Vec<f64>,
    pub(super) norms: Norms,
    /// The largest score, at least 0.
    pub(super) most: f64,
}

/// Fills in the lexical scores.
pub(super) fn score_words(fields: &mut [Field<'_>], terms: &[String], eligible: usize) -> Words {
    let whole: Vec<bool> = fields
        .iter()
        .map(|field| count(&field.eligible) == field.segment.memory_rows())
        .collect();
    let total: u64 = fields.iter().map(total_length).sum();
    let norms = Norms::new(total, eligible as u64);
    let mut idfs = Vec::with_capacity(terms.len());
    for term in terms {
        let numbers: Vec<Option<u32>> = fields
            .iter()
            .map(|field| field.segment.term_number(term))
            .collect();
        let mut holding = 0;
        for ((field, number), whole) in fields.iter().zip(&numbers).zip(&whole) {
            if let Some(number) = number {
                let bits = (!whole).then_some(field.eligible.as_slice());
                let rows = field.segment.postings(*number as usize).0;
                holding += lexical::document_frequency(rows, bits);
            }
        }
        let idf = lexical::idf(eligible as u64, holding);
        idfs.push(idf);
        for ((field, number), whole) in fields.iter_mut().zip(&numbers).zip(&whole) {
            let Some(number) = number else { continue };
            if field.lexical.is_empty() {
                field.lexical = vec![0.0; field.segment.memory_rows()];
            }
            let bits = (!whole).then_some(field.eligible.as_slice());
            let lengths = field.segment.column::<u32>(Section::Lengths);
            let postings = field.segment.postings(*number as usize);
            lexical::accumulate(&mut field.lexical, idf, postings, lengths, bits, &norms);
        }
    }
    let scores = fields.iter().flat_map(|field| &field.lexical);
    Words {
        idfs,
        norms,
        most: scores.fold(0.0, |most, score| f64::max(most, *score)),
    }
}

fn total_length(field: &Field<'_>) -> u64 {
    let lengths = field.segment.column::<u32>(Section::Lengths);
    field
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
