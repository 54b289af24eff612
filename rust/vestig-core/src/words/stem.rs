//! Index terms: identifiers whole and in parts, Snowball English stems.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use rust_stemmers::{Algorithm, Stemmer};

use super::is_function_word;
use super::lower_case::{lower_case_into, matched};
use super::parts::visit_parts;
use super::tokens::{Script, Span, visit_chains, visit_pieces};

/// An index term and the word that it is made of, in code points [start, end). Of an identifier
/// and of an emoji sequence that is the whole of it, then each part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedTerm<'a> {
    /// The term.
    pub term: String,
    /// The word.
    pub word: &'a str,
    /// First code point of the word.
    pub start: usize,
    /// Code point behind its last one.
    pub end: usize,
}

/// Makes stems of lower-cased words.
pub struct Stems {
    stemmer: Stemmer,
    /// Those made so far, at most `kept`.
    known: HashMap<String, String>,
    kept: usize,
}

/// Words of many texts whose stems are kept.
const STEMS_MAX: usize = 16_384;

impl Stems {
    /// For one text, in which few words repeat.
    pub fn of_one_text() -> Self {
        Self {
            stemmer: Stemmer::create(Algorithm::English),
            known: HashMap::new(),
            kept: 0,
        }
    }

    /// For many texts, which share words.
    pub fn of_many_texts() -> Self {
        Self {
            kept: STEMS_MAX,
            ..Self::of_one_text()
        }
    }

    fn of<'a>(&'a mut self, word: &'a str) -> Cow<'a, str> {
        if self.known.len() < self.kept && !self.known.contains_key(word) {
            let stem = self.stemmer.stem(word).into_owned();
            self.known.insert(word.to_owned(), stem);
        }
        match self.known.get(word) {
            Some(stem) => Cow::Borrowed(stem),
            None => self.stemmer.stem(word),
        }
    }
}

/// How the word of a term is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spelling {
    /// In lower case; names of authors never count as such.
    pub lower_case: bool,
    /// True if it is a function word.
    pub function_word: bool,
}

/// Index terms of a text in order, repeats kept, each with the place of its word.
pub fn placed_terms(text: &str) -> Vec<PlacedTerm<'_>> {
    let mut found = Vec::new();
    let (mut stems, mut lowered) = (Stems::of_one_text(), String::new());
    visit(
        text,
        usize::MAX,
        &mut stems,
        &mut lowered,
        &mut |term, span, _| {
            found.push(PlacedTerm {
                term: term.to_owned(),
                word: span.text(text),
                start: span.start,
                end: span.end,
            });
        },
    );
    found
}

/// Index terms in order, repeats kept, the author's first (see [`visit_terms`]).
pub fn terms(text: &str, author: Option<&str>) -> Vec<String> {
    let mut found = Vec::with_capacity(text.len() / 6);
    let mut stems = Stems::of_one_text();
    visit_terms(text, author, None, &mut stems, |term, _| {
        found.push(term.to_owned())
    });
    found
}

/// Those of these index terms that occur in the texts, each time with the place of its text.
pub fn terms_among(wanted: &HashSet<String>, texts: &[String]) -> Vec<(usize, String)> {
    let (mut found, mut stems) = (Vec::new(), Stems::of_many_texts());
    for (place, text) in texts.iter().enumerate() {
        visit_terms(text, None, None, &mut stems, |term, _| {
            if wanted.contains(term) {
                found.push((place, term.to_owned()));
            }
        });
    }
    found
}

/// Calls `sink` with every index term of `author`, then of `text`, in order, and how its word is
/// written.
///
/// Words are lower-cased and stemmed, full-width and other shapes of a letter or digit are that, and
/// `ß` is `ss`; a possessive `'s` falls away because one letter is no word; identifiers come whole (lower-cased, not stemmed) and then in parts, which are words; a
/// word in mixed case, one with signs at its end and an emoji sequence are followed by their parts;
/// bigrams and symbols are not stemmed. Stop words stay. `until`: words of `text` that begin at or behind
/// this code point are left out (of a long agent message only the first 1,200 code points are read).
pub fn visit_terms(
    text: &str,
    author: Option<&str>,
    until: Option<usize>,
    stems: &mut Stems,
    mut sink: impl FnMut(&str, Spelling),
) {
    visit_words(
        text,
        author,
        until,
        stems,
        |term, word, lowered, of_text| {
            let spelling = Spelling {
                lower_case: of_text && lowered == Some(word),
                function_word: lowered.is_some_and(is_function_word),
            };
            sink(term, spelling);
        },
    );
}

/// As [`visit_terms`]: a term, its word as it is written and in lower case (None: a bigram or symbol), and
/// whether it is one of the text.
pub(super) fn visit_words(
    text: &str,
    author: Option<&str>,
    until: Option<usize>,
    stems: &mut Stems,
    mut sink: impl FnMut(&str, &str, Option<&str>, bool),
) {
    let mut lowered = String::new();
    if let Some(author) = author {
        visit(
            author,
            usize::MAX,
            stems,
            &mut lowered,
            &mut |term, span, word| sink(term, span.text(author), word, false),
        );
    }
    visit(
        text,
        until.unwrap_or(usize::MAX),
        stems,
        &mut lowered,
        &mut |term, span, word| sink(term, span.text(text), word, true),
    );
}

fn visit(
    text: &str,
    until: usize,
    stems: &mut Stems,
    lowered: &mut String,
    sink: &mut impl FnMut(&str, Span, Option<&str>),
) {
    visit_chains(text, |chain, identifier| {
        let whole = Span::over(chain);
        if identifier && whole.start < until {
            lower_case_into(whole.text(text), lowered);
            sink(&matched(lowered), whole, Some(lowered));
        }
        for run in chain {
            visit_pieces(text, *run, chain.len() == 1, &mut |span, script| {
                let begins = if identifier { whole.start } else { span.start };
                if begins >= until {
                    return;
                }
                let mut add = |span: Span| match script {
                    Script::Word => {
                        lower_case_into(span.text(text), lowered);
                        sink(&stems.of(&matched(lowered)), span, Some(lowered));
                    }
                    _ => sink(span.text(text), span, None),
                };
                add(span);
                visit_parts(text, span, script, &mut add);
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_stemmed_and_the_author_comes_first() {
        let found = terms(
            "Anna's caches were flushed, see src/parsers.rs",
            Some("Bob Stone"),
        );
        let wanted = [
            "bob",
            "stone",
            "anna",
            "cach",
            "were",
            "flush",
            "see",
            "src/parsers.rs",
            "src",
            "parser",
            "rs",
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_limit_leaves_later_words_out() {
        let mut found = Vec::new();
        visit_terms(
            "one two a.b three",
            Some("zed"),
            Some(8),
            &mut Stems::of_one_text(),
            |t, _| found.push(t.to_owned()),
        );
        assert_eq!(found, ["zed", "one", "two"]);
        found.clear();
        visit_terms(
            "one two ab.cd x",
            None,
            Some(9),
            &mut Stems::of_one_text(),
            |t, _| found.push(t.to_owned()),
        );
        assert_eq!(found, ["one", "two", "ab.cd", "ab", "cd"]);
    }

    #[test]
    fn spellings_tell_lower_case_and_function_words() {
        let mut found = Vec::new();
        visit_terms(
            "The doing of this_the Tom 东京",
            Some("May of"),
            None,
            &mut Stems::of_one_text(),
            |t, s| {
                found.push((t.to_owned(), s.lower_case, s.function_word));
            },
        );
        let wanted = [
            ("may", false, true),
            ("of", false, true),
            ("the", false, true),
            ("do", true, true),
            ("of", true, true),
            ("this_the", true, false),
            ("this", true, true),
            ("the", true, true),
            ("tom", false, false),
            ("东京", false, false),
        ];
        let found: Vec<_> = found.iter().map(|(t, l, f)| (t.as_str(), *l, *f)).collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn placed_terms_are_the_terms_with_the_words_they_are_made_of() {
        let text = "Élan's caches: src/Main.rs 版本号";
        let found = placed_terms(text);
        let own: Vec<&str> = found.iter().map(|placed| placed.term.as_str()).collect();
        assert_eq!(own, terms(text, None));
        let points: Vec<char> = text.chars().collect();
        let word = |term: &PlacedTerm<'_>| points[term.start..term.end].iter().collect::<String>();
        let words: Vec<String> = found.iter().map(word).collect();
        assert!(
            found
                .iter()
                .zip(&words)
                .all(|(term, word)| term.word == word)
        );
        let wanted = [
            "Élan",
            "caches",
            "src/Main.rs",
            "src",
            "Main",
            "rs",
            "版本",
            "本号",
        ];
        assert_eq!(words, wanted);
    }

    #[test]
    fn a_word_in_mixed_case_is_found_by_its_parts() {
        for (text, wanted) in [
            (
                "parseHttpHeader",
                &["parsehttphead", "pars", "http", "header"][..],
            ),
            ("HTTPServer", &["httpserver", "http", "server"]),
            ("utf8ToText", &["utf8totext", "utf8", "to", "text"]),
            ("APIs iPhone McX", &["api", "iphon", "mcx", "mc"]),
            (
                "Net.OrderTotal",
                &["net.ordertotal", "net", "ordertot", "order", "total"],
            ),
            ("ÉtéBleu", &["étébleu", "été", "bleu"]),
        ] {
            assert_eq!(terms(text, None), wanted, "{text}");
        }
    }

    #[test]
    fn a_sequence_is_found_by_its_parts() {
        assert_eq!(terms("👍🏽", None), ["👍🏽", "👍"]);
        assert_eq!(terms("👩🏽\u{200d}💻", None), ["👩🏽\u{200d}💻", "👩", "💻"]);
        assert_eq!(terms("🇳🇴 🎯", None), ["🇳🇴", "🎯"]);
        assert_eq!(
            terms("Notepad++ C++", None),
            ["notepad++", "notepad", "c++"]
        );
    }

    #[test]
    fn identifier_of_han_and_digits() {
        assert_eq!(terms("版本-v2", None), ["版本-v2", "版本", "v2"]);
    }

    proptest! {
        #[test]
        fn any_text_gives_terms(text in "\\PC{0,60}", author in "\\PC{0,10}") {
            let found = terms(&text, Some(&author));
            prop_assert!(found.iter().all(|term| !term.is_empty()));
        }

        #[test]
        fn any_word_has_a_stem(word in "[a-zé'ßıσςγ\u{300}\u{e000}äÿ]{0,4}[a-zéü]{0,6}(ing|ed|eedly|ies|ational|é|ement|s|us|ly|l|li|logi|fulness|ÿl)?") {
            let (mut one, mut many) = (Stems::of_one_text(), Stems::of_many_texts());
            let stem = one.of(&word).into_owned();
            prop_assert_eq!(&stem, &many.of(&word));
            prop_assert_eq!(&stem, &many.of(&word));
        }
    }
}
