//! A text without characters that are not seen, and without ligatures.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

use super::symbols::{ZERO_WIDTH_JOINER, is_modifier, is_symbol, is_tag};

/// Characters that a reader does not see (the property Default_Ignorable_Code_Point): soft
/// hyphens, zero-width spaces and joiners, marks of direction and byte order, variation selectors,
/// tags, fillers.
fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Letters that one sign stands for: Latin, Armenian, Hebrew and Arabic ligatures and their shapes.
fn is_ligature(c: char) -> bool {
    matches!(c, '\u{fb00}'..='\u{fb17}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

/// The text without characters that are not seen and with the letters of ligatures. What joins
/// emoji to one, and the region of a flag, stay.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.chars().any(|c| is_unseen(c) || is_ligature(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let last = || out.chars().next_back();
        let kept = match c {
            ZERO_WIDTH_JOINER => {
                last().is_some_and(|c| is_symbol(c) || is_modifier(c))
                    && chars.peek().is_some_and(|c| is_symbol(*c))
            }
            _ if is_tag(c) => last().is_some_and(|c| c == '🏴' || is_tag(c)),
            _ => !is_unseen(c),
        };
        if is_ligature(c) {
            out.extend([c].into_iter().nfkc());
        } else if kept {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_not_seen_goes() {
        for (text, wanted) in [
            ("co\u{ad}operate", "cooperate"),
            ("\u{feff}one\u{200b}two\u{2060}\u{200e}", "onetwo"),
            ("\u{202e}abc\u{202c}", "abc"),
            ("می\u{200c}خواهم", "میخواهم"),
            ("o\u{fb03}ce \u{fb01}le", "office file"),
            ("☁\u{fe0f} ☁", "☁ ☁"),
            ("❤\u{fe0f}\u{200d}🔥", "❤\u{200d}🔥"),
            ("a\u{200d}b 🔥\u{200d} \u{200d}🔥", "ab 🔥 🔥"),
            ("a\u{e0061} 🏴\u{e0067}\u{e007f}", "a 🏴\u{e0067}\u{e007f}"),
            ("\u{200b}\u{3164}", ""),
        ] {
            assert_eq!(visible(text), wanted, "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_more_goes_the_second_time(text in "[\u{ad}\u{200b}-\u{200f}\u{fe0f}🔥👍🏽🏴\u{e0067}ﬁa \u{627}]{0,12}") {
            let once = visible(&text).into_owned();
            prop_assert_eq!(visible(&once), once.as_str());
        }
    }
}
