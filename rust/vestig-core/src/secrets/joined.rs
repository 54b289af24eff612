//! Secrets that a line break or a pair of quotes cuts: the same text with the parts put together.
//!
//! A cut is between two lines where a text was wrapped within a word, behind a line that ends with
//! `\`, or between two literals with an operator or a line break between them.

use super::Finding;
use super::bytes::{TOKEN, is_in};
use super::random::shape;

/// Shorter lines are no wrapped ones.
const WIDTH_LEAST: usize = 12;
/// Between two literals stand so many bytes at most.
const BETWEEN_BYTES_MAX: usize = 60;
/// Of the word behind a cut so many bytes are looked at.
const WORD_BYTES_READ: usize = 256;

/// A text without what cuts its words.
pub(super) struct Joined {
    pub(super) text: String,
    /// (place in `text`, the same place in the text as given), in order.
    cuts: Vec<(usize, usize)>,
}

impl Joined {
    /// The finding in the text as given; None where it lies across no cut.
    pub(super) fn across(&self, found: &Finding) -> Option<Finding> {
        let first = self.cuts.partition_point(|cut| cut.0 <= found.start);
        let last = self.cuts.partition_point(|cut| cut.0 < found.end);
        let given = |cuts: usize, at: usize| {
            cuts.checked_sub(1).map_or(at, |cut| {
                let (joined, given) = self.cuts[cut];
                at - joined + given
            })
        };
        (first < last).then(|| Finding {
            start: given(first, found.start),
            end: given(last, found.end),
            rule: found.rule,
        })
    }
}

/// The text with its cut words put together; None where none is cut.
pub(super) fn joined(text: &str) -> Option<Joined> {
    let mut gaps = wrapped(text);
    gaps.extend(literals(text));
    if gaps.is_empty() {
        return None;
    }
    gaps.sort_unstable();
    let mut found = Joined {
        text: String::with_capacity(text.len()),
        cuts: Vec::with_capacity(gaps.len()),
    };
    let mut at = 0;
    for (start, end) in gaps {
        if start < at {
            continue;
        }
        found.text.push_str(&text[at..start]);
        found.cuts.push((found.text.len(), end));
        at = end;
    }
    found.text.push_str(&text[at..]);
    Some(found)
}

/// A line: its bytes without what ends it, and the word at either end.
struct Line<'a> {
    start: usize,
    /// Signs of a quotation or a comment before its text.
    lead: &'a str,
    text: &'a str,
    /// In characters, the lead among them.
    width: usize,
}

impl<'a> Line<'a> {
    fn of(text: &'a str, start: usize, end: usize) -> Self {
        let whole = text[start..end].trim_end_matches('\r');
        let signs = |c: char| matches!(c, ' ' | '\t' | '>' | '#' | '*' | ';' | '|');
        let lead = whole.len() - whole.trim_start_matches(signs).len();
        Self {
            start,
            lead: &whole[..lead],
            text: &whole[lead..],
            width: whole.chars().count(),
        }
    }

    fn first_word(&self) -> &'a str {
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<');
        &self.text[..self.text.find(ends).unwrap_or(self.text.len())]
    }

    fn last_word(&self) -> &'a str {
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '>');
        let at = self.text.rfind(ends).map_or(0, |at| {
            at + self.text[at..].chars().next().map_or(0, char::len_utf8)
        });
        &self.text[at..]
    }
}

/// Gaps between the lines of a text that was wrapped within words.
fn wrapped(text: &str) -> Vec<(usize, usize)> {
    let mut gaps = Vec::new();
    if !text.contains('\n') {
        return gaps;
    }
    let mut paragraph: Vec<Line<'_>> = Vec::new();
    let mut start = 0;
    for piece in text.split_inclusive('\n') {
        let line = Line::of(text, start, start + piece.trim_end_matches('\n').len());
        start += piece.len();
        if line.text.trim().is_empty() {
            gaps_of(&paragraph, &mut gaps);
            paragraph.clear();
        } else {
            paragraph.push(line);
        }
    }
    gaps_of(&paragraph, &mut gaps);
    gaps
}

fn gaps_of(lines: &[Line<'_>], gaps: &mut Vec<(usize, usize)>) {
    let Some((_, before)) = lines.split_last() else {
        return;
    };
    let width = lines.iter().map(|line| line.width).max().unwrap_or(0);
    // each line but the last ends at the same column
    let hard = before.len() >= 2 && before.iter().all(|line| line.width == width);
    let mut run = 0;
    for pair in lines.windows(2) {
        let (one, next) = (&pair[0], &pair[1]);
        let text = one.text.trim_end();
        let end = one.start + one.lead.len() + text.len();
        let begin = next.start + next.lead.len();
        let led = next.lead.trim().is_empty() || next.lead.trim_end() == one.lead.trim_end();
        let (last, first) = (one.last_word(), next.first_word());
        run = if last.len() == one.text.len() {
            run + last.len()
        } else {
            last.len()
        };
        if let Some(inner) = text.strip_suffix('\\') {
            if led && inner.ends_with(is_part) && first.starts_with(is_part) {
                gaps.push((end - 1, begin));
            }
            continue;
        }
        let full = one.width == width && width >= WIDTH_LEAST && !last.is_empty();
        let cut = led && full && text.len() == one.text.len() && !is_name(next.text, first);
        let long = run + first.len() > width
            && (run > width || next.width == width && first.len() == next.text.len());
        if cut && (hard || long || reads_like_a_part(last, first)) {
            gaps.push((end, begin));
        } else {
            run = 0;
        }
    }
}

fn is_part(c: char) -> bool {
    c.is_ascii() && is_in(c as u8, TOKEN) || c == '='
}

/// Returns whether a line begins with a name that something is given: `user: ada`, `DEBUG=1`.
fn is_name(line: &str, first: &str) -> bool {
    let named = first.find(['=', ':', '(']).is_some_and(|at| {
        let name = &first[..at];
        !name.is_empty()
            && (shape(name).is_wordy() || name.len() <= 4 || first.ends_with(':'))
            && !first[at..].trim_start_matches('=').is_empty()
            || first.ends_with(':')
    });
    let rest = line[first.len()..].trim_start();
    named || rest.starts_with(['=', ':']) || first.contains("://")
}

/// Returns whether the words beside a line break read like parts of one token.
fn reads_like_a_part(last: &str, first: &str) -> bool {
    let token = |word: &str| word.bytes().all(|b| is_in(b, TOKEN) || b == b'=');
    let part = first.trim_end_matches(['.', ',', ';', ')', '"', '\'']);
    if last.len() < 8 || part.len() < 4 || part.len() > WORD_BYTES_READ || !token(part) {
        return false;
    }
    let (one, two) = (shape(last), shape(part));
    let mixed = two.digits > 0 && two.letters() > 0 || two.capitals > 1 && two.small > 0;
    let number = two.digits == two.length && one.digits * 2 > one.length;
    one.digits + one.capitals > 0 && !two.is_wordy() && (mixed || number)
}

/// Gaps between literals that a program puts together: `"abc" + "def"`, `"abc" \` and `"def"`.
fn literals(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut gaps = Vec::new();
    let mut at = 1;
    while at + 3 < bytes.len() {
        let quote = bytes[at];
        if !matches!(quote, b'"' | b'\'' | b'`') || !is_part(char::from(bytes[at - 1])) {
            at += 1;
            continue;
        }
        let most = bytes.len().min(at + 1 + BETWEEN_BYTES_MAX);
        let sign = |b: &u8| {
            b.is_ascii_whitespace() || matches!(b, b'+' | b'.' | b'&' | b'~' | b'_' | b'\\' | b'<')
        };
        let between = bytes[at + 1..most].iter().take_while(|b| sign(b)).count();
        let gap = &bytes[at + 1..at + 1 + between];
        let mut open = at + 1 + between;
        // a prefix of a literal
        open += usize::from(matches!(bytes.get(open), Some(b'f' | b'b' | b'r' | b'u')));
        let joins = gap
            .iter()
            .any(|b| matches!(b, b'\n' | b'+' | b'.' | b'&' | b'~'));
        if joins && bytes.get(open) == Some(&quote) && is_literal_of_token(text, open + 1, quote) {
            gaps.push((at, open + 1));
            at = open + 1;
        } else {
            at += 1;
        }
    }
    gaps
}

/// Returns whether a literal holds a part of a token and nothing else.
fn is_literal_of_token(text: &str, start: usize, quote: u8) -> bool {
    let rest = &text.as_bytes()[start..];
    let length = rest
        .iter()
        .take(WORD_BYTES_READ)
        .take_while(|&&b| is_in(b, TOKEN) || b == b'=')
        .count();
    length > 0
        && rest.get(length) == Some(&quote)
        && !shape(&text[start..start + length]).is_wordy()
}
