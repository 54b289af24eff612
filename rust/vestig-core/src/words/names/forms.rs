//! Normal forms of a name: with capitals, in lower case, without what surrounds it.

use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::text::{ALPHA, class_of, split};
use crate::words::lower_case::lower_case;
use crate::words::visible;

/// A name without outer punctuation, inner runs of white space as one space, in its capitals;
/// "" for mere white space.
#[must_use]
pub fn cased(name: &str) -> String {
    let whole = split(name).collect::<Vec<_>>().join(" ");
    let chars: Vec<char> = whole.chars().collect();
    let (start, end) = trimmed(&chars);
    if start >= end || (start, end) == (0, chars.len()) {
        return whole;
    }
    chars.get(start..end).unwrap_or_default().iter().collect()
}

/// The same in lower case, composed (NFC), with plain apostrophes, without characters that are not
/// seen.
#[must_use]
pub fn normal(name: &str) -> String {
    if name.is_ascii() {
        return cased(&name.to_ascii_lowercase());
    }
    let name = visible(name).replace('’', "'");
    if is_nfc(&name) {
        return cased(&lower_case(&name));
    }
    cased(&lower_case(&name.nfc().collect::<String>()))
}

/// Where a text without its outer ASCII punctuation and ’ begins and ends; a first `.` before a letter
/// and a final run of `+` or `#` after one stay. A space between punctuation goes with it.
#[must_use]
pub fn trimmed(chars: &[char]) -> (usize, usize) {
    let at = |place: usize| chars.get(place).copied().unwrap_or(' ');
    let outer = |c: char| c.is_ascii_punctuation() || matches!(c, ' ' | '’');
    let letter = |c: char| class_of(c) & ALPHA != 0;
    let (mut start, mut end) = (0, chars.len());
    while start < end && outer(at(start)) {
        if at(start) == '.' && start + 1 < end && letter(at(start + 1)) {
            break;
        }
        start += 1;
    }
    // outer quotes first, so that the run of a name like "C++" is seen at its end
    while end > start && outer(at(end - 1)) {
        let mut kept = end;
        while kept > start && matches!(at(kept - 1), '+' | '#') {
            kept -= 1;
        }
        if start < kept && kept < end && letter(at(kept - 1)) {
            break;
        }
        end -= 1;
    }
    (start, end)
}

/// The length of a word without a final `'` or `'s`, which is not part of a name.
pub(super) fn unpossessive(word: &[char]) -> usize {
    match word {
        [_, .., '\'' | '’'] => word.len() - 1,
        [_, .., '\'' | '’', 's'] => word.len() - 2,
        _ => word.len(),
    }
}
