//! The best k of many under a total order.

use std::cmp::Ordering;

/// Cuts `items` to its `k` first under `order` and sorts them.
///
/// `order` must be a total order (end it at the id), then the result depends on no input
/// order. `Ordering::Less` means "ranks before". Cost: O(n) partition, O(k log k) sort.
pub fn top_k<T>(items: &mut Vec<T>, k: usize, mut order: impl FnMut(&T, &T) -> Ordering) {
    if k == 0 {
        items.clear();
        return;
    }
    if items.len() > k {
        items.select_nth_unstable_by(k - 1, &mut order);
        items.truncate(k);
    }
    items.sort_unstable_by(order);
}

/// Compares scores so that the higher one ranks before. 0 and −0 are equal, so that a tie goes
/// on to the next key; a total order on every float.
#[inline]
pub fn descending(a: f64, b: f64) -> Ordering {
    // Adding +0 turns −0 into +0 and changes nothing else.
    (b + 0.0).total_cmp(&(a + 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn zeros_tie() {
        assert_eq!(descending(0.0, -0.0), Ordering::Equal);
        assert_eq!(descending(2.0, 1.0), Ordering::Less);
    }

    proptest! {
        #[test]
        fn equals_a_full_sort(scores in prop::collection::vec(0u8..20, 0..200), k in 0usize..50) {
            let order = |a: &(u8, usize), b: &(u8, usize)| {
                descending(f64::from(a.0), f64::from(b.0)).then(a.1.cmp(&b.1))
            };
            let mut all: Vec<_> = scores.into_iter().enumerate().map(|(i, s)| (s, i)).collect();
            let mut best = all.clone();
            all.sort_by(order);
            all.truncate(k);
            top_k(&mut best, k, order);
            prop_assert_eq!(all, best);
        }
    }
}
