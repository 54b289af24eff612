//! The forms of what people choose to log in with or to open a lock.

use super::identifiers::is_reference;
use super::random::shape;
use super::values::is_measure_of;

/// Names of functions that make a hash, which users are said to have passwords of.
const HASHES: [&str; 5] = ["argon", "bcrypt", "scrypt", "pbkdf", "sha"];

/// Returns whether a word looks like a password with nothing but its name before it: "log in with
/// the password VALUE".
pub(super) fn is_chosen(word: &str) -> bool {
    let shape = shape(word);
    let mixed = shape.capitals > 0 && shape.small > 0;
    let signed = word.contains(['!', '#', '$', '%', '&', '@', '+', '?']);
    word.len() >= 8
        && shape.digits >= 2
        && shape.letters() >= 2
        && (mixed || (signed && shape.letters() + shape.digits < word.trim_end_matches('?').len()))
}

/// Returns whether a value has a sign that references do not have.
pub(super) fn is_signed(value: &str) -> bool {
    const LEAST: usize = 8;
    let inner = value.trim_end_matches(['!', '?']);
    let shape = shape(value);
    value.len() >= LEAST
        && shape.digits > 0
        && shape.letters() >= 2
        && (inner.contains(['!', '?', '@', '$', '%', '&', '*', '^']) || value.ends_with("!!"))
}

/// Returns whether a value is a word with a number, as people choose: three letters and two digits
/// at least, some of them small. It is no reference, no measure and no name of a hash.
pub(super) fn is_word_with_number(value: &str) -> bool {
    const LETTERS_LEAST: usize = 3;
    let inner = value.trim_end_matches(['!', '?']);
    let letters = inner.chars().filter(|c| c.is_alphabetic()).count();
    let digits = inner.bytes().filter(u8::is_ascii_digit).count();
    let small = inner.to_lowercase();
    letters >= LETTERS_LEAST
        && digits >= 2
        && inner.contains(char::is_lowercase)
        && !inner.contains(['.', '/', ',', ':'])
        && !is_reference(inner)
        && !is_measure_of(inner)
        && !HASHES.iter().any(|hash| small.starts_with(hash))
}

/// Returns whether a value is a number that opens a lock: one of four to eight digits that is no
/// year or date, or three groups of up to three digits; on a keypad a sign or a capital may end it.
pub(super) fn is_combination(value: &str) -> bool {
    const GROUPS_LEAST: usize = 3;
    const GROUP_DIGITS_MAX: usize = 3;
    let keys = value.trim_matches(['#', '*']);
    let keys = keys
        .strip_suffix(|c: char| c.is_ascii_uppercase())
        .unwrap_or(keys);
    let groups = || keys.split(['-', ' ']);
    let numbers = groups().all(|one| !one.is_empty() && one.bytes().all(|b| b.is_ascii_digit()));
    let dated = matches!(keys.len(), 4 | 8) && (keys.starts_with("19") || keys.starts_with("20"));
    let parted =
        groups().count() >= GROUPS_LEAST && groups().all(|one| one.len() <= GROUP_DIGITS_MAX);
    let whole = groups().count() == 1 && (4..=8).contains(&keys.len()) && !dated;
    numbers && (whole || parted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_locks_are_no_dates_and_no_spans() {
        for one in ["48-17-92", "48 17 92", "4821", "4821#", "*4821B", "481792"] {
            assert!(is_combination(one), "{one}");
        }
        for one in [
            "10-12",
            "2024",
            "20260512",
            "2024-05-01",
            "0800-4821-77",
            "482",
            "#",
            "A4821",
        ] {
            assert!(!is_combination(one), "{one}");
        }
    }

    #[test]
    fn words_with_numbers_are_no_references() {
        for one in ["hunter22!", "trompeta22", "Sol2024", "güneş26"] {
            assert!(is_word_with_number(one), "{one}");
        }
        for one in [
            "RES-2026-0417",
            "3months",
            "v2.1.3",
            "mat-101",
            "bcrypt12",
            "C01X00T47",
        ] {
            assert!(!is_word_with_number(one), "{one}");
        }
    }
}
