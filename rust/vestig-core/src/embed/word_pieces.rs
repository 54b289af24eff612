//! Word pieces of a text: BERT's basic tokens, lower-cased and without accents, cut greedily into
//! the longest pieces of the vocabulary (Wu et al., Google's neural machine translation system,
//! 2016).
//!
//! The ids are those of the package `tokenizers`, which made the model's own training texts into
//! ids. The categories and decompositions of characters come from the crates that it uses, for
//! newer tables of Unicode give other ids.

use std::ops::ControlFlow;
use std::path::Path;

use unicode_categories::UnicodeCategories;
use unicode_normalization_alignments::UnicodeNormalization;

use super::pinned::read_pinned;
use super::weights::{PIECES_MAX, VOCABULARY};
use crate::error::{CoreError, Result};

/// A longer word is one unknown piece.
const WORD_CHARS_MAX: usize = 100;
/// Pieces that mark the ends of a text.
const MARKS: usize = 2;
const CONTINUED: &[u8] = b"##";
/// Of the table of pieces; a power of two, more than twice the vocabulary.
const SLOTS: usize = 1 << 16;

/// The pieces that a model knows, with their ids.
pub struct WordPieces {
    lines: Vec<u8>,
    /// Where the line of each id begins and ends.
    ends: Vec<(u32, u32)>,
    /// Id + 1 of a piece at the first free slot behind its hash; 0 is free.
    slots: Vec<u32>,
    longest: usize,
    unknown: u32,
    first: u32,
    last: u32,
}

/// FNV-1a, which grows with a piece byte by byte.
#[derive(Clone, Copy)]
struct Hash(u64);

impl Hash {
    const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    fn and(self, bytes: &[u8]) -> Self {
        let grown = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        Self(bytes.iter().fold(self.0, grown))
    }

    fn slot(self) -> usize {
        // The product's high bits depend on every byte.
        usize::try_from((self.0 ^ (self.0 >> 32)) % SLOTS as u64).unwrap_or(0)
    }
}

impl WordPieces {
    /// From a vocabulary file with this SHA-256.
    ///
    /// `Io` where it cannot be read; `Invalid` where it is another file, and as [`Self::new`].
    pub fn read(path: &Path, sha256: &[u8; 32]) -> Result<Self> {
        Self::new(read_pinned(path, sha256, "a vocabulary")?)
    }

    /// From the lines of a vocabulary; the first line is piece 0.
    ///
    /// `Invalid`: not 30,522 lines, a line twice, or `[UNK]`, `[CLS]` or `[SEP]` is missing.
    pub fn new(lines: Vec<u8>) -> Result<Self> {
        let mut ends = Vec::with_capacity(VOCABULARY);
        let mut from = 0;
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let to = from + line.len();
            ends.push((from, to - usize::from(line.ends_with(b"\n"))));
            from = to;
        }
        if ends.len() != VOCABULARY || u32::try_from(lines.len()).is_err() {
            return Err(CoreError::Invalid(format!(
                "expected a vocabulary of {VOCABULARY} lines, got {}",
                ends.len()
            )));
        }
        let mut pieces = Self {
            longest: ends.iter().map(|(from, to)| to - from).max().unwrap_or(0),
            ends: ends
                .iter()
                .map(|(from, to)| (*from as u32, *to as u32))
                .collect(),
            lines,
            slots: vec![0; SLOTS],
            unknown: 0,
            first: 0,
            last: 0,
        };
        for id in 0..VOCABULARY as u32 {
            let hash = Hash::EMPTY.and(pieces.line(id));
            let slot = pieces.find(hash, &[], pieces.line(id)).map_err(|_| {
                CoreError::Invalid(format!("line {} of the vocabulary is a repeat", id + 1))
            });
            let slot = slot?;
            pieces.slots[slot] = id + 1;
        }
        pieces.unknown = pieces.named("[UNK]")?;
        pieces.first = pieces.named("[CLS]")?;
        pieces.last = pieces.named("[SEP]")?;
        Ok(pieces)
    }

    fn line(&self, id: u32) -> &[u8] {
        let found = self.ends.get(id as usize);
        found.map_or(&[], |(from, to)| &self.lines[*from as usize..*to as usize])
    }

    /// The id of the piece `head` and `tail` of this hash; else the free slot where it belongs.
    fn find(&self, hash: Hash, head: &[u8], tail: &[u8]) -> std::result::Result<usize, u32> {
        let mut slot = hash.slot();
        // More slots than pieces: one of them is free.
        loop {
            let Some(id) = self.slots[slot].checked_sub(1) else {
                return Ok(slot);
            };
            if self.line(id).strip_prefix(head) == Some(tail) {
                return Err(id);
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    fn named(&self, piece: &str) -> Result<u32> {
        let found = self.find(Hash::EMPTY.and(piece.as_bytes()), &[], piece.as_bytes());
        found
            .err()
            .ok_or_else(|| CoreError::Invalid(format!("the vocabulary has no line {piece}")))
    }

    /// Ids of the first 256 pieces, those included that mark both ends.
    ///
    /// ```
    /// # let lines = include_bytes!("../../../../python/vestig/data/vocab.txt").to_vec();
    /// let pieces = vestig_core::embed::WordPieces::new(lines)?;
    /// assert_eq!(pieces.ids("The café."), [101, 1996, 7668, 1012, 102]);
    /// # Ok::<(), vestig_core::CoreError>(())
    /// ```
    #[must_use]
    pub fn ids(&self, text: &str) -> Vec<u32> {
        let mut ids = vec![self.first];
        let _ = each_word(text, |word, chars| {
            self.cut(word, chars.len(), &mut ids);
            until(ids.len() >= PIECES_MAX - 1)
        });
        ids.truncate(PIECES_MAX - 1);
        ids.push(self.last);
        ids
    }

    /// Ids of the pieces of the whole text, without marks.
    pub(super) fn unmarked(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        let _ = each_word(text, |word, chars| {
            self.cut(word, chars.len(), &mut ids);
            ControlFlow::Continue(())
        });
        ids
    }

    /// The pieces that mark the beginning and the end of a text.
    pub(super) fn marks(&self) -> (u32, u32) {
        (self.first, self.last)
    }

    /// Where the pieces of [`Self::ids`] stand in the text, in code points [start, end); an empty
    /// range for those that mark the ends. Letters that a word piece writes otherwise, such as one
    /// with an accent, count where they are written.
    ///
    /// ```
    /// # let lines = include_bytes!("../../../../python/vestig/data/vocab.txt").to_vec();
    /// let pieces = vestig_core::embed::WordPieces::new(lines)?;
    /// assert_eq!(pieces.places("The café."), [(0, 0), (0, 3), (4, 8), (8, 9), (0, 0)]);
    /// # Ok::<(), vestig_core::CoreError>(())
    /// ```
    #[must_use]
    pub fn places(&self, text: &str) -> Vec<(u32, u32)> {
        let (mut places, mut ids) = (vec![(0, 0)], Vec::new());
        let _ = each_word(text, |word, chars| {
            ids.clear();
            self.cut(word, chars.len(), &mut ids);
            let mut from = 0;
            for id in &ids {
                let length = match *id == self.unknown {
                    true => chars.len(),
                    false => self.letters(*id, from > 0),
                };
                let own = &chars[from..(from + length).min(chars.len())];
                let ends = own.first().zip(own.last());
                places.push(ends.map_or((0, 0), |(first, last)| (*first, last + 1)));
                from += length;
            }
            until(places.len() >= PIECES_MAX - 1)
        });
        places.truncate(PIECES_MAX - 1);
        places.push((0, 0));
        places
    }

    /// How many characters of a word a piece stands for.
    fn letters(&self, id: u32, continued: bool) -> usize {
        let line = self.line(id);
        let own = match continued {
            true => line.strip_prefix(CONTINUED).unwrap_or(line),
            false => line,
        };
        own.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
    }

    /// Returns whether the text has pieces behind the first 256.
    #[must_use]
    pub fn truncated(&self, text: &str) -> bool {
        let mut ids = Vec::new();
        let more = |ids: &Vec<u32>| ids.len() > PIECES_MAX - MARKS;
        let _ = each_word(text, |word, chars| {
            self.cut(word, chars.len(), &mut ids);
            until(more(&ids))
        });
        more(&ids)
    }

    /// How many pieces the whole text has, without marks. A word that is too long to be one is
    /// counted in parts of 100 characters: one unknown piece is no measure of it.
    #[must_use]
    pub fn count(&self, text: &str) -> usize {
        let (mut count, mut ids) = (0, Vec::new());
        let _ = each_word(text, |word, chars| {
            let mut rest = word;
            for _ in 0..chars.len().div_ceil(WORD_CHARS_MAX) {
                let end = rest.char_indices().nth(WORD_CHARS_MAX);
                let (part, behind) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
                ids.clear();
                self.cut(part, part.chars().count(), &mut ids);
                count += ids.len();
                rest = behind;
            }
            ControlFlow::Continue(())
        });
        count
    }

    /// Adds the pieces of a word, or the unknown one.
    fn cut(&self, word: &str, chars: usize, ids: &mut Vec<u32>) {
        let known = ids.len();
        if chars <= WORD_CHARS_MAX {
            let mut rest = word;
            while let Some((id, behind)) = self.longest_piece(rest, rest.len() < word.len()) {
                ids.push(id);
                rest = behind;
            }
            if rest.is_empty() {
                return;
            }
        }
        ids.truncate(known);
        ids.push(self.unknown);
    }

    /// The longest piece that `rest` begins with, and what is behind it; None at the end too.
    fn longest_piece<'a>(&self, rest: &'a str, continued: bool) -> Option<(u32, &'a str)> {
        let head = if continued { CONTINUED } else { &[] };
        let mut hash = Hash::EMPTY.and(head);
        let (mut from, mut longest) = (0, None);
        for (at, char) in rest.char_indices() {
            let to = at + char.len_utf8();
            if to + head.len() > self.longest {
                break;
            }
            hash = hash.and(&rest.as_bytes()[from..to]);
            if let Err(id) = self.find(hash, head, &rest.as_bytes()[..to]) {
                longest = Some((id, &rest[to..]));
            }
            from = to;
        }
        longest
    }
}

fn until(done: bool) -> ControlFlow<()> {
    if done {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}

/// The words of a text, and by their characters where each comes from in the text, in order. A mark
/// of punctuation and a Chinese character are words of their own.
fn each_word(text: &str, found: impl FnMut(&str, &[u32]) -> ControlFlow<()>) -> ControlFlow<()> {
    let placed = (0_u32..).zip(text.chars());
    let cleaned = placed.filter_map(|(at, char)| Some((at, cleaned(char)?)));
    if text.is_ascii() {
        // Decomposition leaves ASCII as it is.
        return split(cleaned, found);
    }
    let spaced: Vec<(u32, char)> = cleaned
        .flat_map(|(at, char)| {
            let space = is_chinese(char).then_some((at, ' '));
            [space, Some((at, char)), space].into_iter().flatten()
        })
        .collect();
    let mut next = spaced.iter().map(|(at, _)| *at);
    let mut at = 0;
    let decomposed = spaced.iter().map(|(_, char)| *char).nfd();
    let plain = decomposed.map(|(char, change)| {
        // 1 = one more character of the same one.
        if change <= 0 {
            at = next.nth(change.unsigned_abs()).unwrap_or(at);
        }
        (at, char)
    });
    split(plain.filter(|(_, char)| !char.is_mark_nonspacing()), found)
}

fn split(
    chars: impl Iterator<Item = (u32, char)>,
    mut found: impl FnMut(&str, &[u32]) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let (mut word, mut places) = (String::new(), Vec::new());
    for (at, char) in chars {
        for char in char.to_lowercase() {
            let alone = is_punctuation(char);
            if (alone || char.is_whitespace()) && !places.is_empty() {
                found(&word, &places)?;
                word.clear();
                places.clear();
            }
            if alone {
                found(char.encode_utf8(&mut [0; 4]), &[at])?;
            } else if !char.is_whitespace() {
                word.push(char);
                places.push(at);
            }
        }
    }
    if !places.is_empty() {
        found(&word, &places)?;
    }
    ControlFlow::Continue(())
}

/// The character, a space for any white space, None for what no word holds.
fn cleaned(char: char) -> Option<char> {
    match char {
        '\t' | '\n' | '\r' => Some(' '),
        '\0' | '\u{fffd}' => None,
        ' '..='~' => Some(char),
        _ if char.is_other() => None,
        _ if char.is_whitespace() => Some(' '),
        _ => Some(char),
    }
}

fn is_punctuation(char: char) -> bool {
    if char.is_ascii() {
        char.is_ascii_punctuation()
    } else {
        char.is_punctuation()
    }
}

fn is_chinese(char: char) -> bool {
    matches!(
        u32::from(char),
        0x4E00..=0x9FFF
            | 0x3400..=0x4DBF
            | 0x20000..=0x2A6DF
            | 0x2A700..=0x2B73F
            | 0x2B740..=0x2B81F
            | 0x2B920..=0x2CEAF
            | 0xF900..=0xFAFF
            | 0x2F800..=0x2FA1F
    )
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use super::*;
    use proptest::prelude::*;

    fn pieces() -> &'static WordPieces {
        static PIECES: OnceLock<WordPieces> = OnceLock::new();
        PIECES.get_or_init(|| {
            let lines = include_bytes!("../../../../python/vestig/data/vocab.txt");
            WordPieces::new(lines.to_vec()).unwrap()
        })
    }

    #[test]
    fn words_become_the_longest_pieces() {
        let pieces = pieces();
        let text = |ids: &[u32]| -> Vec<String> {
            let lines = ids.iter().map(|id| pieces.line(*id).to_vec());
            lines.map(|line| String::from_utf8(line).unwrap()).collect()
        };
        let read = |given: &str| text(&pieces.ids(given));
        assert_eq!(read(""), ["[CLS]", "[SEP]"]);
        assert_eq!(
            read("Unaffable"),
            ["[CLS]", "una", "##ffa", "##ble", "[SEP]"]
        );
        assert_eq!(
            read("[CLS] x"),
            ["[CLS]", "[", "cl", "##s", "]", "x", "[SEP]"]
        );
        assert_eq!(read("東京"), ["[CLS]", "東", "京", "[SEP]"]);
        assert_eq!(read("Crème\u{ad}\t\u{0}brûlée"), read("creme brulee"));
        assert_eq!(read(&"q".repeat(101)), ["[CLS]", "[UNK]", "[SEP]"]);
        assert_eq!(read("\u{1f9ff}"), ["[CLS]", "[UNK]", "[SEP]"]);
    }

    #[test]
    fn pieces_stand_where_their_letters_are_written() {
        let places = |text: &str| pieces().places(text);
        assert_eq!(places(""), [(0, 0), (0, 0)]);
        // una ##ffa ##ble
        assert_eq!(
            places(" Unaffable"),
            [(0, 0), (1, 4), (4, 7), (7, 10), (0, 0)]
        );
        assert_eq!(places("東\u{0}京"), [(0, 0), (0, 1), (2, 3), (0, 0)]);
        // The accents are characters of their own.
        assert_eq!(
            places("Cre\u{300}me no"),
            [(0, 0), (0, 2), (2, 6), (7, 9), (0, 0)]
        );
        let long = format!("x {} y", "q".repeat(101));
        assert_eq!(
            places(&long),
            [(0, 0), (0, 1), (2, 103), (104, 105), (0, 0)]
        );
    }

    #[test]
    fn a_text_is_read_to_its_256th_piece() {
        let pieces = pieces();
        let tea = |count: usize| "tea ".repeat(count);
        assert_eq!(pieces.ids(&tea(254)).len(), PIECES_MAX);
        assert_eq!(pieces.ids(&tea(254)), pieces.ids(&tea(900)));
        assert!(!pieces.truncated(&tea(254)) && pieces.truncated(&tea(255)));
        assert_eq!(pieces.count(&tea(900)), 900);
        let (whole, part) = ("q7".repeat(150), "q7".repeat(50));
        assert_eq!(pieces.count(&whole), 3 * pieces.count(&part));
    }

    #[test]
    fn a_vocabulary_that_is_none_is_refused() {
        let lines = include_bytes!("../../../../python/vestig/data/vocab.txt").to_vec();
        let text = String::from_utf8(lines).unwrap();
        let wrong = [
            String::new(),
            text.replacen("[PAD]\n", "", 1),
            text.replacen("[PAD]", "[SEP]", 1),
            text.replacen("[UNK]", "[UNKNOWN]", 1),
        ];
        for lines in wrong {
            assert!(WordPieces::new(lines.into_bytes()).is_err());
        }
    }

    proptest! {
        #[test]
        fn any_text_has_pieces_of_the_vocabulary(part in "\\PC{0,30}|(?s).{0,30}|[ -~]{0,99}") {
            let pieces = pieces();
            let text = [&part[..]; 6].join(" ");
            let ids = pieces.ids(&text);
            prop_assert!(ids.len() >= MARKS && ids.len() <= PIECES_MAX);
            prop_assert!(ids.iter().all(|id| (*id as usize) < VOCABULARY));
            let count = pieces.count(&text);
            prop_assert_eq!(pieces.truncated(&text), count > PIECES_MAX - MARKS);
            prop_assert_eq!(ids.len(), count.min(PIECES_MAX - MARKS) + MARKS);
            let (places, letters) = (pieces.places(&text), text.chars().count() as u32);
            prop_assert_eq!(places.len(), ids.len());
            let inner = &places[1..places.len() - 1];
            prop_assert!(inner.iter().all(|(from, to)| from < to && *to <= letters));
        }
    }
}
