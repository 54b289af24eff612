//! Which terms stand side by side in a text when its function words are left out.

use std::collections::{HashMap, HashSet};

use super::stem::visit_words;

/// Terms that are looked for, and words that are passed over.
pub struct NeighbouringTerms {
    places: HashMap<String, u32>,
    function_words: HashSet<String>,
}

impl NeighbouringTerms {
    /// Index terms, each once, and lower-cased words.
    #[must_use]
    pub fn new(terms: Vec<String>, function_words: HashSet<String>) -> Self {
        Self {
            places: terms.into_iter().zip(0..).collect(),
            function_words,
        }
    }

    /// Distinct pairs of places in the terms, ascending: the first directly before the second
    /// among the index terms of author and text, those of function words left out. `until`: as for
    /// [`super::visit_terms`].
    #[must_use]
    pub fn in_text(
        &self,
        text: &str,
        author: Option<&str>,
        until: Option<usize>,
    ) -> Vec<(u32, u32)> {
        let mut found = Vec::new();
        let mut before = None;
        visit_words(text, author, until, |term, word, _, _| {
            if self.function_words.contains(&word.to_lowercase()) {
                return;
            }
            let place = self.places.get(term).copied();
            found.extend(before.zip(place));
            before = place;
        });
        found.sort_unstable();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_words_are_passed_over_and_order_counts() {
        let terms = ["red", "bicycl", "tom", "bought"].map(str::to_owned);
        let words = ["a", "the", "of"].map(str::to_owned);
        let terms = NeighbouringTerms::new(terms.into(), words.into());
        let held = |text, author| terms.in_text(text, author, None);
        assert_eq!(
            held("Tom bought a red bicycle", None),
            [(0, 1), (2, 3), (3, 0)]
        );
        assert_eq!(
            held("THE red, of the bicycles; red bicycle", None),
            [(0, 1), (1, 0)]
        );
        assert_eq!(held("the red, old bicycle", None), []);
        assert_eq!(held("bought it", Some("Tom")), [(2, 3)]);
        assert_eq!(terms.in_text("red bicycle", None, Some(4)), []);
    }
}
