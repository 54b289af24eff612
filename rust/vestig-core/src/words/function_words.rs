//! Words that carry no content of their own: the stop words of the package's data.

use std::collections::HashSet;
use std::sync::OnceLock;

const LIST: &str = include_str!("../../../../python/vestig/data/stopwords.txt");

/// Of the list, comments included.
pub(super) fn checksum() -> u32 {
    crc32fast::hash(LIST.as_bytes())
}

/// Whether a lower-cased word is one of them.
pub(super) fn is_function_word(word: &str) -> bool {
    static WORDS: OnceLock<HashSet<&str>> = OnceLock::new();
    let words = WORDS.get_or_init(|| {
        let lines = LIST.lines().filter(|line| !line.starts_with('#'));
        lines.flat_map(str::split_whitespace).collect()
    });
    words.contains(word)
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
