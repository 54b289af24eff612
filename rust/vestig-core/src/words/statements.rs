//! Texts that state nothing: a question, a remark ("good question"), a refusal ("I do not know").

use std::collections::HashSet;
use std::sync::OnceLock;

use super::function_words::{is_frame_word, is_function_word};
use super::lower_case::lower_case;
use super::tokens;

const FORMS: &str = include_str!("../../../../python/vestig/data/no_statement.txt");
/// Longer texts state something, whatever their form: who asks at length tells what it is about.
const LENGTH_MAX: usize = 120;
/// Words at the beginning of a question among which its question word stands.
const QUESTION_WORD_WITHIN: usize = 3;
/// Words behind a question word among which its verb stands.
const VERB_WITHIN: usize = 5;

/// The part of a text in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stance {
    /// A sentence of it says something.
    States,
    /// It asks, and says nothing beside.
    Asks,
    /// It says nothing: a remark, a refusal.
    Empty,
}

/// Of the data file, comments included.
pub(super) fn checksum() -> u32 {
    crc32fast::hash(FORMS.as_bytes())
}

/// The lists of the data file.
struct Forms {
    question_words: HashSet<&'static str>,
    contracted: HashSet<&'static str>,
    leads: HashSet<&'static str>,
    tellers: HashSet<&'static str>,
    endings: HashSet<&'static str>,
    verbs: HashSet<&'static str>,
    subjects: HashSet<&'static str>,
    requests: Vec<Vec<&'static str>>,
    refusals: Vec<Vec<&'static str>>,
    remarks: HashSet<&'static str>,
}

fn section(name: &str) -> impl Iterator<Item = &'static str> {
    let heading = format!("[{name}]");
    FORMS
        .lines()
        .skip_while(move |line| *line != heading)
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.starts_with('#') && !line.is_empty())
}

fn forms() -> &'static Forms {
    static READ: OnceLock<Forms> = OnceLock::new();
    READ.get_or_init(|| {
        let words = |name| section(name).flat_map(str::split_whitespace).collect();
        let phrases = |name| {
            section(name)
                .map(|line| line.split_whitespace().collect())
                .collect()
        };
        Forms {
            question_words: words("question words"),
            contracted: words("contracted"),
            leads: words("leads"),
            tellers: words("tellers"),
            endings: words("endings"),
            verbs: words("verbs"),
            subjects: words("subjects"),
            requests: phrases("requests"),
            refusals: phrases("refusals"),
            remarks: words("remarks"),
        }
    })
}

/// The words of a sentence between white space, in lower case, without marks at their ends.
fn plain_words(sentence: &str) -> Vec<String> {
    let word = |word: &str| {
        let word = lower_case(word).replace(['’', 'ʼ'], "'");
        word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned()
    };
    let words = sentence.split_whitespace().map(word);
    words.filter(|word| !word.is_empty()).collect()
}

fn holds(words: &[String], phrase: &[&str]) -> bool {
    words.windows(phrase.len()).any(|some| some == phrase)
}

/// Sentences of a text, each with the mark that ends it.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let ends = ['.', '!', '?', '…', '？', '。', '！', '؟'];
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        if rest.is_empty() {
            return None;
        }
        let mut end = rest.len();
        let mut chars = rest.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let next = chars.peek().map(|(_, next)| *next);
            let breaks = ends.contains(&c) && next.is_none_or(char::is_whitespace);
            if c == '\n' || breaks || (c as u32 > 0x2fff && ends.contains(&c)) {
                end = at + c.len_utf8();
                break;
            }
        }
        let (sentence, after) = rest.split_at(end);
        rest = after;
        Some(sentence.trim_end())
    })
}

fn of_sentence(sentence: &str) -> Stance {
    let forms = forms();
    let words = plain_words(sentence);
    let tells_first = || {
        sentence.contains([',', ';'])
            && words
                .first()
                .is_some_and(|word| forms.tellers.contains(word.as_str()))
    };
    if sentence.ends_with(['?', '？', '؟']) && !tells_first() {
        return Stance::Asks;
    }
    let refuses = |phrase: &Vec<&str>| holds(&words, phrase);
    if forms.refusals.iter().any(refuses) && !words.iter().any(|word| word == "but") {
        return Stance::Empty;
    }
    let asked = without_announcement(&words, sentence, forms);
    if !sentence.ends_with(['.', '!', ':', '…']) && has_form_of_question(asked, forms) {
        return Stance::Asks;
    }
    let says = |word: &str| {
        !is_function_word(word) && !is_frame_word(word) && !forms.remarks.contains(word)
    };
    let tokens = tokens(sentence);
    if tokens.iter().any(|token| says(&token.text)) {
        Stance::States
    } else {
        Stance::Empty
    }
}

/// The words of a sentence behind a colon that only remarks stand before: "Quick question: …".
fn without_announcement<'a>(words: &'a [String], sentence: &str, forms: &Forms) -> &'a [String] {
    let is_remark = |word: &String| forms.remarks.contains(word.as_str());
    let before = sentence
        .split_once(':')
        .map(|(before, _)| plain_words(before));
    match before.filter(|before| before.iter().all(is_remark)) {
        Some(before) => &words[before.len()..],
        None => words,
    }
}

fn has_form_of_question(words: &[String], forms: &Forms) -> bool {
    let is = |list: &HashSet<&str>, at: usize| {
        words
            .get(at)
            .is_some_and(|word| list.contains(word.as_str()))
    };
    let asks_from = |at: usize| {
        is(&forms.contracted, at)
            || is(&forms.question_words, at)
                && (at + 1..=at + VERB_WITHIN).any(|next| is(&forms.verbs, next))
    };
    let begins =
        |phrase: &Vec<&str>| words.len() >= phrase.len() && words[..phrase.len()] == **phrase;
    (0..QUESTION_WORD_WITHIN)
        .any(|at| asks_from(at) && (0..at).all(|before| is(&forms.leads, before)))
        || (is(&forms.verbs, 0) && is(&forms.subjects, 1))
        || is(&forms.endings, words.len().wrapping_sub(1))
        || forms.requests.iter().any(begins)
}

/// The stance of a text: it asks where one of its sentences asks and none states something.
///
/// A sentence asks that ends with a question mark or, without a mark at its end, begins like a
/// question. One that holds a refusal, or nothing but remarks, says nothing; any other one states
/// something. A text without a sentence says nothing.
#[must_use]
pub fn stance(text: &str) -> Stance {
    if text.chars().nth(LENGTH_MAX).is_some() {
        return Stance::States;
    }
    let mut found = Stance::Empty;
    for sentence in sentences(text) {
        match of_sentence(sentence) {
            Stance::States => return Stance::States,
            Stance::Asks => found = Stance::Asks,
            Stance::Empty => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_ask() {
        for text in [
            "Who has the spare key of the van?",
            "who has the spare key of the van",
            "Hi! Quick question: where's the van",
            "which port does the staging database use",
            "do you know where the van is",
            "remind me when the ferry leaves",
            "Is it there? I don't know.",
            "钥匙在哪里？",
        ] {
            assert_eq!(stance(text), Stance::Asks, "{text}");
        }
    }

    #[test]
    fn refusals_and_remarks_say_nothing() {
        for text in [
            "I do not know.",
            "Good question!",
            "Sorry, I don't know who has the key of the van.",
            "Let me check and get back to you.",
            "Hm. No idea.",
            "",
            "Keine Ahnung.",
        ] {
            assert_eq!(stance(text), Stance::Empty, "{text}");
        }
    }

    #[test]
    fn statements_state() {
        for text in [
            "The spare key hangs behind the clock.",
            "Berlin.",
            "42",
            "I don't know the house, but the key is with Ingrid.",
            "Where is it? It hangs behind the clock.",
            "What we decided: no feature flags.",
            "Do not use tabs",
            "When the server fails, restart it.",
            "Have a look at src/main.rs",
            "No, on Friday.",
            "I'm meeting Kelly on 4 May, can you help me prepare?",
            "We moved the backup to Berlin on 3 March and the old server is gone for good, so could you \
             please draft a note about that to all teams?",
        ] {
            assert_eq!(stance(text), Stance::States, "{text}");
        }
    }
}
