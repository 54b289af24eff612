//! Formats of vendors: a prefix, then so many characters of an alphabet.

use super::Scan;
use super::bytes::{ALNUM, DOTTED, URL_SAFE, is_in};
use super::lexemes::Lexeme;
use super::lists::lists;
use super::random::{is_random, shape};
use super::values::is_placeholder;

const SIGNS_AT_END: usize = 8;

/// Looks for a format that begins with a word, or with the dot before it.
pub(super) fn find(scan: &mut Scan<'_>, place: usize) -> bool {
    let Lexeme { start, end } = scan.lexemes[place];
    let dotted = start > 0 && scan.text.as_bytes()[start - 1] == b'.';
    format_at(scan, start)
        || (dotted && format_at(scan, start - 1))
        || web_token(scan, start)
        || bot_token(scan, start, end)
}

fn format_at(scan: &mut Scan<'_>, start: usize) -> bool {
    let bytes = scan.text.as_bytes();
    let rows = lists().formats.get(usize::from(bytes[start]));
    for row in rows.into_iter().flatten() {
        if !bytes[start..].starts_with(row.prefix.as_bytes()) {
            continue;
        }
        let from = start + row.prefix.len();
        if from >= bytes.len() || !is_in(bytes[from], row.class) {
            continue;
        }
        let end = scan.runs.end(row.class, from);
        let end = trimmed(bytes, from, end);
        let length = end - from;
        let whole = row.most == usize::MAX || !bytes.get(end).is_some_and(|&b| is_in(b, ALNUM));
        if length < row.least || length > row.most || !whole {
            continue;
        }
        let rest = &scan.text[from..end];
        let sure = !row.random
            || (rest.len() <= 200 && is_random(rest, row.least.min(20)) && !shape(rest).is_wordy());
        if sure && !shape(rest).is_monotonous() && !is_placeholder(rest) {
            let start = if row.reaches_back {
                back(bytes, start)
            } else {
                start
            };
            scan.found(start, end, row.rule);
            return true;
        }
    }
    false
}

/// A run without the signs that end a sentence or an address.
fn trimmed(bytes: &[u8], from: usize, mut end: usize) -> usize {
    let least = from.max(end.saturating_sub(SIGNS_AT_END));
    while end > least && matches!(bytes[end - 1], b'.' | b':' | b'/' | b'~' | b'-' | b'%') {
        end -= 1;
    }
    end
}

fn back(bytes: &[u8], mut at: usize) -> usize {
    let least = at.saturating_sub(64);
    while at > least && is_in(bytes[at - 1], ALNUM) {
        at -= 1;
    }
    at
}

/// A JSON web token: parts of base64 with dots between them, the first of which holds JSON.
fn web_token(scan: &mut Scan<'_>, start: usize) -> bool {
    let inside = start > 0 && is_in(scan.text.as_bytes()[start - 1], DOTTED);
    if inside || !scan.text[start..].starts_with("eyJ") {
        return false;
    }
    let end = scan.runs.end(DOTTED, start);
    let token = scan.text[start..end].trim_end_matches(['.', '-']);
    let parts = token
        .split('.')
        .take(3)
        .filter(|part| part.len() >= 8)
        .count();
    let sure = parts == 3 || (parts == 2 && token.contains(".eyJ"));
    if sure && token.len() >= 40 {
        scan.found(start, start + token.len(), "jwt");
    }
    sure
}

/// A bot of Telegram: its number, then 35 characters.
fn bot_token(scan: &mut Scan<'_>, start: usize, end: usize) -> bool {
    let bytes = scan.text.as_bytes();
    let number = scan.text[start..end]
        .strip_prefix("bot")
        .unwrap_or(&scan.text[start..end]);
    let numbered = (8..=10).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
    if !numbered || bytes.get(end) != Some(&b':') || end + 1 >= bytes.len() {
        return false;
    }
    let stop = scan.runs.end(URL_SAFE, end + 1);
    let sure = stop - end - 1 == 35 && is_random(&scan.text[end + 1..stop], 20);
    if sure {
        scan.found(end - number.len(), stop, "telegram");
    }
    sure
}
