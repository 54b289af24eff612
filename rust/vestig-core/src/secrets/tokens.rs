//! Tokens that read like no word, and what the words before them say of them.

use super::Scan;
use super::blocks::is_encoded_line;
use super::bytes::{TOKEN, is_in};
use super::identifiers::is_identifier;
use super::lexemes::{Lexeme, sections, sections_of_parts};
use super::lists::word;
use super::named::{Name, leads_to_reference, name_at};
use super::public::{is_public, says_secret};
use super::random::{is_hex, is_random, is_uuid, shape};
use super::values::is_placeholder;

/// A token has so many characters at least.
const LEAST: usize = 12;
const HEX_LEAST: usize = 20;
/// A word for a secret stands so near before its token, without a word for an identifier between.
const WORDS_BEFORE: usize = 4;
const BYTES_BEFORE: usize = 40;

/// Looks at the token that begins with a word.
pub(super) fn find(scan: &mut Scan<'_>, place: usize) {
    let Lexeme { start, .. } = scan.lexemes[place];
    if start < scan.token_end || !is_in(scan.text.as_bytes()[start], TOKEN) {
        return;
    }
    let run = scan.runs.end(TOKEN, start);
    scan.token_end = run;
    if run - start < LEAST {
        return;
    }
    let token = scan.text[start..run].trim_end_matches(['.', '/', '-', '~']);
    let padding = scan.text[start + token.len()..]
        .bytes()
        .take_while(|&b| b == b'=')
        .count();
    let end = start + token.len();
    let led = follows_name(scan, place, end);
    if token.len() < LEAST || !(says_secret(token) || led.is_some()) {
        return;
    }
    if is_secret(token, led == Some(Led::Surely))
        && !is_address_or_path(scan, token, start)
        && !is_encoded_line(scan.text, start, end)
    {
        let padding = if padding <= 2 { padding } else { 0 };
        scan.found(start, end + padding, "random");
    }
}

fn is_address_or_path(scan: &Scan<'_>, token: &str, start: usize) -> bool {
    let bytes = scan.text.as_bytes();
    let before = start.checked_sub(1).map_or(b' ', |at| bytes[at]);
    let after = bytes.get(start + token.len()).copied().unwrap_or(b' ');
    if start < scan.url_end {
        return !says_secret(token);
    }
    let mixed = !shape(token).is_wordy()
        && token.len() >= 32
        && token.contains(|c: char| c.is_ascii_uppercase());
    let parted = token.contains('/') && !(mixed && is_random(token, 32));
    matches!(before, b'/' | b'\\' | b'@' | b'#' | b'~' | b'.')
        || matches!(after, b'@' | b'\\' | b'(')
        || parted
}

/// `sure`: it is what the name of a secret gets, so that the shape of an identifier says nothing.
fn is_secret(token: &str, sure: bool) -> bool {
    let random = is_random(token, LEAST);
    let hex = is_hex(token) && token.len() >= HEX_LEAST;
    let plain = is_placeholder(token) || !sure && is_identifier(token) || is_public(token);
    (random || hex) && !plain && (says_secret(token) || hex || !is_built(token))
}

/// How the name of a secret leads to a token.
#[derive(Clone, Copy, PartialEq)]
enum Led {
    /// The token is the value of a name that names nothing else.
    Surely,
    Nearly,
}

/// How the name of a secret that stands before a token leads there; None where there is none, or
/// where something between has such values and is no secret.
fn follows_name(scan: &Scan<'_>, place: usize, token_end: usize) -> Option<Led> {
    let first = scan.lexemes[place].start;
    let mut end = first;
    for at in (place.saturating_sub(WORDS_BEFORE)..place).rev() {
        let one = scan.lexemes[at];
        let between = &scan.text[one.end..end];
        if first - one.end > BYTES_BEFORE
            || between.contains(['\n', ';', '?', '!', '|', '{', '}'])
            || between.contains(". ")
        {
            return None;
        }
        if let Some(name) = name_at(scan, at) {
            if leads_to_reference(scan, at, &name, (first, token_end)) {
                return None;
            }
            let given = name.sure && is_given(scan, &name, at, place);
            return Some(if given { Led::Surely } else { Led::Nearly });
        }
        let bits = sections_of_parts(&scan.text[one.start..one.end]);
        if bits & (word::BENIGN | word::HARMLESS) != 0 {
            return None;
        }
        end = one.start;
    }
    None
}

/// Returns whether the words between a name and a token give the one to the other: "password is",
/// "password of the router was changed to", none behind what is typed; "belongs to" does not.
fn is_given(scan: &Scan<'_>, name: &Name, at: usize, place: usize) -> bool {
    let bits = |one: &Lexeme| sections(&scan.text[one.start..one.end]);
    let between = &scan.lexemes[at + 1..place];
    let Some((last, before)) = between.split_last() else {
        let signs = &scan.text[scan.lexemes[at].end..scan.lexemes[place].start];
        return name.is_typed() || name.rule == "key" || signs.contains([':', '=']);
    };
    let leads_on = bits(last) & word::OF != 0;
    let changed = before
        .last()
        .is_some_and(|one| bits(one) & word::ADVERB != 0);
    bits(last) & (word::IS | word::ADVERB) != 0
        && (!leads_on || changed)
        && !between.iter().any(|one| bits(one) & word::OWNED != 0)
}

/// A name that programs put together: words, numbers, dates, short hexadecimal numbers.
fn is_built(token: &str) -> bool {
    token.contains(['-', '_', '.']) && has_plain_parts(token)
}

/// Returns whether a path leads from folder to folder by names that are put together so.
pub(super) fn is_built_path(path: &str) -> bool {
    let mut names = path.split('/');
    path.contains('/') && names.all(|name| is_uuid(name) || has_plain_parts(name))
}

fn has_plain_parts(token: &str) -> bool {
    const HEX_MAX: usize = 24;
    const SHORT_MAX: usize = 3;
    let parts = || token.split(['-', '_', '.', '/', '+', '~']);
    // `Harbour-5C-NFC`
    let worded = parts().any(|part| shape(part).is_wordy());
    let plain = |part: &str| {
        let digits = part.bytes().all(|b| b.is_ascii_digit());
        let hex = part.len() <= HEX_MAX && is_hex(part);
        let small = |b: u8| b.is_ascii_lowercase();
        let word = part.bytes().all(small) && part.len() <= 12;
        let short = part.bytes().all(|b| small(b) || b.is_ascii_digit()) && part.len() <= 5
            || worded && part.len() <= SHORT_MAX;
        digits || hex || word || short || shape(part).is_wordy()
    };
    parts().all(plain)
}
