//! Numbers of touched nodes.

use crate::kernels::number_map::NumberMap;

/// Memories and entities that most walks stay below, each.
pub(super) const TOUCHED: usize = 800;
/// Nodes up to which each has a place.
const DENSE_MAX: usize = 1 << 15;
const UNTOUCHED: u32 = u32::MAX;

/// Node → its number among the touched ones of its kind.
pub(super) enum Numbers {
    /// By node, for graphs whose nodes all fit near the processor.
    Dense(Vec<u32>),
    /// Of the touched nodes alone.
    Sparse(NumberMap<u32>),
}

impl Numbers {
    /// For nodes below this number.
    pub(super) fn new(nodes: usize) -> Self {
        if nodes <= DENSE_MAX {
            return Self::Dense(vec![UNTOUCHED; nodes]);
        }
        Self::Sparse(NumberMap::with_capacity_and_hasher(
            TOUCHED,
            Default::default(),
        ))
    }

    /// The number of a node, which is `next` when it has none yet.
    #[inline]
    pub(super) fn of(&mut self, node: u32, next: u32) -> u32 {
        match self {
            Self::Dense(numbers) => {
                let number = &mut numbers[node as usize];
                if *number == UNTOUCHED {
                    *number = next;
                }
                *number
            }
            Self::Sparse(numbers) => *numbers.entry(node).or_insert(next),
        }
    }

    /// Makes room for so many more.
    pub(super) fn reserve(&mut self, more: usize) {
        if let Self::Sparse(numbers) = self {
            numbers.reserve(more);
        }
    }
}

/// A node in its queue, then its number among the touched ones.
pub(super) fn turn(node: u32, number: u32) -> u64 {
    u64::from(node) << 32 | u64::from(number)
}
