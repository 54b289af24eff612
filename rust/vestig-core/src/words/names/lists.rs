//! The lists of words by which names are told.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

const LISTS: &str = include_str!("../../../../../python/vestig/data/name_words.txt");

/// Returns whether a section of the lists has a word, given in lower case.
pub(super) fn listed(section: &str, word: &str) -> bool {
    lists()
        .get(section)
        .is_some_and(|words| words.contains(word))
}

/// Returns whether a word in lower case is a given name, with its accents or without them.
pub(super) fn is_given_name(word: &str) -> bool {
    if listed("given", word) {
        return true;
    }
    let accent = |c: &char| c.general_category_group() == GeneralCategoryGroup::Mark;
    !word.is_ascii()
        && listed(
            "given",
            &word.nfd().filter(|c| !accent(c)).collect::<String>(),
        )
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
