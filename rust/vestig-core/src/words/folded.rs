//! The forms in which names are compared: one text, however it is composed.

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;

use super::lower_case::without_dots;
use super::visible::visible;

/// The form in which people, programs, tags and entities are compared: composed and decomposed
/// characters are one, and so are capitals and small letters, and `i` with and without a dot; outer
/// white space and characters that are not seen do not count.
#[must_use]
pub fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.trim().to_ascii_lowercase();
    }
    let text = visible(text);
    without_dots(text.trim().nfd().default_case_fold().nfd()).collect()
}

/// Returns whether two texts are one when composed and decomposed characters are; case counts,
/// outer white space does not.
#[must_use]
pub fn same_composed(one: &str, other: &str) -> bool {
    let (one, other) = (one.trim(), other.trim());
    one == other || one.nfc().eq(other.nfc())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_composition_do_not_tell_names_apart() {
        for (one, other) in [
            ("Lena", "LENA"),
            ("Jos\u{e9}", "JOSE\u{301}"),
            ("Straße", "STRASSE"),
            ("ΣΊΣΥΦΟΣ", "Σίσυφος"),
            ("\u{212b}", "a\u{30a}"),
            (" Lena\t", "lena"),
            ("\u{130}STANBUL", "istanbul"),
            ("\u{130}stanbul", "ISTANBUL"),
            ("\u{131}rmak", "IRMAK"),
            ("o\u{ad}ps\u{200b}", "OPS"),
            ("\u{fb01}eld", "Field"),
        ] {
            assert_eq!(folded(one), folded(other));
        }
        assert_ne!(folded("Jose"), folded("José"));
        assert!(same_composed("Jos\u{e9}", "Jose\u{301}"));
        assert!(!same_composed("José", "josé"));
    }

    #[test]
    fn an_ascii_text_is_folded_as_any_other() {
        for byte in b'!'..=b'~' {
            let text = char::from(byte).to_string();
            let slowly: String = text.nfd().default_case_fold().nfd().collect();
            assert_eq!(folded(&text), slowly);
        }
    }
}
