//! Sets of rows as bits.

/// Rows as bits, 64 a word.
pub type Bits = Vec<u64>;

/// Bits 0 … n − 1 set.
#[must_use]
pub fn ones(n: usize) -> Bits {
    let mut bits = vec![u64::MAX; n.div_ceil(64)];
    if let (Some(last), used @ 1..) = (bits.last_mut(), n % 64) {
        *last = (1 << used) - 1;
    }
    bits
}

/// Number of set bits.
#[must_use]
pub fn count(bits: &[u64]) -> usize {
    bits.iter().map(|word| word.count_ones() as usize).sum()
}

/// Returns whether a bit is set.
#[must_use]
pub fn has(bits: &[u64], row: usize) -> bool {
    bits[row / 64] >> (row % 64) & 1 == 1
}

/// Set bits, ascending.
pub fn set_bits(bits: &[u64]) -> impl Iterator<Item = usize> + '_ {
    bits.iter().enumerate().flat_map(|(i, word)| {
        let mut rest = *word;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                i * 64 + bit
            })
        })
    })
}

/// Clears the bits of rows from `rows` on.
pub fn first_rows(bits: &mut [u64], rows: usize) {
    for (word, bits) in bits.iter_mut().enumerate().skip(rows / 64) {
        *bits &= match rows.saturating_sub(word * 64) {
            0 => 0,
            kept => (1 << kept) - 1,
        };
    }
}
