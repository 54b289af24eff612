//! Finding byte runs as they are: the fast half of the proof that erased bytes are in no file.
//!
//! Whatever run stands somewhere in the data holds a whole word at a multiple of the word's length
//! there, so it is enough to look at those words; a bitmap tells nearly all of them apart.

use std::collections::HashMap;

/// Runs of one range of lengths, by the words at which the data is looked at.
struct Words<const W: usize> {
    sieve: Vec<u64>,
    shift: u32,
    /// Word → runs that hold it, and where.
    places: HashMap<u64, Vec<(u32, u8)>>,
}

fn word<const W: usize>(bytes: &[u8]) -> u64 {
    let mut wide = [0; 8];
    wide[..W].copy_from_slice(&bytes[..W]);
    u64::from_le_bytes(wide)
}

impl<const W: usize> Words<W> {
    fn of<'a>(runs: impl Iterator<Item = (usize, &'a [u8])>) -> Self {
        let mut places: HashMap<u64, Vec<(u32, u8)>> = HashMap::new();
        for (index, run) in runs {
            for at in 0..W {
                let held = places.entry(word::<W>(&run[at..])).or_default();
                held.push((index as u32, at as u8));
            }
        }
        let bits = (places.len() * 32)
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

    fn find(&self, runs: &[Vec<u8>], data: &[u8], seen: usize, found: &mut HashMap<u32, u64>) {
        if self.places.is_empty() {
            return;
        }
        for (number, bytes) in data.chunks_exact(W).enumerate() {
            let word = word::<W>(bytes);
            let bit = Self::bit(word, self.shift);
            if self.sieve[bit >> 6] >> (bit & 63) & 1 == 0 {
                continue;
            }
            for (index, at) in self.places.get(&word).into_iter().flatten() {
                let run = &runs[*index as usize];
                let Some(start) = (number * W).checked_sub(usize::from(*at)) else {
                    continue;
                };
                let end = start + run.len();
                if end > seen && data.get(start..end) == Some(run.as_slice()) {
                    *found.entry(*index).or_default() += 1;
                }
            }
        }
    }
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
        // A run of 2 W - 1 bytes holds a whole word of W bytes at every place.
        let of = |least: usize, below: usize| {
            let every = runs.iter().enumerate();
            every
                .filter(move |(_, run)| (least..below).contains(&run.len()))
                .map(|(index, run)| (index, run.as_slice()))
        };
        let (eights, fours) = (Words::of(of(15, usize::MAX)), Words::of(of(7, 15)));
        let (twos, ones) = (Words::of(of(3, 7)), Words::of(of(1, 3)));
        Self {
            runs,
            eights,
            fours,
            twos,
            ones,
        }
    }

    /// Number of a run → how often it stands in the data; what ends within the first `seen` bytes
    /// is left out.
    #[must_use]
    pub fn find(&self, data: &[u8], seen: usize) -> HashMap<u32, u64> {
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
                let plain = (0..(data.len() + 1).saturating_sub(run.len()))
                    .filter(|at| data[*at..].starts_with(run) && at + run.len() > seen)
                    .count() as u64;
                prop_assert_eq!(found.get(&(index as u32)).copied().unwrap_or(0), plain);
            }
        }
    }
}
