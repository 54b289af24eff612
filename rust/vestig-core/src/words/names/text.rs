//! A text by code points, each with the classes that the rules for names ask for.

use std::ops::Range;

use super::markup::prose;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// A letter (category L).
pub(in crate::words) const ALPHA: u16 = 1;
/// A letter or a number (categories L and N).
pub(in crate::words) const ALNUM: u16 = 1 << 1;
/// A letter, a number or `_`.
pub(in crate::words) const WORD: u16 = 1 << 2;
/// White space, and the four separators of control characters.
pub(in crate::words) const SPACE: u16 = 1 << 3;
/// Upper case (the property, not the category).
pub(in crate::words) const UPPER: u16 = 1 << 4;
/// Lower case (the property, not the category).
pub(in crate::words) const LOWER: u16 = 1 << 5;
/// Title case (category Lt).
pub(in crate::words) const TITLE: u16 = 1 << 6;
/// A decimal digit (category Nd).
pub(in crate::words) const DECIMAL: u16 = 1 << 7;
/// A decimal digit, or another character with the value of a digit.
pub(in crate::words) const DIGIT: u16 = 1 << 8;
/// A capital with which a run of words begins: those of Latin, Greek, Cyrillic.
pub(in crate::words) const CAPITAL: u16 = 1 << 9;

/// The end of the blocks whose upper-case letters begin a run of words.
const CAPITALS_END: u32 = 0x530;
/// Digits that are no decimal ones (`Numeric_Type=Digit`); Unicode adds none to them.
const OTHER_DIGITS: [(u32, u32); 20] = [
    (0xB2, 0xB3),
    (0xB9, 0xB9),
    (0x1369, 0x1371),
    (0x19DA, 0x19DA),
    (0x2070, 0x2070),
    (0x2074, 0x2079),
    (0x2080, 0x2089),
    (0x2460, 0x2468),
    (0x2474, 0x247C),
    (0x2488, 0x2490),
    (0x24EA, 0x24EA),
    (0x24F5, 0x24FD),
    (0x24FF, 0x24FF),
    (0x2776, 0x277E),
    (0x2780, 0x2788),
    (0x278A, 0x2792),
    (0x10A40, 0x10A43),
    (0x10E60, 0x10E68),
    (0x11052, 0x1105A),
    (0x1F100, 0x1F10A),
];

const ASCII: [u16; 128] = ascii_classes();

const fn ascii_classes() -> [u16; 128] {
    let mut classes = [0; 128];
    let mut byte = 0;
    while byte < 128 {
        let c = byte as u8;
        let mut class = 0;
        if c.is_ascii_alphabetic() {
            class |= ALPHA | ALNUM | WORD;
        }
        if c.is_ascii_digit() {
            class |= ALNUM | WORD | DECIMAL | DIGIT;
        }
        if c == b'_' {
            class |= WORD;
        }
        if c.is_ascii_uppercase() {
            class |= UPPER | CAPITAL;
        }
        if c.is_ascii_lowercase() {
            class |= LOWER;
        }
        if matches!(c, b'\t'..=b'\r' | 0x1C..=0x1F | b' ') {
            class |= SPACE;
        }
        classes[byte] = class;
        byte += 1;
    }
    classes
}

/// The classes of a character, as bits.
#[must_use]
pub fn class_of(c: char) -> u16 {
    if let Some(class) = ASCII.get(c as usize) {
        return *class;
    }
    let category = c.general_category();
    let mut class = match c.general_category_group() {
        GeneralCategoryGroup::Letter => ALPHA | ALNUM | WORD,
        GeneralCategoryGroup::Number => ALNUM | WORD,
        _ => 0,
    };
    let code = u32::from(c);
    if c.is_whitespace() {
        class |= SPACE;
    }
    if c.is_uppercase() {
        class |= UPPER;
        if code < CAPITALS_END {
            class |= CAPITAL;
        }
    }
    if c.is_lowercase() {
        class |= LOWER;
    }
    match category {
        GeneralCategory::TitlecaseLetter => class |= TITLE,
        GeneralCategory::DecimalNumber => class |= DECIMAL | DIGIT,
        _ => {
            let within = |(first, last): &(u32, u32)| (*first..=*last).contains(&code);
            if class & ALNUM != 0 && OTHER_DIGITS.iter().any(within) {
                class |= DIGIT;
            }
        }
    }
    class
}

/// A text by code points. A place outside of it has no class.
#[derive(Debug, Clone)]
pub struct Text {
    chars: Vec<char>,
    classes: Vec<u16>,
}

impl Text {
    /// Reads a text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self::of(text.chars().collect())
    }

    /// Reads what is prose in a text. Places are those of the text.
    #[must_use]
    pub fn prose(text: &str, title: Option<&str>) -> Self {
        Self::of(prose(text, title))
    }

    fn of(chars: Vec<char>) -> Self {
        let classes = chars.iter().map(|c| class_of(*c)).collect();
        Self { chars, classes }
    }

    /// The number of code points.
    #[must_use]
    pub fn len(&self) -> usize {
        self.chars.len()
    }

    /// Returns whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chars.is_empty()
    }

    /// A stretch as text; an end behind the last code point is that one.
    #[must_use]
    pub fn slice(&self, span: Range<usize>) -> String {
        let end = span.end.min(self.len());
        self.chars
            .get(span.start..end)
            .unwrap_or_default()
            .iter()
            .collect()
    }

    pub(in crate::words) fn char(&self, at: usize) -> Option<char> {
        self.chars.get(at).copied()
    }

    pub(in crate::words) fn holds(&self, at: usize, c: char) -> bool {
        self.char(at) == Some(c)
    }

    pub(in crate::words) fn class(&self, at: usize) -> u16 {
        self.classes.get(at).copied().unwrap_or(0)
    }

    pub(in crate::words) fn is(&self, at: usize, class: u16) -> bool {
        self.class(at) & class != 0
    }

    /// Returns whether the code point before a place passes; false at the beginning.
    pub(in crate::words) fn before(&self, at: usize, passes: impl Fn(u16, char) -> bool) -> bool {
        at.checked_sub(1)
            .and_then(|at| self.char(at))
            .is_some_and(|c| passes(self.class(at - 1), c))
    }

    /// Where the run of code points that pass ends.
    pub(in crate::words) fn run(&self, from: usize, passes: impl Fn(u16, char) -> bool) -> usize {
        let mut at = from;
        while let Some(c) = self.char(at) {
            if !passes(self.class(at), c) {
                break;
            }
            at += 1;
        }
        at
    }

    /// As [`Text::run`], of a class.
    pub(in crate::words) fn run_of(&self, from: usize, class: u16) -> usize {
        let rest = self.classes.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|own| **own & class != 0).count()
    }

    /// Returns whether a word begins or ends here.
    pub(in crate::words) fn boundary(&self, at: usize) -> bool {
        self.before(at, |class, _| class & WORD != 0) != self.is(at, WORD)
    }

    pub(in crate::words) fn matches(&self, at: usize, literal: &str) -> bool {
        literal
            .chars()
            .enumerate()
            .all(|(offset, c)| self.holds(at + offset, c))
    }

    pub(in crate::words) fn equals(&self, span: Range<usize>, literal: &str) -> bool {
        span.len() == literal.chars().count() && self.matches(span.start, literal)
    }

    pub(in crate::words) fn any(&self, span: Range<usize>, class: u16) -> bool {
        self.classes_in(span).iter().any(|own| own & class != 0)
    }

    /// Returns whether there is one and all are of the class.
    pub(in crate::words) fn all(&self, span: Range<usize>, class: u16) -> bool {
        let own = self.classes_in(span);
        !own.is_empty() && own.iter().all(|own| own & class != 0)
    }

    pub(in crate::words) fn count(&self, span: Range<usize>, class: u16) -> usize {
        self.classes_in(span)
            .iter()
            .filter(|own| *own & class != 0)
            .count()
    }

    /// Some lower-case character, and none in upper or title case.
    pub(in crate::words) fn is_lower(&self, span: Range<usize>) -> bool {
        self.any(span.clone(), LOWER) && !self.any(span, UPPER | TITLE)
    }

    /// Some upper-case character, and none in lower or title case.
    pub(in crate::words) fn is_upper(&self, span: Range<usize>) -> bool {
        self.any(span.clone(), UPPER) && !self.any(span, LOWER | TITLE)
    }

    /// Spans of the stretches without white space.
    pub(in crate::words) fn words(&self, span: Range<usize>) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut at = span.start;
        while at < span.end {
            let end = self.run(at, |class, _| class & SPACE == 0).min(span.end);
            if end > at {
                found.push(at..end);
            }
            at = end + 1;
        }
        found
    }

    fn classes_in(&self, span: Range<usize>) -> &[u16] {
        let end = span.end.min(self.classes.len());
        self.classes.get(span.start..end).unwrap_or_default()
    }
}

/// Returns whether `[a-z]` means a character where capitals do not count.
pub(in crate::words) fn is_latin(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '\u{130}' | '\u{131}' | '\u{17F}' | '\u{212A}')
}

/// Without white space at the ends.
pub(in crate::words) fn stripped(text: &str) -> &str {
    text.trim_matches(|c| class_of(c) & SPACE != 0)
}

/// The stretches of a text without white space.
pub(in crate::words) fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| class_of(c) & SPACE != 0)
        .filter(|part| !part.is_empty())
}
