//! Random numbers of the walk: a pure function of seed, start and edge.

use sha2::block_api::compress256;
use sha2::{Digest, Sha256};

/// Name of the generator; another one would change every recorded walk.
const NAME: &[u8] = b"vestig-walk-1";
/// Largest id in text form: a prefix of at most 20 bytes and 36 of a UUID.
const NAME_BYTES: usize = 64;
/// Bytes of a UUID as text.
const UUID: usize = 36;
/// Bytes of a block of SHA-256.
const BLOCK: usize = 64;
/// Most blocks of a number: less than one of the start, two names and the padding.
const BLOCKS: usize = 4;
/// The initial state of SHA-256 (FIPS 180-4, 5.3.3).
const INITIAL: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// An id in text form, without allocation.
#[derive(Debug, Clone, Copy)]
pub struct Name {
    /// Zeros after the text.
    bytes: [u8; NAME_BYTES],
    length: usize,
}

impl Name {
    /// `prefix_8-4-4-4-12` of 16 bytes; `prefix` has at most 20 bytes.
    #[must_use]
    #[inline(always)]
    pub fn of(prefix: &str, id: &[u8; 16]) -> Self {
        let mut digits = [0; 32];
        let (quarters, _) = id.as_chunks::<4>();
        for (quarter, eight) in quarters.iter().zip(digits.as_chunks_mut::<8>().0) {
            *eight = hex(u32::from_be_bytes(*quarter));
        }
        let mut uuid = [b'-'; UUID];
        uuid[..8].copy_from_slice(&digits[..8]);
        uuid[9..13].copy_from_slice(&digits[8..12]);
        uuid[14..18].copy_from_slice(&digits[12..16]);
        uuid[19..23].copy_from_slice(&digits[16..20]);
        uuid[24..].copy_from_slice(&digits[20..]);
        let mut name = Self {
            bytes: [0; NAME_BYTES],
            length: 0,
        };
        name.push(prefix.as_bytes());
        name.push(b"_");
        name.push(&uuid);
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

    #[inline(always)]
    fn push(&mut self, more: &[u8]) {
        self.bytes[self.length..self.length + more.len()].copy_from_slice(more);
        self.length += more.len();
    }

    /// The text.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Eight digits, two a byte, all at once.
#[inline(always)]
fn hex(four: u32) -> [u8; 8] {
    let mut digits = u64::from(four);
    digits = (digits | digits << 16) & 0x0000_ffff_0000_ffff;
    digits = (digits | digits << 8) & 0x00ff_00ff_00ff_00ff;
    digits = (digits | digits << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    // 1 in every byte that is above 9: the letters stand 39 places behind the digits' end.
    let letters = (digits + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
    (digits + 0x3030_3030_3030_3030 + letters * 39).to_be_bytes()
}

/// The numbers of one start node: what is common to all of its edges is hashed once.
#[derive(Clone)]
pub struct UniformSource {
    /// After the whole blocks of seed and start.
    state: [u32; 8],
    /// The bytes of seed and start that fill no block.
    rest: [u8; BLOCK],
    rest_length: usize,
    /// Bytes of seed and start.
    length: usize,
}

impl UniformSource {
    /// Seed 0 … 2⁵³ − 1, and the id of the start as text.
    #[must_use]
    pub fn new(seed: u64, start: &[u8]) -> Self {
        let common = common(seed, start);
        let (blocks, rest) = common.as_chunks::<BLOCK>();
        let mut uniforms = Self {
            state: INITIAL,
            rest: [0; BLOCK],
            rest_length: rest.len(),
            length: common.len(),
        };
        compress256(&mut uniforms.state, blocks);
        uniforms.rest[..rest.len()].copy_from_slice(rest);
        uniforms
    }

    /// u of an edge, or of a step over two edges: in [0, 1), a multiple of 2⁻⁵³.
    #[must_use]
    #[inline]
    pub fn uniform(&self, edge: &Name, second: Option<&Name>) -> f64 {
        let mut blocks = [[0; BLOCK]; BLOCKS];
        blocks[0] = self.rest;
        let bytes = blocks.as_flattened_mut();
        let mut used = self.rest_length;
        // Whole names, for a length known beforehand is copied at once; zeros may follow.
        let mut put = |name: &Name| {
            bytes[used..used + NAME_BYTES].copy_from_slice(&name.bytes);
            used += name.length;
        };
        put(edge);
        if let Some(second) = second {
            put(&Name::text("|"));
            put(second);
        }
        let bits = 8 * (self.length - self.rest_length + used) as u64;
        bytes[used] = 0x80;
        // One byte of the mark and eight of the length are always part of the message.
        let count = (used + 9).div_ceil(BLOCK);
        bytes[count * BLOCK - 8..count * BLOCK].copy_from_slice(&bits.to_be_bytes());
        let mut state = self.state;
        compress256(&mut state, &blocks[..count]);
        fraction(u64::from(state[0]) << 32 | u64::from(state[1]))
    }
}

fn fraction(first: u64) -> f64 {
    (first >> 11) as f64 / (1_u64 << 53) as f64
}

/// The definition: u of a seed, a start and an edge, or of two edges joined by `|`.
#[must_use]
pub fn uniform(seed: u64, start: &[u8], edge: &[u8]) -> f64 {
    let mut whole = Sha256::new();
    whole.update(common(seed, start));
    whole.update(edge);
    let digest = whole.finalize();
    fraction(
        digest
            .iter()
            .take(8)
            .fold(0, |first, byte| first << 8 | u64::from(*byte)),
    )
}

fn common(seed: u64, start: &[u8]) -> Vec<u8> {
    [
        NAME,
        b"\0",
        seed.to_string().as_bytes(),
        b"\0",
        start,
        b"\0",
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn u(seed: u64, edge: &str) -> f64 {
        UniformSource::new(seed, b"mem_s").uniform(&Name::text(edge), None)
    }

    #[test]
    fn golden_numbers() {
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
        let uniforms = UniformSource::new(9_007_199_254_740_991, b"mem_s");
        let [joined, one, two] = ["edge_1|edge_2", "edge_1", "edge_2"].map(Name::text);
        let wanted = uniforms.uniform(&joined, None);
        assert_eq!(uniforms.uniform(&one, Some(&two)), wanted);
        assert_ne!(uniforms.uniform(&two, Some(&one)), wanted);
    }

    #[test]
    fn numbers_are_sha_256_at_every_length() {
        let name = "x".repeat(NAME_BYTES);
        for (seed, length) in (0..16).flat_map(|e| (0..=64).map(move |n| (10_u64.pow(e), n))) {
            let (edge, second) = name.split_at(length);
            for second in [None, Some(second)] {
                let start = [b's'].repeat(length);
                let uniforms = UniformSource::new(seed, &start);
                let found = uniforms.uniform(&Name::text(edge), second.map(Name::text).as_ref());
                let joined = second.map_or(edge.to_owned(), |second| format!("{edge}|{second}"));
                let wanted = uniform(seed, &start, joined.as_bytes());
                assert_eq!(found.to_bits(), wanted.to_bits(), "{seed} {length}");
            }
        }
    }

    #[test]
    fn names_are_the_ids_of_the_ledger() {
        let id: [u8; 16] = std::array::from_fn(|i| i as u8 * 17);
        let name = Name::of("edge", &id);
        assert_eq!(name.bytes(), b"edge_00112233-4455-6677-8899-aabbccddeeff");
        let id: [u8; 16] = std::array::from_fn(|i| 16 * (15 - i as u8) + i as u8);
        let name = Name::of("ent", &id);
        assert_eq!(name.bytes(), b"ent_f0e1d2c3-b4a5-9687-7869-5a4b3c2d1e0f");
        assert_eq!(Name::text("mem_s").bytes(), b"mem_s");
    }
}
