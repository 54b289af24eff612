//! Runs, chains and tokens; the rules are in the module documentation.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use super::lower_case::lower_case;
use super::symbols::{is_symbol, symbol_end};

/// A word token: lower-cased text and where it stands, in code points [start, end).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The token, lower-cased.
    pub text: String,
    /// First code point.
    pub start: usize,
    /// Code point behind the last one.
    pub end: usize,
    /// True if it is an identifier: joined runs kept whole.
    pub identifier: bool,
}

/// The word tokens of a text, in order. Identifiers are whole, nothing is stemmed or left out
/// but single characters that are no words.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::with_capacity(text.len() / 6);
    let mut add = |span: Span, identifier: bool| {
        found.push(Token {
            text: lower_case(span.text(text)),
            start: span.start,
            end: span.end,
            identifier,
        });
    };
    visit_chains(text, |chain, identifier| {
        if identifier {
            add(Span::over(chain), true);
        } else {
            for run in chain {
                visit_pieces(text, *run, chain.len() == 1, &mut |span, _| {
                    add(span, false)
                });
            }
        }
    });
    found
}

/// A piece of a text, in bytes and in code points; its ends are character boundaries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    from: usize,
    to: usize,
    pub(super) start: usize,
    pub(super) end: usize,
    ascii: bool,
}

impl Span {
    /// The slice of `text`; "" if the span belongs to another text.
    #[inline]
    pub(super) fn text(self, text: &str) -> &str {
        text.get(self.from..self.to).unwrap_or_default()
    }

    /// From the first to the last span of a chain.
    pub(super) fn over(chain: &[Span]) -> Span {
        let last = chain.last().copied();
        chain
            .first()
            .copied()
            .zip(last)
            .map_or(Span::EMPTY, |(first, last)| Span {
                to: last.to,
                end: last.end,
                ascii: chain.iter().all(|run| run.ascii),
                ..first
            })
    }

    /// A stretch of the span, in its bytes.
    pub(super) fn within(self, text: &str, from: usize, to: usize) -> Span {
        let own = self.text(text);
        let points = |part: &str| part.chars().count();
        let start = self.start + points(&own[..from]);
        Span {
            from: self.from + from,
            to: self.from + to,
            start,
            end: start + points(&own[from..to]),
            ascii: own[from..to].is_ascii(),
        }
    }

    const EMPTY: Span = Span {
        from: 0,
        to: 0,
        start: 0,
        end: 0,
        ascii: true,
    };
}

/// How a piece becomes tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    /// One token per piece.
    Word,
    /// Han, Hiragana, Katakana: bigrams.
    Cjk,
    /// Thai: bigrams.
    Thai,
    /// An emoji sequence or another pictograph.
    Symbol,
}

#[inline]
fn is_joiner(byte: u8) -> bool {
    matches!(byte, b'-' | b'_' | b'.' | b'/' | b':' | b'@' | b'#' | b'+')
}

#[inline]
fn is_mark(c: char) -> bool {
    c >= '\u{300}' && c.general_category_group() == GeneralCategoryGroup::Mark
}

/// Calls `chain(runs, is identifier)` for every chain of the text, in order.
pub(super) fn visit_chains(text: &str, mut chain: impl FnMut(&[Span], bool)) {
    let bytes = text.as_bytes();
    let mut runs: Vec<Span> = Vec::new();
    let mut at = Position { byte: 0, point: 0 };
    while let Some(run) = next_run(text, &mut at) {
        runs.push(run);
        let joined = bytes.get(at.byte).is_some_and(|&b| is_joiner(b))
            && char_at(text, at.byte + 1).is_some_and(is_word)
            && !char_at(text, run.from).is_some_and(is_symbol);
        if joined {
            at = Position {
                byte: at.byte + 1,
                point: at.point + 1,
            };
        } else {
            chain(&runs, is_identifier(text, &runs));
            runs.clear();
        }
    }
}

#[derive(Clone, Copy)]
struct Position {
    byte: usize,
    point: usize,
}

fn char_at(text: &str, byte: usize) -> Option<char> {
    text.get(byte..)?.chars().next()
}

/// Returns whether a run begins with it.
#[inline]
fn is_word(c: char) -> bool {
    c.is_alphanumeric() && !is_symbol(c)
}

/// The next run at or behind `at`, which moves to its end.
#[inline]
fn next_run(text: &str, at: &mut Position) -> Option<Span> {
    let bytes = text.as_bytes();
    let (mut byte, mut point) = (at.byte, at.point);
    let mut symbol = false;
    while let Some(&b) = bytes.get(byte) {
        if b.is_ascii() {
            if b.is_ascii_alphanumeric() {
                break;
            }
            byte += 1;
        } else {
            let c = char_at(text, byte)?;
            symbol = is_symbol(c);
            if symbol || c.is_alphanumeric() {
                break;
            }
            byte += c.len_utf8();
        }
        point += 1;
    }
    let (from, start) = (byte, point);
    if symbol {
        let length = symbol_end(&text[from..]);
        *at = Position {
            byte: from + length,
            point: start + text[from..from + length].chars().count(),
        };
        return Some(Span {
            from,
            to: at.byte,
            start,
            end: at.point,
            ascii: false,
        });
    }
    let mut ascii = true;
    while let Some(&b) = bytes.get(byte) {
        if b.is_ascii() {
            if !b.is_ascii_alphanumeric() {
                break;
            }
            byte += 1;
        } else {
            let c = char_at(text, byte)?;
            if !is_word(c) && !is_mark(c) {
                break;
            }
            ascii = false;
            byte += c.len_utf8();
        }
        point += 1;
    }
    let signs = closing_signs(text, from, byte);
    (byte, point) = (byte + signs, point + signs);
    *at = Position { byte, point };
    (byte > from).then_some(Span {
        from,
        to: byte,
        start,
        end: point,
        ascii,
    })
}

/// The length of the `+`, `++` or `#` that ends a word of letters: `C++`, `C#`, `A+`.
#[inline]
fn closing_signs(text: &str, from: usize, to: usize) -> usize {
    let rest = &text.as_bytes()[to..];
    let length = match rest {
        [b'+', b'+', ..] => 2,
        [b'+' | b'#', ..] => 1,
        _ => return 0,
    };
    let goes_on = matches!(rest.get(length), Some(b'+' | b'#'))
        || char_at(text, to + length).is_some_and(is_word);
    let letters = to > from && text[from..to].chars().all(|c| !c.is_numeric());
    if letters && !goes_on { length } else { 0 }
}

fn is_identifier(text: &str, runs: &[Span]) -> bool {
    let joins = runs.windows(2).any(|pair| {
        let joiner = pair.first().and_then(|run| text.as_bytes().get(run.to));
        matches!(joiner, Some(b'_' | b'/' | b'@' | b'.'))
    });
    runs.len() > 1
        && (joins
            || runs
                .iter()
                .any(|run| has_digit_or_mixed_case(run.text(text))))
}

fn has_digit_or_mixed_case(run: &str) -> bool {
    let lower = run.chars().any(char::is_lowercase);
    let inner_upper = run.chars().skip(1).any(char::is_uppercase);
    (lower && inner_upper) || run.chars().any(char::is_numeric)
}

/// Class of a word character; combining marks outside of these blocks follow what they mark.
fn script(c: char) -> Script {
    match u32::from(c) {
        0x0E01..=0x0E3A | 0x0E40..=0x0E5B => Script::Thai,
        0x2E80..=0x2FD5
        | 0x3005..=0x3007
        | 0x3021..=0x3029
        | 0x3038..=0x303B
        | 0x3041..=0x3096
        | 0x309D..=0x309F
        | 0x30A1..=0x30FA
        | 0x30FC..=0x30FF
        | 0x31F0..=0x31FF
        | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF
        | 0xF900..=0xFAFF
        | 0xFF66..=0xFF9D
        | 0x16FE2..=0x16FE3
        | 0x16FF0..=0x16FF1
        | 0x1AFF0..=0x1B16F
        | 0x20000..=0x3FFFF => Script::Cjk,
        _ => Script::Word,
    }
}

/// Calls `piece(span, script)` for every token of one run: whole pieces of words, bigrams, symbols.
/// `alone`: no other run is joined with it.
#[inline]
pub(super) fn visit_pieces(
    text: &str,
    run: Span,
    alone: bool,
    piece: &mut impl FnMut(Span, Script),
) {
    if run.ascii {
        if run.end - run.start > 1 || is_one_character_word(text, run, alone) {
            piece(run, Script::Word);
        }
        return;
    }
    if char_at(text, run.from).is_some_and(is_symbol) {
        piece(run, Script::Symbol);
        return;
    }
    let mut open: Option<(Span, Script)> = None;
    for (at, (offset, c)) in run.text(text).char_indices().enumerate() {
        let (from, start) = (run.from + offset, run.start + at);
        let here = Span {
            from,
            to: from + c.len_utf8(),
            start,
            end: start + 1,
            ascii: false,
        };
        open = Some(match open {
            Some((span, class)) if class == script(c) || is_mark(c) => (
                Span {
                    to: here.to,
                    end: here.end,
                    ..span
                },
                class,
            ),
            before => {
                close(text, before, piece);
                (here, script(c))
            }
        });
    }
    close(text, open, piece);
}

/// Returns whether a run of one character is one by which something goes: a capital ("written in C",
/// "C/C++"), or a letter or digit that stands alone ("vitamin d", "customer 7"). The pronoun, the
/// article and what an apostrophe cuts off ("it's", "d'or") are none.
fn is_one_character_word(text: &str, run: Span, alone: bool) -> bool {
    let (before, behind) = (&text[..run.from], &text[run.to..]);
    let apostrophe = ['\'', '’'];
    match text.as_bytes().get(run.from) {
        Some(b'i' | b'I' | b'a') => false,
        Some(digit) if digit.is_ascii_digit() => alone,
        Some(letter) if letter.is_ascii_alphabetic() => {
            let capital = letter.is_ascii_uppercase();
            let listed = before.ends_with('/') || behind.starts_with('/');
            !before.ends_with(apostrophe)
                && (capital || !behind.starts_with(apostrophe))
                && (alone || (capital && listed))
        }
        _ => false,
    }
}

/// Hands over one piece of one script.
fn close(text: &str, open: Option<(Span, Script)>, piece: &mut impl FnMut(Span, Script)) {
    let Some((span, class)) = open else { return };
    let points = span.end - span.start;
    match class {
        Script::Word if points > 1 => piece(span, class),
        Script::Word | Script::Symbol => {}
        Script::Cjk | Script::Thai if points == 1 => piece(span, class),
        Script::Cjk | Script::Thai => {
            let mut before: Option<usize> = None;
            for (at, (offset, c)) in span.text(text).char_indices().enumerate() {
                let from = span.from + offset;
                if let Some(first) = before {
                    let (to, start) = (from + c.len_utf8(), span.start + at - 1);
                    piece(
                        Span {
                            from: first,
                            to,
                            start,
                            end: start + 2,
                            ascii: false,
                        },
                        class,
                    );
                }
                before = Some(from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(text: &str) -> Vec<String> {
        tokens(text).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn identifiers_stay_whole() {
        let text = "Fix JIRA-9988 in v1.2 at src/main.rs, user_name a@b.co fooBar-x";
        let found: Vec<_> = tokens(text)
            .into_iter()
            .filter(|t| t.identifier)
            .map(|t| t.text)
            .collect();
        let wanted = [
            "jira-9988",
            "v1.2",
            "src/main.rs",
            "user_name",
            "a@b.co",
            "foobar-x",
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn plain_words_split() {
        assert_eq!(
            texts("Well-known state-of-the-art"),
            ["well", "known", "state", "of", "the", "art"]
        );
        assert_eq!(texts("Anna's NATO-led a I"), ["anna", "nato", "led"]);
        assert_eq!(texts("snake__case x-ray"), ["snake", "case", "ray"]);
    }

    #[test]
    fn a_letter_or_digit_by_which_something_goes_is_a_word() {
        assert_eq!(
            texts("C, C++ and C# or F#"),
            ["c", "c++", "and", "c#", "or", "f#"]
        );
        assert_eq!(
            texts("vitamin k, not vitamin D"),
            ["vitamin", "k", "not", "vitamin", "d"]
        );
        assert_eq!(
            texts("customer 7, room 4-2 at 3.5 s"),
            ["customer", "7", "room", "4-2", "at", "3.5", "s"]
        );
        assert_eq!(texts("Plan A, a plan"), ["plan", "a", "plan"]);
        assert_eq!(texts("Notepad++ and g++"), ["notepad++", "and", "g++"]);
        assert_eq!(texts("I don't; we'd, it’s a +1"), ["don", "we", "it", "1"]);
        assert_eq!(texts("a+b c#d 5+"), ["5"]);
    }

    #[test]
    fn pictographs_are_words() {
        assert_eq!(texts("up 🚀🔥 since"), ["up", "🚀", "🔥", "since"]);
        assert_eq!(
            texts("ok👍🏽 👩\u{200d}💻 🇳🇴🇸🇪 ☁"),
            ["ok", "👍🏽", "👩\u{200d}💻", "🇳🇴", "🇸🇪", "☁"]
        );
        assert_eq!(texts("Acme™ © 5 → 6"), ["acme", "5", "6"]);
    }

    #[test]
    fn scripts_without_spaces_give_bigrams() {
        assert_eq!(texts("東京都tower山"), ["東京", "京都", "tower", "山"]);
        assert_eq!(texts("コーヒー"), ["コー", "ーヒ", "ヒー"]);
        assert_eq!(texts("กาแฟ"), ["กา", "าแ", "แฟ"]);
    }

    #[test]
    fn offsets_are_code_points() {
        let text = "é ÜBER ı cafe\u{301}s";
        let spans: Vec<_> = tokens(text)
            .into_iter()
            .map(|t| (t.text, t.start, t.end))
            .collect();
        let wanted = [
            ("über".to_string(), 2, 6),
            ("cafe\u{301}s".to_string(), 9, 15),
        ];
        assert_eq!(spans, wanted);
    }

    proptest! {
        #[test]
        fn any_text_gives_tokens_in_order(text in "\\PC{0,60}") {
            let points: Vec<char> = text.chars().collect();
            let mut last = 0;
            for token in tokens(&text) {
                prop_assert!(token.start < token.end && token.end <= points.len());
                prop_assert!(token.start >= last);
                last = token.start;
                let slice: String = points[token.start..token.end].iter().collect();
                prop_assert_eq!(lower_case(&slice), token.text);
            }
        }
    }
}
