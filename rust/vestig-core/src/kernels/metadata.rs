//! Values of the metadata signals and how they are mixed.

use super::math;
use super::temporal::DAY_US;

/// |Q ∩ M| / |Q ∪ M| from three counts; 0 if the memory has none.
#[must_use]
pub fn jaccard(shared: usize, query: usize, memory: usize) -> f64 {
    if memory == 0 {
        return 0.0;
    }
    shared as f64 / (query + memory - shared) as f64
}

/// Σ idf(Q ∩ M) / Σ idf(Q), sums by position in the query; 0 if nothing has weight.
#[must_use]
pub fn weighted(idfs: &[f64], holds: impl Fn(usize) -> bool) -> f64 {
    let (mut shared, mut all) = (0.0, 0.0);
    for (i, idf) in idfs.iter().enumerate() {
        all += idf;
        if holds(i) {
            shared += idf;
        }
    }
    if all > 0.0 { shared / all } else { 0.0 }
}

/// exp(−age / tau): 1 for a memory of now or later, tau in days.
#[must_use]
pub fn recency(valid_us: i64, query_time_us: i64, tau_days: f64) -> f64 {
    let age = (i128::from(query_time_us) - i128::from(valid_us)) as f64 / DAY_US;
    if age <= 0.0 {
        return 1.0;
    }
    math::exp(-age / tau_days)
}

/// S_query: the cosine of the memory's own vector, mixed with that of the nearest of its questions.
#[must_use]
#[inline]
pub fn semantic(content: f64, question: Option<f64>, weights: (f64, f64)) -> f64 {
    match question {
        None => content,
        Some(question) => weights.0 * content + weights.1 * question,
    }
}

/// S_meta over the available values (keyword, temporal, entity, recency) and α; (None, 0)
/// when nothing is available or the weights are all 0.
#[must_use]
pub fn metadata(values: [Option<f64>; 4], weights: [f64; 4], alpha: f64) -> (Option<f64>, f64) {
    let (mut sum, mut of) = (0.0, 0.0);
    for (value, weight) in values.into_iter().zip(weights) {
        if let Some(value) = value {
            sum += weight * value;
            of += weight;
        }
    }
    if of > 0.0 {
        (Some(sum / of), alpha)
    } else {
        (None, 0.0)
    }
}

/// S: α · S_meta + (1 − α) · S_query.
#[must_use]
#[inline]
pub fn blend(metadata: Option<f64>, semantic: f64, alpha: f64) -> f64 {
    match metadata {
        None => semantic,
        Some(metadata) => alpha * metadata + (1.0 - alpha) * semantic,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEIGHTS: [f64; 4] = [0.5, 0.3, 0.2, 0.0];

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }

    #[test]
    fn golden_blends() {
        near(semantic(0.5, Some(0.9), (0.4, 0.6)), 0.74);
        let all = metadata([Some(0.25), Some(1.0), Some(0.5), None], WEIGHTS, 0.6);
        near(all.0.unwrap(), 0.525);
        let two = metadata([Some(0.25), None, Some(0.5), None], WEIGHTS, 0.6);
        near(two.0.unwrap(), 0.321428571428);
        near(blend(all.0, 0.74, all.1), 0.611);
        near(blend(Some(0.5), 0.8, 0.6), 0.62);
        assert_eq!(metadata([None; 4], WEIGHTS, 0.6), (None, 0.0));
        assert_eq!(
            metadata([None, None, None, Some(1.0)], WEIGHTS, 0.6),
            (None, 0.0)
        );
        let one = |i: usize| {
            let mut values = [None; 4];
            values[i] = Some(1.0);
            values
        };
        let pair = |a: usize, b: usize| {
            let mut values = one(a);
            values[b] = Some(0.0);
            metadata(values, WEIGHTS, 0.6).0.unwrap()
        };
        near(pair(0, 2), 0.5 / 0.7);
        near(pair(0, 1), 0.625);
        near(pair(1, 2), 0.6);
    }

    #[test]
    fn keywords() {
        assert_eq!(jaccard(1, 2, 3), 0.25);
        assert_eq!(jaccard(0, 2, 0), 0.0);
        assert_eq!(weighted(&[1.0, 3.0], |i| i == 1), 0.75);
        assert_eq!(weighted(&[], |_| true), 0.0);
    }

    #[test]
    fn recency_falls_by_e() {
        let day = DAY_US as i64;
        assert_eq!(recency(day, 0, 30.0), 1.0);
        near(recency(0, 30 * day, 30.0), (-1.0_f64).exp());
    }
}
