//! Secrets in a text: passwords, keys, tokens. Pure, one pass, no back-tracking.
//!
//! | kind | what | file |
//! |---|---|---|
//! | format | a vendor's prefix and alphabet, JSON web tokens | `formats.rs`, rows in `secrets.txt` |
//! | block | private keys of several lines | `blocks.rs` |
//! | place | a password in an address, `Authorization:`, `curl -u` | `places.rs` |
//! | named | a value behind the name of a secret | `named.rs`, `values.rs` |
//! | random | a token that reads like no word | `tokens.rs`, `random.rs` |
//!
//! **Invariant.** The work is linear in the length of the text: from each word at most a fixed
//! number of bytes is read ahead, or a run of characters whose end is remembered.

mod blocks;
mod bytes;
mod formats;
mod lexemes;
mod lists;
mod named;
mod places;
mod random;
mod tokens;
mod values;

use std::borrow::Cow;

use bytes::Runs;
use lexemes::Lexeme;

/// A text with secrets is looked at so often at most.
const PASSES_MAX: usize = 4;

/// A secret: where it stands, in bytes, and the rule by which it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    /// Its first byte.
    pub start: usize,
    /// Behind its last byte.
    pub end: usize,
    /// A word of small letters.
    pub rule: &'static str,
}

/// The version of the rows by which secrets are told.
#[must_use]
pub fn version() -> &'static str {
    lists::lists().version
}

/// All rules, in order of the alphabet.
#[must_use]
pub fn rules() -> Vec<&'static str> {
    let own = [
        "authorization",
        "credential",
        "jwt",
        "key",
        "password",
        "pin",
        "privatekey",
        "random",
        "secret",
        "telegram",
        "token",
        "url",
    ];
    let formats = lists::lists().formats.iter().flatten().map(|row| row.rule);
    let mut all: Vec<&str> = own.into_iter().chain(formats).collect();
    all.sort_unstable();
    all.dedup();
    all
}

struct Scan<'a> {
    text: &'a str,
    lexemes: Vec<Lexeme>,
    runs: Runs<'a>,
    findings: Vec<Finding>,
    /// Words that begin before it was looked at as a whole.
    cursor: usize,
    token_end: usize,
    url_end: usize,
    /// The last command that takes a password as an option.
    command: Option<usize>,
}

impl Scan<'_> {
    fn found(&mut self, start: usize, end: usize, rule: &'static str) {
        if start < end && start >= self.cursor {
            self.findings.push(Finding { start, end, rule });
            self.cursor = end;
        }
    }

    fn look_at(&mut self, place: usize) {
        let Lexeme { start, end } = self.lexemes[place];
        if start < self.cursor || blocks::pass_over(self, place) || formats::find(self, place) {
            return;
        }
        let word = &self.text[start..end];
        if self.text[end..].starts_with("://") {
            places::find_in_address(self, place);
        } else if word.eq_ignore_ascii_case("authorization") {
            places::find_authorization(self, place);
        } else if word.eq_ignore_ascii_case("bearer") {
            places::find_bearer(self, place);
        }
        places::find_option(self, place);
        if start >= self.cursor {
            named::find(self, place);
        }
        if start >= self.cursor {
            tokens::find(self, place);
        }
    }
}

/// The secrets of a text, in order; none overlaps another.
#[must_use]
pub fn find(text: &str) -> Vec<Finding> {
    let mut scan = Scan {
        text,
        lexemes: lexemes::lexemes(text),
        runs: Runs::new(text),
        findings: Vec::new(),
        cursor: 0,
        token_end: 0,
        url_end: 0,
        command: None,
    };
    for place in 0..scan.lexemes.len() {
        scan.look_at(place);
    }
    scan.findings
}

/// A text with `[secret:RULE]` in the place of each secret, and the rules of those. What is masked
/// once stays as it is: where a marker makes another word a secret, that is masked too.
#[must_use]
pub fn mask(text: &str) -> (Cow<'_, str>, Vec<&'static str>) {
    let (mut masked, mut rules) = (Cow::Borrowed(text), Vec::new());
    for _ in 0..PASSES_MAX {
        let findings = find(&masked);
        if findings.is_empty() {
            break;
        }
        rules.extend(findings.iter().map(|one| one.rule));
        masked = Cow::Owned(replaced(&masked, &findings));
    }
    (masked, rules)
}

fn replaced(text: &str, findings: &[Finding]) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut at = 0;
    for one in findings {
        masked.push_str(&text[at..one.start]);
        masked.push_str("[secret:");
        masked.push_str(one.rule);
        masked.push(']');
        at = one.end;
    }
    masked.push_str(&text[at..]);
    masked
}
