//! Emoji and other pictographs: which characters they are, and where a sequence of them ends.

use unicode_properties::{GeneralCategory, UnicodeEmoji, UnicodeGeneralCategory};

pub(super) const ZERO_WIDTH_JOINER: char = '\u{200d}';

/// Returns whether it is a pictograph by which something is told: an emoji, or a symbol of the
/// blocks of pictures.
#[must_use]
#[inline]
pub(super) fn is_symbol(c: char) -> bool {
    let pictures = matches!(c, '\u{2600}'..='\u{27bf}' | '\u{1f000}'..='\u{1faff}');
    let others = matches!(c, '\u{203c}'..='\u{25ff}' | '\u{2900}'..='\u{3299}') && c != '™';
    (pictures && c.general_category() == GeneralCategory::OtherSymbol)
        || ((pictures || others) && c.is_emoji_char())
}

/// One of the letters that make a flag by two.
fn is_regional(c: char) -> bool {
    matches!(c, '\u{1f1e6}'..='\u{1f1ff}')
}

/// Returns what changes the look of the symbol before it: a skin tone, a variation selector, the
/// keycap, a tag.
pub(super) fn is_modifier(c: char) -> bool {
    is_tag(c)
        || matches!(
            c,
            '\u{1f3fb}'..='\u{1f3ff}' | '\u{fe0e}' | '\u{fe0f}' | '\u{20e3}'
        )
}

/// A letter of the name of a region, behind a flag.
pub(super) fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0020}'..='\u{e007f}')
}

/// Bytes of the sequence that a text begins with; its first character is a symbol.
pub(super) fn symbol_end(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    let mut end = 0;
    while let Some((at, c)) = chars.next() {
        end = at + c.len_utf8();
        if is_regional(c) {
            if let Some((at, other)) = chars.next_if(|(_, other)| is_regional(*other)) {
                end = at + other.len_utf8();
            }
            return end;
        }
        while let Some((at, modifier)) = chars.next_if(|(_, c)| is_modifier(*c)) {
            end = at + modifier.len_utf8();
        }
        let joined = chars.next_if(|(_, c)| *c == ZERO_WIDTH_JOINER).is_some()
            && chars.peek().is_some_and(|(_, c)| is_symbol(*c));
        if !joined {
            return end;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn emoji_and_pictures_are_symbols() {
        assert!("🚀❤☁✓★♀↔🇳⌚🀄🅰ℹ‼".chars().all(is_symbol));
        assert!("a1#*©®™°→∑│█東あ½".chars().all(|c| !is_symbol(c)));
    }

    #[test]
    fn a_sequence_is_one() {
        for one in [
            "👍🏽",
            "👩\u{200d}💻",
            "🏳\u{200d}🌈",
            "❤\u{200d}🔥",
            "🇳🇴",
            "⚽",
            "🏴\u{e0067}\u{e0062}\u{e007f}",
        ] {
            assert_eq!(symbol_end(&format!("{one}🔥")), one.len(), "{one}");
            assert_eq!(symbol_end(&format!("{one}\u{200d}x")), one.len(), "{one}");
        }
    }

    proptest! {
        #[test]
        fn an_end_is_between_characters(text in "[🇳👍🏽\u{200d}\u{fe0f}❤a]{1,8}") {
            let end = symbol_end(&text);
            prop_assert!(end > 0 && text.is_char_boundary(end));
        }
    }
}
