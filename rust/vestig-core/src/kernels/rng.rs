//! Random numbers of the walk: a pure function of seed, start and edge.

use sha2::{Digest, Sha256};

/// Name of the generator; another one would change every recorded walk.
const NAME: &[u8] = b"vestig-walk-1";
/// Largest id in text form: a prefix of at most 6 bytes and 36 of a UUID.
const NAME_BYTES: usize = 64;

/// An id in text form, without allocation.
#[derive(Debug, Clone, Copy)]
pub struct Name {
    bytes: [u8; NAME_BYTES],
    length: usize,
}

impl Name {
    /// `prefix_8-4-4-4-12` of 16 bytes; `prefix` has at most 20 bytes.
    #[must_use]
    pub fn of(prefix: &str, id: &[u8; 16]) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut name = Self {
            bytes: [0; NAME_BYTES],
            length: 0,
        };
        name.push(prefix.as_bytes());
        name.push(b"_");
        for (i, byte) in id.iter().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                name.push(b"-");
            }
            name.push(&[
                DIGITS[usize::from(byte >> 4)],
                DIGITS[usize::from(byte & 15)],
            ]);
        }
        name
    }

    /// Any text; bytes after the 64th are cut.
    #[must_use]
    pub fn text(text: &str) -> Self {
        let mut name = Self {
            bytes: [0; NAME_BYTES],
            length: 0,
        };
        name.push(&text.as_bytes()[..text.len().min(NAME_BYTES)]);
        name
    }

    #[inline]
    fn push(&mut self, more: &[u8]) {
        self.bytes[self.length..self.length + more.len()].copy_from_slice(more);
        self.length += more.len();
    }

    /// The text.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// The numbers of one start node: what is common to all of its edges is hashed once.
#[derive(Clone)]
pub struct Dice(Sha256);

impl Dice {
    /// Seed 0 … 2⁵³ − 1, and the id of the start as text.
    #[must_use]
    pub fn new(seed: u64, start: &[u8]) -> Self {
        let mut state = Sha256::new();
        state.update(NAME);
        state.update([0]);
        let mut digits = [0_u8; 20];
        state.update(decimal(seed, &mut digits));
        state.update([0]);
        state.update(start);
        state.update([0]);
        Self(state)
    }

    /// u of an edge, or of a step over two edges: in [0, 1), a multiple of 2⁻⁵³.
    #[must_use]
    pub fn uniform(&self, edge: &[u8], second: Option<&[u8]>) -> f64 {
        let mut state = self.0.clone();
        state.update(edge);
        if let Some(second) = second {
            state.update(b"|");
            state.update(second);
        }
        let digest = state.finalize();
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        (u64::from_be_bytes(first) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn decimal(mut n: u64, digits: &mut [u8; 20]) -> &[u8] {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            return &digits[at..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn u(seed: u64, edge: &str) -> f64 {
        Dice::new(seed, b"mem_s").uniform(edge.as_bytes(), None)
    }

    #[test]
    fn golden_numbers_x_r10() {
        assert!((u(7, "edge_1") - 0.256754842799).abs() < 5e-13);
        assert!((u(7, "edge_2") - 0.869195390843).abs() < 5e-13);
        assert!((u(0, "edge_1") - 0.545385399329).abs() < 5e-13);
        let below = (0..10_000).filter(|seed| u(*seed, "edge_1") < 0.3).count();
        assert_eq!(below, 3052);
    }

    #[test]
    fn frequencies_lie_within_three_sigma() {
        for p in [0.01, 0.1, 0.25, 0.5, 0.9] {
            let n = 10_000.0;
            let below = (0..10_000).filter(|seed| u(*seed, "edge_9") < p).count();
            let sigma = f64::sqrt(n * p * (1.0 - p));
            assert!((below as f64 - n * p).abs() <= 3.0 * sigma, "{p}: {below}");
        }
    }

    #[test]
    fn a_step_over_two_edges_joins_their_names() {
        let dice = Dice::new(9_007_199_254_740_991, b"mem_s");
        let joined = dice.uniform(b"edge_1|edge_2", None);
        assert_eq!(dice.uniform(b"edge_1", Some(b"edge_2")), joined);
        assert_ne!(dice.uniform(b"edge_2", Some(b"edge_1")), joined);
    }

    #[test]
    fn names_are_the_ids_of_the_ledger() {
        let id: [u8; 16] = std::array::from_fn(|i| i as u8 * 17);
        let name = Name::of("edge", &id);
        assert_eq!(name.bytes(), b"edge_00112233-4455-6677-8899-aabbccddeeff");
        assert_eq!(Name::text("mem_s").bytes(), b"mem_s");
    }
}
