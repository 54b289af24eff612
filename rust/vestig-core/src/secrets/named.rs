//! Names of secrets, and what leads from one to its value: `name = value`, "the name is value".

use super::Scan;
use super::bytes;
use super::chosen::{is_chosen, is_signed};
use super::identifiers::is_reference;
use super::lexemes::{Lexeme, ends_as_name, kind_of_key, lexemes, parts, sections};
use super::lines::{alone_behind, answer_behind, behind_speaker, next_line};
use super::lists::{List, is_in, lists, word};
use super::opened::{is_chosen_for, number_end};
use super::random::{is_random, is_uuid};
use super::values::{Link, Value, is_height, is_secret, value_at};

/// Between a name and its value stand so many words at most, in so many bytes.
pub(super) const WORDS_BETWEEN: usize = 9;
const BYTES_BETWEEN: usize = 100;
/// The name of a resource is read back so many bytes.
const BYTES_OF_RESOURCE: usize = 160;
/// Before a name stand so many bytes of its cell at most.
const BYTES_OF_CELL: usize = 20;

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Strength {
    /// Names nothing but secrets.
    Strong,
    /// May name something else, as a key does: the value has to look like a secret.
    Weak,
}

/// The name of a secret.
#[derive(Clone, Copy)]
pub(super) struct Name {
    pub(super) strength: Strength,
    pub(super) rule: &'static str,
    /// Says by itself that a secret follows, as `password` and `api_key` do; a bare `token` or `key`
    /// may be that of a parser, a queue or a table.
    pub(super) sure: bool,
    /// Names references too, as `clave`, `pass` and `client code` do: what has the form of one, or is
    /// said of something that no password opens, is left.
    pub(super) shared: bool,
}

impl Name {
    /// Returns whether people choose and type what it names.
    pub(super) fn is_typed(&self) -> bool {
        self.rule == "password"
    }
}

/// The name that a word is, if that is a secret.
pub(super) fn name_at(scan: &Scan<'_>, place: usize) -> Option<Name> {
    let named = name_in(scan.text, &scan.lexemes, place)?;
    (!is_in_resource_name(scan.text, scan.lexemes[place].start)).then_some(named)
}

/// Returns whether a word is a part of the name of a resource: `arn:aws:secretsmanager:…:secret:…`,
/// `did:key:…`.
fn is_in_resource_name(text: &str, start: usize) -> bool {
    if !text[..start].ends_with(':') {
        return false;
    }
    let before = bytes::just_before(text, start, BYTES_OF_RESOURCE);
    let outside = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '(' | '<' | '=');
    let word = before.rsplit(outside).next().unwrap_or(before);
    ["arn:", "urn:", "did:"]
        .iter()
        .any(|scheme| word.starts_with(scheme))
}

/// The name that a text is, if that is a secret: "token", "API key".
pub(super) fn name_of(text: &str) -> Option<Name> {
    let words = lexemes(text);
    let last = words.len().checked_sub(1)?;
    let whole = words.len() <= 3 && words[0].start == 0 && words[last].end == text.len();
    name_in(text, &words, last).filter(|_| whole)
}

fn name_in(whole_text: &str, lexemes: &[Lexeme], place: usize) -> Option<Name> {
    let Lexeme { start, end } = lexemes[place];
    let text = &whole_text[start..end];
    if !(3..=48).contains(&text.len()) && sections(text) & word::NAME == 0 {
        return None;
    }
    // most words are one, in no list
    let whole = sections(text);
    if whole & word::BENIGN != 0 && whole & (word::NAME | word::WEAK) == 0 {
        return None;
    }
    let simple = !text.as_bytes()[1..]
        .iter()
        .any(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_')
        || !text.bytes().any(|b| b.is_ascii_lowercase())
            && !text.contains('_')
            && !text.ends_with(|c: char| c.is_ascii_digit());
    if simple {
        let named = whole & (word::NAME | word::WEAK) != 0 || ends_as_name(text);
        if !named && kind_of_key(text).is_none() {
            return scripted(text);
        }
        let word_before = |at: usize| {
            let before = lexemes[at.checked_sub(1)?];
            let joined = is_joint(&whole_text[before.end..lexemes[at].start]);
            joined.then(|| &whole_text[before.start..before.end])
        };
        let before = word_before(place).unwrap_or("");
        // `passe` alone is no password; `mot de passe` is
        let earlier = || {
            (!before.is_empty())
                .then(|| word_before(place - 1))
                .flatten()
        };
        if !is_phrase(text, before, earlier) {
            return None;
        }
        let named = judged(text, before, false)?;
        return Some(if is_header(whole_text, start, text) {
            Name {
                strength: Strength::Strong,
                sure: true,
                ..named
            }
        } else {
            named
        });
    }
    let mut words = parts(text);
    while words.len() > 1 {
        let last = words[words.len() - 1];
        let number = last.bytes().all(|b| b.is_ascii_digit());
        if !number
            && (sections(last) & word::SUFFIX == 0
                || sections(last) & (word::NAME | word::WEAK) != 0)
        {
            break;
        }
        words.pop();
    }
    let last = words.pop()?;
    let before = |back: usize| words.len().checked_sub(back).map(|at| words[at]);
    if !is_phrase(last, before(1).unwrap_or(""), || before(2)) {
        return None;
    }
    judged(last, words.last().copied().unwrap_or(""), true)
}

/// `X-Vault-Token`, `X-Example-Key`.
fn is_header(text: &str, start: usize, last: &str) -> bool {
    const HEADER_BYTES_MAX: usize = 60;
    let before = bytes::just_before(text, start, HEADER_BYTES_MAX);
    let outside = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    let dashed = before.rsplit(outside).next().unwrap_or(before);
    let ends = last.eq_ignore_ascii_case("token") || last.eq_ignore_ascii_case("key");
    ends && dashed.len() > 2
        && dashed.ends_with('-')
        && dashed.starts_with(['X', 'x'])
        && dashed[1..].starts_with('-')
}

/// Names in scripts without spaces.
fn scripted(text: &str) -> Option<Name> {
    let names = lists().of(List::ScriptedNames);
    let named = !text.is_ascii() && names.iter().any(|name| text.contains(name));
    named.then_some(Name {
        strength: Strength::Strong,
        rule: "password",
        sure: true,
        shared: false,
    })
}

pub(super) fn is_joint(between: &str) -> bool {
    matches!(between, "-" | "." | " " | "_" | "'" | "’" | " d'" | " d’")
}

/// The name that a word and the one before it make; `compound`: they are written as one.
fn judged(last: &str, before: &str, compound: bool) -> Option<Name> {
    let bits = sections(last);
    let rule = rule_of(last);
    if bits & word::NAME != 0 || ends_as_name(last) {
        // a page token says where a list goes on
        let place = rule == "token" && sections(before) & word::OPEN != 0;
        return (!place).then_some(Name {
            strength: Strength::Strong,
            rule,
            sure: is_sure(last, before, compound, rule),
            shared: is_in(List::Shared, &last.to_lowercase()) && !is_setting(before, compound),
        });
    }
    let kind = kind_of_key(last);
    if bits & word::WEAK == 0 && kind.is_none() {
        return None;
    }
    let kind = kind.map_or(0, |kind| {
        sections(kind) | sections(kind.trim_end_matches('s'))
    });
    let context = sections(before) | kind;
    if context & word::OPEN != 0 || (is_code(last) && context & (word::JOINED | word::NAME) == 0) {
        return None;
    }
    // the key of a router opens its network
    let of_router = (kind_of_key(last).is_some() || last.eq_ignore_ascii_case("ключ"))
        && before.eq_ignore_ascii_case("router");
    let joined = (context & (word::JOINED | word::NAME) != 0 || of_router)
        && matches!(rule, "key" | "pin" | "secret");
    let strength = if joined {
        Strength::Strong
    } else {
        Strength::Weak
    };
    Some(Name {
        strength,
        rule,
        sure: joined && (of_router || is_sure(last, before, compound, rule)),
        shared: joined
            && matches!(rule, "key" | "secret")
            && is_in(List::OfAnything, before)
            && !is_setting(before, compound),
    })
}

/// Returns whether a word is the name of a secret with the words before it, where it is none alone.
fn is_phrase<'a>(last: &str, before: &str, earlier: impl Fn() -> Option<&'a str>) -> bool {
    let is = |one: &str, word: &str| one.to_lowercase() == word.to_lowercase();
    let mut phrases = phrases().filter(|(_, end)| is(end, last)).peekable();
    phrases.peek().is_none()
        || phrases.any(|(first, _)| match first.split_once('+') {
            Some((one, next)) => {
                is(next, before) && earlier().is_some_and(|earlier| is(one, earlier))
            }
            None => is(first, before),
        })
}

/// Phrases that name secrets: the words before the last one, and the last one.
fn phrases() -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = lists().of(List::Phrases).iter();
    all.filter_map(|phrase| phrase.rsplit_once('+'))
}

/// Returns whether a word in small letters is the last one of a phrase of several.
pub(super) fn is_phrase_end(word: &str) -> bool {
    phrases().any(|(_, end)| end == word)
}

/// `SESSION_KEY` is a setting, `session_key` a field.
fn is_setting(before: &str, compound: bool) -> bool {
    compound && !before.is_empty() && before.bytes().all(|b| b.is_ascii_uppercase())
}

/// Returns whether a name of a secret cannot name anything else.
fn is_sure(last: &str, before: &str, compound: bool, rule: &str) -> bool {
    let is_one_of = |list: List, word: &str| is_in(list, &word.to_lowercase());
    match rule {
        "token" | "key" => {
            let joined = sections(before) & (word::JOINED | word::NAME) != 0;
            let told = joined || rule == "token" && is_one_of(List::OfSecrets, before);
            let said = compound && !before.is_empty() || told || !is_one_of(List::Bare, last);
            said && (is_setting(before, compound)
                || rule != "key"
                || !is_one_of(List::OfAnything, before))
        }
        _ => true,
    }
}

/// Returns whether a word names a secret only behind one that says so: "access code".
fn is_code(word: &str) -> bool {
    is_in(List::Codes, word)
}

fn rule_of(word: &str) -> &'static str {
    let small = word.to_lowercase();
    match lists().rule(&small) {
        Some("password") | None if small.starts_with("pin") => "pin",
        Some(rule) => rule,
        None => "secret",
    }
}

/// Looks for a value of the name at a word.
pub(super) fn find(scan: &mut Scan<'_>, place: usize) {
    let Some(mut name) = name_at(scan, place) else {
        return;
    };
    let Some((from, link)) = link_behind(scan, place, &name) else {
        return;
    };
    let Some(value) = value_at(scan, from) else {
        return;
    };
    let value = behind_type(scan, value);
    let value = if name.rule == "credential" {
        second_half(scan, value)
    } else {
        value
    };
    if is_of_network(scan, place, value.start, &name) {
        name.strength = Strength::Strong;
        name.sure = true;
    }
    let number = number_end(scan, place, &name, &value);
    if number.is_none() && leads_to_reference(scan, place, &name, (value.start, value.end)) {
        return;
    }
    name.sure |= is_in_query(scan.text, scan.lexemes[place])
        || is_alone_assigned(scan, scan.lexemes[place], &value);
    if is_secret(
        &scan.text[value.start..value.end],
        value.quoted,
        link,
        &name,
    ) {
        scan.found(value.start, value.end, name.rule);
    } else if let Some(end) = number {
        scan.found(value.start, end, name.rule);
    }
}

/// Returns whether what stands behind a name that names references too is one, as far as anybody can
/// tell: it has the form of one, or a phrase says what the name belongs to, and the value has no
/// sign that only passwords have. Beside what a password opens, the name has no other meaning.
pub(super) fn leads_to_reference(
    scan: &Scan<'_>,
    place: usize,
    name: &Name,
    (start, end): (usize, usize),
) -> bool {
    if !name.shared {
        return false;
    }
    let word = |one: &Lexeme| &scan.text[one.start..one.end];
    let own = scan.lexemes[place];
    let line_ends = |one: &Lexeme| scan.text[own.end..one.start].contains('\n');
    let between = || {
        let behind = scan.lexemes[place + 1..].iter().take(WORDS_BETWEEN);
        behind.take_while(|one| one.end <= start && !line_ends(one))
    };
    let before = place.checked_sub(1).map(|at| scan.lexemes[at]);
    let before = before.filter(|one| is_joint(&scan.text[one.end..own.start]));
    let opens = |one: &Lexeme| {
        let small = word(one).to_lowercase();
        is_in(List::Opened, &small) || is_in(List::Networks, &small)
    };
    if before.as_ref().is_some_and(opens) || between().any(opens) || is_of_user(scan, place) {
        return false;
    }
    if name.is_typed() && is_chosen_for(scan, place, (start, end)) {
        return false;
    }
    let said = |one: &Lexeme| sections(word(one)) & (word::IS | word::ADVERB) == 0;
    let owned = before.is_some_and(|one| sections(word(&one)) & word::OPEN != 0);
    let value = &scan.text[start..end];
    is_reference(value)
        || is_height(value)
        || name.is_typed() && (owned || between().any(said)) && !is_signed(value)
}

/// Returns whether who logs in is named before a name: "user: ada, pass".
fn is_of_user(scan: &Scan<'_>, place: usize) -> bool {
    const WORDS_BEFORE: usize = 6;
    let text = scan.text;
    let before = &scan.lexemes[place.saturating_sub(WORDS_BEFORE)..place];
    before.iter().any(|one| {
        let rest = text[one.end..].trim_start_matches(['"', '\'', ' ']);
        is_in(List::Users, &text[one.start..one.end].to_lowercase()) && rest.starts_with([':', '='])
    })
}

/// Returns whether a key is one for a wireless network: "Schlüssel für das WLAN".
fn is_of_network(scan: &Scan<'_>, place: usize, until: usize, name: &Name) -> bool {
    let word = |one: &Lexeme| &scan.text[one.start..one.end];
    let behind = &scan.lexemes[place + 1..];
    let phrase = behind
        .first()
        .is_some_and(|one| sections(word(one)) & word::OF != 0);
    name.rule == "key"
        && phrase
        && behind
            .iter()
            .take(WORDS_BETWEEN)
            .take_while(|one| one.end <= until)
            .any(|one| is_in(List::Networks, &word(one).to_lowercase()))
}

/// `?token=` and `&token=` in an address.
fn is_in_query(text: &str, name: Lexeme) -> bool {
    text[..name.start].ends_with(['?', '&'])
        && text[name.end..].starts_with('=')
        && text[name.start..name.end].eq_ignore_ascii_case("token")
}

/// Returns whether a line says that a token is a UUID, and nothing else: `token: 3f2504e0-…`.
fn is_alone_assigned(scan: &Scan<'_>, name: Lexeme, value: &Value) -> bool {
    let text = scan.text;
    let signs = |c: char| c.is_whitespace() || matches!(c, '-' | '{' | '"' | '\'' | '}' | ',');
    let before = bytes::just_before(text, name.start, BYTES_OF_CELL);
    let cut = before.len() < name.start;
    let line = before.rfind('\n').map(|at| &before[at + 1..]);
    let first = line.or((!cut).then_some(before)).is_some_and(|line| {
        let line = line.trim_start_matches(signs);
        line.is_empty() || line == "export "
    });
    let behind = bytes::just_behind(text, value.end, BYTES_OF_CELL);
    let rest = behind.split('\n').next().unwrap_or(behind);
    first
        && text[name.start..name.end].eq_ignore_ascii_case("token")
        && text[name.end..value.start].contains([':', '='])
        && !text[name.end..value.start].contains('\n')
        && is_uuid(&text[value.start..value.end])
        && rest.chars().all(signs)
}

/// `name: Type = value` has its value behind the type.
fn behind_type(scan: &mut Scan<'_>, value: Value) -> Value {
    let rest = &scan.text[value.end..];
    let typed = !value.quoted && rest.starts_with(" = ") && !rest[3..].starts_with('=');
    if !typed {
        return value;
    }
    value_at(scan, value.end + 3).unwrap_or(value)
}

/// Of `user:value` and `user / value` the value.
fn second_half(scan: &mut Scan<'_>, value: Value) -> Value {
    let text = &scan.text[value.start..value.end];
    let parted = text.find([':', '/']).filter(|_| !is_random(text, 20));
    if let Some(at) = parted {
        return Value {
            start: value.start + at + 1,
            ..value
        };
    }
    let rest = &scan.text[value.end..];
    for between in [" / ", ": ", " : ", ", "] {
        if rest.starts_with(between) {
            return value_at(scan, value.end + between.len()).unwrap_or(value);
        }
    }
    value
}

/// Where the value of a name begins, and what leads there.
fn link_behind(scan: &Scan<'_>, place: usize, name: &Name) -> Option<(usize, Link)> {
    let Lexeme { start, end } = scan.lexemes[place];
    let text = scan.text;
    // "the password's …"
    let rest = &text[end..];
    if let Some(behind) = ["'s ", "’s "]
        .iter()
        .find_map(|mark| rest.strip_prefix(mark))
    {
        return Some((text.len() - behind.len(), Link::Stated));
    }
    let after = rest.trim_start_matches(['"', '\'', '`', ']', '\\', '*', '”', '_']);
    let quoted = after.len() < text.len() - end;
    let spaced = after.trim_start_matches(bytes::is_blank);
    let at = text.len() - spaced.len();
    let mut chars = spaced.chars();
    let cell = bytes::just_before(text, start, BYTES_OF_CELL);
    let row = cell
        .rfind(['|', '\n'])
        .is_some_and(|at| cell[at..].starts_with('|'));
    match (chars.next()?, chars.next()) {
        ('=', Some('~')) | (':', Some(':')) => None,
        // the next cell of a row
        ('|', _) if row => Some((at + 1, Link::Assigned)),
        ('\n' | '\r', _) if alone_behind(text, at).is_some() => {
            alone_behind(text, at).map(|at| (at, Link::Stated))
        }
        ('?', _) => answer_behind(text, start, end).map(|at| (at, Link::Stated)),
        ('=' | ':' | '：' | '＝', _) => Some((
            behind_speaker(text, start, behind_sign(text, at)),
            Link::Assigned,
        )),
        ('-', Some('>')) => Some((at + 2, Link::Assigned)),
        ('>', _) if text[..start].ends_with('<') => Some((at + 1, Link::Assigned)),
        ('(', Some('"' | '\'' | '`')) => Some((at + 1, Link::Passed)),
        (',', _) if quoted => Some((at + 1, Link::Passed)),
        ('/', _) if name.rule == "credential" => None,
        // `PASSWORD 'value'`
        ('"' | '\'' | '`' | '“' | '„' | '«', Some(_)) if at > end && name.is_typed() => {
            Some((at, Link::Passed))
        }
        _ if at > end && name.is_typed() && follows_login(scan, place) => Some((at, Link::Stated)),
        _ if at > end && is_option(&text[..start]) => Some((at, Link::Assigned)),
        _ if at > end && name.is_typed() && end - start >= 5 && is_chosen(word_at(text, at)) => {
            Some((at, Link::Stated))
        }
        _ if at == end && !spaced.starts_with(['-', '(', '\n', '\r']) => scripted_link(scan, place),
        _ => stated(scan, place)
            .or_else(|| answer_behind(text, start, end).map(|at| (at, Link::Stated))),
    }
}

/// Returns whether what follows is the name of an option: `--password value`.
fn is_option(before: &str) -> bool {
    let bytes = before.as_bytes();
    let dashes = bytes.iter().rev().take(2).take_while(|b| **b == b'-');
    let dashes = dashes.count();
    dashes > 0 && (bytes.len() == dashes || bytes[bytes.len() - dashes - 1].is_ascii_whitespace())
}

/// The word that begins at a place.
fn word_at(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    &rest[..rest.find(char::is_whitespace).unwrap_or(rest.len())]
}

/// `login NAME password VALUE`, as files of logins have it.
fn follows_login(scan: &Scan<'_>, place: usize) -> bool {
    let word = |back: usize| {
        let at = place.checked_sub(back)?;
        Some(&scan.text[scan.lexemes[at].start..scan.lexemes[at].end])
    };
    (2..=4).any(|back| word(back).is_some_and(|one| one == "login"))
}

/// Behind `=`, `:`, `==`, `:=`, `=>` and the like. A value may stand on the next line.
fn behind_sign(text: &str, at: usize) -> usize {
    let rest = text[at..].trim_start_matches(['=', ':', '>', '：', '＝', '?', '*']);
    match next_line(rest) {
        Some(next) => text.len() - next.len(),
        None => text.len() - rest.len(),
    }
}

/// In scripts without spaces: the name, "is", the value.
fn scripted_link(scan: &Scan<'_>, place: usize) -> Option<(usize, Link)> {
    let Lexeme { start, end } = scan.lexemes[place];
    let name = &scan.text[start..end];
    let links = lists().of(List::ScriptedIs);
    let linked = links.iter().any(|link| name.ends_with(link));
    linked.then_some((end, Link::Stated))
}

/// "the password of the router is …", "Passwort für den Router: …", a pair of `name` and `value`.
fn stated(scan: &Scan<'_>, place: usize) -> Option<(usize, Link)> {
    let text = scan.text;
    let end = scan.lexemes[place].end;
    let (mut before, mut in_phrase, mut plain, mut broken) = (end, false, 0, false);
    let mut owned = false;
    for one in scan.lexemes[place + 1..].iter().take(WORDS_BETWEEN) {
        let between = &text[before..one.start];
        if one.start - end > BYTES_BETWEEN {
            return None;
        }
        let this = &text[one.start..one.end];
        if this.eq_ignore_ascii_case("value") && is_given(&text[one.end..]) {
            let sign = text[one.end..].find(['=', ':'])?;
            return Some((behind_sign(text, one.end + sign), Link::Assigned));
        }
        if let Some(sign) = between
            .find([':', '=', '：'])
            .or_else(|| between.find("->"))
        {
            let link = if in_phrase {
                Link::Assigned
            } else {
                Link::Stated
            };
            let sure = (in_phrase || plain <= 2) && between.len() > 1 && !broken;
            let at = behind_speaker(text, before, behind_sign(text, before + sign));
            return (sure && before > end).then_some((at, link));
        }
        if between.contains([';', '!', '?', '|', '/', ',', '"', '<', '=']) || between.contains(". ")
        {
            return None;
        }
        if between.contains('\n') {
            // a sentence goes on in the next line
            if broken || between.matches('\n').count() > 1 || !this.starts_with(char::is_lowercase)
            {
                return None;
            }
            broken = true;
        }
        // `IDENTIFIED BY 'value'`
        if before == end && this.eq_ignore_ascii_case("by") {
            return Some((one.end, Link::Passed));
        }
        let bits = sections(this);
        // "belongs to" leads to whose it is
        let leads_on = (plain == 0 && !in_phrase && bits & word::ADVERB == 0) || owned;
        if bits & word::IS != 0 && !(bits & word::OF != 0 && leads_on) {
            let at = behind_speaker(text, one.end, behind_adverbs(scan, one));
            return Some((at, Link::Stated));
        }
        if bits & (word::HARMLESS | word::BENIGN) != 0 && !in_phrase {
            return None;
        }
        in_phrase |= bits & word::OF != 0 || between.contains('(');
        owned = bits & word::OWNED != 0;
        plain += 1;
        before = one.end;
    }
    None
}

/// Returns whether a sign follows that gives a value to a name.
fn is_given(rest: &str) -> bool {
    rest.trim_start_matches(['"', '\'', ' '])
        .starts_with(['=', ':'])
}

/// Where the words end that say since when or how: "is now set to …".
fn behind_adverbs(scan: &Scan<'_>, is: &Lexeme) -> usize {
    let text = scan.text;
    let mut at = is.end;
    for _ in 0..4 {
        let rest = text[at..].trim_start_matches([' ', '\t', ':', '\n', '=']);
        let start = text.len() - rest.len();
        let word = rest
            .find(|c: char| !c.is_alphabetic())
            .unwrap_or(rest.len());
        let spaced = rest[word..].starts_with([' ', ':']);
        if word == 0
            || word > 20
            || !spaced
            || sections(&rest[..word]) & (word::ADVERB | word::IS) == 0
        {
            return start;
        }
        at = start + word;
    }
    at
}
