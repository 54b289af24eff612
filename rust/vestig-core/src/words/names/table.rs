//! A small index of names by their words, for those that are not yet in the store.

use std::collections::{BTreeSet, HashMap};

use super::analysed::Word;
use super::forms::normal;

/// Longer names are found by their key alone.
const WORDS_MAX: usize = 8;

/// Finds names among words, as the index of the store does.
#[derive(Debug, Default)]
pub struct NameTable {
    /// Normal form → (entity, stored name).
    names: HashMap<String, Vec<(String, String)>>,
    /// First word → how many words names have that begin with it.
    lengths: HashMap<String, BTreeSet<usize>>,
}

impl NameTable {
    /// Returns whether no name was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Adds a name of an entity.
    pub fn add(&mut self, entity: &str, stored: &str) {
        let norm = normal(stored);
        let count = norm.split(' ').count();
        if count > WORDS_MAX {
            return;
        }
        let first = norm.split(' ').next().unwrap_or_default().to_owned();
        self.lengths.entry(first).or_default().insert(count);
        let names = self.names.entry(norm).or_default();
        names.push((entity.to_owned(), stored.to_owned()));
    }

    /// Every run of words that is one of the names, any overlap: (first word, number of words,
    /// entity, stored name).
    #[must_use]
    pub fn find(&self, words: &[Word]) -> Vec<(usize, usize, String, String)> {
        let mut found = Vec::new();
        if self.is_empty() {
            return found;
        }
        let mut add = |norm: &str, first: usize, count: usize| {
            for (entity, stored) in self.names.get(norm).into_iter().flatten() {
                found.push((first, count, entity.clone(), stored.clone()));
            }
        };
        let mut run = String::new();
        for (first, word) in words.iter().enumerate() {
            if let Some(lengths) = self.lengths.get(&*word.left) {
                for count in lengths.iter().filter(|count| **count > 1) {
                    let Some(others) = words.get(first + 1..first + count) else {
                        continue;
                    };
                    run.clear();
                    run.push_str(&word.left);
                    for (place, other) in others.iter().enumerate() {
                        run.push(' ');
                        let last = place + 2 == *count;
                        run.push_str(if last { &other.right } else { &other.raw });
                    }
                    add(&run, first, *count);
                    if let Some(own) = others.last().and_then(Word::right_possessive) {
                        run.truncate(run.rfind(' ').map_or(0, |space| space + 1));
                        run.push_str(own);
                        add(&run, first, *count);
                    }
                }
            }
            add(&word.bare, first, 1);
            if let Some(own) = word.bare_possessive() {
                add(own, first, 1);
            }
        }
        found
    }
}
