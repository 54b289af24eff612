//! Words before the first capital of a name that are part of it: "van Gogh", "50 Cent", "7-Eleven",
//! "2Pac", "al-Khwarizmi".

use std::cell::OnceCell;
use std::ops::Range;

use super::lists::{is_given_name, listed};
use super::text::{CAPITAL, DECIMAL, LOWER, SPACE, Text, WORD};

/// Particles that begin a name.
const PARTICLES: [&str; 16] = [
    "van", "von", "de", "del", "della", "di", "da", "du", "bin", "ibn", "ter", "al", "el", "la",
    "le", "af",
];
/// Particles that stand behind another one.
pub(super) const SECOND: [&str; 6] = ["der", "den", "dem", "la", "las", "los"];
/// Those that another one may follow.
const FIRST: [&str; 3] = ["van", "von", "de"];
/// Joined with the capital behind them.
pub(super) const PREFIXES: [&str; 4] = ["d'", "d’", "al-", "el-"];
const NUMBER_DIGITS_MAX: usize = 3;
const JOINED_DIGITS_MAX: usize = 2;

/// Returns whether a word behind `first` is a particle of the same name.
pub(super) fn is_second(first: &str, word: &str) -> bool {
    FIRST.contains(&first) && SECOND.contains(&word)
}

/// Returns whether a name that begins with this word, in lower case, begins with a particle.
pub(super) fn is_particle(word: &str) -> bool {
    PARTICLES.contains(&word)
}

/// The words before capitals, of one text.
pub(super) struct Leads<'a> {
    text: &'a Text,
    /// True if it has words of a language in which particles are ordinary words.
    foreign: OnceCell<bool>,
}

impl<'a> Leads<'a> {
    pub(super) fn of(text: &'a Text) -> Self {
        Self {
            text,
            foreign: OnceCell::new(),
        }
    }

    /// Where the word with the capital at this place begins; None = the capital begins no name.
    pub(super) fn head(&self, at: usize) -> Option<usize> {
        let text = self.text;
        if !text.before(at, barred) {
            return Some(at);
        }
        let free = |start: &usize| !text.before(*start, barred);
        let prefix = PREFIXES.iter().find_map(|prefix| {
            let start = at.checked_sub(prefix.chars().count())?;
            (text.matches(start, prefix) && free(&start)).then_some((start, prefix.contains('d')))
        });
        if let Some((start, particle)) = prefix {
            return Some(if particle && self.is_foreign() {
                at
            } else {
                start
            });
        }
        let joined = digits_before(text, at);
        if joined < at {
            let word = text.is(at + 1, LOWER) && text.is(at + 2, LOWER);
            let short = at - joined <= NUMBER_DIGITS_MAX;
            return (word && short && free(&joined)).then_some(joined);
        }
        let hyphen = at
            .checked_sub(1)
            .filter(|before| text.holds(*before, '-'))?;
        let start = digits_before(text, hyphen);
        ((1..=JOINED_DIGITS_MAX).contains(&(hyphen - start)) && free(&start)).then_some(start)
    }

    /// Where a name begins whose first word with a capital is `word`, whose head is at `head`.
    pub(super) fn start(&self, head: usize, word: &Range<usize>) -> usize {
        let Some(before) = word_before(self.text, head) else {
            return head;
        };
        let start = self.particles(&before).or_else(|| {
            let number = self.text.all(before.clone(), DECIMAL)
                && before.len() <= NUMBER_DIGITS_MAX
                && self.takes_number(&before, word);
            number.then_some(before.start)
        });
        match start {
            Some(start) if !self.is_foreign() && !is_given_name(&lower(self.text, word)) => start,
            _ => head,
        }
    }

    /// Where the particles begin the last of which this word is.
    fn particles(&self, word: &Range<usize>) -> Option<usize> {
        let own = self.text.slice(word.clone());
        if let Some(first) = word_before(self.text, word.start)
            && is_second(&self.text.slice(first.clone()), &own)
        {
            return Some(first.start);
        }
        is_particle(&own).then_some(word.start)
    }

    /// Returns whether a number and the capitalised word behind it are a name.
    fn takes_number(&self, number: &Range<usize>, word: &Range<usize>) -> bool {
        let text = self.text;
        let own = lower(text, word);
        if !text.is_lower(word.start + 1..word.start + own.chars().count()) || listed("units", &own)
        {
            return false;
        }
        let Some(before) = word_before(text, number.start) else {
            return number.start == 0;
        };
        let written = text.slice(before.clone());
        let bare = written.trim_end_matches([',', ';', ':']).to_lowercase();
        if written.ends_with(['.', '!', '?', '…']) {
            return true;
        }
        if text.is(before.start, CAPITAL) {
            return bare == "the" || listed("times", &bare);
        }
        text.is_lower(before) && !listed("before_numbers", &bare)
    }

    fn is_foreign(&self) -> bool {
        *self.foreign.get_or_init(|| {
            let words = self.text.words(0..self.text.len());
            words.into_iter().any(|word| {
                let written = self.text.slice(word);
                let bare = written.trim_matches(|c: char| c.is_ascii_punctuation());
                listed("foreign", &bare.to_lowercase())
            })
        })
    }
}

/// Returns what no name stands directly behind.
fn barred(class: u16, c: char) -> bool {
    class & WORD != 0 || matches!(c, '@' | '#' | '/' | '\\' | '.' | '\'' | '’' | '-')
}

fn digits_before(text: &Text, end: usize) -> usize {
    let mut start = end;
    while text.before(start, |class, _| class & DECIMAL != 0) {
        start -= 1;
    }
    start
}

/// The word before the white space before this place, without brackets and quotation marks before it.
fn word_before(text: &Text, at: usize) -> Option<Range<usize>> {
    let mut end = at;
    while text.before(end, |class, _| class & SPACE != 0) {
        end -= 1;
    }
    let mut start = end;
    while text.before(start, |class, _| class & SPACE == 0) {
        start -= 1;
    }
    let opens = |at: usize| matches!(text.char(at), Some('(' | '[' | '"' | '“' | '«' | '„'));
    while start < end && opens(start) {
        start += 1;
    }
    (start < end && end < at).then_some(start..end)
}

/// A word in lower case without a possessive and final punctuation.
fn lower(text: &Text, word: &Range<usize>) -> String {
    let end = super::runs::unpossessive(text, word);
    text.slice(word.start..end)
        .trim_end_matches('.')
        .to_lowercase()
}
