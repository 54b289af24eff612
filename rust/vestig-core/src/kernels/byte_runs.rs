//! Finding byte runs as they are: the fast half of the proof that erased bytes are in no file.
//!
//! A run that is long enough holds a whole word at a multiple of some bytes wherever it stands in the
//! data, so it is enough to look at those words; a bitmap tells nearly all of them apart.

use std::collections::HashMap;

use super::dispatch::{self, Level};

/// Words that are looked at together.
const BLOCK: usize = 8;

/// A word of a run.
struct Place {
    word: u64,
    run: u32,
    /// Where in the run.
    at: u32,
}

/// Runs of one range of lengths, by the words of W bytes at which the data is looked at, every S
/// bytes.
struct Words<const W: usize, const S: usize> {
    /// Bits of a power of two, by the hash of a word.
    sieve: Vec<u64>,
    shift: u32,
    /// By the place in the sieve, the first of its places in the runs.
    starts: Vec<u32>,
    places: Vec<Place>,
}

#[inline(always)]
fn word<const W: usize>(bytes: &[u8]) -> u64 {
    let mut wide = [0; 8];
    wide[..W].copy_from_slice(&bytes[..W]);
    u64::from_le_bytes(wide)
}

#[inline(always)]
fn bit(word: u64, shift: u32) -> usize {
    (word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift) as usize
}

/// Where in a run the word stands that is looked for, of those that lie a multiple of `S` bytes behind
/// `first`: the one of most different bytes, since zeros and the like stand in many places.
fn telling_word<const W: usize, const S: usize>(run: &[u8], first: usize) -> usize {
    let (mut best, mut most) = (first, 0);
    for at in (first..=run.len() - W).step_by(S) {
        let word = &run[at..at + W];
        let is_new = |n: &usize| !word[..*n].contains(&word[*n]);
        let different = (0..W).filter(is_new).count();
        if different > most {
            (best, most) = (at, different);
        }
        if most == W {
            break;
        }
    }
    best
}

/// A bitmap by the hash of a word.
#[derive(Clone, Copy)]
pub(crate) struct Sieve<'a> {
    bits: &'a [u64],
    shift: u32,
}

impl Sieve<'_> {
    /// 1 where the word of so many bytes may stand in a run.
    #[inline(always)]
    fn passes<const W: usize>(self, bytes: &[u8]) -> u64 {
        let bit = bit(word::<W>(bytes), self.shift);
        // The mask changes nothing: it says that the place is there.
        self.bits[(bit >> 6) & (self.bits.len() - 1)] >> (bit & 63) & 1
    }
}

/// Number of the first whole block of words, `S` bytes apart, one of which passes.
#[inline(always)]
pub(crate) fn next_block<const W: usize, const S: usize>(
    sieve: Sieve<'_>,
    data: &[u8],
) -> Option<usize> {
    if sieve.bits.is_empty() {
        return None;
    }
    data.chunks_exact(S * BLOCK).position(|block| {
        let passes = |n: usize| sieve.passes::<W>(&block[n * S..n * S + W]);
        (0..BLOCK).fold(0, |any, n| any | passes(n)) != 0
    })
}

/// Number of the first block at a place of which a run may begin that has this first and, `ends`
/// being as far behind, this last byte.
#[inline(always)]
pub(crate) fn next_pair(
    starts: &[[u8; STEP]],
    ends: &[[u8; STEP]],
    (first, last): (u8, u8),
) -> Option<usize> {
    starts.iter().zip(ends).position(|(starts, ends)| {
        let pairs = starts.iter().zip(ends);
        let any = pairs.fold(0, |any, (a, b)| {
            any | (u8::from(*a == first) & u8::from(*b == last))
        });
        any != 0
    })
}

impl<const W: usize, const S: usize> Words<W, S> {
    /// A run of so many bytes holds a whole word wherever it stands.
    const LEAST: usize = W + S - 1;

    fn of(runs: &[Vec<u8>], below: usize) -> Self {
        let of_length = |run: &&(u32, &Vec<u8>)| (Self::LEAST..below).contains(&run.1.len());
        let numbered: Vec<(u32, &Vec<u8>)> = (0..).zip(runs).collect();
        let mut places: Vec<Place> = Vec::new();
        for (number, run) in numbered.iter().filter(of_length) {
            places.extend((0..S).map(|first| {
                let at = telling_word::<W, S>(run, first);
                Place {
                    word: word::<W>(&run[at..]),
                    run: *number,
                    at: at as u32,
                }
            }));
        }
        let bits = (places.len() * 128)
            .next_power_of_two()
            .clamp(1 << 12, 1 << 24);
        let shift = 64 - bits.trailing_zeros();
        places.sort_unstable_by_key(|place| bit(place.word, shift));
        let mut sieve = vec![0_u64; bits / 64];
        let mut starts = vec![0_u32; sieve.len() + 1];
        for place in &places {
            let bit = bit(place.word, shift);
            sieve[bit >> 6] |= 1 << (bit & 63);
            starts[(bit >> 6) + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        Self {
            sieve,
            shift,
            starts,
            places,
        }
    }

    fn find(&self, runs: &[Vec<u8>], data: &[u8], seen: usize, found: &mut HashMap<u32, Found>) {
        if self.places.is_empty() {
            return;
        }
        let sieve = Sieve {
            bits: &self.sieve,
            shift: self.shift,
        };
        let look = |at: usize, found: &mut HashMap<u32, Found>| {
            if sieve.passes::<W>(&data[at..]) == 1 {
                self.add(runs, data, seen, at, found);
            }
        };
        let (level, mut start) = (Level::best(), 0);
        while let Some(block) = dispatch::next_block::<W, S>(level, sieve, &data[start..]) {
            start += block * S * BLOCK;
            (0..BLOCK).for_each(|n| look(start + n * S, found));
            start += S * BLOCK;
        }
        let rest = data.len() / (S * BLOCK) * (S * BLOCK);
        let rest = rest..(data.len() + 1).saturating_sub(W);
        rest.step_by(S).for_each(|at| look(at, found));
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
        let word = word::<W>(&data[place..]);
        let of = bit(word, self.shift) >> 6;
        let held = &self.places[self.starts[of] as usize..self.starts[of + 1] as usize];
        for own in held.iter().filter(|own| own.word == word) {
            let run = &runs[own.run as usize];
            let Some(start) = place.checked_sub(own.at as usize) else {
                continue;
            };
            let end = start + run.len();
            if end > seen && data.get(start..end) == Some(run.as_slice()) {
                let found = found.entry(own.run).or_insert(Found {
                    count: 0,
                    first: start,
                });
                found.count += 1;
                found.first = found.first.min(start);
            }
        }
    }
}

/// So many short runs are each looked for alone, which is faster than a sieve of short words.
const FEW: usize = 4;
/// Bytes that are looked at together.
pub(crate) const STEP: usize = 64;

/// Adds the places of one run, which are looked for by its first and its last byte.
fn find_one(
    (number, run): (u32, &[u8]),
    data: &[u8],
    seen: usize,
    found: &mut HashMap<u32, Found>,
) {
    let [first, .., last] = *run else {
        return;
    };
    let starts = (data.len() + 1).saturating_sub(run.len());
    let mut add = |at: usize| {
        if data[at..].starts_with(run) && at + run.len() > seen {
            let found = found.entry(number).or_insert(Found {
                count: 0,
                first: at,
            });
            found.count += 1;
        }
    };
    let (blocks, _) = data[..starts].as_chunks::<STEP>();
    let (ends, _) = data[data.len() - starts..].as_chunks::<STEP>();
    let (level, mut block) = (Level::best(), 0);
    while let Some(next) =
        dispatch::next_pair(level, &blocks[block..], &ends[block..], (first, last))
    {
        block += next;
        (block * STEP..(block + 1) * STEP).for_each(&mut add);
        block += 1;
    }
    (blocks.len() * STEP..starts).for_each(add);
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
    fragments: Words<8, 8>,
    /// Shorter ones, as long as they are few.
    few: Vec<u32>,
    names: Words<4, 8>,
    words: Words<4, 4>,
    short: Words<2, 2>,
    ones: Words<1, 1>,
}

impl ByteRuns {
    /// Runs that are not empty, each once.
    #[must_use]
    pub fn new(runs: Vec<Vec<u8>>) -> Self {
        let least = Words::<8, 8>::LEAST;
        let short = (0..)
            .zip(&runs)
            .filter(|(_, run)| (2..least).contains(&run.len()));
        let mut few: Vec<u32> = short.map(|(number, _)| number).collect();
        let below = if few.len() > FEW {
            few.clear();
            least
        } else {
            2
        };
        Self {
            fragments: Words::of(&runs, usize::MAX),
            few,
            names: Words::of(&runs, below),
            words: Words::of(&runs, below.min(Words::<4, 8>::LEAST)),
            short: Words::of(&runs, below.min(Words::<4, 4>::LEAST)),
            ones: Words::of(&runs, below.min(Words::<2, 2>::LEAST)),
            runs,
        }
    }

    /// How many runs there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.runs.len()
    }

    /// Length of the longest run.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.runs.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Number of a run → where it stands in the data; what ends within the first `seen` bytes is
    /// left out.
    #[must_use]
    pub fn find(&self, data: &[u8], seen: usize) -> HashMap<u32, Found> {
        let mut found = HashMap::new();
        self.fragments.find(&self.runs, data, seen, &mut found);
        for number in &self.few {
            find_one(
                (*number, &self.runs[*number as usize]),
                data,
                seen,
                &mut found,
            );
        }
        self.names.find(&self.runs, data, seen, &mut found);
        self.words.find(&self.runs, data, seen, &mut found);
        self.short.find(&self.runs, data, seen, &mut found);
        self.ones.find(&self.runs, data, seen, &mut found);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn zeros_are_looked_for_only_where_there_is_nothing_else() {
        let mut run = [0; 24];
        run[9..12].copy_from_slice(&[5, 6, 7]);
        assert_eq!(telling_word::<8, 8>(&run, 0), 8);
        assert_eq!(telling_word::<8, 8>(&run, 5), 5);
        assert_eq!(telling_word::<8, 8>(&[0; 24], 3), 3);
        assert_eq!(telling_word::<1, 1>(&[4], 0), 0);
    }

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
