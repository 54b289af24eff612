//! True if a text holds one of some short texts.

use std::array;

/// Short texts that are looked for at once.
pub struct Substrings {
    /// By first byte, what follows it.
    rests: [Vec<Vec<u8>>; 256],
}

impl Substrings {
    /// Empty ones are in no text.
    pub fn new<'a>(wanted: impl IntoIterator<Item = &'a str>) -> Self {
        let mut rests = array::from_fn(|_| Vec::new());
        for text in wanted {
            if let Some((first, rest)) = text.as_bytes().split_first() {
                rests[usize::from(*first)].push(rest.to_vec());
            }
        }
        Self { rests }
    }

    /// Returns whether one of them is in the text.
    #[must_use]
    pub fn any_in(&self, text: &str) -> bool {
        let mut left = text.as_bytes();
        while let Some((first, behind)) = left.split_first() {
            let rests = &self.rests[usize::from(*first)];
            if rests.iter().any(|rest| behind.starts_with(rest)) {
                return true;
            }
            left = behind;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn they_are_found_as_one_by_one(
            text in "[abé]{0,20}",
            wanted in prop::collection::vec("[abé]{1,3}", 0..5),
        ) {
            let found = Substrings::new(wanted.iter().map(String::as_str)).any_in(&text);
            prop_assert_eq!(found, wanted.iter().any(|one| text.contains(one.as_str())));
        }
    }
}
