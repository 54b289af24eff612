//! Quoted terms.

use super::text::{ALNUM, Text, WORD, split};
use super::{Kind, Name};

const CHARS_MAX: usize = 80;
const WORDS_MAX: usize = 5;

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
