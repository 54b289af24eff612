//! Secrets in a text: passwords, keys, tokens. Pure, one pass, no back-tracking.
//!
//! | kind | what | file |
//! |---|---|---|
//! | format | a vendor's prefix and alphabet, JSON web tokens | `formats.rs`, rows in `secrets.txt` |
//! | block | private keys of several lines | `blocks.rs` |
//! | place | a password in an address, `Authorization:`, `curl -u` | `places.rs` |
//! | named | a value behind the name of a secret | `named.rs`, `values.rs` |
//! | opened | a number that opens what its name belongs to, a lock or a card | `opened.rs`, `chosen.rs` |
//! | login | a password behind who logs in | `logins.rs`, `chosen.rs` |
//! | line | a value on the line behind its name | `lines.rs` |
//! | below | a cell of a table under the name of a secret | `tables.rs` |
//! | random | a token that reads like no word, behind a word for a secret | `tokens.rs`, `random.rs` |
//!
//! A name that a service hands out is none (`public.rs`), nor is an identifier behind a name that
//! may mean something else than a secret (`identifiers.rs`). Tokens that a line break or a pair of
//! quotes cuts are looked at whole too (`joined.rs`).
//!
//! **Invariant.** The work is linear in the length of the text: from each word at most a fixed
//! number of bytes is read ahead, or a run of characters whose end is remembered.

mod blocks;
mod bytes;
mod chosen;
mod formats;
mod identifiers;
mod joined;
mod lexemes;
mod lines;
mod lists;
mod logins;
mod named;
mod opened;
mod places;
mod public;
mod random;
mod tables;
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
        logins::find(self, place);
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
    let mut found = scanned(text);
    let below = tables::find(text);
    if !below.is_empty() {
        found = merged(found, below);
    }
    let Some(whole) = joined::joined(text) else {
        return found;
    };
    let across = scanned(&whole.text);
    let across: Vec<_> = across.iter().filter_map(|one| whole.across(one)).collect();
    merged(across, found)
}

/// Findings in order; those that overlap are one, by the rule of the first.
fn merged(one: Vec<Finding>, other: Vec<Finding>) -> Vec<Finding> {
    let mut all = one;
    all.extend(other);
    all.sort_by_key(|found| found.start);
    let mut kept: Vec<Finding> = Vec::with_capacity(all.len());
    for next in all {
        match kept.last_mut() {
            Some(last) if next.start < last.end => last.end = last.end.max(next.end),
            _ => kept.push(next),
        }
    }
    kept
}

fn scanned(text: &str) -> Vec<Finding> {
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

/// A text with `[secret:RULE]` in the place of each secret, and those as findings in the text as
/// given, in order. What is masked once stays as it is: where a marker makes another word a secret,
/// that is masked too.
#[must_use]
pub fn mask(text: &str) -> (Cow<'_, str>, Vec<Finding>) {
    let mut masked = Cow::Borrowed(text);
    let mut found: Vec<Finding> = Vec::new();
    for _ in 0..PASSES_MAX {
        let new = find(&masked);
        if new.is_empty() {
            break;
        }
        found = merged(new.iter().map(|one| given(one, &found)).collect(), found);
        masked = Cow::Owned(replaced(text, &found));
    }
    (masked, found)
}

/// A finding in a text with markers, in the text as given: `before` are those whose markers it has.
fn given(found: &Finding, before: &[Finding]) -> Finding {
    let place = |at: usize, is_end: bool| {
        let (mut masked, mut text) = (0, 0);
        for one in before {
            let start = masked + one.start - text;
            let end = start + marker_length(one.rule);
            if at < start || (is_end && at == start) {
                break;
            }
            (masked, text) = (end, one.end);
            if at < end {
                return if is_end { one.end } else { one.start };
            }
        }
        at - masked + text
    };
    Finding {
        start: place(found.start, false),
        end: place(found.end, true),
        rule: found.rule,
    }
}

fn marker_length(rule: &str) -> usize {
    "[secret:]".len() + rule.len()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_lie_in_the_text_as_given() {
        let text = "password: Kx9!mmQ2, key: 9fK2mQ7xLw3Zt8RbV5nY and postgres://ada:Boat2031x@db";
        let (masked, found) = mask(text);
        let secrets: Vec<&str> = found.iter().map(|one| &text[one.start..one.end]).collect();
        assert_eq!(secrets, ["Kx9!mmQ2", "9fK2mQ7xLw3Zt8RbV5nY", "Boat2031x"]);
        assert_eq!(mask(&masked), (masked.clone(), Vec::new()));
    }

    #[test]
    fn a_place_behind_markers_is_one_of_the_text() {
        let before = [
            Finding {
                start: 2,
                end: 4,
                rule: "key",
            },
            Finding {
                start: 6,
                end: 20,
                rule: "url",
            },
        ];
        // "ab[secret:key]cd[secret:url]ef"
        let at = |start, end| {
            let found = given(
                &Finding {
                    start,
                    end,
                    rule: "pin",
                },
                &before,
            );
            (found.start, found.end)
        };
        assert_eq!(at(0, 2), (0, 2));
        assert_eq!(at(14, 16), (4, 6));
        assert_eq!(at(28, 30), (20, 22));
        assert_eq!(at(1, 15), (1, 5));
    }
}
