//! Names by capitals: adjacent capitalised words, one such word, acronyms.

use std::ops::Range;

use super::identifiers::ticket_end;
use super::text::{ALNUM, ALPHA, CAPITAL, SPACE, Text, UPPER, WORD, split};
use super::{Kind, LEGAL_FORMS, Name, NameRules, TITLES};

const INNER: [&str; 5] = ["of", "the", "de", "van", "von"];
const BODIES: [&str; 3] = ["university", "institute", "ministry"];
const PLACES: [&str; 37] = [
    "airport",
    "avenue",
    "bay",
    "beach",
    "boulevard",
    "bridge",
    "castle",
    "city",
    "coast",
    "county",
    "creek",
    "district",
    "falls",
    "forest",
    "garden",
    "gardens",
    "harbor",
    "harbour",
    "hill",
    "hills",
    "island",
    "islands",
    "lake",
    "lane",
    "mountain",
    "mountains",
    "park",
    "peninsula",
    "plaza",
    "province",
    "river",
    "road",
    "square",
    "station",
    "street",
    "valley",
    "village",
];
const PLACE_CUES: [&str; 4] = ["in", "at", "from", "to"];
/// What is read of the text before a place name.
const CUE_CHARS: usize = 12;
const WORDS_MAX: usize = 6;
const LETTERS_MIN: usize = 3;

/// Whether a word at this place is the first of a sentence.
#[must_use]
pub fn starts_sentence(text: &Text, start: usize) -> bool {
    let opens = |c| {
        matches!(
            c,
            ' ' | '\t'
                | '\n'
                | '"'
                | '\''
                | '“'
                | '‘'
                | '«'
                | '('
                | '['
                | '{'
                | '*'
                | '-'
                | '–'
                | '—'
                | '>'
                | '•'
        )
    };
    let mut start = start;
    while text.before(start, |_, c| opens(c)) {
        start -= 1;
    }
    start == 0 || text.before(start, |_, c| matches!(c, '.' | '!' | '?' | '…' | ':'))
}

impl NameRules {
    pub(super) fn runs(&self, text: &Text, found: &mut Vec<Name>) {
        let mut at = 0;
        while at < text.len() {
            let barred = |class: u16, c| {
                class & WORD != 0 || matches!(c, '@' | '#' | '/' | '\\' | '.' | '\'' | '’' | '-')
            };
            if !text.is(at, CAPITAL) || text.before(at, barred) {
                at += 1;
                continue;
            }
            let end = run_end(text, at);
            let stops =
                text.all(at..end, ALPHA) && self.is_stop_word(&text.slice(at..end).to_lowercase());
            if !stops && ticket_end(text, at) != Some(end) {
                self.parts(text, at..end, found);
            }
            at = end;
        }
    }

    /// The names in a run.
    fn parts(&self, text: &Text, run: Range<usize>, found: &mut Vec<Name>) {
        let mut initial = starts_sentence(text, run.start);
        let words = text.words(run);
        let mut rest = words.as_slice();
        while let [first, others @ ..] = rest
            && self.is_stop(text, first)
        {
            rest = others;
            initial = false;
        }
        while let [first, others @ ..] = rest
            && is_inner(text, first)
        {
            rest = others;
        }
        while !rest.is_empty() {
            let (part, others) = self.cut(text, rest);
            found.extend(self.part(text, part, initial));
            rest = others;
            initial = false;
        }
    }

    /// The first name of a run: at most six capitalised words, ended by a possessive or a stop
    /// word; and what is left. An identifier is a name of its own.
    fn cut<'a>(
        &self,
        text: &Text,
        words: &'a [Range<usize>],
    ) -> (&'a [Range<usize>], &'a [Range<usize>]) {
        let mut count = 0;
        for (index, word) in words.iter().enumerate() {
            let inner = is_inner(text, word);
            // a lone "A" inside a run is a letter ("Plan A"), not the article
            let stop = !inner && !text.equals(word.clone(), "A") && self.is_stop(text, word);
            if !inner && (count == WORDS_MAX || stop) {
                return (
                    without_tail(text, &words[..index]),
                    &words[index + usize::from(stop)..],
                );
            }
            if ticket_end(text, word.start).is_some_and(|end| end <= word.end) {
                return (without_tail(text, &words[..index]), &words[index + 1..]);
            }
            count += usize::from(!inner);
            if unpossessive(text, word) != word.end {
                return words.split_at(index + 1);
            }
        }
        (without_tail(text, words), &[])
    }

    /// These words of a run as a name, if they are one; `initial`: they begin a sentence.
    fn part(&self, text: &Text, words: &[Range<usize>], initial: bool) -> Option<Name> {
        let (first, last) = (words.first()?, words.last()?);
        let start = first.start;
        let mut end = unpossessive(text, &(start..last.end));
        if text.before(end, |_, c| c == '.') {
            let whole = undotted(text, last).to_lowercase();
            if !LEGAL_FORMS.contains(&&*whole) && !TITLES.contains(&&*whole) {
                end -= 1;
            }
        }
        if let [_, second, ..] = words {
            let (head, tail) = (bare(text, first), bare(text, last));
            let body = |word: &str| BODIES.contains(&word);
            let name = |kind, confidence| Name::of(text, start..end, kind, confidence);
            let opens = initial && text.is_lower(start + 1..first.end);
            if TITLES.contains(&&*head) {
                return Some(name(Kind::Person, 0.90));
            }
            let of = text.equals(second.clone(), "of");
            if LEGAL_FORMS.contains(&&*tail) || body(&tail) || (body(&head) && of) {
                return Some(Name {
                    opens,
                    ..name(Kind::Org, 0.90)
                });
            }
            if PLACES.contains(&&*tail) && is_place_cue(text, start) {
                return Some(Name {
                    opens,
                    ..name(Kind::Place, 0.90)
                });
            }
            return Some(Name {
                opens,
                ..name(Kind::Untyped, 0.80)
            });
        }
        let named = is_acronym(text, start..end)
            || (!initial && text.count(start..end, ALPHA) >= LETTERS_MIN);
        named.then(|| Name::of(text, start..end, Kind::Untyped, 0.75))
    }

    /// Whether a capitalised word is no part of a name; an initial ("A. Turing") is one.
    fn is_stop(&self, text: &Text, word: &Range<usize>) -> bool {
        let own = bare(text, word);
        if self.is_stop_word(&own) {
            return !(own.chars().count() == 1 && text.before(word.end, |_, c| c == '.'));
        }
        // "Let's" is a contraction, "Ada's" is not
        self.is_stop_word(&text.slice(word.clone()).to_lowercase())
    }

    /// What is left of a name when its first word is an ordinary one; None = nothing specific is
    /// left.
    pub(super) fn without_first(&self, text: &Text, name: &Name) -> Option<Vec<Name>> {
        let words = text.words(name.start..name.end);
        let mut rest = words.get(1..).unwrap_or_default();
        while let [first, others @ ..] = rest
            && (is_inner(text, first) || self.is_stop(text, first))
        {
            rest = others;
        }
        let general = |word: &Range<usize>| {
            let word = bare(text, word);
            [&LEGAL_FORMS[..], &BODIES, &PLACES]
                .iter()
                .any(|words| words.contains(&&*word))
        };
        // "Acme Ltd" is no "Ltd", whatever else is called acme
        (!rest.iter().all(general)).then(|| self.part(text, rest, false).into_iter().collect())
    }
}

/// Where a run of capitalised words ends that begins here.
fn run_end(text: &Text, start: usize) -> usize {
    let mut end = word_end(text, start + 1);
    while let Some(next) = next_capital(text, end) {
        end = word_end(text, next + 1);
    }
    end
}

fn word_end(text: &Text, from: usize) -> usize {
    let mut at = from;
    loop {
        at = text.run(at, |class, c| class & WORD != 0 || c == '&');
        let joins = matches!(text.char(at), Some('\'' | '’' | '.' | '-'));
        if !joins || !text.is(at + 1, ALNUM) {
            return at;
        }
        at += 1;
    }
}

/// The capital behind what may stand between two words of a run. A dot belongs to an initial or a
/// title before a capital; any other ends the sentence.
fn next_capital(text: &Text, at: usize) -> Option<usize> {
    if text.holds(at, '.') {
        let next = at + 2;
        let goes_on = text.is(at + 1, SPACE) && text.is(next, CAPITAL);
        return (goes_on && is_abbreviation(text, at)).then_some(next);
    }
    let mut next = text.run_of(at, SPACE);
    if next == at {
        return None;
    }
    for _ in 0..2 {
        let end = text.run(next, |class, _| class & SPACE == 0);
        let behind = text.run_of(end, SPACE);
        if behind == end || !is_inner(text, &(next..end)) {
            break;
        }
        next = behind;
    }
    text.is(next, CAPITAL).then_some(next)
}

/// Whether the word that ends here is an initial or a title.
fn is_abbreviation(text: &Text, end: usize) -> bool {
    let ends_with = |word: &str| {
        end.checked_sub(word.len())
            .is_some_and(|start| text.boundary(start) && text.matches(start, word))
    };
    let initial = end
        .checked_sub(1)
        .is_some_and(|start| text.boundary(start) && text.is(start, CAPITAL));
    initial
        || ["Dr", "Mr", "Ms", "St", "Mrs", "Prof"]
            .into_iter()
            .any(ends_with)
}

fn is_inner(text: &Text, word: &Range<usize>) -> bool {
    INNER.iter().any(|one| text.equals(word.clone(), one))
}

fn without_tail<'a>(text: &Text, words: &'a [Range<usize>]) -> &'a [Range<usize>] {
    let mut words = words;
    while let [others @ .., last] = words
        && is_inner(text, last)
    {
        words = others;
    }
    while let [first, others @ ..] = words
        && is_inner(text, first)
    {
        words = others;
    }
    words
}

/// Where a word ends without a final `'`, or `'s`.
fn unpossessive(text: &Text, word: &Range<usize>) -> usize {
    let quote = |at: usize| at > word.start && matches!(text.char(at - 1), Some('\'' | '’'));
    if quote(word.end) {
        return word.end - 1;
    }
    if text.before(word.end, |_, c| c == 's') && quote(word.end - 1) {
        return word.end - 2;
    }
    word.end
}

fn undotted(text: &Text, word: &Range<usize>) -> String {
    text.slice(word.clone()).trim_end_matches('.').to_owned()
}

/// A word in lower case without a possessive and final dots.
fn bare(text: &Text, word: &Range<usize>) -> String {
    undotted(text, &(word.start..unpossessive(text, word))).to_lowercase()
}

fn is_acronym(text: &Text, word: Range<usize>) -> bool {
    if word.len() < 2 || !text.all(word.clone(), ALNUM) || text.count(word.clone(), UPPER) < 2 {
        return false;
    }
    let written = text.slice(word.clone());
    written.to_uppercase() == written || text.is_upper(word.start..word.end - 1)
}

fn is_place_cue(text: &Text, start: usize) -> bool {
    let before = text.slice(start.saturating_sub(CUE_CHARS)..start);
    let last = split(&before).last().unwrap_or_default().to_lowercase();
    PLACE_CUES.contains(&&*last)
}
