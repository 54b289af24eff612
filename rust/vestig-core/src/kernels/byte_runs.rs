//! Finding byte runs as they are: the fast half of the proof that erased bytes are in no file.
//!
//! Whatever run stands somewhere in the data holds a whole word at a multiple of the word's length
//! there, so it is enough to look at those words; a bitmap tells nearly all of them apart.

use std::collections::HashMap;

/// Words that are looked at together.
const BLOCK: usize = 8;

/// Runs of one range of lengths, by the words at which the data is looked at.
struct Words<const W: usize> {
    /// Bits of a power of two, by the hash of a word.
    sieve: Vec<u64>,
    shift: u32,
    /// Word → runs that hold it, and where.
    places: HashMap<u64, Vec<(u32, u8)>>,
}

#[inline(always)]
fn word<const W: usize>(bytes: &[u8]) -> u64 {
    let mut wide = [0; 8];
    wide[..W].copy_from_slice(&bytes[..W]);
    u64::from_le_bytes(wide)
}

impl<const W: usize> Words<W> {
    /// A run of 2 W - 1 bytes holds a whole word of W bytes wherever it stands.
    const LEAST: usize = 2 * W - 1;

    fn of(runs: &[Vec<u8>], below: usize) -> Self {
        let mut places: HashMap<u64, Vec<(u32, u8)>> = HashMap::new();
        for (index, run) in runs.iter().enumerate() {
            if !(Self::LEAST..below).contains(&run.len()) {
                continue;
            }
            for at in 0..W {
                let held = places.entry(word::<W>(&run[at..])).or_default();
                held.push((index as u32, at as u8));
            }
        }
        let bits = (places.len() * 64)
            .next_power_of_two()
            .clamp(1 << 12, 1 << 24);
        let shift = 64 - bits.trailing_zeros();
        let mut sieve = vec![0_u64; bits / 64];
        for key in places.keys() {
            let bit = Self::bit(*key, shift);
            sieve[bit >> 6] |= 1 << (bit & 63);
        }
        Self {
            sieve,
            shift,
            places,
        }
    }

    #[inline(always)]
    fn bit(word: u64, shift: u32) -> usize {
        (word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift) as usize
    }

    /// 1 where the word may stand in a run.
    #[inline(always)]
    fn passes(&self, bytes: &[u8]) -> u64 {
        let bit = Self::bit(word::<W>(bytes), self.shift);
        // The mask changes nothing: it says that the place is there.
        self.sieve[(bit >> 6) & (self.sieve.len() - 1)] >> (bit & 63) & 1
    }

    fn find(&self, runs: &[Vec<u8>], data: &[u8], seen: usize, found: &mut HashMap<u32, Found>) {
        if self.places.is_empty() {
            return;
        }
        for (number, block) in data.chunks(W * BLOCK).enumerate() {
            let words = block.chunks_exact(W);
            if words.clone().fold(0, |any, bytes| any | self.passes(bytes)) == 0 {
                continue;
            }
            for (place, bytes) in words.enumerate() {
                if self.passes(bytes) == 1 {
                    let at = (number * BLOCK + place) * W;
                    self.add(runs, data, seen, at, found);
                }
            }
        }
    }

    /// Adds the runs that hold the word at this place.
    #[inline(never)]
    fn add(
        &self,
        runs: &[Vec<u8>],
        data: &[u8],
        seen: usize,
        place: usize,
        found: &mut HashMap<u32, Found>,
    ) {
        let held = self.places.get(&word::<W>(&data[place..]));
        for (index, at) in held.into_iter().flatten() {
            let run = &runs[*index as usize];
            let Some(start) = place.checked_sub(usize::from(*at)) else {
                continue;
            };
            let end = start + run.len();
            if end > seen && data.get(start..end) == Some(run.as_slice()) {
                let found = found.entry(*index).or_insert(Found {
                    count: 0,
                    first: start,
                });
                found.count += 1;
                found.first = found.first.min(start);
            }
        }
    }
}

/// Where a run stands in the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// How often.
    pub count: u64,
    /// Where first.
    pub first: usize,
}

/// Byte runs that are searched for together.
pub struct ByteRuns {
    runs: Vec<Vec<u8>>,
    eights: Words<8>,
    fours: Words<4>,
    twos: Words<2>,
    ones: Words<1>,
}

impl ByteRuns {
    /// Runs that are not empty, each once.
    #[must_use]
    pub fn new(runs: Vec<Vec<u8>>) -> Self {
        let eights = Words::of(&runs, usize::MAX);
        let fours = Words::of(&runs, Words::<8>::LEAST);
        let twos = Words::of(&runs, Words::<4>::LEAST);
        let ones = Words::of(&runs, Words::<2>::LEAST);
        Self {
            runs,
            eights,
            fours,
            twos,
            ones,
        }
    }

    /// How many runs there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.runs.len()
    }

    /// Number of a run → where it stands in the data; what ends within the first `seen` bytes is
    /// left out.
    #[must_use]
    pub fn find(&self, data: &[u8], seen: usize) -> HashMap<u32, Found> {
        let mut found = HashMap::new();
        self.eights.find(&self.runs, data, seen, &mut found);
        self.fours.find(&self.runs, data, seen, &mut found);
        self.twos.find(&self.runs, data, seen, &mut found);
        self.ones.find(&self.runs, data, seen, &mut found);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn finds_exactly_what_a_plain_search_finds(
            data in prop::collection::vec(0_u8..2, 0..300),
            runs in prop::collection::hash_set(prop::collection::vec(0_u8..2, 1..40), 1..8),
            seen in 0_usize..100,
        ) {
            let runs: Vec<Vec<u8>> = runs.into_iter().collect();
            let found = ByteRuns::new(runs.clone()).find(&data, seen);
            for (index, run) in runs.iter().enumerate() {
                let plain: Vec<usize> = (0..(data.len() + 1).saturating_sub(run.len()))
                    .filter(|at| data[*at..].starts_with(run) && at + run.len() > seen)
                    .collect();
                let wanted = plain.first().map(|first| Found { count: plain.len() as u64, first: *first });
                prop_assert_eq!(found.get(&(index as u32)).copied(), wanted);
            }
        }
    }
}
