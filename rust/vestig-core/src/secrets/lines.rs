//! Values on the line behind their name: alone there, or said by the next speaker.

use super::bytes;
use super::lexemes::sections;
use super::lists::{List, is_in, lists, word};

/// A question goes on behind what it asks for in so many bytes at most.
const QUESTION_BYTES_MAX: usize = 120;
/// Who speaks is named in so many bytes at most.
const SPEAKER_BYTES_MAX: usize = 40;
/// Time and name of who speaks stand within so many bytes of a line.
const LEAD_BYTES_MAX: usize = 160;
/// A line of so many bytes before a name begins with nobody's name.
const LINE_BYTES_MAX: usize = 400;

/// The text on the next line, where this one has no more: behind a blank line too, and behind
/// what opens a block of code.
pub(super) fn next_line(rest: &str) -> Option<&str> {
    let ended = |rest: &str| {
        let line = rest.trim_start_matches(|c| bytes::is_blank(c) || matches!(c, '\r' | '*'));
        line.strip_prefix('\n').map(str::len)
    };
    let mut next = &rest[rest.len() - ended(rest)?..];
    if let Some(length) = ended(next) {
        next = &next[next.len() - length..];
    }
    let fence = next
        .strip_prefix("```")
        .and_then(|inner| inner.split_once('\n'));
    Some(fence.map_or(next, |(_, inner)| inner))
}

/// Where the value begins that stands alone on the line behind its name.
pub(super) fn alone_behind(text: &str, at: usize) -> Option<usize> {
    let next = next_line(&text[at..])?;
    let line = next.lines().next()?.trim();
    let start = text.len() - next.trim_start_matches(bytes::is_blank).len();
    (!line.is_empty() && !line.contains(char::is_whitespace)).then_some(start)
}

/// Behind who speaks, where a value stands in the next line of a conversation: "Ada: the password
/// is", "Ben: …".
pub(super) fn behind_speaker(text: &str, from: usize, at: usize) -> usize {
    let Some(line) = line_before(text, at).filter(|line| *line > from) else {
        return at;
    };
    let Some(own) = line_before(text, from) else {
        return at;
    };
    match (speaker(&text[own..from]), speaker(&text[line..])) {
        (Some(_), Some(next)) => line + next,
        _ => at,
    }
}

/// Where the answer begins that the next speaker of a conversation gives with one word to who asks
/// for what a name names.
pub(super) fn answer_behind(text: &str, start: usize, end: usize) -> Option<usize> {
    let own = line_before(text, start)?;
    let lead = speaker(&text[own..start])?;
    let said = bytes::just_behind(text, end, QUESTION_BYTES_MAX);
    let said = &said[..said.find('\n')?];
    let line = end + said.len() + 1;
    if !asks(&text[own + lead..start], said) {
        return None;
    }
    let answer = line + speaker(&text[line..])?;
    let given = text[answer..].lines().next()?;
    let lead = lead_of(given);
    (given[lead..].split_whitespace().count() == 1).then_some(answer + lead)
}

/// Returns whether words before and behind a name ask for what it names: "What is the … of the
/// router?", "send me the … for staging".
fn asks(before: &str, behind: &str) -> bool {
    let signs = |c: char| matches!(c, '*' | '"' | '”' | ' ' | '\t' | '\r');
    let polite = behind.rfind('?').filter(|&at| {
        words_of(&behind[at..])
            .next()
            .is_some_and(|one| is_in(List::Thanks, one))
    });
    let behind = polite.map_or(behind, |at| &behind[..=at]);
    let behind = behind.trim_end_matches(signs);
    let rest = behind.trim_end_matches('?');
    let ends = |c: char| matches!(c, '?' | '!' | ':' | '=' | ';');
    let sentence = before
        .rfind(['.', '?', '!', ','])
        .map_or(before, |at| &before[at + 1..]);
    let words = || words_of(sentence);
    let first = || words().next();
    if rest.contains(ends) || rest.contains(". ") || !goes_on(words().last(), rest) {
        return false;
    }
    // where it is and what it is are asked for alike
    let place = first().is_some_and(|one| is_in(List::Places, one));
    let otherwise = words()
        .skip(usize::from(place))
        .any(|one| is_in(List::Clauses, one));
    if rest.len() < behind.len() {
        let given = first().is_some_and(|one| is_in(List::Offers, one))
            && words().any(|one| is_in(List::Given, one));
        return !otherwise && (given || !first().is_some_and(|one| is_in(List::YesOrNo, one)));
    }
    !otherwise && words().any(|one| is_in(List::Wanted, one))
}

/// Returns whether words behind a name say whose it is, or ask on: a noun or a verb there is what is
/// asked about.
fn goes_on(before: Option<&str>, behind: &str) -> bool {
    let Some(next) = words_of(behind).next() else {
        return true;
    };
    let bits = sections(next);
    let chosen = before.is_some_and(|one| is_in(List::Choices, one));
    bits & word::HARMLESS == 0
        && (bits & word::OF != 0 || is_in(List::AskedOn, next) || bits & word::IS != 0 && !chosen)
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|one| !one.is_empty())
}

/// The length of what stands before the word of an answer: "it is ".
fn lead_of(answer: &str) -> usize {
    lists()
        .of(List::Leads)
        .iter()
        .find(|lead| {
            let begins = answer.get(..lead.len());
            begins.is_some_and(|said| said.eq_ignore_ascii_case(lead))
                && answer[lead.len()..].starts_with(' ')
        })
        .map_or(0, |lead| lead.len() + 1)
}

/// Where the line begins in which a place lies, where that is not far before it.
fn line_before(text: &str, at: usize) -> Option<usize> {
    let before = bytes::just_before(text, at, LINE_BYTES_MAX);
    let from = at - before.len();
    match before.rfind('\n') {
        Some(end) => Some(from + end + 1),
        None => (from == 0).then_some(0),
    }
}

/// The length of what says who speaks at the beginning of a line: "Ada: ", "[10:31] **Ben**: ",
/// "<ben> ".
fn speaker(line: &str) -> Option<usize> {
    let line = bytes::just_behind(line, 0, LEAD_BYTES_MAX);
    let signs = |c: char| matches!(c, ' ' | '\t' | '>' | '-' | '*' | '•');
    let mut inner = line.trim_start_matches(signs);
    if let Some(time) = inner.strip_prefix(['[', '(']) {
        let end = time
            .find([']', ')'])
            .filter(|&end| end <= SPEAKER_BYTES_MAX)?;
        inner = time[end + 1..].trim_start_matches(signs);
    } else if inner.starts_with(|c: char| c.is_ascii_digit()) {
        let time = |c: char| c.is_ascii_digit() || matches!(c, ':' | '-' | '.' | ' ' | 'T' | ',');
        inner = inner.trim_start_matches(time).trim_start_matches(signs);
    }
    let open = inner.starts_with('<');
    let name = inner.trim_start_matches('<');
    let end = name.find(if open { '>' } else { ':' })?;
    let who = name[..end].trim_end_matches('*');
    let plain =
        |c: char| c.is_alphanumeric() || matches!(c, ' ' | '.' | '\'' | '-' | '_' | '(' | ')');
    let begins = lists().of(List::Speakers).contains(&who)
        || who.starts_with(|c: char| open && c.is_alphabetic() || c.is_uppercase());
    let words = who.split_whitespace().count();
    let behind = name[end + 1..].trim_start_matches('*');
    let spaced = behind.starts_with([' ', '\t']);
    let length = line.len() - behind.trim_start_matches([' ', '\t', '"']).len();
    (end <= SPEAKER_BYTES_MAX && begins && spaced && words <= 3 && who.chars().all(plain))
        .then_some(length)
}
