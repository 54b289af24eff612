//! Numbers of touched nodes.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Memories and entities that most walks stay below, each.
const TOUCHED: usize = 800;

/// Node numbers are spread already: one multiplication is enough.
#[derive(Default, Clone, Copy)]
pub(super) struct NodeHasher(u64);

impl Hasher for NodeHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, n: u32) {
        self.0 = (self.0 ^ u64::from(n))
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_left(29);
    }
}

/// Node → its number among the touched ones.
pub(super) type Numbers = HashMap<u32, u32, BuildHasherDefault<NodeHasher>>;

/// Room for what most walks touch.
pub(super) fn numbers() -> Numbers {
    Numbers::with_capacity_and_hasher(TOUCHED, BuildHasherDefault::default())
}

/// A node in its queue, then its number among the touched ones.
pub(super) fn turn(node: u32, number: u32) -> u64 {
    u64::from(node) << 32 | u64::from(number)
}
