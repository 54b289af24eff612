//! A text taken apart: the names that rules find, and its words in the forms that are looked up.

use std::collections::HashMap;
use std::sync::Arc;

use super::forms::{trimmed, unpossessive};
use super::text::{SPACE, Text, UPPER, split};
use super::unspaced::unspaced;
use super::{Name, NameRules, starts_sentence};
use crate::words::lower_case::lower_case;

/// A word of a text in lower case, with and without punctuation at its ends. All are empty
/// between runs of words: no name reaches across it.
#[derive(Debug, Clone)]
pub struct Word {
    /// With punctuation on both sides.
    pub raw: Arc<str>,
    /// Without punctuation in front.
    pub left: Arc<str>,
    /// Without punctuation behind.
    pub right: Arc<str>,
    /// Without both.
    pub bare: Arc<str>,
}

impl Word {
    /// `right` with its `'s`, where it has one.
    #[must_use]
    pub fn right_possessive(&self) -> Option<&str> {
        possessive(&self.raw, &self.right)
    }

    /// `bare` with its `'s`, where it has one.
    #[must_use]
    pub fn bare_possessive(&self) -> Option<&str> {
        possessive(&self.left, &self.bare)
    }

    fn plain(text: Arc<str>) -> Self {
        Self {
            raw: Arc::clone(&text),
            left: Arc::clone(&text),
            right: Arc::clone(&text),
            bare: text,
        }
    }
}

fn possessive<'a>(whole: &'a str, without: &str) -> Option<&'a str> {
    let behind = whole.get(without.len()..)?;
    behind
        .starts_with("'s")
        .then(|| &whole[..without.len() + 2])
}

/// The words and names by rule of a text.
#[derive(Debug)]
pub struct AnalysedText {
    pub(super) text: Text,
    /// The title as a name; None where there is none or it is no name.
    pub title: Option<String>,
    /// Names that the rules find, with overlaps.
    pub names: Vec<Name>,
    /// Forms to look up; those of the title come last.
    pub words: Vec<Word>,
    /// Where each word stands in the text, in code points; None in the title and between.
    pub spans: Vec<Option<(usize, usize)>>,
    /// The place of the title's first word in `words`; None without a title.
    pub title_start: Option<usize>,
    /// Lower-cased words that begin a sentence with a capital, each once; the caller finds out
    /// which of them occur in lower case elsewhere.
    pub openers: Vec<String>,
    /// The names of the kinds of names in the store, by their own names; a kind that it does not
    /// have is untyped. None = all are as they are.
    pub types: Option<HashMap<String, String>>,
}

impl NameRules {
    /// Takes a text apart. `rules`: false = only known names are wanted, and no title.
    #[must_use]
    pub fn analyse(&self, text: &str, title: Option<&str>, rules: bool) -> AnalysedText {
        let mut found = AnalysedText {
            text: if rules {
                Text::prose(text, title)
            } else {
                Text::new(text)
            },
            title: title
                .filter(|_| rules)
                .and_then(|title| self.title_name(title)),
            names: Vec::new(),
            words: Vec::new(),
            spans: Vec::new(),
            title_start: None,
            openers: Vec::new(),
            types: None,
        };
        if rules {
            found.names = self.candidates(&found.text);
            for name in &found.names {
                if name.opens {
                    let first = first_word(&name.name);
                    if !found.openers.contains(&first) {
                        found.openers.push(first);
                    }
                }
            }
        }
        let mut parted = Vec::new();
        let mut at = 0;
        while let Some((start, end)) = next_stretch(&found.text, at, in_word) {
            if self.add_word(&mut found, start, end) {
                parted.push((start, end));
            }
            at = end;
        }
        for (start, stop) in parted {
            found.add_gap();
            let mut at = start;
            let inside = |class, c| in_word(class, c) && !parts(c);
            while let Some((start, end)) = next_stretch(&found.text, at, inside)
                && start < stop
            {
                self.add_word(&mut found, start, end);
                found.add_gap();
                at = end;
            }
        }
        if rules {
            for Name { start, end, .. } in unspaced(&found.text) {
                found.add_gap();
                self.add_word(&mut found, start, end);
                found.add_gap();
            }
        }
        found.add_title();
        found
    }

    /// Adds a word; whether marks divide it into parts.
    fn add_word(&self, found: &mut AnalysedText, start: usize, end: usize) -> bool {
        let chars: Vec<char> = (start..end).filter_map(|at| found.text.char(at)).collect();
        let (word, first, last) = forms(&chars);
        let capital = found.text.is(start + first, UPPER)
            && found.text.is_lower(start + first + 1..start + last);
        if capital
            && !word.bare.starts_with(|c| Some(&c) == chars.get(first))
            && !self.is_stop_word(&word.bare)
            && starts_sentence(&found.text, start + first)
            && !found.openers.iter().any(|own| **own == *word.bare)
        {
            found.openers.push(word.bare.to_string());
        }
        found.words.push(word);
        found.spans.push(Some((start + first, start + last)));
        chars.iter().rev().skip(1).any(|c| parts(*c))
    }
}

impl AnalysedText {
    /// The text itself.
    #[must_use]
    pub fn text(&self) -> String {
        self.text.slice(0..self.text.len())
    }

    fn add_gap(&mut self) {
        self.words.push(Word::plain(Arc::from("")));
        self.spans.push(None);
    }

    fn add_title(&mut self) {
        let Some(title) = self.title.as_deref() else {
            return;
        };
        let text = Text::new(title);
        self.words.push(Word::plain(Arc::from("")));
        self.title_start = Some(self.words.len());
        let mut at = 0;
        while let Some((start, end)) = next_stretch(&text, at, in_word) {
            let chars: Vec<char> = (start..end).filter_map(|at| text.char(at)).collect();
            self.words.push(forms(&chars).0);
            at = end;
        }
        self.spans.resize(self.words.len(), None);
    }
}

/// The next stretch of code points that pass.
fn next_stretch(
    text: &Text,
    from: usize,
    passes: impl Fn(u16, char) -> bool,
) -> Option<(usize, usize)> {
    let start = text.run(from, |class, c| !passes(class, c));
    let end = text.run(start, passes);
    (end > start).then_some((start, end))
}

/// Words end at white space and at marks that no name holds.
fn in_word(class: u16, c: char) -> bool {
    let mark = matches!(
        c,
        '“' | '”' | '„' | '«' | '»' | '‹' | '›' | '—' | '–' | '…' | '|'
    );
    class & SPACE == 0 && !mark
}

/// Marks that divide a word into parts.
fn parts(c: char) -> bool {
    matches!(c, '/' | '\\' | ',' | ';' | '=')
}

/// The forms of a word, and where the bare one begins and ends in the written one.
fn forms(word: &[char]) -> (Word, usize, usize) {
    let lower = |start: usize, end: usize| -> Arc<str> {
        let mut part: String = word.get(start..end).unwrap_or_default().iter().collect();
        if part.is_ascii() {
            part.make_ascii_lowercase();
            return Arc::from(part);
        }
        Arc::from(lower_case(&part).replace('’', "'"))
    };
    let (start, mut end) = trimmed(word);
    loop {
        let own = start + unpossessive(word.get(start..end).unwrap_or_default());
        if own == end {
            break;
        }
        end = start + trimmed(word.get(start..own).unwrap_or_default()).1;
    }
    let all = word.len();
    let raw = lower(0, all);
    if (start, end) == (0, all) {
        return (Word::plain(raw), start, end);
    }
    let left = if start == 0 {
        Arc::clone(&raw)
    } else {
        lower(start, all)
    };
    let right = if end == all {
        Arc::clone(&raw)
    } else {
        lower(0, end)
    };
    let bare = match (start, end == all) {
        (0, _) => Arc::clone(&right),
        (_, true) => Arc::clone(&left),
        _ => lower(start, end),
    };
    let word = Word {
        raw,
        left,
        right,
        bare,
    };
    (word, start, end)
}

/// The first word of a name as [`AnalysedText::openers`] holds it.
pub(super) fn first_word(name: &str) -> String {
    lower_case(split(name).next().unwrap_or_default())
}

/// Returns whether a word may have its capital from the sentence that it begins.
pub(super) fn may_be_opener(text: &Text, start: usize, end: usize) -> bool {
    let capital = start < end && text.is(start, UPPER) && text.is_lower(start + 1..end);
    capital && starts_sentence(text, start)
}
