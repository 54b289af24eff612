//! Words that carry no content of their own: the stop words of the package's data, and those that
//! frame a question.

use std::collections::HashSet;
use std::sync::OnceLock;

const LIST: &str = include_str!("../../../../python/vestig/data/stopwords.txt");
const FRAME_WORDS: &str = include_str!("../../../../python/vestig/data/frame_words.txt");

/// Of both lists, comments included.
pub(super) fn checksum() -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(LIST.as_bytes());
    hasher.update(FRAME_WORDS.as_bytes());
    hasher.finalize()
}

fn words_of(list: &'static str) -> HashSet<&'static str> {
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_whitespace).collect()
}

/// Returns whether a lower-cased word is a function word.
pub(super) fn is_function_word(word: &str) -> bool {
    static WORDS: OnceLock<HashSet<&str>> = OnceLock::new();
    WORDS.get_or_init(|| words_of(LIST)).contains(word)
}

/// Words that frame a question.
pub(super) fn frame_words() -> impl Iterator<Item = &'static str> {
    let lines = FRAME_WORDS.lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_whitespace)
}

/// Returns whether a lower-cased word frames a question: who, which, kind, many …
pub(super) fn is_frame_word(word: &str) -> bool {
    static WORDS: OnceLock<HashSet<&str>> = OnceLock::new();
    WORDS.get_or_init(|| words_of(FRAME_WORDS)).contains(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_no_words() {
        for word in ["the", "of", "and"] {
            assert!(is_function_word(word));
        }
        for word in ["#", "paris", "The", ""] {
            assert!(!is_function_word(word));
        }
    }
}
