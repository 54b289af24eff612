//! The rows of the data file: formats of vendors, and words by which other secrets are told.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::OnceLock;

use super::bytes::{self, Class};

const DATA: &str = include_str!("../../../../python/vestig/data/secrets.txt");

/// Sections of words, as bits: a word may stand in several.
pub(super) mod word {
    pub(crate) const NAME: u32 = 1;
    pub(crate) const WEAK: u32 = 1 << 1;
    pub(crate) const JOINED: u32 = 1 << 2;
    pub(crate) const OPEN: u32 = 1 << 3;
    pub(crate) const SUFFIX: u32 = 1 << 4;
    pub(crate) const HARMLESS: u32 = 1 << 5;
    pub(crate) const BENIGN: u32 = 1 << 6;
    pub(crate) const PUBLIC: u32 = 1 << 7;
    pub(crate) const IS: u32 = 1 << 8;
    pub(crate) const ADVERB: u32 = 1 << 9;
    pub(crate) const OF: u32 = 1 << 10;
    pub(crate) const PLACEHOLDER: u32 = 1 << 11;
    pub(crate) const PROSE: u32 = 1 << 12;
    pub(crate) const OWNED: u32 = 1 << 13;
}

const SECTIONS: [(&str, u32); 14] = [
    ("names", word::NAME),
    ("weak", word::WEAK),
    ("joined", word::JOINED),
    ("open", word::OPEN),
    ("suffixes", word::SUFFIX),
    ("harmless", word::HARMLESS),
    ("benign", word::BENIGN),
    ("public", word::PUBLIC),
    ("is", word::IS),
    ("adverbs", word::ADVERB),
    ("of", word::OF),
    ("placeholders", word::PLACEHOLDER),
    ("words", word::PROSE),
    ("owned", word::OWNED),
];

/// Lists of words, or of parts of words, each read by one rule.
#[derive(Clone, Copy)]
pub(super) enum List {
    Speakers,
    Clauses,
    Places,
    YesOrNo,
    Offers,
    Wanted,
    Given,
    Thanks,
    AskedOn,
    Choices,
    Leads,
    ScriptedNames,
    ScriptedIs,
    Bare,
    OfAnything,
    OfSecrets,
    Codes,
    Networks,
    NameEnds,
    KeyEnds,
    HeldKeys,
    PlaceholderMarks,
    PlaceholderBegins,
    WordsForSecrets,
    Elements,
    Shared,
    Opened,
    Users,
    Phrases,
    Joiners,
    Locks,
    Cards,
    Services,
    Determiners,
}

const LISTS: [(&str, List); 34] = [
    ("speakers", List::Speakers),
    ("clauses", List::Clauses),
    ("places", List::Places),
    ("yes or no", List::YesOrNo),
    ("offers", List::Offers),
    ("wanted", List::Wanted),
    ("given", List::Given),
    ("thanks", List::Thanks),
    ("asked on", List::AskedOn),
    ("choices", List::Choices),
    ("leads", List::Leads),
    ("scripted names", List::ScriptedNames),
    ("scripted is", List::ScriptedIs),
    ("bare", List::Bare),
    ("of anything", List::OfAnything),
    ("of secrets", List::OfSecrets),
    ("codes", List::Codes),
    ("networks", List::Networks),
    ("name ends", List::NameEnds),
    ("key ends", List::KeyEnds),
    ("held keys", List::HeldKeys),
    ("placeholder marks", List::PlaceholderMarks),
    ("placeholder begins", List::PlaceholderBegins),
    ("words for secrets", List::WordsForSecrets),
    ("elements", List::Elements),
    ("shared", List::Shared),
    ("opened", List::Opened),
    ("users", List::Users),
    ("phrases", List::Phrases),
    ("joiners", List::Joiners),
    ("locks", List::Locks),
    ("cards", List::Cards),
    ("services", List::Services),
    ("determiners", List::Determiners),
];

/// A format of a vendor: `prefix`, then `least` to `most` characters of `class`.
pub(super) struct Format {
    pub(super) rule: &'static str,
    pub(super) prefix: &'static str,
    pub(super) class: Class,
    pub(super) least: usize,
    pub(super) most: usize,
    /// The prefix alone says too little: the rest has to read like no word.
    pub(super) random: bool,
    /// The secret begins with the characters before its prefix.
    pub(super) reaches_back: bool,
}

/// The words of the data file are no stranger's, so that a short hash will do.
#[derive(Default)]
struct WordHasher(u64);

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0.rotate_left(5) ^ u64::from(byte)).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type Words = HashMap<&'static str, u32, BuildHasherDefault<WordHasher>>;

/// The parsed data file.
pub(super) struct Lists {
    pub(super) version: &'static str,
    /// By the first byte of the prefix, the longest prefix first.
    pub(super) formats: Vec<Vec<Format>>,
    words: Words,
    lists: [Vec<&'static str>; LISTS.len()],
    /// Rules, each with parts of the names that it masks, in the order in which they are tried.
    rules: Vec<(&'static str, Vec<&'static str>)>,
    /// Of each letter the letters that often follow it, as bits.
    pairs: [u32; 26],
}

impl Lists {
    /// The sections of a word in lower case.
    pub(super) fn sections(&self, word: &str) -> u32 {
        self.words.get(word).copied().unwrap_or(0)
    }

    /// The entries of a list.
    pub(super) fn of(&self, list: List) -> &[&'static str] {
        &self.lists[list as usize]
    }

    /// The first rule of which a name in lower case has a part.
    pub(super) fn rule(&self, name: &str) -> Option<&'static str> {
        let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        let found = self.rules.iter().find(|(_, parts)| has(parts));
        found.map(|(rule, _)| *rule)
    }

    /// Returns whether two small letters often stand side by side in words.
    pub(super) fn is_common_pair(&self, one: u8, next: u8) -> bool {
        self.pairs[usize::from(one - b'a')] >> (next - b'a') & 1 == 1
    }
}

/// Returns whether a word is in a list, however its Latin letters are written.
pub(super) fn is_in(list: List, word: &str) -> bool {
    lists()
        .of(list)
        .iter()
        .any(|one| one.eq_ignore_ascii_case(word))
}

/// The lists, parsed once.
pub(super) fn lists() -> &'static Lists {
    static READ: OnceLock<Lists> = OnceLock::new();
    READ.get_or_init(read)
}

fn read() -> Lists {
    let mut found = Lists {
        version: "",
        formats: (0..128).map(|_| Vec::new()).collect(),
        words: Words::default(),
        lists: std::array::from_fn(|_| Vec::new()),
        rules: Vec::new(),
        pairs: [0; 26],
    };
    let mut section = "";
    for line in DATA.lines().filter(|line| !line.starts_with('#')) {
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            section = name;
        } else {
            match section {
                "version" => found.version = line,
                "formats" => add_format(&mut found.formats, line),
                "pairs" => add_pairs(&mut found.pairs, line),
                "rules" => add_rule(&mut found.rules, line),
                // of several words each
                "leads" => found.lists[List::Leads as usize].push(line),
                _ => match LISTS.iter().find(|(name, _)| *name == section) {
                    Some((_, list)) => {
                        found.lists[*list as usize].extend(line.split_whitespace());
                    }
                    None => add_words(&mut found.words, section, line),
                },
            }
        }
    }
    for rows in &mut found.formats {
        rows.sort_by_key(|row| std::cmp::Reverse(row.prefix.len()));
    }
    found
}

fn add_format(formats: &mut [Vec<Format>], line: &'static str) {
    let mut parts = line.split(' ');
    let (Some(rule), Some(prefix), Some(class), Some(lengths)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return;
    };
    let (least, most) = lengths.split_once('-').unwrap_or((lengths, ""));
    formats[usize::from(prefix.as_bytes()[0])].push(Format {
        rule: rule.trim_end_matches(['?', '<']),
        prefix,
        class: bytes::class_of_letter(class.as_bytes()[0]),
        least: least.parse().unwrap_or(usize::MAX),
        most: most.parse().unwrap_or(usize::MAX),
        random: rule.ends_with('?'),
        reaches_back: rule.ends_with('<'),
    });
}

fn add_pairs(pairs: &mut [u32; 26], line: &str) {
    let Some((first, rest)) = line.split_once(' ') else {
        return;
    };
    let place = usize::from(first.as_bytes()[0] - b'a');
    pairs[place] |= rest.bytes().fold(0, |bits, next| bits | 1 << (next - b'a'));
}

fn add_rule(rules: &mut Vec<(&'static str, Vec<&'static str>)>, line: &'static str) {
    if let Some((rule, parts)) = line.split_once(' ') {
        rules.push((rule, parts.split(' ').collect()));
    }
}

fn add_words(words: &mut Words, section: &str, line: &'static str) {
    let bit = SECTIONS.iter().find(|(name, _)| *name == section);
    for one in line.split_whitespace() {
        *words.entry(one).or_default() |= bit.map_or(0, |(_, bit)| *bit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        let rows = || lists().formats.iter().flatten();
        assert!(rows().count() >= 90);
        assert!(rows().all(|row| row.least >= 8 && row.least <= row.most && row.least < 1000));
        assert!(rows().all(|row| row.rule.bytes().all(|b| b.is_ascii_lowercase())));
        assert!(
            DATA.lines()
                .filter_map(|line| line.strip_prefix('['))
                .all(|line| {
                    let name = line.trim_end_matches(']');
                    ["version", "formats", "pairs", "rules"].contains(&name)
                        || SECTIONS.iter().any(|(known, _)| *known == name)
                        || LISTS.iter().any(|(known, _)| *known == name)
                })
        );
        for (place, (name, list)) in LISTS.into_iter().enumerate() {
            assert!(
                list as usize == place && !lists().of(list).is_empty(),
                "{name}"
            );
        }
        assert!(!lists().rules.is_empty());
        assert!(!lists().version.is_empty());
    }
}
