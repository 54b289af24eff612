//! Finding marked byte runs: the proof that erased bytes are in no file.
//!
//! A mark is a polynomial hash of a run of fixed length under a secret key, so that what is to be
//! found need not be kept. It rolls over the data; every offset is looked at.

use std::collections::{HashMap, HashSet};

/// The prime 2^61 - 1.
const PRIME: u64 = (1 << 61) - 1;

/// Below the prime, from below twice the prime, without a branch that nothing predicts.
fn reduced(number: u64) -> u64 {
    number.min(number.wrapping_sub(PRIME))
}

fn multiply(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    let folded = (product >> 61) as u64 + (product as u64 & PRIME);
    reduced(folded)
}

fn add(a: u64, b: u64) -> u64 {
    reduced(a + b)
}

fn base(key: u64) -> u64 {
    // Never 0 or 1, under which runs would collide.
    key % (PRIME - 2) + 2
}

/// Bytes differ from absence: a run of zeros has a mark like any other.
fn value(byte: u8) -> u64 {
    u64::from(byte) + 1
}

/// The mark of one run.
#[must_use]
pub fn mark(key: u64, run: &[u8]) -> u64 {
    let base = base(key);
    run.iter()
        .fold(0, |hash, byte| add(multiply(hash, base), value(*byte)))
}

/// The matches of one mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// How often.
    pub count: u64,
    /// Where it stands first.
    pub offset: usize,
}

/// Mark → where runs of this length have it; runs that end within the first `seen` bytes are
/// left out.
#[must_use]
pub fn find(
    key: u64,
    data: &[u8],
    seen: usize,
    length: usize,
    marks: &HashSet<u64>,
) -> HashMap<u64, Found> {
    let mut found = HashMap::new();
    if length == 0 || marks.is_empty() || data.len() < length {
        return found;
    }
    let sieve = Sieve::of(marks);
    let step = Step::new(key, length);
    let mut suspects = Vec::new();
    // Several places of the data at once: each hash waits for its last one, but not for the others.
    let ends = length..data.len() + 1;
    let share = ends.len() / LANES;
    let first: [usize; LANES] = std::array::from_fn(|lane| ends.start + lane * share);
    if share > 0 {
        let mut hashes = first.map(|end| mark(key, &data[end - length..end]));
        let leaving = first.map(|end| &data[end - length..][..share - 1]);
        let coming = first.map(|end| &data[end..][..share - 1]);
        for i in 0..share - 1 {
            for lane in 0..LANES {
                let hash = hashes[lane];
                if sieve.may_hold(hash) {
                    suspects.push((first[lane] + i, hash));
                }
                hashes[lane] = step.next(hash, leaving[lane][i], coming[lane][i]);
            }
        }
        let last = first.map(|end| end + share - 1).into_iter().zip(hashes);
        suspects.extend(last.filter(|(_, hash)| sieve.may_hold(*hash)));
    }
    let rest = ends.start + LANES * share;
    suspects.extend((rest..ends.end).map(|end| (end, mark(key, &data[end - length..end]))));
    for (end, hash) in suspects {
        if end > seen && marks.contains(&hash) {
            let offset = end - length;
            let found = found.entry(hash).or_insert(Found { count: 0, offset });
            found.count += 1;
            found.offset = found.offset.min(offset);
        }
    }
    found
}

/// Places of the data that are looked at side by side.
const LANES: usize = 4;

/// A bitmap that answers "no" for nearly every hash.
struct Sieve(Vec<u64>);

impl Sieve {
    fn of(marks: &HashSet<u64>) -> Self {
        let words = (2 * marks.len()).next_power_of_two().clamp(1024, 1 << 20);
        let mut sieve = vec![0_u64; words];
        for mark in marks {
            sieve[(mark >> 6) as usize & (words - 1)] |= 1 << (mark % 64);
        }
        Self(sieve)
    }

    #[inline(always)]
    fn may_hold(&self, hash: u64) -> bool {
        self.0[(hash >> 6) as usize & (self.0.len() - 1)] >> (hash % 64) & 1 == 1
    }
}

/// From the mark of a run to that of the run one byte later.
struct Step {
    base: u64,
    /// By the byte that leaves: what takes its part away.
    gone: [u64; 256],
}

impl Step {
    fn new(key: u64, length: usize) -> Self {
        let base = base(key);
        let leaving = (0..length).fold(1, |power, _| multiply(power, base));
        let gone = |byte: usize| reduced(PRIME - multiply(value(byte as u8), leaving));
        Self {
            base,
            gone: std::array::from_fn(gone),
        }
    }

    #[inline(always)]
    fn next(&self, hash: u64, leaving: u8, coming: u8) -> u64 {
        let moved = multiply(hash, self.base);
        // Below 2^61 each: no sum of three leaves 63 bits.
        let sum = moved + self.gone[usize::from(leaving)] + value(coming);
        reduced(reduced(sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn finds_exactly_what_a_plain_search_finds(
            key: u64,
            data in prop::collection::vec(0_u8..3, 0..200),
            run in prop::collection::vec(0_u8..3, 1..6),
            seen in 0_usize..100,
        ) {
            let plain: Vec<usize> = (0..data.len().saturating_sub(run.len() - 1))
                .filter(|at| data[*at..].starts_with(&run) && at + run.len() > seen)
                .collect();
            let marks = HashSet::from([mark(key, &run)]);
            let found = find(key, &data, seen, run.len(), &marks);
            let found = found.get(&mark(key, &run));
            prop_assert_eq!(found.map_or(0, |f| f.count), plain.len() as u64);
            prop_assert_eq!(found.map(|f| f.offset), plain.first().copied());
        }
    }
}
