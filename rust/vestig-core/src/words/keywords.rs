//! Keywords of a text, and its words in lower case.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::function_words::is_function_word;
use super::names::text::{LOWER, TITLE, UPPER, WORD, class_of};
use super::tokens::tokens;

/// A run of one Han, Hiragana, Katakana or Thai character is a word of its own; others have more.
const POINTS_MIN: usize = 2;

/// The tokens without function words, those of identifiers kept, and without `left_out`: most
/// frequent first, then by first position.
#[must_use]
pub fn keywords(text: &str, limit: usize, left_out: &HashSet<String>) -> Vec<String> {
    let mut counts: HashMap<String, (Reverse<u32>, usize)> = HashMap::new();
    for (place, token) in tokens(text).into_iter().enumerate() {
        let word = &token.text;
        let short = token.end - token.start < POINTS_MIN && word.is_ascii();
        if short || (is_function_word(word) && !token.identifier) || left_out.contains(word) {
            continue;
        }
        counts.entry(token.text).or_insert((Reverse(0), place)).0.0 += 1;
    }
    let mut found: Vec<_> = counts.into_iter().collect();
    found.sort_unstable_by_key(|(_, rank)| *rank);
    let words = found.into_iter().take(limit);
    words.map(|(word, _)| word).collect()
}

/// The words that have a lower-case letter and no other case, in order, repeats kept. A word is a
/// run of letters, numbers, `_`, hyphens and apostrophes.
#[must_use]
pub fn lower_words(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut start, mut cases) = (None, 0);
    let mut close = |start: Option<usize>, end: usize, cases: u16| {
        if cases & (LOWER | UPPER | TITLE) == LOWER {
            found.extend(start.and_then(|start: usize| text.get(start..end)));
        }
    };
    for (at, c) in text.char_indices() {
        let class = class_of(c);
        if class & WORD != 0 || matches!(c, '\'' | '’' | '-') {
            start.get_or_insert(at);
            cases |= class;
        } else {
            close(start.take(), at, cases);
            cases = 0;
        }
    }
    close(start, text.len(), cases);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_keywords_come_first() {
        let text = "The deploy of jira-9988: deploy on Fridays";
        assert_eq!(
            keywords(text, 64, &HashSet::new()),
            ["deploy", "jira-9988", "fridays"]
        );
        assert_eq!(
            keywords(text, 1, &HashSet::from(["deploy".into()])),
            ["jira-9988"]
        );
    }

    #[test]
    fn words_in_lower_case_have_no_capital() {
        let text = "Ask ada's well-known X-ray, ǅ 42 x1 été’s Été";
        assert_eq!(lower_words(text), ["ada's", "well-known", "x1", "été’s"]);
        assert_eq!(lower_words(""), [""; 0]);
    }
}
