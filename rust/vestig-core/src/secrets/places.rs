//! Places where nothing but a secret stands: in an address, behind `Authorization:`, behind `-u`.

use super::Scan;
use super::bytes::VISIBLE;
use super::identifiers::is_algorithm;
use super::lexemes::Lexeme;
use super::named::{Name, Strength};
use super::random::{is_hex, is_random};
use super::values::{Link, is_placeholder, is_secret, value_at};

const USER_BYTES_MAX: usize = 300;
const CREDENTIAL_BYTES_MAX: usize = 16_384;
/// An option belongs to a command so many words before it.
const COMMAND_WORDS: usize = 40;
const COMMANDS: [&str; 14] = [
    "curl",
    "wget",
    "http",
    "https",
    "httpie",
    "sshpass",
    "mysql",
    "mysqldump",
    "docker",
    "podman",
    "helm",
    "psql",
    "redis",
    "ldapsearch",
];
const TYPED: Name = Name {
    strength: Strength::Strong,
    rule: "password",
    sure: true,
    shared: false,
};

/// Looks at `scheme://user:PASSWORD@host`, where a word is the scheme.
pub(super) fn find_in_address(scan: &mut Scan<'_>, place: usize) {
    let Lexeme { end, .. } = scan.lexemes[place];
    let start = end + 3;
    let visible = scan.runs.end(VISIBLE, start);
    scan.url_end = scan.url_end.max(visible);
    let text = scan.text;
    let mut stop = visible.min(start + USER_BYTES_MAX);
    while !text.is_char_boundary(stop) {
        stop -= 1;
    }
    let whole = &text[start..stop];
    let whole = &whole[..whole
        .find(['"', '\'', '<', '>', '`'])
        .unwrap_or(whole.len())];
    let host = whole.find(['/', '?', '#']).unwrap_or(whole.len());
    let user = whole[..host].rfind('@').or_else(|| {
        // a password may hold what ends an address; a port is a number
        let (_, port) = whole[..host].split_once(':')?;
        let number = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
        if number { None } else { whole.rfind('@') }
    });
    let Some(user) = user.map(|at| &whole[..at]) else {
        return;
    };
    if user.starts_with("[secret:") {
        return;
    }
    let (from, secret) = match user.split_once(':') {
        Some((name, password)) => (start + name.len() + 1, password),
        // `https://KEY@host/number` is where errors are sent to, and stands in every page
        None if is_random(user, 12) || (is_hex(user) && user.len() >= 16 && !numbered(whole)) => {
            (start, user)
        }
        None => return,
    };
    if !secret.is_empty() && !is_placeholder(secret) {
        scan.found(from, from + secret.len(), "url");
    }
}

/// Returns whether the path of an address is one number.
fn numbered(address: &str) -> bool {
    let path = address.split_once('/').map_or("", |parts| parts.1);
    let path = path.trim_end_matches(['.', ',', ')', ';']);
    !path.is_empty() && path.bytes().all(|b| b.is_ascii_digit())
}

/// Looks at the header `Authorization` and its like.
pub(super) fn find_authorization(scan: &mut Scan<'_>, place: usize) {
    let Lexeme { end, .. } = scan.lexemes[place];
    let rest = &scan.text[end..];
    let after = rest.trim_start_matches(['"', '\'', ' ', ']', '\\']);
    if !after.starts_with([':', '=', ',']) {
        return;
    }
    let after = after[1..].trim_start_matches([' ', '"', '\'', '\\', '`', '=', '>']);
    let from = scan.text.len() - after.len();
    let word = after
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '-')
        .unwrap_or(after.len());
    let scheme = word > 0 && word <= 16 && after[word..].starts_with([' ', ':', '=']);
    let at = if scheme { from + word + 1 } else { from };
    credential(scan, at, 6);
}

/// Looks behind `Bearer`, outside of a header too.
pub(super) fn find_bearer(scan: &mut Scan<'_>, place: usize) {
    let end = scan.lexemes[place].end;
    if scan.text[end..].starts_with([' ', ':']) {
        credential(scan, end + 1, 12);
    }
}

fn credential(scan: &mut Scan<'_>, from: usize, least: usize) {
    let Some(value) = value_at(scan, from) else {
        return;
    };
    let text = &scan.text[value.start..value.end];
    if text.len() > CREDENTIAL_BYTES_MAX {
        return;
    }
    let digit = text.contains(|c: char| c.is_ascii_digit());
    let sure = digit
        || text.contains(['=', '+', '/'])
        || is_random(text, 20)
        || least < 12 && text.len() >= 16;
    // a scheme without its credential is a name too
    let named = text.contains(['(', '$', '{']) || is_algorithm(text);
    if text.len() >= least && sure && !named && !is_placeholder(text) && !text.contains(' ') {
        scan.found(value.start, value.end, "authorization");
    }
}

/// Looks at the options of a command that takes a password: `curl -u user:PASSWORD`.
pub(super) fn find_option(scan: &mut Scan<'_>, place: usize) {
    let Lexeme { start, end } = scan.lexemes[place];
    let (option, text) = (&scan.text[start..end], scan.text);
    if COMMANDS.contains(&option) {
        scan.command = Some(place);
        return;
    }
    let near = scan.command.filter(|at| place - at <= COMMAND_WORDS);
    let Some(command) = near.map(|at| scan.lexemes[at]) else {
        return;
    };
    let command = &text[command.start..command.end];
    if !text[..start].ends_with('-')
        || text[..start]
            .trim_end_matches('-')
            .ends_with(char::is_alphanumeric)
    {
        return;
    }
    let rest = &text[end..];
    match option {
        "u" | "U" | "user" if rest.starts_with([' ', '=']) => find_pair(scan, end + 1),
        "p" | "a" | "w" if rest.starts_with(' ') && command != "http" && command != "https" => {
            plain_option(scan, end + 1);
        }
        // `mysql -pPASSWORD`
        _ if command.starts_with("mysql") && option.starts_with('p') && option.len() >= 5 => {
            plain_option(scan, start + 1);
        }
        _ => {}
    }
}

/// `user:PASSWORD`.
fn find_pair(scan: &mut Scan<'_>, from: usize) {
    let Some(value) = value_at(scan, from) else {
        return;
    };
    let Some((user, secret)) = scan.text[value.start..value.end].split_once(':') else {
        return;
    };
    if !secret.is_empty() && !is_placeholder(secret) {
        scan.found(value.start + user.len() + 1, value.end, "password");
    }
}

fn plain_option(scan: &mut Scan<'_>, from: usize) {
    let Some(value) = value_at(scan, from) else {
        return;
    };
    let text = &scan.text[value.start..value.end];
    if is_secret(text, value.quoted, Link::Stated, &TYPED) {
        scan.found(value.start, value.end, "password");
    }
}
