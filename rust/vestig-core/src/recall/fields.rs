//! The columns of one call: eligible rows of a segment, their cosines and lexical scores.

use super::types::Effort;
use crate::format::Section;
use crate::kernels::dot::{cosine, dot, dot_rows};
use crate::kernels::lexical::{self, Norms};
use crate::kernels::quantised::{QuantisedQuery, approx_rows};
use crate::segment::Segment;
use crate::snapshot::{Bits, count, set_bits};

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

/// One segment during a call.
pub(super) struct Field<'a> {
    pub(super) segment: &'a Segment,
    pub(super) eligible: Bits,
    pub(super) similarity: Similarity<'a>,
    /// Raw lexical score by row; empty = all 0.
    pub(super) lexical: Vec<f64>,
}

impl Field<'_> {
    pub(super) fn lexical(&self, row: usize) -> f64 {
        self.lexical.get(row).copied().unwrap_or(0.0)
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

/// Fills in the lexical scores; the largest one over the eligible rows, at least 0.
pub(super) fn score_words(fields: &mut [Field<'_>], terms: &[String], eligible: usize) -> f64 {
    let whole: Vec<bool> = fields
        .iter()
        .map(|field| count(&field.eligible) == field.segment.memory_rows())
        .collect();
    let total: u64 = fields.iter().map(total_length).sum();
    let norms = Norms::new(total, eligible as u64);
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
    fields
        .iter()
        .flat_map(|field| &field.lexical)
        .fold(0.0, |most, score| f64::max(most, *score))
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
