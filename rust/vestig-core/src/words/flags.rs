//! Flags of a text for signals: length, question, number, first person, names.

use std::ops::Range;

use super::names::Text;
use super::names::text::{ALNUM, DECIMAL, SPACE, WORD};

const LENGTH_MAX: u16 = 2000;
const QUESTION: u16 = 1 << 11;
const NUMBER: u16 = 1 << 12;
const FIRST_PERSON: u16 = 1 << 13;
const NAMES_AT: u32 = 14;
const NAMES_MAX: u16 = 3;
const QUOTED_MAX: usize = 80;
const NUMBERS: [&str; 18] = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "dozen", "hundred", "thousand", "million", "once", "twice",
];
/// The first person as subject or owner; "i" alone is not always it, "US" is a country.
const OWN: [&str; 9] = ["I", "My", "my", "Me", "me", "We", "we", "Our", "our"];

/// Bits 0-10: the code points, at most 2000; bit 11: it contains `?`; bit 12: a number, in digits
/// or in words; bit 13: the first person, reserved: rows hold it and recall does not read it; bits
/// 14-15: names, at most 3, which are capitalised words inside of sentences and quoted terms.
#[must_use]
pub fn text_flags(text: &str) -> u16 {
    let text = Text::new(text);
    let mut bits = u16::try_from(text.len())
        .unwrap_or(LENGTH_MAX)
        .min(LENGTH_MAX);
    let mut names = 0;
    let mut at = 0;
    while at < text.len() {
        let end = text.run_of(at, WORD);
        if end == at {
            if text.holds(at, '?') {
                bits |= QUESTION;
            }
            at += 1;
            continue;
        }
        if text.any(at..end, DECIMAL) || is_number(&text, at..end) {
            bits |= NUMBER;
        }
        if OWN.iter().any(|word| text.equals(at..end, word)) {
            bits |= FIRST_PERSON;
        }
        names += u16::from(is_name(&text, at..end));
        at = end;
    }
    if names < NAMES_MAX {
        names += quotations(&text);
    }
    bits | names.min(NAMES_MAX) << NAMES_AT
}

/// Whether a word is a number, whatever its case.
fn is_number(text: &Text, word: Range<usize>) -> bool {
    let letter = |at| match text.char(at) {
        Some('\u{130}' | '\u{131}') => Some('i'),
        Some('\u{17F}') => Some('s'),
        other => other.map(|c| c.to_ascii_lowercase()),
    };
    let equals = |number: &str| {
        number.len() == word.len()
            && number
                .chars()
                .enumerate()
                .all(|(k, c)| letter(word.start + k) == Some(c))
    };
    (3..=8).contains(&word.len()) && NUMBERS.into_iter().any(equals)
}

/// A capitalised word that no sentence begins with.
fn is_name(text: &Text, word: Range<usize>) -> bool {
    let capital = text
        .char(word.start)
        .is_some_and(|c| c.is_ascii_uppercase());
    if !capital || word.len() < 2 || word.start < 2 || !text.is(word.start - 1, SPACE) {
        return false;
    }
    let before = word.start - 2;
    let mark = matches!(
        text.char(before),
        Some(',' | ';' | ':' | ')' | '\'' | '’' | '"' | '”')
    );
    text.is(before, ALNUM) || (mark && text.before(before, |class, _| class & ALNUM != 0))
}

/// The number of quoted terms.
fn quotations(text: &Text) -> u16 {
    let (mut count, mut at) = (0, 0);
    while at < text.len() && count < NAMES_MAX {
        let close = match text.char(at) {
            Some('"') => '"',
            Some('“') => '”',
            _ => {
                at += 1;
                continue;
            }
        };
        let last = (at + 1 + QUOTED_MAX).min(text.len() - 1);
        let end = (at + 1..=last).find(|end| text.holds(*end, close));
        at = match end {
            Some(end) if end > at + 1 => {
                count += 1;
                end + 1
            }
            _ => at + 1,
        };
    }
    count
}
