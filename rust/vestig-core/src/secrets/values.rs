//! A value that stands behind the name of a secret: where it ends, and whether it is one.

use super::Scan;
use super::bytes::{self, VALUE};
use super::identifiers::{is_formula, is_identifier, is_name, is_registered};
use super::lexemes::{sections, sections_of_parts};
use super::lists::{List, is_in, lists, word};
use super::named::{Name, Strength};
use super::public::is_public;
use super::random::{is_hex, is_random, is_uuid, shape};
use super::tokens::is_built_path;

/// A closing quote is looked for in so many bytes.
const QUOTED_BYTES_MAX: usize = 2048;
/// Of a value without quotes so many bytes are looked at.
const VALUE_BYTES_READ: usize = 256;
const SIGNS: &str = "!@#$%^&*+?~§€";

/// A link that leads from a name to its value.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Link {
    /// `name = value`, `name: value`, `--name value`.
    Assigned,
    /// "the name of it is value".
    Stated,
    /// A call or a pair, where only a quoted value is one: `name("value")`.
    Passed,
}

/// Where a value stands, and in which quotes.
#[derive(Clone, Copy)]
pub(super) struct Value {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) quoted: bool,
}

/// The value that begins at or behind `from`, on the same line.
pub(super) fn value_at(scan: &mut Scan<'_>, from: usize) -> Option<Value> {
    let text = scan.text;
    let mut at = from + skipped(&text[from..], |c| bytes::is_blank(c) || c == '*');
    // a prefix of a literal, or an escaped quote in a text within a text
    let rest = &text.as_bytes()[at..];
    if rest.len() > 1
        && matches!(
            rest[0],
            b'r' | b'b' | b'f' | b'u' | b'L' | b'@' | b'\\' | b'('
        )
        && matches!(rest[1], b'"' | b'\'' | b'\\')
    {
        at += 1;
    }
    at += skipped(&text[at..], |c| c == '\\');
    let open = text[at..].chars().next()?;
    if let Some(ends) = bytes::closing(open) {
        let start = at + open.len_utf8();
        if let Some(length) = quoted_length(&text[start..], ends) {
            return Some(Value {
                start,
                end: start + length,
                quoted: true,
            });
        }
        return bare(scan, start);
    }
    bare(scan, at)
}

fn skipped(text: &str, skip: impl Fn(char) -> bool) -> usize {
    text.find(|c| !skip(c)).unwrap_or(text.len())
}

/// The length of what stands before a closing quote, escapes passed over; an escape before the
/// closing quote itself is none of it.
fn quoted_length(text: &str, ends: &[char]) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text
        .char_indices()
        .take_while(|(at, _)| *at <= QUOTED_BYTES_MAX)
    {
        if c == '\n' {
            return None;
        }
        if ends.contains(&c) {
            let before = text[..at].strip_suffix('\\');
            // `\"…\"` in a text within a text
            return Some(before.map_or(at, |inner| inner.trim_end_matches('\\').len()))
                .filter(|_| !escaped || closes(&text[at + c.len_utf8()..]));
        }
        escaped = c == '\\' && !escaped;
    }
    None
}

/// Returns whether what follows a quote shows that it closes one.
fn closes(rest: &str) -> bool {
    rest.chars().next().is_none_or(|c| !c.is_alphanumeric())
}

/// A value without quotes: up to white space or a quote, without what ends a statement.
fn bare(scan: &mut Scan<'_>, start: usize) -> Option<Value> {
    let end = scan.runs.end(VALUE, start);
    let text = &scan.text[start..end];
    let length = separated(text);
    let text = &text[..length];
    let ends = |c: char| {
        matches!(
            c,
            ',' | ';' | '.' | ')' | ']' | '}' | ':' | '|' | '\\' | '。' | '，' | '）' | '…'
        )
    };
    let trimmed = text.trim_end_matches(ends);
    // a sign that ends a sentence belongs to the value only where something else does not
    let trimmed = if trimmed.is_empty() { text } else { trimmed };
    (!trimmed.is_empty()).then_some(Value {
        start,
        end: start + trimmed.len(),
        quoted: false,
    })
}

/// The length of a value before the name that follows it: `a&b=c`, `a;b=c`, `a,b:c`.
fn separated(text: &str) -> usize {
    let bytes = text.as_bytes();
    let read = bytes.len().min(VALUE_BYTES_READ * 2);
    for at in 1..read {
        if !matches!(bytes[at], b'&' | b';' | b',') {
            continue;
        }
        let name = bytes[at + 1..read]
            .iter()
            .take_while(|&&b| bytes::is_in(b, bytes::DOTTED));
        let name = name.count();
        let next = bytes.get(at + 1 + name);
        let named = next == Some(&b'=') || (next == Some(&b':') && bytes[at] != b'&');
        if name > 0 && named {
            return at;
        }
    }
    text.len()
}

/// Returns whether a value behind the name of a secret is one.
pub(super) fn is_secret(value: &str, quoted: bool, link: Link, name: &Name) -> bool {
    if link == Link::Passed && !quoted {
        return false;
    }
    let value = &value[..floor(value, VALUE_BYTES_READ)];
    if value.chars().count() < 4
        || is_placeholder(value)
        || is_elsewhere(value)
        || is_public(value)
        || is_chord(value)
        || !name.is_typed() && is_built_path(value)
        || !name.sure && (is_identifier(value) || is_name(value))
        || link == Link::Stated && is_told_of_anything(value, name)
    {
        return false;
    }
    if value.contains(char::is_whitespace) {
        return quoted && name.strength == Strength::Strong && is_passphrase(value, name);
    }
    if !quoted && is_expression(value) {
        return false;
    }
    match name.strength {
        Strength::Weak => is_weak_secret(value, quoted, name),
        Strength::Strong => is_strong_secret(value, quoted, link, name),
    }
}

/// Returns whether a sentence says something else of what a name means beside a secret: of a
/// glaze's secret what it is made of, of an auditor's credential its number.
fn is_told_of_anything(value: &str, name: &Name) -> bool {
    match name.rule {
        "secret" | "key" => is_formula(value),
        "credential" => is_registered(value),
        _ => false,
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn has_sign(value: &str) -> bool {
    // one at the end may end the sentence
    let inner = value.trim_end_matches(['!', '?']);
    let inner = if inner.len() < value.len() && value.len() - inner.len() == 1 {
        inner
    } else {
        value
    };
    inner.contains(|c| SIGNS.contains(c))
}

fn is_strong_secret(value: &str, quoted: bool, link: Link, name: &Name) -> bool {
    let length = value.chars().count();
    let letter = value.contains(char::is_alphabetic);
    let digit = value.contains(|c: char| c.is_ascii_digit());
    let sign = has_sign(value);
    if !letter && !sign {
        // a number, unless it is quoted as what somebody types
        return quoted && digit && name.is_typed() && !value.contains(['.', ':', '/']);
    }
    if !letter {
        return length >= 6 && digit;
    }
    if quoted {
        let plain = !digit && !sign;
        // a word in quotes may be any: "the password of the campaign is "spring""
        if plain && link != Link::Assigned {
            return is_scrambled(value);
        }
        if plain && !name.is_typed() {
            return length >= 16 && !shape(value).is_wordy();
        }
        return length >= if name.is_typed() { 4 } else { 6 };
    }
    let least = match link {
        _ if name.is_typed() => 5,
        Link::Stated => 8,
        _ => 6,
    };
    if length < least {
        return false;
    }
    if (digit && !is_measure(value, link)) || sign || is_scrambled(value) {
        return true;
    }
    // several words joined by dashes are what one types
    let words = value.split('-').filter(|one| one.len() >= 3).count();
    name.is_typed() && link == Link::Assigned && words >= 3
}

/// Returns whether letters alone read like no word: capitals and small ones in no order.
fn is_scrambled(value: &str) -> bool {
    let shape = shape(value);
    shape.length >= 8
        && shape.letters() == shape.length
        && shape.capitals >= 2
        && shape.small >= 2
        && shape.changes * 3 >= shape.length
        && !shape.is_wordy()
}

/// A number with its unit, a version, or a word with a number: "30days", "8-character".
fn is_measure(value: &str, link: Link) -> bool {
    let letters = value.trim_start_matches(|c: char| c.is_ascii_digit() || "-.,".contains(c));
    let unit =
        letters.len() < value.len() && letters.chars().all(|c| c.is_alphabetic() || c == '-');
    let number = value.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let named =
        number.ends_with('-') && number[..number.len() - 1].chars().all(char::is_alphabetic);
    let dated = value.bytes().filter(u8::is_ascii_digit).count() * 3 > value.len() * 2
        && value.contains(['-', ':', '/', '.'])
        && value.bytes().filter(u8::is_ascii_alphabetic).count() <= 2;
    dated || (link == Link::Stated && (unit || named || is_duration(value)))
}

/// Returns whether a value in a sentence is a number with its unit, a version or a duration.
pub(super) fn is_measure_of(value: &str) -> bool {
    is_measure(value, Link::Stated)
}

/// A number with a unit of one or two letters, as the height of a pass has: `2106m`.
pub(super) fn is_height(value: &str) -> bool {
    let unit = value.trim_start_matches(|c: char| c.is_ascii_digit());
    unit.len() < value.len()
        && (1..=2).contains(&unit.len())
        && unit.bytes().all(|b| b.is_ascii_lowercase())
}

/// `4m31s`, `2h`.
fn is_duration(value: &str) -> bool {
    const UNITS: [&str; 8] = ["d", "h", "m", "s", "ms", "us", "min", "sec"];
    let mut rest = value;
    while !rest.is_empty() {
        let number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let behind = number.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        if number.len() == rest.len() || !UNITS.contains(&&number[..number.len() - behind.len()]) {
            return false;
        }
        rest = behind;
    }
    true
}

/// Keys that are pressed together: `Ctrl+Shift+P`.
fn is_chord(value: &str) -> bool {
    const KEY_BYTES_MAX: usize = 10;
    let mut keys = value.split('+');
    let held = |key: &str| is_in(List::HeldKeys, key);
    let is_key = |key: &str| (1..=KEY_BYTES_MAX).contains(&key.len());
    value.contains('+') && keys.next().is_some_and(held) && keys.all(is_key)
}

fn is_weak_secret(value: &str, quoted: bool, name: &Name) -> bool {
    if is_random(value, 12) {
        return true;
    }
    if is_hex(value) {
        return name.rule != "key" && value.len() >= 16 && !is_uuid(value);
    }
    if quoted && name.rule == "pin" {
        return (4..=8).contains(&value.len()) && value.bytes().all(|b| b.is_ascii_digit());
    }
    let digit = value.contains(|c: char| c.is_ascii_digit());
    let letter = value.contains(char::is_alphabetic);
    digit && letter && value.len() >= 8 && has_sign(value)
}

/// Returns whether a value stands for one: a variable, a mask, a word that says what belongs here.
pub(super) fn is_placeholder(value: &str) -> bool {
    let value = &value[..floor(value, VALUE_BYTES_READ)];
    let Some(first) = value.chars().next() else {
        return true;
    };
    let rest = &value[first.len_utf8()..];
    let small = value.to_lowercase();
    let variable = match first {
        '$' => {
            rest.starts_with(['{', '('])
                || rest
                    .chars()
                    .all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | 'k' | 'M'))
                || rest.chars().all(|c| c.is_alphanumeric() || c == '_')
        }
        '%' => value.ends_with('%'),
        '<' | '[' => true,
        '{' => value.ends_with('}'),
        '*' | '•' | 'x' | 'X' | '.' | '-' | '_' | '…' | '#' => rest.chars().all(|c| c == first),
        _ => false,
    };
    let (marks, begins) = (
        lists().of(List::PlaceholderMarks),
        lists().of(List::PlaceholderBegins),
    );
    variable
        || is_word_for_secret(&small)
        || marks.iter().any(|mark| small.contains(mark))
        || begins.iter().any(|begin| small.starts_with(begin))
        || sections(small.trim_end_matches(|c: char| c.is_ascii_digit())) & word::PLACEHOLDER != 0
            && small.bytes().filter(u8::is_ascii_digit).count() < 2
}

/// Returns whether a value is a word for what belongs here: `my_secret_key`, `testpassword1`.
fn is_word_for_secret(small: &str) -> bool {
    let word = small.trim_end_matches(|c: char| c.is_ascii_digit());
    let plain = |b: u8| b.is_ascii_lowercase() || b == b'_' || b == b'-';
    word.len() + 3 >= small.len()
        && word.bytes().skip(1).all(plain)
        && lists()
            .of(List::WordsForSecrets)
            .iter()
            .any(|one| word.contains(one))
        && shape(word).is_wordy()
}

/// Returns whether a value says where something lies: a path, an address, a name with dots.
pub(super) fn is_elsewhere(value: &str) -> bool {
    let bytes = value.as_bytes();
    let drive = bytes.len() > 2
        && bytes[0].is_ascii_alphabetic()
        && bytes[1] == b':'
        && matches!(bytes[2], b'\\' | b'/');
    let begins = ["./", "../", "~/", "/"]
        .iter()
        .any(|begin| value.starts_with(begin));
    let slashes = value.matches('/').count();
    let path = begins && !is_random(value, 20) && (slashes > 1 || !has_sign(value));
    let address = value.contains("://") || is_mail_address(value);
    let folders = slashes > 0 && !value.contains(['+', '=']) && shape(value).is_wordy();
    drive || path || address || folders || is_dotted_name(value)
}

fn is_mail_address(value: &str) -> bool {
    let Some((user, host)) = value.split_once('@') else {
        return false;
    };
    let domain = host.rsplit_once('.');
    let plain = |part: &str| part.bytes().all(|b| bytes::is_in(b, bytes::DOTTED));
    plain(user)
        && plain(host)
        && !host.contains('_')
        && domain.is_some_and(|(name, top)| {
            name.len() > 1
                && (2..=6).contains(&top.len())
                && top.bytes().all(|b| b.is_ascii_alphabetic())
        })
}

/// Returns whether a value is a name with dots: `settings.token`, `self.api_key2`. A digit within a
/// word is none of a name.
fn is_dotted_name(value: &str) -> bool {
    let mut names = value.split('.');
    let named = |part: &str| {
        let mut pairs = part.as_bytes().windows(2);
        let inner = pairs.any(|two| two[0].is_ascii_digit() && two[1].is_ascii_alphabetic());
        let first = part
            .bytes()
            .next()
            .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
        first && !inner && part.bytes().all(|b| bytes::is_in(b, bytes::WORD)) && !is_random(part, 8)
    };
    value.contains('.') && names.all(named) && !value.contains("..")
}

/// Returns whether a value without quotes is code: a call, a look-up, another name of a secret.
fn is_expression(value: &str) -> bool {
    let name = value
        .bytes()
        .take_while(|&b| bytes::is_in(b, bytes::DOTTED) && b != b'-')
        .count();
    let next = value.as_bytes().get(name);
    let plain =
        shape(&value[..name]).is_wordy() || !value[..name].bytes().any(|b| b.is_ascii_digit());
    let called = name > 0 && matches!(next, Some(b'(' | b'[' | b')' | b']')) && plain;
    // `&Token`, `&[Token]`
    let referred = value.strip_prefix('&').is_some_and(|rest| {
        rest.trim_start_matches(['[', '\''])
            .starts_with(char::is_alphabetic)
            && shape(rest).is_wordy()
    });
    let whole = name == value.len();
    let variable = whole
        && value.contains('_')
        && shape(value).is_wordy()
        && sections_of_parts(value) & (word::NAME | word::WEAK) != 0;
    let method = value.contains("->") || value.contains("::") || value.contains("()");
    called || referred || variable || method
}

/// Returns whether a quoted value of several words is typed as a secret, and no sentence.
fn is_passphrase(value: &str, name: &Name) -> bool {
    let words: Vec<&str> = value.split_whitespace().collect();
    let prose = words.iter().any(|one| {
        let plain = one.trim_matches(|c: char| !c.is_alphanumeric());
        sections(plain) & (word::PROSE | word::NAME) != 0
    });
    let small = value
        .chars()
        .all(|c| c.is_lowercase() || c == ' ' || c == '-');
    let mixed = value.contains(|c: char| c.is_ascii_digit())
        && value.contains(char::is_alphabetic)
        && has_sign(value);
    name.is_typed() && !prose && ((words.len() >= 4 && small) || (words.len() <= 4 && mixed))
}
