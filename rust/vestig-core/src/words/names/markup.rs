//! Texts without code, link targets, images and HTML, from which no name is read.

use super::text::{SPACE, WORD, class_of};

/// In the place of fenced code: it ends a word and a sentence.
const CODE: char = '…';
/// In the place of other markup: a mark like that of emphasis.
const MARK: char = '*';
const FENCE_MIN: usize = 3;
/// The longest stretch between two marks of emphasis.
const EMPHASIS_MAX: usize = 200;
/// The longest stretch between two brackets.
const BRACKETS_MAX: usize = 1_000;

/// A text by code points, with others in the place of what is no prose. Its first line is none
/// where it repeats the title, of which only the last part is a name.
pub(super) fn prose(text: &str, title: Option<&str>) -> Vec<char> {
    let mut chars: Vec<char> = text.chars().collect();
    let repeats = |title: &&str| {
        let rest = text.strip_prefix(title);
        rest.is_some_and(|rest| rest.starts_with(['\n', '\r']))
    };
    if let Some(title) = title.filter(repeats) {
        let end = title.chars().count();
        hide(&mut chars, 0, end, CODE);
    }
    if text.contains(['`', '~']) {
        fenced(&mut chars);
    }
    if text.contains(['<', '[', '_']) {
        inline(&mut chars);
    }
    chars
}

fn hide(chars: &mut [char], start: usize, end: usize, with: char) {
    chars[start..end].fill(with);
}

fn at(chars: &[char], place: usize) -> char {
    chars.get(place).copied().unwrap_or('\n')
}

/// Where the run of code points that pass ends.
fn run(chars: &[char], from: usize, passes: impl Fn(char) -> bool) -> usize {
    let mut end = from;
    while chars.get(end).is_some_and(|c| passes(*c)) {
        end += 1;
    }
    end
}

/// A line that begins or ends fenced code.
struct Fence {
    start: usize,
    end: usize,
    mark: char,
    length: usize,
    /// It names a language, so that it begins code.
    labelled: bool,
}

/// Hides fenced code. Code may have begun before the text: then its end is a line without a
/// language before one with it.
fn fenced(chars: &mut [char]) {
    let mut open: Option<Fence> = None;
    let mut ended = 0;
    for fence in fences(chars) {
        match open {
            None => open = Some(fence),
            Some(ref begun) if fence.labelled && !begun.labelled => {
                hide(chars, ended, begun.end, CODE);
                ended = begun.end;
                open = Some(fence);
            }
            Some(ref begun)
                if !fence.labelled && fence.mark == begun.mark && fence.length >= begun.length =>
            {
                hide(chars, begun.start, fence.end, CODE);
                ended = fence.end;
                open = None;
            }
            Some(_) => {}
        }
    }
    if let Some(begun) = open {
        let end = chars.len();
        hide(chars, begun.start, end, CODE);
    }
}

fn fences(chars: &[char]) -> Vec<Fence> {
    let mut found = Vec::new();
    let mut start = 0;
    while start < chars.len() {
        let end = run(chars, start, |c| c != '\n');
        let begin = run(chars, start, |c| matches!(c, ' ' | '\t' | '>'));
        let mark = at(chars, begin);
        if matches!(mark, '`' | '~') {
            let stop = run(chars, begin, |c| c == mark);
            let label = chars.get(stop..end).unwrap_or_default();
            if stop - begin >= FENCE_MIN && (mark == '~' || !label.contains(&'`')) {
                found.push(Fence {
                    start,
                    end,
                    mark,
                    length: stop - begin,
                    labelled: label.iter().any(|c| class_of(*c) & SPACE == 0),
                });
            }
        }
        start = end + 1;
    }
    found
}

/// Hides what is markup outside of code in a line.
fn inline(chars: &mut [char]) {
    let mut place = 0;
    while place < chars.len() {
        place = match at(chars, place) {
            '`' => behind_code(chars, place),
            '<' => behind_html(chars, place),
            '!' if at(chars, place + 1) == '[' => behind_image(chars, place),
            '[' => behind_definition(chars, place),
            ']' => behind_target(chars, place),
            '_' => behind_emphasis(chars, place),
            _ => place + 1,
        };
    }
}

fn behind_code(chars: &[char], start: usize) -> usize {
    let stop = run(chars, start, |c| c == '`');
    let mut place = stop;
    while place < chars.len() {
        if at(chars, place) != '`' {
            if at(chars, place) == '\n' && at(chars, place + 1) == '\n' {
                break;
            }
            place += 1;
            continue;
        }
        let end = run(chars, place, |c| c == '`');
        if end - place == stop - start {
            return end;
        }
        place = end;
    }
    stop
}

/// Hides a comment or a tag.
fn behind_html(chars: &mut [char], start: usize) -> usize {
    let matches = |place: usize, text: &str| {
        text.chars()
            .enumerate()
            .all(|(k, c)| chars.get(place + k) == Some(&c))
    };
    let end = if matches(start, "<!--") {
        let close = (start + 4..chars.len()).find(|place| matches(*place, "-->"));
        Some(close.map_or(chars.len(), |place| place + 3))
    } else {
        tag_end(chars, start)
    };
    let Some(end) = end else { return start + 1 };
    hide(chars, start, end, MARK);
    end
}

/// Where the tag that begins here ends: its name has small letters.
fn tag_end(chars: &[char], start: usize) -> Option<usize> {
    let name = start + 1 + usize::from(at(chars, start + 1) == '/');
    let end = run(chars, name, |c| matches!(c, 'a'..='z' | '0'..='9' | '-'));
    let begins = at(chars, name).is_ascii_lowercase();
    if !begins || !matches!(at(chars, end), ' ' | '\t' | '\n' | '/' | '>') {
        return None;
    }
    let close = run(chars, end, |c| !matches!(c, '<' | '>'));
    (chars.get(close) == Some(&'>')).then_some(close + 1)
}

/// Where the bracket that opens here is closed, in one line.
fn closed(chars: &[char], start: usize, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for place in start..chars.len().min(start + BRACKETS_MAX) {
        let c = at(chars, place);
        if c == '\n' {
            return None;
        }
        depth += usize::from(c == open);
        if c == close {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(place);
            }
        }
    }
    None
}

/// Where the `(target)` or `[reference]` that begins here ends.
fn target(chars: &[char], start: usize) -> Option<usize> {
    match at(chars, start) {
        '(' => closed(chars, start, '(', ')'),
        '[' if at(chars, start + 1) != '[' => closed(chars, start, '[', ']'),
        _ => None,
    }
}

fn behind_image(chars: &mut [char], start: usize) -> usize {
    let Some(end) = closed(chars, start + 1, '[', ']') else {
        return start + 2;
    };
    let Some(end) = target(chars, end + 1) else {
        return start + 2;
    };
    hide(chars, start, end + 1, MARK);
    end + 1
}

/// Hides a line `[label]: target`; a footnote is text.
fn behind_definition(chars: &mut [char], start: usize) -> usize {
    let line = chars[..start].iter().rev().take_while(|c| **c != '\n');
    let first = line.into_iter().all(|c| *c == ' ');
    if first
        && at(chars, start + 1) != '^'
        && let Some(close) = closed(chars, start, '[', ']')
        && at(chars, close + 1) == ':'
        && at(chars, close + 2) == ' '
    {
        let end = run(chars, close, |c| c != '\n');
        hide(chars, start, end, MARK);
        return end;
    }
    start + 1
}

fn behind_target(chars: &mut [char], start: usize) -> usize {
    let Some(end) = target(chars, start + 1) else {
        return start + 1;
    };
    hide(chars, start + 2, end, MARK);
    end + 1
}

/// Makes stars of the `_` of emphasis; those of a word of code stay.
fn behind_emphasis(chars: &mut [char], start: usize) -> usize {
    let word = |place: usize| class_of(at(chars, place)) & WORD != 0;
    let space = |place: usize| class_of(at(chars, place)) & SPACE != 0;
    let open = run(chars, start, |c| c == '_');
    let length = open - start;
    if (start > 0 && word(start - 1)) || space(open) || length > FENCE_MIN {
        return run(chars, start, |c| class_of(c) & WORD != 0).max(open);
    }
    let mut place = open;
    while place < chars.len().min(open + EMPHASIS_MAX) {
        let c = at(chars, place);
        if c == '`' || (c == '\n' && at(chars, place + 1) == '\n') {
            break;
        }
        let end = run(chars, place, |c| c == '_');
        if end - place == length && !word(end) && !space(place - 1) {
            hide(chars, start, open, MARK);
            hide(chars, place, end, MARK);
            return end;
        }
        place = end.max(place + 1);
    }
    open
}
