//! Flags of a text for signals: length, whether it asks, how many words say what it is about.

use super::function_words::{is_frame_word, is_function_word};
use super::statements::{Stance, stance};
use super::tokens;

/// Bits of the flags of a text.
pub mod flag {
    /// Its code points, at most 2,000.
    pub const LENGTH: u32 = (1 << 11) - 1;
    /// It ends with a question mark.
    pub const QUESTION: u32 = 1 << 11;
    /// Where the number of content words begins.
    pub const CONTENT_AT: u32 = 12;
    /// Bits of the number of content words.
    pub const CONTENT_MAX: u32 = 15;
    /// It asks, and states nothing.
    pub const ASKS: u32 = 1 << 16;
    /// It neither asks nor states anything.
    pub const EMPTY: u32 = 1 << 17;
}

const LENGTH_MAX: usize = 2000;
const CONTENT_WORDS_MAX: usize = 8;

/// Bits 0-10: the code points, at most 2000; bit 11: it ends with a question mark, white space left
/// out; bits 12-15: its content words, at most 8: those that are neither function words nor frame
/// a question; bit 16: it asks, and states nothing; bit 17: it neither asks nor states anything.
#[must_use]
pub fn text_flags(text: &str) -> u32 {
    let mut bits = text.chars().count().min(LENGTH_MAX) as u32;
    let space = |c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c);
    if text.trim_end_matches(space).ends_with(['?', '？', '؟']) {
        bits |= flag::QUESTION;
    }
    let content = tokens(text).into_iter();
    let content = content.filter(|one| !is_function_word(&one.text) && !is_frame_word(&one.text));
    bits |= (content.take(CONTENT_WORDS_MAX).count() as u32) << flag::CONTENT_AT;
    match stance(text) {
        Stance::Asks => bits | flag::ASKS,
        Stance::Empty => bits | flag::EMPTY,
        Stance::States => bits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (u32, bool, u32) {
        let bits = text_flags(text);
        (
            bits & flag::LENGTH,
            bits & flag::QUESTION != 0,
            bits >> flag::CONTENT_AT & flag::CONTENT_MAX,
        )
    }

    #[test]
    fn lengths_questions_and_content_words() {
        assert_eq!(parts(""), (0, false, 0));
        assert_eq!(parts("Who is that? \n"), (14, true, 0));
        assert_eq!(parts("Is it? Yes, the cat Fennel."), (27, false, 3));
        assert_eq!(parts(&"lamp ".repeat(900)), (2000, false, 8));
    }
}
