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

/// What was found of one mark.
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
    // A bitmap that answers "no" for nearly every offset.
    let words = (marks.len() / 2).next_power_of_two().max(1024);
    let mut sieve = vec![0_u64; words];
    for mark in marks {
        sieve[(mark >> 6) as usize % words] |= 1 << (mark % 64);
    }
    let base = base(key);
    let leaving = (1..length).fold(1, |power, _| multiply(power, base));
    let mut hash = mark(key, &data[..length]);
    for end in length..=data.len() {
        let suspect = sieve[(hash >> 6) as usize % words] >> (hash % 64) & 1 == 1;
        if suspect && end > seen && marks.contains(&hash) {
            let offset = end - length;
            found
                .entry(hash)
                .or_insert(Found { count: 0, offset })
                .count += 1;
        }
        if let Some(next) = data.get(end) {
            let gone = multiply(value(data[end - length]), leaving);
            let rest = add(hash, PRIME - gone);
            hash = add(multiply(rest, base), value(*next));
        }
    }
    found
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
