//! The owner of a secret's name: a lock or a card, which a number opens, or a service.

use super::Scan;
use super::chosen::{is_combination, is_word_with_number};
use super::lexemes::{Lexeme, sections};
use super::lists::{List, is_in, word};
use super::named::{Name, WORDS_BETWEEN, is_joint, is_phrase_end};
use super::values::Value;

/// Returns whether a name is that of a lock or a service, and a value what people choose for one.
pub(super) fn is_chosen_for(scan: &Scan<'_>, place: usize, (start, end): (usize, usize)) -> bool {
    let of = |owners| belongs_to(scan, place, start, &[owners]);
    is_word_with_number(&scan.text[start..end])
        && ends_clause(&scan.text[end..])
        && (of(List::Locks) || is_determined(scan, place) && of(List::Services))
}

/// Where a number ends that opens what its name belongs to: "the PIN of the card is 4821". It ends
/// its clause, so that it counts nothing.
pub(super) fn number_end(
    scan: &Scan<'_>,
    place: usize,
    name: &Name,
    value: &Value,
) -> Option<usize> {
    let text = scan.text;
    let own = scan.lexemes[place];
    let own = &text[own.start..own.end];
    let owners: &[List] = match name.rule {
        "pin" if own != "PIN" => &[List::Cards],
        "pin" | "password" => &[List::Cards, List::Locks],
        "secret" if is_code_name(own) => &[List::Cards, List::Locks],
        _ => return None,
    };
    let rest = &text[value.start..];
    let keys = |c: char| c.is_ascii_digit() || matches!(c, '-' | ' ' | '#' | '*');
    let length = rest.find(|c| !keys(c)).unwrap_or(rest.len());
    let spaced = rest[..length].trim_end_matches([' ', '-']).len();
    let end = value.end.max(value.start + spaced);
    let number = is_combination(&text[value.start..end]);
    (number && ends_clause(&text[end..]) && belongs_to(scan, place, value.start, owners))
        .then_some(end)
}

/// Returns whether a clause ends where this text begins.
pub(super) fn ends_clause(rest: &str) -> bool {
    let behind = rest.trim_start_matches(['"', '\'', '`', '”', '*', ' ']);
    behind.is_empty() || behind.starts_with(['.', ',', ';', '!', '?', ')', '\n', '\r'])
}

/// Returns whether a word names a code: "Zugangscode", the last one of "código de acceso".
fn is_code_name(word: &str) -> bool {
    let small = word.to_lowercase();
    small.ends_with("code") || is_phrase_end(&small)
}

/// Returns whether a name is that of a thing in one of these lists: the word before it, or one
/// between it and its value that no other noun follows.
fn belongs_to(scan: &Scan<'_>, place: usize, value: usize, lists: &[List]) -> bool {
    let text = scan.text;
    let word = |one: &Lexeme| &text[one.start..one.end];
    let is_one = |one: &Lexeme| {
        let small = word(one).to_lowercase();
        lists.iter().any(|list| is_in(*list, &small))
    };
    let mut before = word_before(scan, place);
    if before.is_some_and(|at| word(&scan.lexemes[at]) == "s") {
        // "the card's PIN"
        before = before.and_then(|at| at.checked_sub(1));
    }
    if before.is_some_and(|at| is_one(&scan.lexemes[at])) {
        return true;
    }
    let behind = scan.lexemes[place + 1..].iter().take(WORDS_BETWEEN);
    let between: Vec<_> = behind.take_while(|one| one.end <= value).collect();
    let leads_on = |one: &Lexeme| sections(word(one)) & (word::IS | word::ADVERB | word::OF) != 0;
    between
        .iter()
        .enumerate()
        .any(|(at, one)| is_one(one) && between.get(at + 1).is_none_or(|next| leads_on(next)))
}

/// Returns whether no noun before a name says what kind it is of, as of a "game pass": the word
/// before it is none, a determiner or a service.
fn is_determined(scan: &Scan<'_>, place: usize) -> bool {
    word_before(scan, place).is_none_or(|at| {
        let Lexeme { start, end } = scan.lexemes[at];
        let small = scan.text[start..end].to_lowercase();
        is_in(List::Determiners, &small) || is_in(List::Services, &small)
    })
}

/// The word before a name, if nothing but a joint is between.
fn word_before(scan: &Scan<'_>, place: usize) -> Option<usize> {
    let before = place.checked_sub(1)?;
    is_joint(&scan.text[scan.lexemes[before].end..scan.lexemes[place].start]).then_some(before)
}
