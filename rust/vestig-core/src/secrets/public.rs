//! Identifiers that services hand out: anybody may see them.

use super::bytes::{ALNUM, URL_SAFE, is_in};
use super::lexemes::sections;
use super::lists::word;
use super::random::is_hex;

/// Of an international bank account number.
const IBAN_LENGTHS: std::ops::RangeInclusive<usize> = 15..=34;

/// Returns whether a token is an identifier: of a service, by its prefix; of a bank account; an
/// address or a fingerprint of a key.
pub(super) fn is_public(token: &str) -> bool {
    if says_secret(token) {
        return false;
    }
    has_public_prefix(token)
        || begins_as_public(token)
        || is_account(token)
        || is_wallet(token)
        || is_fingerprint(token)
}

/// Returns whether a token says itself that it is a secret: `acme_sk_…`, `pi_…_secret_…`.
pub(super) fn says_secret(token: &str) -> bool {
    const MARKS: [&str; 7] = ["sk", "secret", "token", "pat", "priv", "private", "apikey"];
    let mut parts = token.split(['_', '-']);
    let last = token.rfind(['_', '-']).map_or("", |at| &token[at + 1..]);
    !token.contains(['/', '.'])
        && last.len() >= 16
        && parts.any(|part| MARKS.iter().any(|mark| part.eq_ignore_ascii_case(mark)))
}

/// `prod_…`, `sub_sched_…`: prefixes of the data file.
fn has_public_prefix(token: &str) -> bool {
    let Some(at) = token.find(['_', '-']) else {
        return false;
    };
    let (dashed, body) = (token[at..].starts_with('-'), &token.as_bytes()[at + 1..]);
    // keys are made for an environment; of identifiers few are
    let mut parts = token[at + 1..].split(['_', '-']);
    let live = parts.any(|part| matches!(part, "live" | "test" | "prod"));
    (at >= 3 || !dashed)
        && (!live || &token[..at] == "cs")
        && token[..at]
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        && sections(&token[..at]) & word::PUBLIC != 0
        && body.len() >= 6
        && body.iter().all(|&b| is_in(b, URL_SAFE))
}

/// Beginnings of public keys, encoded files and content ids.
fn begins_as_public(token: &str) -> bool {
    const BEGINNINGS: [&str; 28] = [
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
        "sb_publishable_",
        "sha1-",
        "sha256-",
        "sha384-",
        "sha512-",
        "MII",
        "xpub",
        "npub1",
        "age1",
        "ssh-",
        "did:",
    ];
    let named = BEGINNINGS.iter().any(|begin| token.starts_with(begin));
    named && (token.len() >= 40 || token.contains(['_', '-', '.', ':']))
}

/// An international bank account number, whose check digits are right.
fn is_account(token: &str) -> bool {
    let bytes = token.as_bytes();
    let shaped = IBAN_LENGTHS.contains(&bytes.len())
        && bytes[..2].iter().all(u8::is_ascii_uppercase)
        && bytes[2..4].iter().all(u8::is_ascii_digit)
        && bytes
            .iter()
            .all(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
    shaped
        && bytes[4..].iter().chain(&bytes[..4]).fold(0, |rest, &b| {
            if b.is_ascii_digit() {
                (rest * 10 + u32::from(b - b'0')) % 97
            } else {
                (rest * 100 + u32::from(b - b'A') + 10) % 97
            }
        }) == 1
}

/// An address of Ethereum, or of Bitcoin by its prefix.
fn is_wallet(token: &str) -> bool {
    let hex = token
        .strip_prefix("0x")
        .is_some_and(|rest| rest.len() == 40 && rest.bytes().all(|b| b.is_ascii_hexdigit()));
    let segwit = ["bc1", "tb1"].iter().any(|begin| {
        token.strip_prefix(begin).is_some_and(|rest| {
            (39..=59).contains(&rest.len())
                && rest
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        })
    });
    hex || segwit
}

/// `SHA256:…`, `MD5:16:27:…`.
fn is_fingerprint(token: &str) -> bool {
    let Some((name, digest)) = token.split_once(':') else {
        return false;
    };
    match name {
        "SHA256" => {
            let signs = |b: u8| is_in(b, ALNUM) || matches!(b, b'+' | b'/' | b'=');
            (43..=44).contains(&digest.len()) && digest.bytes().all(signs)
        }
        "MD5" | "sha256" | "sha1" | "sha512" => is_hex(digest),
        _ => false,
    }
}
