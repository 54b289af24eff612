//! Values that were derived from a set of rows of several segments, kept with the largest of them.
//!
//! Ranking derives the same columns from the same eligible rows query after query. What these
//! columns are is known above the segments alone, so values are kept without their type.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use super::Segment;
use crate::kernels::bits::Bits;

/// Values that are kept, the least recently used one leaves first: two of each of four origins under
/// two filters in turn, and the sittings of all rows.
const VALUES_MAX: usize = 17;

/// By segment: its number and its rows of the set.
type RowSet = Vec<(u64, Bits)>;

/// Latest use first.
#[derive(Default)]
pub(super) struct RowSetCache(Mutex<Vec<(RowSet, Arc<dyn Any + Send + Sync>)>>);

/// The value that was derived from these rows, one bitmap a segment, or that `derive` makes now.
pub(crate) fn cached<T: Any + Send + Sync>(
    segments: &[&Segment],
    rows: &[&Bits],
    derive: impl Fn() -> T,
) -> Arc<T> {
    let Some(largest) = segments.iter().max_by_key(|segment| segment.memory_rows()) else {
        return Arc::new(derive());
    };
    let lock = || (largest.row_sets.0.lock()).unwrap_or_else(PoisonError::into_inner);
    let parts = || segments.iter().zip(rows);
    let same = |(set, value): &(RowSet, Arc<dyn Any + Send + Sync>)| {
        let mut pairs = set.iter().zip(parts());
        set.len() == segments.len()
            && pairs.all(|((number, bits), part)| *number == part.0.number() && bits == *part.1)
            && value.is::<T>()
    };
    let mut values = lock();
    if let Some(at) = values.iter().position(same) {
        values[..=at].rotate_right(1);
        if let Ok(value) = Arc::clone(&values[0].1).downcast() {
            return value;
        }
    }
    drop(values);
    let value = Arc::new(derive());
    let set = parts().map(|(segment, bits)| (segment.number(), (*bits).clone()));
    let entry: (RowSet, Arc<dyn Any + Send + Sync>) = (set.collect(), Arc::<T>::clone(&value));
    let mut values = lock();
    values.truncate(VALUES_MAX - 1);
    values.insert(0, entry);
    value
}
