//! Parts of one word: of mixed case, before signs, of an emoji sequence.

use super::symbols::{ZERO_WIDTH_JOINER, is_modifier};
use super::tokens::{Script, Span};

/// Calls `part` for the parts of a word of one script; there is none where the word has just one.
pub(super) fn visit_parts(text: &str, word: Span, script: Script, part: &mut impl FnMut(Span)) {
    match script {
        Script::Word => {
            let whole = word.text(text);
            let letters = whole.trim_end_matches(['+', '#']);
            if letters.len() < whole.len() && letters.len() > 1 {
                part(word.within(text, 0, letters.len()));
            }
            visit_case_parts(text, word, part);
        }
        Script::Symbol => {
            let whole = word.text(text);
            if !whole.contains(|c| c == ZERO_WIDTH_JOINER || is_modifier(c)) {
                return;
            }
            let mut at = 0;
            for joined in whole.split(ZERO_WIDTH_JOINER) {
                if let Some(base) = joined.chars().next() {
                    part(word.within(text, at, at + base.len_utf8()));
                }
                at += joined.len() + ZERO_WIDTH_JOINER.len_utf8();
            }
        }
        Script::Cjk | Script::Thai => {}
    }
}

/// The parts of `camelCase` and `HTTPServer`, single characters left out. A name with one small
/// letter in front (`iPhone`) and the plural of an acronym (`APIs`) are whole.
fn visit_case_parts(text: &str, word: Span, part: &mut impl FnMut(Span)) {
    let whole = word.text(text);
    // a capital behind the first place
    let capitals = |bytes: &[u8]| {
        bytes
            .iter()
            .skip(1)
            .any(|b| !b.is_ascii() || b.is_ascii_uppercase())
    };
    if !capitals(whole.as_bytes()) {
        return;
    }
    let mut starts = vec![0];
    let mut chars = whole.char_indices().peekable();
    let mut before = None::<char>;
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let plural = next == Some('s') && chars.clone().nth(1).is_none();
        let begins = match before {
            Some(last) if c.is_uppercase() => {
                !last.is_uppercase() || (next.is_some_and(char::is_lowercase) && !plural)
            }
            _ => false,
        };
        if begins {
            starts.push(at);
        }
        before = Some(c);
    }
    let single = |from: usize, to: usize| whole[from..to].chars().nth(1).is_none();
    let [_, second, others @ ..] = starts.as_slice() else {
        return;
    };
    if others.is_empty() && single(0, *second) {
        return;
    }
    let end = whole.trim_end_matches(['+', '#']).len();
    let ends = starts.iter().skip(1).copied().chain([end]);
    for (from, to) in starts.iter().copied().zip(ends) {
        if from < to && !single(from, to) {
            part(word.within(text, from, to));
        }
    }
}
