//! Tokens that read like no word, and what the words before them say of them.

use super::Scan;
use super::blocks::is_encoded_line;
use super::bytes::{TOKEN, is_in};
use super::lexemes::{Lexeme, sections_of_parts};
use super::lists::word;
use super::random::{is_hex, is_random, is_uuid, shape};
use super::values::is_placeholder;

/// With nothing before it a token has so many characters at least.
const LEAST: usize = 20;
/// Behind a word for a secret, or the name of a service.
const LEAST_NAMED: usize = 12;
const HEX_LEAST: usize = 20;
const WORDS_BEFORE: usize = 6;
const BENIGN_WORDS_BEFORE: usize = 4;
const BYTES_BEFORE: usize = 60;

/// Facts that the words before a token say of it.
#[derive(Default)]
struct Context {
    named: bool,
    service: bool,
    /// How many words before the token something stands that has such values and is no secret.
    benign: Option<usize>,
    secret: Option<usize>,
}

/// Looks at the token that begins with a word.
pub(super) fn find(scan: &mut Scan<'_>, place: usize) {
    let Lexeme { start, .. } = scan.lexemes[place];
    if start < scan.token_end || !is_in(scan.text.as_bytes()[start], TOKEN) {
        return;
    }
    let run = scan.runs.end(TOKEN, start);
    scan.token_end = run;
    if run - start < LEAST_NAMED {
        return;
    }
    let token = scan.text[start..run].trim_end_matches(['.', '/', '-', '~']);
    let padding = scan.text[start + token.len()..]
        .bytes()
        .take_while(|&b| b == b'=')
        .count();
    if token.len() < LEAST_NAMED || is_address_or_path(scan, token, start) {
        return;
    }
    if !(is_random(token, LEAST_NAMED) || (is_hex(token) && token.len() >= HEX_LEAST)) {
        return;
    }
    let end = start + token.len();
    let context = context(scan, place);
    if is_secret(token, &context) && !is_encoded_line(scan.text, start, end) {
        let padding = if padding <= 2 { padding } else { 0 };
        scan.found(start, end + padding, "random");
    }
}

fn is_address_or_path(scan: &Scan<'_>, token: &str, start: usize) -> bool {
    let bytes = scan.text.as_bytes();
    let before = start.checked_sub(1).map_or(b' ', |at| bytes[at]);
    let after = bytes.get(start + token.len()).copied().unwrap_or(b' ');
    if start < scan.url_end {
        return !is_marked(token);
    }
    let mixed = !shape(token).is_wordy()
        && token.len() >= 32
        && token.contains(|c: char| c.is_ascii_uppercase());
    let parted = token.contains('/') && !(mixed && is_random(token, 32));
    matches!(before, b'/' | b'\\' | b'@' | b'#' | b'~' | b'.')
        || matches!(after, b'@' | b'\\' | b'(')
        || parted
}

/// Returns whether a token says itself that it is a key: `acme_live_…`.
fn is_marked(token: &str) -> bool {
    const MARKS: [&str; 12] = [
        "live", "test", "prod", "key", "sk", "tok", "token", "secret", "pat", "api", "priv", "auth",
    ];
    let mut parts = token.split(['_', '-']);
    let last = token.rfind(['_', '-']).map_or("", |at| &token[at + 1..]);
    !token.contains(['/', '.'])
        && last.len() >= 16
        && parts.any(|part| MARKS.contains(&part.to_ascii_lowercase().as_str()))
}

fn context(scan: &Scan<'_>, place: usize) -> Context {
    let mut found = Context::default();
    let mut end = scan.lexemes[place].start;
    let first = end;
    for (distance, one) in scan.lexemes[..place]
        .iter()
        .rev()
        .take(WORDS_BEFORE)
        .enumerate()
    {
        let between = &scan.text[one.end..end];
        if first - one.end > BYTES_BEFORE || between.contains('\n') {
            break;
        }
        let bits = sections_of_parts(&scan.text[one.start..one.end]);
        if bits & (word::NAME | word::WEAK) != 0 {
            found.named = true;
            found.secret = found.secret.or(Some(distance));
        }
        found.service |= bits & word::SERVICE != 0;
        if bits & word::BENIGN != 0 && distance < BENIGN_WORDS_BEFORE {
            found.benign = found.benign.or(Some(distance));
        }
        end = one.start;
    }
    found
}

fn is_secret(token: &str, context: &Context) -> bool {
    if is_placeholder(token) || is_public(token) {
        return false;
    }
    if is_hex(token) {
        let nearer = match (context.secret, context.benign) {
            (Some(secret), Some(benign)) => secret < benign,
            (secret, _) => secret.is_some(),
        };
        return nearer && !is_uuid(token);
    }
    if context.named {
        return true;
    }
    let least = if context.service { LEAST_NAMED } else { LEAST };
    context.benign.is_none() && token.len() >= least && !is_data(token) && !is_built(token)
}

/// Identifiers that anybody may see, and beginnings of encoded files.
fn is_public(token: &str) -> bool {
    const BEGINNINGS: [&str; 22] = [
        "AAAAB3NzaC1",
        "AAAAC3NzaC1",
        "AAAAE2VjZHNh",
        "iVBORw0KGgo",
        "/9j/",
        "R0lGOD",
        "UEsDB",
        "JVBERi0",
        "PHN2Zy",
        "PD94bW",
        "H4sIA",
        "Qm",
        "bafy",
        "bafk",
        "pk_live_",
        "pk_test_",
        "pk.eyJ",
        "phc_",
        "sha256-",
        "sha384-",
        "sha512-",
        "MII",
    ];
    let named = BEGINNINGS.iter().any(|begin| token.starts_with(begin));
    named && (token.len() >= 40 || token.contains(['_', '-', '.']))
}

/// A token that decodes to a readable text, or an identifier that holds its time.
fn is_data(token: &str) -> bool {
    let bytes = token.as_bytes();
    let ulid = bytes.len() == 26
        && bytes[0] <= b'1'
        && bytes
            .iter()
            .all(|b| b.is_ascii_digit() || (b.is_ascii_uppercase() && !b"ILOU".contains(b)));
    ulid || decodes_to_text(bytes)
}

/// A name that programs put together: words, numbers, dates, short hexadecimal numbers.
fn is_built(token: &str) -> bool {
    const HEX_MAX: usize = 24;
    let plain = |part: &str| {
        let digits = part.bytes().all(|b| b.is_ascii_digit());
        let hex = part.len() <= HEX_MAX && is_hex(part);
        let small = |b: u8| b.is_ascii_lowercase();
        let word = part.bytes().all(small) && part.len() <= 12;
        let short = part.bytes().all(|b| small(b) || b.is_ascii_digit()) && part.len() <= 5;
        digits || hex || word || short || shape(part).is_wordy()
    };
    let mut parts = token.split(['-', '_', '.', '/', '+', '~']);
    token.contains(['-', '_', '.']) && parts.all(plain)
}

fn decodes_to_text(token: &[u8]) -> bool {
    let (mut bits, mut held, mut printable, mut total) = (0_u32, 0, 0, 0);
    for &byte in &token[..token.len().min(96)] {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return false,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            let decoded = (bits >> held) as u8;
            total += 1;
            printable += usize::from((b' '..=b'~').contains(&decoded) || decoded == b'\n');
        }
    }
    total > 0 && printable == total
}
