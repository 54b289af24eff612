//! Names in scripts without capitals: Chinese, Japanese and Korean ones by surname and by what
//! stands around them, others by the list of given names.

use super::lists::listed;
use super::text::{LOWER, SPACE, Text, UPPER};
use super::{Kind, Name};

const CONFIDENCE: f64 = 0.75;
const CUE_CHARS_MAX: usize = 3;
const GIVEN_CHARS_MAX: usize = 2;
const JAPANESE_HAN_MAX: usize = 4;
const KATAKANA_MAX: usize = 8;

/// All of them, in order of position.
pub(super) fn unspaced(text: &Text) -> Vec<Name> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let Some(script) = text.char(at).and_then(Script::of) else {
            at += 1;
            continue;
        };
        let end = text.run(at, |_, c| Script::of(c) == Some(script));
        let run = Run { text, at, end };
        match script {
            Script::Han => {
                run.chinese(&mut found);
                run.japanese(JAPANESE_HAN_MAX, &mut found);
            }
            Script::Katakana => run.japanese(KATAKANA_MAX, &mut found),
            Script::Hangul => run.korean(&mut found),
            Script::Caseless => run.given(&mut found),
        }
        at = end;
    }
    found.sort_by_key(|name| (name.start, name.end));
    found
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Han,
    Katakana,
    Hangul,
    /// Hebrew, Arabic, the scripts of India.
    Caseless,
}

impl Script {
    fn of(c: char) -> Option<Self> {
        match c {
            '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' => Some(Self::Han),
            '\u{30a1}'..='\u{30fa}' | '\u{30fc}' => Some(Self::Katakana),
            '\u{ac00}'..='\u{d7a3}' => Some(Self::Hangul),
            '\u{590}'..='\u{dff}' => Some(Self::Caseless),
            _ => None,
        }
    }
}

/// A run of one script.
struct Run<'a> {
    text: &'a Text,
    at: usize,
    end: usize,
}

impl Run<'_> {
    fn holds(&self, section: &str, start: usize, end: usize) -> bool {
        end <= self.text.len() && listed(section, &self.text.slice(start..end))
    }

    /// Returns whether something of a list begins here; `end`: it lies before that place.
    fn begins(&self, section: &str, at: usize, end: usize) -> bool {
        (1..=CUE_CHARS_MAX).any(|count| at + count <= end && self.holds(section, at, at + count))
    }

    fn ends(&self, section: &str, at: usize) -> bool {
        let fits = |count| self.at + count <= at && self.holds(section, at - count, at);
        (1..=CUE_CHARS_MAX).any(fits)
    }

    /// Returns whether it stands among words with capitals, as a name in a text of another language
    /// does.
    fn is_alone(&self) -> bool {
        let after = self.text.run_of(self.end, SPACE);
        let mut before = self.at;
        while self.text.before(before, |class, _| class & SPACE != 0) {
            before -= 1;
        }
        let cased = |class: u16| class & (UPPER | LOWER) != 0;
        let first = before == 0 || self.text.before(before, |class, _| cased(class));
        let last = after == self.text.len() || cased(self.text.class(after));
        first && last && after - before > self.end - self.at
    }

    fn add(&self, start: usize, end: usize, found: &mut Vec<Name>) {
        let span = start..end;
        found.push(Name::of(self.text, span, Kind::Untyped, CONFIDENCE));
    }

    fn chinese(&self, found: &mut Vec<Name>) {
        let mut at = self.at;
        while at < self.end {
            match self.chinese_end(at) {
                Some(end) => {
                    self.add(at, end, found);
                    at = end;
                }
                None => at += 1,
            }
        }
    }

    /// Where the Chinese name ends that begins here: a surname and one or two characters, between
    /// an end of the run and a cue, or two cues.
    fn chinese_end(&self, at: usize) -> Option<usize> {
        let surname = [2, 1]
            .into_iter()
            .find(|count| at + count <= self.end && self.holds("surnames", at, at + count))?;
        if (at != self.at && !self.ends("before", at)) || self.begins("ordinary", at, self.end) {
            return None;
        }
        (1..=GIVEN_CHARS_MAX).rev().find_map(|count| {
            let (start, end) = (at + surname, at + surname + count);
            let own = end <= self.end
                && (start..end).all(|place| !self.holds("inside", place, place + 1));
            // a second character that begins a cue is none of the name
            let own = own && (count == 1 || !self.begins("behind", end - 1, self.end));
            let last = end == self.end && (at != self.at || self.is_alone());
            (own && (last || self.begins("behind", end, self.end))).then_some(end)
        })
    }

    /// The end of this run as a Japanese name, before an honorific.
    fn japanese(&self, most: usize, found: &mut Vec<Name>) {
        if !self.begins("japanese_honorifics", self.end, self.text.len()) {
            return;
        }
        let mut start = self.at;
        if self.holds("japanese_times", start, start + 2) {
            start += 2;
        }
        if (2..=most).contains(&(self.end - start)) && !self.begins("ordinary", start, self.end) {
            self.add(start, self.end, found);
        }
    }

    /// The beginning of this run as a Korean name of three syllables, before an honorific.
    fn korean(&self, found: &mut Vec<Name>) {
        let end = self.at + 3;
        if end > self.end || !self.holds("korean_surnames", self.at, self.at + 1) {
            return;
        }
        let spaced = end == self.end && self.text.is(end, SPACE);
        let behind = end + usize::from(spaced);
        let honoured = self.begins("korean_honorifics", behind, self.text.len());
        if honoured || (end == self.end && self.is_alone()) {
            self.add(self.at, end, found);
        }
    }

    /// The run as a given name.
    fn given(&self, found: &mut Vec<Name>) {
        let mut start = self.at;
        while start < self.end {
            let word = |class: u16, c| {
                class & SPACE == 0 && !matches!(c, '،' | '؛' | '؟' | '۔' | '־' | '׃' | '।' | '॥')
            };
            let end = self.text.run(start, word).min(self.end);
            if end > start && listed("given", &self.text.slice(start..end)) {
                self.add(start, end, found);
            }
            start = end.max(start) + 1;
        }
    }
}
