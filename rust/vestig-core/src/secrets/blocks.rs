//! Blocks of encoded lines: private keys are secrets, certificates and attachments are none.

use super::Scan;
use super::bytes::{BASE64, is_in};
use super::lexemes::Lexeme;

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const LABEL_BYTES_MAX: usize = 64;
/// Signs of a line at its ends that are no part of a token.
const SIGNS_MAX: usize = 16;

/// Passes over a block that begins at a word; one that holds a private key is a finding.
pub(super) fn pass_over(scan: &mut Scan<'_>, place: usize) -> bool {
    let Lexeme { start, end } = scan.lexemes[place];
    let text = scan.text;
    if &text[start..end] == "BEGIN" && text[..start].ends_with("-----") {
        return armoured(scan, start - 5);
    }
    // `data:image/png;base64,…`
    if text[start..end].eq_ignore_ascii_case("base64") && text[end..].starts_with(',') {
        scan.cursor = scan.runs.end(BASE64, end + 1);
        return true;
    }
    false
}

fn armoured(scan: &mut Scan<'_>, start: usize) -> bool {
    let text = scan.text;
    let rest = &text[start + BEGIN.len()..];
    let label = &rest[..rest
        .find("-----")
        .filter(|&at| at <= LABEL_BYTES_MAX)
        .unwrap_or(0)];
    if label.is_empty() {
        return false;
    }
    let body = start + BEGIN.len() + label.len() + 5;
    let end = block_end(text, body);
    if label.contains("PRIVATE KEY") {
        scan.found(start, end, "privatekey");
    }
    scan.cursor = scan.cursor.max(end);
    true
}

/// The end of a block: behind its last line, or of the encoded lines where that is missing.
fn block_end(text: &str, body: usize) -> usize {
    let rest = &text[body..];
    let next = rest.find("-----").unwrap_or(rest.len());
    if rest[next..].starts_with(END) {
        let label = next + END.len();
        let close = rest[label..]
            .find("-----")
            .filter(|&at| at <= LABEL_BYTES_MAX);
        return body + close.map_or(label, |at| label + at + 5);
    }
    // cut off: all lines that are encoded
    let mut end = body;
    for line in rest[..next].split_inclusive('\n') {
        let inner = line.trim();
        let header = inner.contains(": ") && inner.len() < 80 && end < body + 200;
        if !header
            && !inner
                .bytes()
                .all(|b| is_in(b, BASE64) || b == b'\\' || b == b'"')
        {
            break;
        }
        end += line.len();
    }
    body + text[body..end].trim_end().len()
}

/// Returns whether a token is a line of several that hold encoded data: it fills its line, and so
/// does the line before it or after it.
pub(super) fn is_encoded_line(text: &str, start: usize, end: usize) -> bool {
    const LINE_BYTES_MAX: usize = 200;
    let bytes = text.as_bytes();
    let encoded = |line: &[u8]| line.len() >= 4 && line.iter().all(|&b| is_in(b, BASE64));
    let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r');
    let reach = |byte: &&u8| is_in(**byte, BASE64);
    let start = start
        - bytes[..start]
            .iter()
            .rev()
            .take(SIGNS_MAX)
            .take_while(reach)
            .count();
    let end = end
        + bytes[end..]
            .iter()
            .take(SIGNS_MAX)
            .take_while(reach)
            .count();
    let indent = bytes[..start].iter().rev().take_while(blank).count();
    let tail = bytes[end..]
        .iter()
        .take_while(|b| blank(b) || **b == b'=')
        .count();
    let (line, stop) = (start - indent, end + tail);
    let begins = line == 0 || bytes[line - 1] == b'\n';
    let ends = stop == bytes.len() || bytes[stop] == b'\n';
    if !begins || !ends || end - start < 40 {
        return false;
    }
    let before = &bytes[line.saturating_sub(LINE_BYTES_MAX)..line.saturating_sub(1)];
    let before = before.rsplit(|&b| b == b'\n').next().unwrap_or(&[]);
    let after = &bytes[(stop + 1).min(bytes.len())
        ..(stop + LINE_BYTES_MAX)
            .min(bytes.len())
            .max((stop + 1).min(bytes.len()))];
    let after = after.split(|&b| b == b'\n').next().unwrap_or(&[]);
    encoded(before.trim_ascii()) || encoded(after.trim_ascii())
}
