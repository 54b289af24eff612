//! Lower case in which the dotted and the dotless i are one letter.
//!
//! The language decides whether `I` is the capital of `i` or of `ı`, which a label or word does not
//! say: `İSTANBUL`, `ISTANBUL` and `istanbul` are one word, and so are `IRMAK` and `ırmak`.

use std::borrow::Cow;

use unicode_normalization::{UnicodeNormalization, is_nfkc};

const DOT_ABOVE: char = '\u{307}';

/// The text in lower case.
#[must_use]
pub fn lower_case(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    lower_case_into(text, &mut out);
    out
}

/// The text in lower case, in place of what `out` held.
#[inline]
pub(super) fn lower_case_into(text: &str, out: &mut String) {
    out.clear();
    if text.is_ascii() {
        out.push_str(text);
        out.make_ascii_lowercase();
    } else {
        out.extend(without_dots(text.to_lowercase().chars()));
    }
}

/// `ı` as `i`, and no dot above behind an `i`.
pub(super) fn without_dots(chars: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    let mut last = ' ';
    chars.filter_map(move |c| {
        let c = if c == 'ı' { 'i' } else { c };
        let dot = c == DOT_ABOVE && last == 'i';
        last = if dot { last } else { c };
        (!dot).then_some(c)
    })
}

/// A word in lower case in the form in which words are matched: full-width letters and digits and
/// other shapes of one are that, and `ß` is `ss`, as in a word in capitals.
pub(super) fn matched(word: &str) -> Cow<'_, str> {
    if word.is_ascii() || (is_nfkc(word) && !word.contains('ß')) {
        return Cow::Borrowed(word);
    }
    let shapes: String = word.nfkc().collect();
    Cow::Owned(lower_case(&shapes).replace('ß', "ss"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_a_letter_are_matched_as_that() {
        assert_eq!(matched("straße"), "strasse");
        assert_eq!(matched("ｐｉｚｚａ２"), "pizza2");
        assert_eq!(matched("x²"), "x2");
        for word in ["strasse", "über", "ёж", "ключ"] {
            assert!(matches!(matched(word), Cow::Borrowed(_)), "{word}");
        }
    }

    #[test]
    fn either_i_is_one_letter() {
        assert_eq!(lower_case("İSTANBUL Istanbul"), "istanbul istanbul");
        assert_eq!(lower_case("IRMAK Irmak ırmak"), "irmak irmak irmak");
        assert_eq!(
            lower_case("Ünïcode I\u{307} a\u{307}"),
            "ünïcode i a\u{307}"
        );
    }
}
