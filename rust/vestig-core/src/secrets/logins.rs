//! A password behind who logs in: "user ada, password VALUE", "login: ada@harbor.org / VALUE".

use super::Scan;
use super::bytes;
use super::chosen::{is_chosen, is_signed, is_word_with_number};
use super::lexemes::{Lexeme, sections};
use super::lists::{List, is_in, word};
use super::named::{Name, name_at};
use super::opened::ends_clause;
use super::values::{is_elsewhere, value_at};

/// Who logs in and the words up to a password stand in so many bytes.
const BYTES_AHEAD: usize = 120;
const USER_BYTES_MAX: usize = 64;
/// Between who logs in and the name of a password: "y la", "mot de".
const JOINERS_MAX: usize = 3;
/// "the user must", "user agent".
const NO_USER: u32 =
    word::PROSE | word::IS | word::ADVERB | word::NAME | word::HARMLESS | word::BENIGN;

/// Who logs in: where the name ends, and what is between it and what follows.
struct User {
    /// Where what follows begins.
    next: usize,
    /// A sign assigns it: `login: ada`.
    assigned: bool,
    /// A sign parts it from what follows.
    parted: bool,
    slash: bool,
}

/// Looks at what stands behind a word for who logs in.
pub(super) fn find(scan: &mut Scan<'_>, place: usize) {
    let Lexeme { start, end } = scan.lexemes[place];
    if !is_in(List::Users, &scan.text[start..end]) {
        return;
    }
    let Some(user) = user_at(scan.text, end) else {
        return;
    };
    let Some((name, from, joined)) = password_name(scan, place, user.next) else {
        if user.assigned && user.slash {
            find_signed(scan, user.next);
        }
        return;
    };
    if !scan.text[from..].starts_with(bytes::is_blank) {
        return;
    }
    let said = user.parted || joined || is_long(scan, from);
    if let Some(value) = value_at(scan, from) {
        let text = &scan.text[value.start..value.end];
        let ends = ends_clause(&scan.text[value.end..]);
        let plain = said && ends && is_word_with_number(text);
        if !is_elsewhere(text) && (is_chosen(text) || plain) {
            scan.found(value.start, value.end, name.rule);
        }
    }
}

/// `login: ada@harbor.org / VALUE`, where the value has a sign that only passwords have.
fn find_signed(scan: &mut Scan<'_>, from: usize) {
    let Some(value) = value_at(scan, from) else {
        return;
    };
    let text = &scan.text[value.start..value.end];
    if is_signed(text) && !is_elsewhere(text) {
        scan.found(value.start, value.end, "password");
    }
}

/// Reads who logs in behind the word for it.
fn user_at(text: &str, from: usize) -> Option<User> {
    let ahead = bytes::just_behind(text, from, BYTES_AHEAD);
    let line = ahead.split('\n').next().unwrap_or(ahead);
    let rest = line.trim_start_matches([' ', '"', '\'']);
    let signless = rest.trim_start_matches([':', '=', ' ', '"', '\'']);
    let assigned = rest.starts_with([':', '=']);
    if !assigned && !line.starts_with(' ') {
        return None;
    }
    let token = signless.split(char::is_whitespace).next()?;
    let name = token.trim_end_matches([',', ';', '/', '"', '\'']);
    let plain = !name.is_empty()
        && name.len() <= USER_BYTES_MAX
        && name.starts_with(char::is_alphabetic)
        && !name.contains([':', '=', '(', '/', ',', ';'])
        && sections(name) & NO_USER == 0;
    if !plain {
        return None;
    }
    let behind = &signless[name.len()..];
    let next = behind.trim_start_matches([' ', ',', ';', '/', '|', '"', '\'']);
    let between = &behind[..behind.len() - next.len()];
    Some(User {
        next: from + line.len() - next.len(),
        assigned,
        parted: between.contains([',', ';', '/', '|']),
        slash: between.contains('/'),
    })
}

/// The name of a password at a place or behind joiners there, where it ends, and whether there are
/// joiners.
fn password_name(scan: &Scan<'_>, place: usize, from: usize) -> Option<(Name, usize, bool)> {
    let ahead = scan.lexemes[place..]
        .iter()
        .take_while(|one| one.start < from);
    let first = place + ahead.count();
    if scan.lexemes.get(first)?.start != from {
        return None;
    }
    for at in first..(first + JOINERS_MAX + 1).min(scan.lexemes.len()) {
        let Lexeme { start, end } = scan.lexemes[at];
        if let Some(name) = name_at(scan, at).filter(Name::is_typed) {
            return Some((name, end, at > first));
        }
        let spaced = scan.text[end..].starts_with(' ');
        if !spaced || !is_in(List::Joiners, &scan.text[start..end]) {
            return None;
        }
    }
    None
}

/// Returns whether the name that ends at a place is no verb as `pass` is.
fn is_long(scan: &Scan<'_>, end: usize) -> bool {
    const LEAST: usize = 5;
    let word = scan.text[..end]
        .rsplit(|c: char| !c.is_alphanumeric())
        .next();
    word.is_some_and(|word| word.len() >= LEAST)
}
