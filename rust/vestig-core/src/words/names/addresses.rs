//! Names that are addresses: e-mails, handles, tags, hosts, paths and files.

use super::text::{ALPHA, DECIMAL, SPACE, Text, WORD, is_latin};
use super::{Kind, Name};

const ADDRESS: f64 = 0.95;
const MARKED: f64 = 0.90;
const DOMAINS: [&str; 8] = ["com", "org", "net", "io", "dev", "ai", "edu", "gov"];
const EXTENSIONS: [&str; 67] = [
    "py", "pyi", "rs", "js", "ts", "tsx", "jsx", "json", "jsonl", "yml", "yaml", "toml", "md",
    "rst", "txt", "csv", "tsv", "htm", "html", "css", "scss", "sh", "bash", "c", "h", "cc", "cpp",
    "hpp", "java", "kt", "go", "rb", "php", "sql", "xml", "ini", "cfg", "conf", "env", "lock",
    "log", "pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "png", "jpg", "jpeg", "gif", "svg",
    "zip", "tar", "gz", "whl", "so", "dll", "exe", "db", "sqlite", "parquet", "proto", "ipynb",
    "swift", "vue",
];

/// All of them, kind by kind, with overlaps.
pub(super) fn addresses(text: &Text, found: &mut Vec<Name>) {
    let mut any = Marks::default();
    for at in 0..text.len() {
        match text.char(at) {
            Some('@') => any.at = true,
            Some('#') => any.hash = true,
            Some('/' | '\\') => any.slash = true,
            Some('.') => any.dot = true,
            _ => {}
        }
    }
    if any.at {
        emails(text, found);
        marked(text, '@', Kind::Person, |c| matches!(c, '@' | '.'), found);
    }
    if any.hash {
        marked(
            text,
            '#',
            Kind::Concept,
            |c| matches!(c, '#' | '&' | '/'),
            found,
        );
    }
    if any.slash {
        urls(text, found);
        paths(text, found);
    }
    if any.dot {
        files(text, found);
        hosts(text, found);
    }
}

#[derive(Default)]
#[allow(clippy::struct_excessive_bools)]
struct Marks {
    at: bool,
    hash: bool,
    slash: bool,
    dot: bool,
}

fn is_word(class: u16) -> bool {
    class & WORD != 0
}

fn emails(text: &Text, found: &mut Vec<Name>) {
    let local = |class: u16, c: char| is_word(class) || matches!(c, '.' | '+' | '-');
    let mut at = 0;
    while at < text.len() {
        let end = text.run(at, local);
        if end == at || text.before(at, local) || !text.holds(end, '@') {
            at = end.max(at + 1);
            continue;
        }
        match domain_end(text, end + 1) {
            Some(stop) => {
                found.push(Name::of(text, at..stop, Kind::Person, ADDRESS));
                at = stop;
            }
            None => at = end,
        }
    }
}

/// Where the domain that begins here ends: labels joined by dots, at least two, up to the last
/// place where a word ends.
fn domain_end(text: &Text, from: usize) -> Option<usize> {
    let labels = labels(text, from, |class, c| is_word(class) || c == '-');
    let ends = labels
        .get(1..)?
        .iter()
        .rev()
        .flat_map(|(start, end)| (start + 1..=*end).rev());
    ends.into_iter().find(|end| text.boundary(*end))
}

/// Spans of the labels from here on that dots join.
fn labels(text: &Text, from: usize, passes: impl Fn(u16, char) -> bool) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = from;
    loop {
        let end = text.run(at, &passes);
        if end == at {
            return found;
        }
        found.push((at, end));
        if !text.holds(end, '.') {
            return found;
        }
        at = end + 1;
    }
}

/// `@handle` and `#tag`.
fn marked(text: &Text, mark: char, kind: Kind, barred: fn(char) -> bool, found: &mut Vec<Name>) {
    for at in 0..text.len() {
        let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
        if text.holds(at, mark)
            && text.char(at + 1).is_some_and(begins)
            && !text.before(at, |class, c| is_word(class) || barred(c))
        {
            let end = text.run(at + 1, |class, c| is_word(class) || c == '-');
            found.push(Name::of(text, at..end, kind, MARKED));
        }
    }
}

/// Web addresses; the name is the host.
fn urls(text: &Text, found: &mut Vec<Name>) {
    let scheme =
        |_: u16, c: char| is_latin(c) || c.is_ascii_digit() || matches!(c, '+' | '.' | '-');
    let mut at = 0;
    while at < text.len() {
        let end = text.run(at, scheme);
        let begins = end > at && !text.before(at, scheme) && text.char(at).is_some_and(is_latin);
        if !begins || !text.matches(end, "://") {
            at = end.max(at + 1);
            continue;
        }
        let start = end + 3;
        let host = last_word(
            text,
            start,
            text.run(start, |class, c| is_word(class) || matches!(c, '.' | '-')),
        );
        let Some(host) = host else {
            at = end;
            continue;
        };
        let mut stop = host;
        if text.holds(stop, ':') && text.is(stop + 1, DECIMAL) {
            stop = text.run_of(stop + 1, DECIMAL);
        }
        if matches!(text.char(stop), Some('/' | '?' | '#')) {
            stop = text.run(stop, |class, c| {
                class & SPACE == 0 && !matches!(c, '"' | '<' | '>')
            });
        }
        found.push(Name {
            name: text.slice(start..host),
            ..Name::of(text, at..stop, Kind::Org, ADDRESS)
        });
        at = stop;
    }
}

/// The place behind the last word character of a stretch.
fn last_word(text: &Text, start: usize, end: usize) -> Option<usize> {
    (start..end)
        .rev()
        .find(|at| text.is(*at, WORD))
        .map(|at| at + 1)
}

fn in_path(class: u16, c: char) -> bool {
    is_word(class) || matches!(c, '.' | '@' | '+' | '-')
}

fn paths(text: &Text, found: &mut Vec<Name>) {
    let (mut at, mut dead) = (0, 0);
    while at < text.len() {
        // inside of a chain without any word character no path begins
        let end = if at < dead {
            None
        } else {
            path_end(text, at, &mut dead)
        };
        match end {
            Some(end) => {
                if is_path(text, at, end) {
                    found.push(Name::of(text, at..end, Kind::File, ADDRESS));
                }
                at = end;
            }
            None => at += 1,
        }
    }
}

fn path_end(text: &Text, at: usize, dead: &mut usize) -> Option<usize> {
    let c = text.char(at)?;
    if !in_path(text.class(at), c) && !matches!(c, '/' | '~') {
        return None;
    }
    let barred = |class, c| in_path(class, c) || matches!(c, '/' | '~');
    let either = |c| matches!(c, '/' | '\\');
    if !text.before(at, barred) {
        let prefix = prefix_length(text, at, c);
        let rooted = prefix.and_then(|length| chain_end(text, at + length, 1, either, dead));
        if let Some(end) = rooted.or_else(|| chain_end(text, at, 1, either, dead)) {
            return Some(end);
        }
    }
    if c == '/' && !text.before(at, |class, c| is_word(class) || matches!(c, '.' | '/')) {
        return chain_end(text, at + 1, 0, |c| c == '/', dead);
    }
    None
}

/// The length of `/`, `~/`, `./`, `../` or `C:\` here.
fn prefix_length(text: &Text, at: usize, c: char) -> Option<usize> {
    match c {
        '/' => Some(1),
        '~' => text.holds(at + 1, '/').then_some(2),
        '.' if text.holds(at + 1, '/') => Some(2),
        '.' => text.matches(at + 1, "./").then_some(3),
        _ => (c.is_ascii_alphabetic() && text.matches(at + 1, ":\\")).then_some(3),
    }
}

/// Where a chain of names with a separator behind each, and a last one, ends: behind the last word
/// character of the last name that has one and at least `least` before it.
fn chain_end(
    text: &Text,
    from: usize,
    least: usize,
    separates: impl Fn(char) -> bool,
    dead: &mut usize,
) -> Option<usize> {
    let mut names = Vec::new();
    let mut at = from;
    let end = loop {
        let end = text.run(at, in_path);
        names.push((at, end));
        if end == at || !text.char(end).is_some_and(&separates) {
            break end;
        }
        at = end + 1;
    };
    let ends = names.iter().skip(least).rev();
    let found = ends
        .map(|(start, end)| last_word(text, *start, *end))
        .find(Option::is_some)
        .flatten();
    if found.is_none() && !text.any(from..end, WORD) {
        *dead = end.max(*dead);
    }
    found
}

/// `and/or` and `3/4` are no paths: a path is rooted, deep, or ends in an extension.
fn is_path(text: &Text, start: usize, end: usize) -> bool {
    let chars = || (start..end).filter_map(|at| text.char(at));
    let letters = text.any(start..end, ALPHA);
    if matches!(text.char(start), Some('/' | '~' | '.')) || chars().any(|c| c == '\\') {
        return letters;
    }
    if chars().filter(|c| *c == '/').count() > 1 && letters {
        return true;
    }
    let last = (start..end)
        .rev()
        .find(|at| text.holds(*at, '/'))
        .map_or(start, |at| at + 1);
    chars().skip(last - start).any(|c| c == '.')
        && text.is(end - 1, ALPHA)
        && !text.is(last, super::text::DIGIT)
}

fn files(text: &Text, found: &mut Vec<Name>) {
    let known =
        |start: usize, end: usize| EXTENSIONS.iter().any(|one| text.equals(start..end, one));
    let label = |class: u16, c: char| is_word(class) || c == '-';
    dotted(
        text,
        label,
        known,
        |_| false,
        |start, end| {
            found.push(Name::of(text, start..end, Kind::File, ADDRESS));
        },
    );
}

fn hosts(text: &Text, found: &mut Vec<Name>) {
    let letter = |at| match text.char(at) {
        Some('\u{130}' | '\u{131}') => Some('i'),
        other => other.map(|c| c.to_ascii_lowercase()),
    };
    let known = |start: usize, end: usize| {
        let fits = |one: &&str| {
            one.len() == end - start
                && one
                    .chars()
                    .enumerate()
                    .all(|(k, c)| letter(start + k) == Some(c))
        };
        DOMAINS.iter().any(fits)
    };
    let label = |_: u16, c: char| is_latin(c) || c.is_ascii_digit() || c == '-';
    dotted(
        text,
        label,
        known,
        |c| c == '/',
        |start, end| {
            found.push(Name::of(text, start..end, Kind::Org, ADDRESS));
        },
    );
}

/// Labels joined by dots, up to the last one that begins with a known word; no label follows it,
/// and nothing that is barred.
fn dotted(
    text: &Text,
    label: impl Fn(u16, char) -> bool,
    known: impl Fn(usize, usize) -> bool,
    barred: impl Fn(char) -> bool,
    mut add: impl FnMut(usize, usize),
) {
    let mut at = 0;
    while at < text.len() {
        let parts = labels(text, at, &label);
        let Some(last) = parts.last() else {
            at += 1;
            continue;
        };
        let inside = text.before(at, |class, c| {
            is_word(class) || matches!(c, '.' | '/' | '@' | '-')
        });
        let ends = parts.iter().skip(1).rev().filter_map(|(start, _)| {
            let end = text.run_of(*start, WORD);
            let goes_on = text.holds(end, '.') && text.is(end + 1, WORD)
                || text.char(end).is_some_and(&barred);
            (known(*start, end) && !goes_on).then_some(end)
        });
        match ends.into_iter().next().filter(|_| !inside) {
            Some(end) => {
                add(at, end);
                at = end;
            }
            None => at = last.1,
        }
    }
}
