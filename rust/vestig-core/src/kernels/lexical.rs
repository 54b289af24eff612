//! Lexical scores, BM25: term at a time over a dense float64 accumulator.
//!
//! The score of a row is Σ idf(t) · tf / (tf + k1·(1 − b + b·len/avg)) over the query's distinct
//! terms by first position (B-16): call [`accumulate`] once per term in that order, for each term
//! over all segments. Statistics are those of the eligible rows: `N` and `n` are counts, the mean
//! length is a quotient of two integers, so no layout can change a bit.

/// Term frequency saturation k1.
pub const K1: f64 = 0.9;
/// Length normalisation b.
pub const B: f64 = 0.4;

/// Lengths below this have their norm in a table.
const TABLE: usize = 1024;

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
        let average = if total_length == 0 || rows == 0 {
            1.0
        } else {
            total_length as f64 / rows as f64
        };
        let table = (0..TABLE as u32).map(|length| Self::compute(average, length)).collect();
        Self { average, table }
    }

    fn compute(average: f64, length: u32) -> f64 {
        K1 * (1.0 - B + B * (f64::from(length) / average))
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
            None => Self::compute(self.average, length),
        }
    }
}

/// Whether bit `row` of a bitmap (64 rows per word, lowest bit first) is set; absent words are 0.
#[inline]
pub fn is_set(bitmap: &[u64], row: u32) -> bool {
    bitmap.get((row >> 6) as usize).is_some_and(|word| word >> (row & 63) & 1 == 1)
}

/// How many of the posting `rows` are eligible (`None` = all rows are).
pub fn document_frequency(rows: &[u32], eligible: Option<&[u64]>) -> u64 {
    match eligible {
        None => rows.len() as u64,
        Some(bitmap) => rows.iter().map(|&row| u64::from(is_set(bitmap, row))).sum(),
    }
}

/// Adds one term's share to the score of every eligible row of its postings in one segment.
///
/// `rows` and `tfs` are the postings (row numbers of the segment, frequencies ≥ 1), `lengths` the
/// length of every row of the segment in terms, `scores` one accumulator per row of the segment.
/// Rows outside of `scores` or `lengths` are passed over.
pub fn accumulate<F, L>(
    scores: &mut [f64],
    idf: f64,
    postings: (&[u32], &[F]),
    lengths: &[L],
    eligible: Option<&[u64]>,
    norms: &Norms,
) where
    F: Copy + Into<u32>,
    L: Copy + Into<u32>,
{
    let (rows, tfs) = postings;
    debug_assert_eq!(rows.len(), tfs.len());
    for (&row, &tf) in rows.iter().zip(tfs) {
        if eligible.is_some_and(|bitmap| !is_set(bitmap, row)) {
            continue;
        }
        let at = row as usize;
        if let (Some(score), Some(&length)) = (scores.get_mut(at), lengths.get(at)) {
            *score += idf * saturation(tf.into(), norms.of(length.into()));
        }
    }
}
