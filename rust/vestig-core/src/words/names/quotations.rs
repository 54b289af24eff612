//! Quoted terms.

use super::text::{ALNUM, SPACE, Text, WORD, split};
use super::{Kind, Name};

const CHARS_MAX: usize = 80;
const WORDS_MAX: usize = 5;
/// Marks of code, which no term has.
const EXPRESSION: [char; 14] = [
    '{', '}', '[', ']', '(', ')', '<', '>', '=', ';', '|', '$', '*', '\\',
];

/// Quotations of at most five words, without their marks.
#[must_use]
pub fn quotations(text: &Text) -> Vec<Name> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let Some(end) = closing(text, at) else {
            at += 1;
            continue;
        };
        let inner = at + 1..end;
        let words = split(&text.slice(inner.clone())).count();
        if (1..=WORDS_MAX).contains(&words) && text.any(inner.clone(), ALNUM) {
            found.push(Name::of(text, inner, Kind::Untyped, 0.75));
        }
        at = end + 1;
    }
    found
}

/// A quotation as a term; None for an expression of code and for the text between two quotations.
/// The arguments of a call are no part of it: `fs.open(path)`.
pub(super) fn term(text: &Text, quotation: Name) -> Option<Name> {
    let Name { start, end, .. } = quotation;
    if text.is(start, SPACE) || text.before(end, |class, _| class & SPACE != 0) {
        return None;
    }
    let called = (start..end).find(|at| text.holds(*at, '('));
    let arguments = called.filter(|at| {
        let code = *at > start && text.is(*at - 1, WORD);
        code && text.holds(end - 1, ')')
    });
    let name = start..arguments.unwrap_or(end);
    let quoted_code = text.before(start, |_, c| c == '`');
    let code = |at: usize| {
        let passes = |c| EXPRESSION.contains(&c) || (quoted_code && c == ',');
        text.char(at).is_some_and(passes)
    };
    let expression = name.clone().any(code);
    (!expression).then(|| Name::of(text, name, quotation.kind, quotation.confidence))
}

/// The place of the mark that ends the quotation that begins here. A single mark has no word
/// character on its outer side.
fn closing(text: &Text, at: usize) -> Option<usize> {
    let (close, single) = match text.char(at)? {
        '"' => ('"', false),
        '“' => ('”', false),
        '«' => ('»', false),
        '`' => ('`', false),
        '\'' => ('\'', true),
        '‘' => ('’', true),
        _ => return None,
    };
    if single && text.before(at, |class, _| class & WORD != 0) {
        return None;
    }
    let last = (at + 1 + CHARS_MAX).min(text.len().saturating_sub(1));
    let end = (at + 1..=last).find(|end| text.holds(*end, close))?;
    let outer = single && text.is(end + 1, WORD);
    (end > at + 1 && !outer).then_some(end)
}
