//! Does a token read like a word, or like nothing?

use super::lists::lists;

/// A longer token is data.
const TOKEN_BYTES_MAX: usize = 200;
/// Of each token so many bytes are looked at.
const BYTES_READ: usize = 256;

/// Counts of a token's characters.
#[derive(Default)]
pub(super) struct Shape {
    pub(super) length: usize,
    pub(super) digits: usize,
    pub(super) capitals: usize,
    pub(super) small: usize,
    /// Letters that belong to words.
    word_letters: usize,
    /// Between neighbours of another kind; a capital that begins a word is none.
    pub(super) changes: usize,
    /// Shannon entropy of the characters, in bits.
    pub(super) entropy: f64,
    distinct: usize,
}

/// The shape of a token; only its first bytes are read.
pub(super) fn shape(token: &str) -> Shape {
    let bytes = &token.as_bytes()[..token.len().min(BYTES_READ)];
    let mut counts = [0_u32; 256];
    let mut found = Shape {
        length: token.len(),
        ..Shape::default()
    };
    let mut before = Kind::Sign;
    for &byte in bytes {
        counts[usize::from(byte)] += 1;
        let kind = kind_of(byte);
        match kind {
            Kind::Digit => found.digits += 1,
            Kind::Capital => found.capitals += 1,
            Kind::Small => found.small += 1,
            Kind::Sign => {}
        }
        found.changes += usize::from(kind != before && kind != Kind::Sign && before != Kind::Sign);
        before = kind;
    }
    let total = bytes.len() as f64;
    for &count in counts.iter().filter(|&&count| count > 0) {
        let share = f64::from(count) / total;
        found.entropy -= share * share.log2();
        found.distinct += 1;
    }
    found.word_letters = word_letters(bytes);
    found
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Digit,
    Capital,
    Small,
    Sign,
}

fn kind_of(byte: u8) -> Kind {
    match byte {
        b'0'..=b'9' => Kind::Digit,
        b'A'..=b'Z' => Kind::Capital,
        b'a'..=b'z' => Kind::Small,
        _ => Kind::Sign,
    }
}

/// Letters in runs that read like words: of at least four, with a vowel, whose pairs are common.
fn word_letters(bytes: &[u8]) -> usize {
    let (mut at, mut found) = (0, 0);
    while at < bytes.len() {
        let first = kind_of(bytes[at]);
        if first != Kind::Capital && first != Kind::Small {
            at += 1;
            continue;
        }
        let mut end = at + 1;
        // a run is `words`, `Words` or `WORDS`
        let rest = match bytes.get(end).map(|&byte| kind_of(byte)) {
            Some(Kind::Capital) if first == Kind::Capital => Kind::Capital,
            _ => Kind::Small,
        };
        while end < bytes.len() && kind_of(bytes[end]) == rest {
            end += 1;
        }
        if reads_like_a_word(&bytes[at..end]) {
            found += end - at;
        }
        at = end;
    }
    found
}

fn reads_like_a_word(letters: &[u8]) -> bool {
    if letters.len() < 4 {
        return false;
    }
    let small = |byte: u8| byte.to_ascii_lowercase();
    let vowel = letters.iter().any(|&byte| b"aeiouy".contains(&small(byte)));
    let pairs = letters.windows(2);
    let rare = pairs.filter(|pair| !lists().is_common_pair(small(pair[0]), small(pair[1])));
    vowel && rare.count() * 6 <= letters.len()
}

impl Shape {
    pub(super) fn letters(&self) -> usize {
        self.capitals + self.small
    }

    /// Returns whether words make up the token.
    pub(super) fn is_wordy(&self) -> bool {
        self.word_letters * 5 > self.length.min(BYTES_READ) * 2
    }

    /// Returns whether nearly all of its characters are the same few.
    pub(super) fn is_monotonous(&self) -> bool {
        self.distinct <= 3 || (self.length >= 16 && self.distinct <= 5)
    }
}

/// Returns whether a token reads like no word: digits and letters, of many characters, in no order.
///
/// `least`: its length, at least.
pub(super) fn is_random(token: &str, least: usize) -> bool {
    if !(least..=TOKEN_BYTES_MAX).contains(&token.len()) || is_hex(token) || is_uuid(token) {
        return false;
    }
    let shape = shape(token);
    let body = shape.letters() + shape.digits;
    let cased = shape.capitals.min(shape.small);
    // some have no digit by chance; then small letters and capitals stand side by side
    let mixed = shape.digits >= 2 || (shape.digits == 1 && cased >= 2) || cased >= 6;
    let entropy_min = if token.len() < 20 { 3.0 } else { 3.4 };
    let changes_min = if cased >= 2 { body / 4 } else { body / 6 };
    shape.letters() >= 3
        && mixed
        && shape.digits * 4 <= body * 3
        && body * 5 >= token.len() * 4
        && shape.entropy >= entropy_min
        && shape.changes >= changes_min.max(3)
        && shape.word_letters * 20 <= body * 7
}

/// Returns whether a token is plain hexadecimal, dashes and underscores left out.
pub(super) fn is_hex(token: &str) -> bool {
    let token = token.strip_prefix("0x").unwrap_or(token);
    let hex = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-' || byte == b'_' || byte == b':';
    let capital = |byte: u8| byte.is_ascii_uppercase();
    let small = |byte: u8| byte.is_ascii_lowercase();
    token.bytes().all(hex) && !(token.bytes().any(capital) && token.bytes().any(small))
}

/// Returns whether a token is a UUID.
pub(super) fn is_uuid(token: &str) -> bool {
    token.len() == 36
        && token.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
