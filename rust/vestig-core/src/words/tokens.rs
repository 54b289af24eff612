//! Runs, chains and tokens; the rules are in the module documentation.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// A word token: lower-cased text and where it stands, in code points [start, end).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The token, lower-cased.
    pub text: String,
    /// First code point.
    pub start: usize,
    /// Code point behind the last one.
    pub end: usize,
    /// Whether it is an identifier: joined runs kept whole.
    pub identifier: bool,
}

/// The word tokens of a text, in order. Identifiers are whole, nothing is stemmed or left out
/// but single characters.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::with_capacity(text.len() / 6);
    let mut add = |span: Span, identifier: bool| {
        found.push(Token {
            text: span.text(text).to_lowercase(),
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
                visit_pieces(text, *run, &mut |span, _| add(span, false));
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
            && text
                .get(at.byte + 1..)
                .and_then(|rest| rest.chars().next())
                .is_some_and(char::is_alphanumeric);
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

/// The next run at or behind `at`, which moves to its end.
#[inline]
fn next_run(text: &str, at: &mut Position) -> Option<Span> {
    let bytes = text.as_bytes();
    let (mut byte, mut point) = (at.byte, at.point);
    while let Some(&b) = bytes.get(byte) {
        if b.is_ascii() {
            if b.is_ascii_alphanumeric() {
                break;
            }
            byte += 1;
        } else {
            let c = text.get(byte..)?.chars().next()?;
            if c.is_alphanumeric() {
                break;
            }
            byte += c.len_utf8();
        }
        point += 1;
    }
    let (from, start) = (byte, point);
    let mut ascii = true;
    while let Some(&b) = bytes.get(byte) {
        if b.is_ascii() {
            if !b.is_ascii_alphanumeric() {
                break;
            }
            byte += 1;
        } else {
            let c = text.get(byte..)?.chars().next()?;
            if !c.is_alphanumeric() && !is_mark(c) {
                break;
            }
            ascii = false;
            byte += c.len_utf8();
        }
        point += 1;
    }
    *at = Position { byte, point };
    (byte > from).then_some(Span {
        from,
        to: byte,
        start,
        end: point,
        ascii,
    })
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

/// Calls `piece(span, script)` for every token of one run: whole pieces of words, bigrams.
#[inline]
pub(super) fn visit_pieces(text: &str, run: Span, piece: &mut impl FnMut(Span, Script)) {
    if run.ascii {
        if run.end - run.start > 1 {
            piece(run, Script::Word);
        }
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

/// Hands over one piece of one script.
fn close(text: &str, open: Option<(Span, Script)>, piece: &mut impl FnMut(Span, Script)) {
    let Some((span, class)) = open else { return };
    let points = span.end - span.start;
    match class {
        Script::Word if points > 1 => piece(span, class),
        Script::Word => {}
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
        assert_eq!(texts("snake__case a--b"), ["snake", "case"]);
    }

    #[test]
    fn scripts_without_spaces_give_bigrams() {
        assert_eq!(texts("東京都tower山"), ["東京", "京都", "tower", "山"]);
        assert_eq!(texts("コーヒー"), ["コー", "ーヒ", "ヒー"]);
        assert_eq!(texts("กาแฟ"), ["กา", "าแ", "แฟ"]);
    }

    #[test]
    fn offsets_are_code_points() {
        let text = "é ÜBER x cafe\u{301}s";
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
                prop_assert_eq!(slice.to_lowercase(), token.text);
            }
        }
    }
}
