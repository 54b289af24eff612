//! Lexical scores, BM25: term at a time over a dense float64 accumulator.
//!
//! The score of a row is Σ idf(t) · tf / (tf + k1·(1 − b + b·len/avg)) over the query's distinct
//! terms by first position: call [`accumulate`] once per term in that order, for each term
//! over all segments. Statistics are those of the eligible rows: `N` and `n` are counts, the mean
//! length is a quotient of two integers, so no layout can change a bit.

/// Term frequency saturation k1.
pub const K1: f64 = 0.9;
/// Length normalisation b.
pub const B: f64 = 0.4;

/// Lengths below this have their norm in a table.
const TABLE: usize = 1024;

/// How many of these rows, which ascend, come before this one; in few steps where it is near.
pub fn rows_before(rows: &[u32], row: u32) -> usize {
    // Doubling steps: of two long lists both are read once, a short one searches the long one.
    let mut step = 1;
    while step < rows.len() && rows[step] < row {
        step *= 2;
    }
    let near = &rows[..rows.len().min(step + 1)];
    near.partition_point(|other| *other < row)
}

/// idf(t) = ln(1 + (N − n + 0.5) / (n + 0.5)), n of N eligible rows hold the term; never negative.
#[inline]
pub fn idf(total: u64, holding: u64) -> f64 {
    let (total, holding) = (total as f64, holding as f64);
    super::math::ln(1.0 + (total - holding + 0.5) / (holding + 0.5))
}

/// tf / (tf + norm), `norm` from [`Norms`]: in [0, 1).
#[inline]
pub fn saturation(tf: u32, norm: f64) -> f64 {
    let tf = f64::from(tf);
    tf / (tf + norm)
}

/// Mean length; 1 where there is nothing.
#[must_use]
pub fn mean(total_length: u64, rows: u64) -> f64 {
    if total_length == 0 || rows == 0 {
        1.0
    } else {
        total_length as f64 / rows as f64
    }
}

/// k1·(1 − b + b·(len/avg)).
#[inline]
#[must_use]
pub fn norm(average: f64, length: u32) -> f64 {
    K1 * (1.0 - B + B * (f64::from(length) / average))
}

/// Length norms k1·(1 − b + b·(len/avg)) for one set of eligible rows.
#[derive(Clone, Debug)]
pub struct Norms {
    average: f64,
    table: Vec<f64>,
}

impl Norms {
    /// From the sum of lengths (terms) over the eligible rows and their count. With no rows or no
    /// terms the mean counts as 1, and no row can have a posting.
    pub fn new(total_length: u64, rows: u64) -> Self {
        let average = mean(total_length, rows);
        let table = (0..TABLE as u32).map(|length| norm(average, length));
        Self {
            average,
            table: table.collect(),
        }
    }

    /// Mean length in terms.
    pub fn average(&self) -> f64 {
        self.average
    }

    /// Norm of a row of `length` terms.
    #[inline]
    pub fn of(&self, length: u32) -> f64 {
        match self.table.get(length as usize) {
            Some(&norm) => norm,
            None => norm(self.average, length),
        }
    }
}

/// Returns whether bit `row` of a bitmap (64 rows per word, lowest bit first) is set; absent words
/// are 0.
#[inline]
pub fn is_set(bitmap: &[u64], row: u32) -> bool {
    bitmap
        .get((row >> 6) as usize)
        .is_some_and(|word| word >> (row & 63) & 1 == 1)
}

/// How many of the posting `rows` are eligible (`None` = all rows are).
pub fn document_frequency(rows: &[u32], eligible: Option<&[u64]>) -> u64 {
    match eligible {
        None => rows.len() as u64,
        Some(bitmap) => rows.iter().map(|&row| u64::from(is_set(bitmap, row))).sum(),
    }
}

/// How often a term counts in a text; more occurrences change nothing. The bit above is no part of
/// the frequency.
pub const OCCURRENCES_MAX: u8 = (1 << 7) - 1;

/// The term frequency in the count of a posting, without its case bit.
#[inline]
#[must_use]
pub fn frequency(count: u8) -> u32 {
    u32::from(count & OCCURRENCES_MAX)
}

/// Adds one term's share to the score of every eligible row of its postings in one segment.
///
/// `rows` and `counts` are the postings (row numbers of the segment, and what `frequency` makes
/// frequencies ≥ 1 of), `lengths` the length of every row of the segment in terms, `scores` one
/// accumulator per row of the segment. Rows outside of `scores` or `lengths` are passed over.
pub fn accumulate<F, L>(
    scores: &mut [f64],
    idf: f64,
    postings: (&[u32], &[F]),
    frequency: impl Fn(F) -> u32,
    lengths: &[L],
    eligible: Option<&[u64]>,
    norms: &Norms,
) where
    F: Copy,
    L: Copy + Into<u32>,
{
    let (rows, counts) = postings;
    debug_assert_eq!(rows.len(), counts.len());
    for (&row, &count) in rows.iter().zip(counts) {
        if eligible.is_some_and(|bitmap| !is_set(bitmap, row)) {
            continue;
        }
        let at = row as usize;
        if let (Some(score), Some(&length)) = (scores.get_mut(at), lengths.get(at)) {
            *score += idf * saturation(frequency(count), norms.of(length.into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn idf_by_hand() {
        assert_eq!(idf(4, 2), super::super::math::ln(2.0));
        assert!(idf(10, 10) > 0.0);
    }

    #[test]
    fn norms_are_the_formula_inside_and_outside_of_the_table() {
        let norms = Norms::new(1000, 30);
        for length in [0u32, 1, 33, 1023, 1024, 5000] {
            let wanted = 0.9 * (1.0 - 0.4 + 0.4 * (f64::from(length) / (1000.0 / 30.0)));
            assert_eq!(norms.of(length), wanted);
        }
        assert_eq!(Norms::new(0, 0).average(), 1.0);
    }

    proptest! {
        #[test]
        fn term_at_a_time_equals_row_by_row(
            rows in prop::collection::vec((prop::collection::vec(0u16..4, 3), any::<bool>()), 1..150),
        ) {
            let lengths: Vec<u32> = rows.iter().map(|(tfs, _)| tfs.iter().map(|&t| u32::from(t)).sum()).collect();
            let mut bitmap = vec![0u64; rows.len().div_ceil(64)];
            let (mut total, mut length) = (0u64, 0u64);
            for (i, (_, eligible)) in rows.iter().enumerate() {
                if *eligible {
                    bitmap[i / 64] |= 1 << (i % 64);
                    total += 1;
                    length += u64::from(lengths[i]);
                }
            }
            let norms = Norms::new(length, total);
            let mut scores = vec![0.0; rows.len()];
            let mut wanted = vec![0.0; rows.len()];
            for term in 0..3 {
                let holding: Vec<u32> =
                    (0..rows.len() as u32).filter(|&i| rows[i as usize].0[term] > 0).collect();
                let tfs: Vec<u16> = holding.iter().map(|&i| rows[i as usize].0[term]).collect();
                let df = document_frequency(&holding, Some(&bitmap));
                let idf = idf(total, df);
                accumulate(&mut scores, idf, (&holding, &tfs), u32::from, &lengths, Some(&bitmap), &norms);
                for (i, (own, eligible)) in rows.iter().enumerate() {
                    if *eligible && own[term] > 0 {
                        let average = length as f64 / total as f64;
                        let norm = 0.9 * (1.0 - 0.4 + 0.4 * (f64::from(lengths[i]) / average));
                        wanted[i] += idf * (f64::from(own[term]) / (f64::from(own[term]) + norm));
                    }
                }
            }
            prop_assert_eq!(scores, wanted);
        }
    }
}
