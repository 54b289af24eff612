//! The lists of words by which names are told.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

const LISTS: &str = include_str!("../../../../../python/vestig/data/name_words.txt");

/// Whether a section of the lists has a word, given in lower case.
pub(super) fn listed(section: &str, word: &str) -> bool {
    lists()
        .get(section)
        .is_some_and(|words| words.contains(word))
}

fn lists() -> &'static HashMap<&'static str, HashSet<&'static str>> {
    static READ: OnceLock<HashMap<&str, HashSet<&str>>> = OnceLock::new();
    READ.get_or_init(|| {
        let mut found: HashMap<&str, HashSet<&str>> = HashMap::new();
        let mut section = "";
        for line in LISTS.lines().filter(|line| !line.starts_with('#')) {
            if let Some(name) = line
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(']'))
            {
                section = name;
            } else {
                let words = found.entry(section).or_default();
                words.extend(line.split_whitespace());
            }
        }
        found
    })
}
