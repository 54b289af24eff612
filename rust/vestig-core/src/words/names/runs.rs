//! Names by capitals: adjacent capitalised words, one such word, acronyms.

use std::ops::Range;

use super::identifiers::ticket_end;
use super::leads::{Leads, PREFIXES, SECOND, is_particle, is_second};
use super::lists::{is_given_name, listed};
use super::text::{ALNUM, ALPHA, CAPITAL, LOWER, SPACE, Text, UPPER, WORD, split};
use super::{Kind, LEGAL_FORMS, Name, NameRules, TITLES};

const INNER: [&str; 14] = [
    "&", "of", "the", "de", "van", "von", "del", "della", "di", "da", "du", "dos", "bin", "ibn",
];
/// Particles, capitalised, behind which another one may follow.
const FIRST: [&str; 3] = ["Van", "Von", "De"];
const SAINTS: [&str; 4] = ["st", "saint", "ste", "sainte"];
const ABBREVIATIONS: [&str; 18] = [
    "Dr", "Mr", "Ms", "Mrs", "Prof", "St", "Ste", "Mt", "Ft", "Co", "Gen", "Capt", "Sgt", "Lt",
    "Col", "Rev", "Sen", "Gov",
];
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
/// The words before a place name.
const CUE_CHARS: usize = 12;
const WORDS_MAX: usize = 6;
const LETTERS_MIN: usize = 3;

/// Returns whether a word at this place is the first of a sentence, of a paragraph, of a heading and
/// of what is under it, of an item of a list, or of a cell of a table.
#[must_use]
pub fn starts_sentence(text: &Text, start: usize) -> bool {
    let opens = |c| {
        matches!(
            c,
            ' ' | '\t'
                | '\r'
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
                | '#'
                | '+'
                | '`'
        )
    };
    let mut at = start;
    while text.before(at, |_, c| opens(c)) {
        at -= 1;
        let line =
            text.holds(at, '\n') && (starts_block(text, at + 1, start) || is_heading(text, at));
        if line {
            return true;
        }
    }
    at == 0 || text.before(at, |_, c| matches!(c, '.' | '!' | '?' | '…' | ':' | '|'))
}

/// Returns whether a line begins with the sign of a heading or an item, or is blank, before `start`.
fn starts_block(text: &Text, line: usize, start: usize) -> bool {
    let sign = text.run(line, |_, c| matches!(c, ' ' | '\t' | '\r' | '>'));
    let signs = text.run(sign, |_, c| c == '#').max(sign + 1);
    let marked = matches!(text.char(sign), Some('#' | '-' | '*' | '+' | '•'));
    sign < start && (text.holds(sign, '\n') || (marked && text.is(signs, SPACE)))
}

/// Returns whether the line that ends here is a heading.
fn is_heading(text: &Text, end: usize) -> bool {
    let mut start = end;
    while text.before(start, |_, c| c != '\n') {
        start -= 1;
    }
    let signs = text.run(start, |_, c| c == '#');
    signs > start && text.holds(signs, ' ')
}

impl NameRules {
    pub(super) fn runs(&self, text: &Text, found: &mut Vec<Name>) {
        let leads = Leads::of(text);
        let mut at = 0;
        while at < text.len() {
            let head = text.is(at, CAPITAL).then(|| leads.head(at)).flatten();
            let Some(head) = head else {
                at += 1;
                continue;
            };
            let end = run_end(text, at);
            let stops =
                text.all(at..end, ALPHA) && self.is_stop_word(&text.slice(at..end).to_lowercase());
            if !stops && ticket_end(text, at) != Some(end) {
                self.parts(text, at..end, head, &leads, found);
            }
            at = end;
        }
    }

    /// The names in a run whose first word begins at `head`.
    fn parts(
        &self,
        text: &Text,
        run: Range<usize>,
        head: usize,
        leads: &Leads<'_>,
        found: &mut Vec<Name>,
    ) {
        let mut initial = starts_sentence(text, run.start);
        let mut words = text.words(run);
        let stops = words.iter().take_while(|word| self.is_stop(text, word));
        let mut from = stops.count();
        initial &= from == 0;
        while from < words.len() {
            let particles = words[from..].iter().take_while(|word| is_inner(text, word));
            from += particles.count();
            let Some(first) = words.get_mut(from) else {
                return;
            };
            let begins = if from == 0 { head } else { first.start };
            let start = leads.start(begins, first);
            initial &= start == first.start;
            first.start = start;
            let rest = &words[from..];
            let (part, others) = self.cut(text, rest);
            found.extend(self.part(text, part, initial));
            from = words.len() - others.len();
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
            if unpossessive(text, word) != word.end && !is_saint(text, &words[..=index]) {
                return words.split_at(index + 1);
            }
        }
        (without_tail(text, words), &[])
    }

    /// These words of a run as a name, if they are one; `initial`: they begin a sentence.
    fn part(&self, text: &Text, words: &[Range<usize>], initial: bool) -> Option<Name> {
        let (first, last) = (words.first()?, words.last()?);
        let start = first.start;
        let own = self.name_end(text, words)?;
        let mut end = own;
        if text.before(end, |_, c| c == '.') {
            let whole = undotted(text, last).to_lowercase();
            if !LEGAL_FORMS.contains(&&*whole) && !TITLES.contains(&&*whole) {
                end -= 1;
            }
        }
        let (head, tail) = (bare(text, first), bare(text, last));
        let name = |kind, confidence| Name::of(text, start..end, kind, confidence);
        let capitalised = text.is_lower(start + 1..first.end);
        if let [_, second, ..] = words {
            let body = |word: &str| BODIES.contains(&word);
            // "Van Gogh" is "van Gogh"
            let opens = initial && capitalised && !is_particle(&head);
            if TITLES.contains(&&*head) {
                return Some(name(Kind::Person, 0.90));
            }
            let of = text.equals(second.clone(), "of");
            let legal = LEGAL_FORMS.contains(&&*tail) || legal_form_follows(text, last.end);
            if legal || body(&tail) || (body(&head) && of) {
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
        if LEGAL_FORMS.contains(&&*tail) {
            return None;
        }
        if legal_form_follows(text, last.end) {
            return Some(name(Kind::Org, 0.90));
        }
        let named = is_acronym(text, start..end)
            || (!initial && text.count(start..end, ALPHA) >= LETTERS_MIN)
            || is_given_name(&head)
            || own > unpossessive(text, last);
        if named {
            return Some(name(Kind::Untyped, 0.75));
        }
        let acts = capitalised && listed("person_verbs", &next_word(text, last.end));
        acts.then(|| Name {
            opens: true,
            ..name(Kind::Untyped, 0.75)
        })
    }

    /// Where the name of these words ends: before a final `'s`, but for one that is part of it.
    fn name_end(&self, text: &Text, words: &[Range<usize>]) -> Option<usize> {
        let last = words.last()?;
        let end = unpossessive(text, last);
        if end + 2 != last.end {
            return Some(end);
        }
        let next = next_word(text, last.end);
        let joined = words.iter().any(|word| text.equals(word.clone(), "&"));
        let own = is_saint(text, words)
            || (joined && (!text.is(last.end + 1, LOWER) || self.is_stop_word(&next)))
            || (listed("finite", &next) && !is_given_name(&bare(text, last)));
        Some(if own { last.end } else { end })
    }

    /// Returns whether a capitalised word is no part of a name; an initial ("A. Turing") is one.
    fn is_stop(&self, text: &Text, word: &Range<usize>) -> bool {
        let own = bare(text, word);
        if self.is_stop_word(&own) {
            return !(own.chars().count() == 1 && text.before(word.end, |_, c| c == '.'));
        }
        // "Let's" is a contraction, "Ada's" is not
        self.is_stop_word(&text.slice(word.clone()).to_lowercase())
    }

    /// Returns what is left of a name when its first word is an ordinary one; None = nothing
    /// specific is left.
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
        if words.len() == 1 {
            return Some(Vec::new());
        }
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
    let capitals = FIRST.iter().find(|one| ends_with(text, at, one));
    let mut last = capitals.map_or_else(String::new, |one| one.to_lowercase());
    for _ in 0..2 {
        let end = text.run(next, |class, _| class & SPACE == 0);
        let behind = text.run_of(end, SPACE);
        if behind == end {
            break;
        }
        let word = text.slice(next..end);
        if !INNER.contains(&&*word) && !is_second(&last, &word) {
            break;
        }
        (next, last) = (behind, word);
    }
    let prefix = PREFIXES.iter().find(|one| text.matches(next, one));
    let goes_on = !ends_block(text, at, next);
    next += prefix.map_or(0, |one| one.chars().count());
    (goes_on && text.is(next, CAPITAL)).then_some(next)
}

/// Returns whether a heading ends or a blank line stands in this stretch.
fn ends_block(text: &Text, start: usize, end: usize) -> bool {
    (start..end).any(|at| {
        text.holds(at, '\n') && (starts_block(text, at + 1, text.len()) || is_heading(text, at))
    })
}

/// Returns whether the word that ends here is an initial or a title.
fn is_abbreviation(text: &Text, end: usize) -> bool {
    let initial = end
        .checked_sub(1)
        .is_some_and(|start| text.boundary(start) && text.is(start, CAPITAL));
    initial || ABBREVIATIONS.iter().any(|one| ends_with(text, end, one))
}

/// Returns whether this word ends here.
fn ends_with(text: &Text, end: usize, word: &str) -> bool {
    let start = end.checked_sub(word.len());
    start.is_some_and(|start| text.boundary(start) && text.matches(start, word))
}

/// Returns whether the last of these words is a saint's name with its `'s`, which is part of the
/// name of what is called by it: "St. Mary's Hospital".
fn is_saint(text: &Text, words: &[Range<usize>]) -> bool {
    matches!(words, [.., title, _] if SAINTS.contains(&&*bare(text, title)))
}

/// Returns whether a legal form follows behind a comma, as in "Tumblr, Inc.".
fn legal_form_follows(text: &Text, end: usize) -> bool {
    if !text.holds(end, ',') || !text.is(end + 1, SPACE) || !text.is(end + 2, CAPITAL) {
        return false;
    }
    let form = end + 2..word_end(text, end + 3);
    LEGAL_FORMS.contains(&&*bare(text, &form))
}

/// The word of small letters behind the white space here; "" where there is none.
fn next_word(text: &Text, end: usize) -> String {
    let start = text.run_of(end, SPACE);
    let stop = text.run_of(start, LOWER);
    if start == end || text.is(stop, WORD) {
        return String::new();
    }
    text.slice(start..stop)
}

fn is_inner(text: &Text, word: &Range<usize>) -> bool {
    let mut particles = INNER.iter().chain(&SECOND);
    particles.any(|one| text.equals(word.clone(), one))
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
pub(super) fn unpossessive(text: &Text, word: &Range<usize>) -> usize {
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
    let inner = |at: usize| text.holds(at, '&') && at > word.start && at + 1 < word.end;
    let letters = word.clone().all(|at| text.is(at, ALNUM) || inner(at));
    if word.len() < 2 || !letters || text.count(word.clone(), UPPER) < 2 {
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
