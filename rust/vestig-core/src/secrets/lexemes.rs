//! Words of a text as the scanner sees them: runs of letters, digits and `_`.

use super::bytes::{self, WORD};
use super::lists::{List, lists, word};

/// Longer words are no words of a list.
const WORD_BYTES_MAX: usize = 48;
const PARTS_MAX: usize = 10;
const RULE_BYTES_MAX: usize = 32;

/// A run of letters, digits and `_`; letters beyond Latin make runs of their own.
#[derive(Clone, Copy)]
pub(super) struct Lexeme {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The words of a text, in order.
pub(super) fn lexemes(text: &str) -> Vec<Lexeme> {
    let bytes = text.as_bytes();
    let mut found = Vec::with_capacity(text.len() / 5);
    let mut at = 0;
    while at < bytes.len() {
        let class = class_at(text, at);
        let mut end = at + width_at(text, at);
        if class == Class::Other {
            at = marker_end(text, at).unwrap_or(end);
            continue;
        }
        while end < bytes.len() && class_at(text, end) == class {
            end += width_at(text, end);
        }
        found.push(Lexeme { start: at, end });
        at = end;
    }
    found
}

/// Behind `[secret:RULE]`, the words of which are none of the text.
fn marker_end(text: &str, at: usize) -> Option<usize> {
    let rest = text[at..].strip_prefix("[secret:")?.as_bytes();
    let rule = rest
        .iter()
        .take(RULE_BYTES_MAX)
        .take_while(|b| b.is_ascii_lowercase())
        .count();
    (rule > 0 && rest.get(rule) == Some(&b']')).then_some(at + "[secret:".len() + rule + 1)
}

#[derive(Clone, Copy, PartialEq)]
enum Class {
    Latin,
    Letters,
    Other,
}

fn class_at(text: &str, at: usize) -> Class {
    let byte = text.as_bytes()[at];
    if byte < 128 {
        return if bytes::is_in(byte, WORD) {
            Class::Latin
        } else {
            Class::Other
        };
    }
    match text[at..].chars().next() {
        Some(c) if !c.is_alphabetic() => Class::Other,
        Some(c) if c < '\u{250}' => Class::Latin,
        _ => Class::Letters,
    }
}

fn width_at(text: &str, at: usize) -> usize {
    match text.as_bytes()[at] {
        0..128 => 1,
        128..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    }
}

/// The sections of a word in any case; 0 for what is in no list.
pub(super) fn sections(word: &str) -> u32 {
    if word.len() > WORD_BYTES_MAX {
        return 0;
    }
    if !word.is_ascii() {
        return lists().sections(&word.to_lowercase());
    }
    let mut small = [0; WORD_BYTES_MAX];
    let small = &mut small[..word.len()];
    small.copy_from_slice(word.as_bytes());
    small.make_ascii_lowercase();
    std::str::from_utf8(small).map_or(0, |word| lists().sections(word))
}

/// The words that a name is made of: `dbPassword`, `DB_PASSWORD` and `APIKey2` are two each.
pub(super) fn parts(name: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let bytes = name.as_bytes();
    let mut start = 0;
    for at in 1..=bytes.len() {
        let cut = at == bytes.len() || {
            let (before, here) = (bytes[at - 1], bytes[at]);
            let next_is_small = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
            here == b'_'
                || before == b'_'
                || (before.is_ascii_lowercase() && here.is_ascii_uppercase())
                || (before.is_ascii_uppercase() && here.is_ascii_uppercase() && next_is_small)
                || (before.is_ascii_alphabetic() && here.is_ascii_digit())
        };
        if cut && name.is_char_boundary(at) {
            let part = &name[start..at];
            if part != "_" && found.len() < PARTS_MAX {
                found.push(part);
            }
            start = at;
        }
    }
    found
}

/// The sections that any part of a name has, itself included.
pub(super) fn sections_of_parts(name: &str) -> u32 {
    let own = sections(name);
    if own != 0 || name.len() > WORD_BYTES_MAX {
        return own;
    }
    let found = parts(name)
        .iter()
        .fold(0, |bits, part| bits | sections(part));
    let ends = match (ends_as_name(name), kind_of_key(name)) {
        (true, _) => word::NAME,
        (_, Some(_)) => word::WEAK,
        _ => 0,
    };
    found | ends
}

/// Returns whether a word ends with one for a secret: `Datenbankpasswort`, `mypassword`.
pub(super) fn ends_as_name(word: &str) -> bool {
    let ends = lists().of(List::NameEnds);
    if !(6..=WORD_BYTES_MAX).contains(&word.len()) {
        return false;
    }
    if word.is_ascii() {
        let bytes = word.as_bytes();
        return ends.iter().any(|end| {
            let at = bytes.len().checked_sub(end.len());
            at.is_some_and(|at| bytes[at..].eq_ignore_ascii_case(end.as_bytes()))
        });
    }
    let small = word.to_lowercase();
    ends.iter().any(|end| small.ends_with(end))
}

/// The part of a word before a key that it ends with: `API` of `APIschlüssel`, "" of the key alone;
/// None for a word that names no key.
pub(super) fn kind_of_key(word: &str) -> Option<&str> {
    lists().of(List::KeyEnds).iter().find_map(|end| {
        let kind = word.get(..word.len().checked_sub(end.len())?)?;
        (word[kind.len()..].to_lowercase() == **end).then_some(kind)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_parts() {
        assert_eq!(parts("dbPassword"), ["db", "Password"]);
        assert_eq!(parts("DB_PASSWORD"), ["DB", "PASSWORD"]);
        assert_eq!(parts("AWSSecretKey2"), ["AWS", "Secret", "Key", "2"]);
        assert_eq!(parts("clé"), ["clé"]);
    }

    #[test]
    fn words_of_other_scripts_stand_apart() {
        let text = "Müller密码ab_1 «x»";
        let found: Vec<&str> = lexemes(text)
            .iter()
            .map(|one| &text[one.start..one.end])
            .collect();
        assert_eq!(found, ["Müller", "密码", "ab_1", "x"]);
    }
}
