//! Tickets, words of code, and versions, alone or behind a name.

use super::text::{ALNUM, CAPITAL, DECIMAL, SPACE, Text, WORD};
use super::{Kind, Name, NameRules};

const SURE: f64 = 0.90;

impl NameRules {
    pub(super) fn identifiers(&self, text: &Text, found: &mut Vec<Name>) {
        let numbered = (0..text.len()).any(|at| text.char(at).is_some_and(|c| c.is_ascii_digit()));
        let joined = |at| text.holds(at, '_') || has_inner_capital(text, at);
        if numbered || (0..text.len()).any(joined) {
            for word in text.words(0..text.len()) {
                // a word without any of the signs is no identifier, and most words have none
                let sign =
                    |at| text.is(at, DECIMAL) || text.holds(at, '_') || has_inner_capital(text, at);
                if word.clone().any(sign) {
                    in_word(text, word.start, word.end, found);
                }
            }
        }
        if numbered {
            self.versioned(text, found);
        }
    }

    /// A capitalised word with a version behind it.
    fn versioned(&self, text: &Text, found: &mut Vec<Name>) {
        let mut at = 0;
        while at < text.len() {
            if !text.is(at, CAPITAL) || text.before(at, |class, c| class & WORD != 0 || c == '-') {
                at += 1;
                continue;
            }
            let end = text.run(at, |class, c| class & WORD != 0 || matches!(c, '+' | '#'));
            let space = text.run_of(end, SPACE);
            let stop = if space > end {
                version_behind(text, space)
            } else {
                None
            };
            let Some(stop) = stop else {
                at = end;
                continue;
            };
            if !self.is_stop_word(&text.slice(at..end).to_lowercase()) {
                found.push(Name::of(text, at..stop, Kind::System, SURE));
            }
            at = stop;
        }
    }
}

/// A capital directly behind a small letter or a digit.
fn has_inner_capital(text: &Text, at: usize) -> bool {
    let small = |_, c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.is(at, CAPITAL) && text.before(at, small)
}

fn in_word(text: &Text, start: usize, stop: usize, found: &mut Vec<Name>) {
    let mut at = start;
    while at < stop {
        if !text.is(at, WORD) {
            at += 1;
            continue;
        }
        let run = text.run_of(at, WORD);
        let begins = !text.before(at, |class, c| class & WORD != 0 || c == '-');
        match if begins {
            identifier_end(text, at, run)
        } else {
            None
        } {
            Some(end) => {
                found.push(Name::of(text, at..end, Kind::System, SURE));
                at = end;
            }
            None => at = run,
        }
    }
}

/// `run`: where the word characters from here on end.
fn identifier_end(text: &Text, at: usize, run: usize) -> Option<usize> {
    if let Some(end) = ticket_end(text, at) {
        return Some(end);
    }
    let plain = text.run_of(at, ALNUM);
    if plain > at && !text.is(at, DECIMAL) && (at + 1..plain).any(|k| has_inner_capital(text, k)) {
        return Some(run);
    }
    if is_joined(text, at, run) {
        return Some(run);
    }
    if text.holds(at, 'v')
        && let Some(end) = version_end(text, at + 1, 0)
    {
        return Some(end);
    }
    version_end(text, at, 2)
}

/// `snake_case`.
fn is_joined(text: &Text, at: usize, run: usize) -> bool {
    let begins =
        |at: &usize| text.is(*at, ALNUM) && !text.before(*at, |class, _| class & ALNUM != 0);
    (at..run).filter(begins).count() > 1
}

/// Where `ABC-123` or `ABC-12-34` ends; no word character follows it.
pub(super) fn ticket_end(text: &Text, at: usize) -> Option<usize> {
    if !text.char(at).is_some_and(|c| c.is_ascii_uppercase()) {
        return None;
    }
    let head = text.run(at, |_, c| c.is_ascii_uppercase() || c.is_ascii_digit());
    let ends = numbers(text, head, '-');
    ends.into_iter().rev().find(|end| !text.is(*end, WORD))
}

/// The ends of the numbers that follow here, each behind a mark.
fn numbers(text: &Text, from: usize, mark: char) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = from;
    while text.holds(at, mark) && text.is(at + 1, DECIMAL) {
        at = text.run_of(at + 1, DECIMAL);
        found.push(at);
    }
    found
}

/// The ends of a number and of those behind dots that follow it; none where no number is.
fn version_ends(text: &Text, from: usize) -> Vec<usize> {
    let first = text.run_of(from, DECIMAL);
    if first == from {
        return Vec::new();
    }
    let mut ends = vec![first];
    ends.extend(numbers(text, first, '.'));
    ends
}

/// Where a version with at least so many dots ends, with what a `-` adds; no word character
/// follows it.
fn version_end(text: &Text, from: usize, dots: usize) -> Option<usize> {
    let ends = version_ends(text, from);
    let last = *ends.get(dots..)?.last()?;
    if text.holds(last, '-') {
        let end = text.run(last + 1, |class, c| class & WORD != 0 || c == '.');
        if end > last + 1 {
            return Some(end);
        }
    }
    let ends = ends.into_iter().skip(dots).rev();
    ends.into_iter().find(|end| !text.is(*end, WORD))
}

/// The version behind a name: a number with dots, or any behind `v`.
fn version_behind(text: &Text, from: usize) -> Option<usize> {
    let marked = text.holds(from, 'v');
    let start = from + usize::from(marked);
    let ends = version_ends(text, start);
    let whole = |end: &usize| !text.is(*end, WORD);
    let dotted = ends.iter().skip(1).rev().copied().find(whole);
    dotted.or_else(|| ends.first().copied().filter(|end| marked && whole(end)))
}
