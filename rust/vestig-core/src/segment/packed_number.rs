//! Numbers in as few bytes as they need: seven bits a byte, the low ones first; the high bit says
//! that another byte follows (LEB128).

/// Adds a number.
pub fn push(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The numbers of some bytes.
#[must_use]
pub fn numbers(bytes: &[u8]) -> Numbers<'_> {
    Numbers { bytes }
}

/// Ends before a number that the bytes hold in part or that does not fit 32 bits.
#[derive(Debug, Clone)]
pub struct Numbers<'a> {
    bytes: &'a [u8],
}

impl Numbers<'_> {
    /// Returns whether bytes are left that are no number.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        let mut rest = self.clone();
        rest.by_ref().for_each(drop);
        !rest.bytes.is_empty()
    }

    /// Returns whether the numbers of which `run` is made follow each other in these; it has at
    /// least one.
    #[must_use]
    pub fn contain(&self, run: &[u8]) -> bool {
        let Some((first, rest)) = run.split_first() else {
            return false;
        };
        // Bytes are equal where numbers are, and a number begins behind a last byte.
        let mut begins = true;
        self.bytes.iter().enumerate().any(|(at, byte)| {
            let begun = std::mem::replace(&mut begins, byte & 0x80 == 0);
            begun && byte == first && self.bytes[at + 1..].starts_with(rest)
        })
    }
}

impl Iterator for Numbers<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let mut number = 0;
        for (at, byte) in self.bytes.iter().enumerate().take(5) {
            number |= u64::from(byte & 0x7f) << (7 * at);
            if byte & 0x80 == 0 {
                let number = u32::try_from(number).ok()?;
                self.bytes = &self.bytes[at + 1..];
                return Some(number);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{numbers, push};

    #[test]
    fn numbers_come_back() {
        let given = [0, 1, 127, 128, 16_383, 16_384, 1 << 28, u32::MAX];
        let mut bytes = Vec::new();
        given.iter().for_each(|number| push(&mut bytes, *number));
        assert_eq!(bytes.len(), 1 + 1 + 1 + 2 + 2 + 3 + 5 + 5);
        let mut read = numbers(&bytes);
        assert_eq!(read.by_ref().collect::<Vec<_>>(), given);
        assert!(!read.is_cut());
    }

    #[test]
    fn a_run_is_found_where_its_numbers_follow_each_other() {
        let packed = |given: &[u32]| {
            let mut bytes = Vec::new();
            given.iter().for_each(|number| push(&mut bytes, *number));
            bytes
        };
        let given = packed(&[129, 1, 7, 16_385, 7, 7]);
        for run in [
            &[129, 1][..],
            &[1, 7],
            &[7, 16_385],
            &[7, 7],
            &[16_385, 7, 7],
            &[129],
        ] {
            assert!(numbers(&given).contain(&packed(run)), "{run:?}");
        }
        // The last bytes of 129 are those of 1, and 1, 1 stands in none.
        for run in [&[1, 1][..], &[7, 129], &[7, 1], &[128, 1], &[7, 7, 7]] {
            assert!(!numbers(&given).contain(&packed(run)), "{run:?}");
        }
        assert!(!numbers(&[]).contain(&packed(&[1])) && !numbers(&given).contain(&[]));
    }

    #[test]
    fn bytes_that_are_no_number_are_left() {
        for bytes in [
            &[0x80][..],
            &[5, 0xff],
            &[0xff, 0xff, 0xff, 0xff, 0x1f],
            &[0x80; 9],
        ] {
            let read = numbers(bytes);
            assert!(read.is_cut());
            assert_eq!(read.count(), usize::from(bytes[0] == 5));
        }
    }
}
