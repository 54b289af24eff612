//! Words of a text: tokens and index terms. One analyser for memories and queries.
//!
//! * A *run* is a maximal sequence of alphanumeric characters (Unicode Alphabetic, or general
//!   category N) and of combining marks (category M) that follow one.
//! * Runs joined by exactly one of `- _ . / : @ # +` form a *chain*. A chain is an *identifier*,
//!   kept whole, when it contains a digit, `_`, `/`, `@`, an inner dot, or a part with an upper-
//!   case letter behind its first place and a lower-case letter; else it is split into its runs.
//! * A run outside of identifiers is cut where its script changes between Han, Hiragana and
//!   Katakana (one class), Thai, and everything else. The first two become overlapping bigrams of
//!   code points (a single one stays alone); other pieces count from two code points on, and so
//!   does a single Latin letter or digit by which something goes ("C", "vitamin D", "customer 7").
//! * A word of letters has the `+`, `++` or `#` behind it: `C++`, `C#`.
//! * A pictograph is a word, with what modifies it and what is joined with it: an emoji with a skin
//!   tone, a flag, a family. Other symbols are none.
//!
//! Every text is accepted; nothing is cut inside of a character.

mod content;
mod flags;
mod folded;
mod function_words;
mod keywords;
mod lower_case;
pub mod names;
mod parts;
mod statements;
mod stem;
mod substrings;
mod symbols;
mod tokens;
mod visible;

use std::collections::BTreeSet;
use std::fmt::Write as _;

pub use content::{ContentTerm, content_terms};
pub use flags::{flag, text_flags};
pub use folded::{folded, same_composed};
use function_words::is_function_word;
pub use keywords::{keywords, lower_words};
pub use statements::{Stance, stance};
pub use stem::{PlacedTerm, Spelling, Stems, placed_terms, terms, terms_among, visit_terms};
pub use substrings::Substrings;
pub use tokens::{Token, tokens};
pub use visible::visible;

/// Version of these rules. Raise it with every change that alters a token or a term.
const RULES: &str = "en-4";
/// Version of the stemmer, as in the crate's manifest; a test keeps it true.
const STEMMER: &str = "rust-stemmers-1.2.0";

/// Words that frame a question: who, which, kind, many …
pub fn frame_words() -> impl Iterator<Item = &'static str> {
    function_words::frame_words()
}

/// Distinct index terms of a text that are made of words that are no function words.
#[must_use]
pub fn content_of(text: &str) -> BTreeSet<String> {
    let (mut found, mut stems) = (BTreeSet::new(), Stems::of_many_texts());
    visit_terms(text, None, None, &mut stems, |term, word| {
        if !word.function_word {
            found.insert(term.to_owned());
        }
    });
    found
}

/// How many index terms of a text are made of words that are no function words.
#[must_use]
pub fn content_length(text: &str) -> usize {
    let (mut found, mut stems) = (0, Stems::of_many_texts());
    visit_terms(text, None, None, &mut stems, |_, word| {
        found += usize::from(!word.function_word);
    });
    found
}

/// Words of a memory of an agent's session that begin at or behind this code point are not indexed.
pub const AGENT_WORDS_END: usize = 1200;

/// Names everything the terms of a text depend on: rules, stemmer, function words, Unicode tables of
/// the standard library (letters, case) and of the table of properties (marks, emoji). A store made with
/// another value must be analysed again.
pub fn analyser_version() -> String {
    let (major, minor, update) = char::UNICODE_VERSION;
    let (mark_major, mark_minor, mark_update) = unicode_properties::UNICODE_VERSION;
    let mut text = format!("{RULES}/{STEMMER}/unicode-{major}.{minor}.{update}");
    let _ = write!(text, "/function-words-{:08x}", function_words::checksum());
    let _ = write!(text, "/statements-{:08x}", statements::checksum());
    // Writing to a string cannot fail.
    let _ = write!(text, "/marks-{mark_major}.{mark_minor}.{mark_update}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_names_the_stemmer_that_is_built_in() {
        let lock = include_str!("../../../../Cargo.lock");
        let at = lock.find("name = \"rust-stemmers\"").unwrap();
        let version = lock[at..].lines().nth(1).unwrap();
        assert_eq!(
            version,
            format!("version = \"{}\"", STEMMER.rsplit('-').next().unwrap())
        );
        assert!(analyser_version().starts_with("en-4/rust-stemmers-1.2.0/unicode-"));
    }
}
