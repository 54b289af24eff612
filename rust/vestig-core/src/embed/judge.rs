//! The judge: a cross-encoder that reads a question and one memory together, and says whether the
//! memory answers the question, and how it ranks among others.
//!
//! It has the dimensions of the embedder and its word vectors; all else is its own.

use std::cmp::Reverse;

use super::cross_encoder::{CrossEncoderWeights, Parts};
use super::forward::Text;
use super::packed::PackedWeights;
use super::word_pieces::WordPieces;
use crate::error::Result;
use crate::kernels::dispatch::Level;

/// Most word pieces of a question; of a longer one the first and the last are read.
const QUESTION_MAX: usize = 30;
const QUESTION_FIRST: usize = 10;
/// Most word pieces of a memory with what stands before its text.
const MEMORY_MAX: usize = 71;
/// Most word pieces of the head, and of head and lead together.
const HEAD_MAX: usize = 15;
const HEAD_LEAD_MAX: usize = 31;
/// Fewer free places than this stay empty.
const BEFORE_MIN: usize = 5;
/// Windows of a long text begin at multiples of this.
const WINDOW_STEP: usize = 8;

const OUTPUTS: usize = 2;

/// One memory as the judge reads it, part by part.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemoryText<'a> {
    /// Its day: `tuesday 3 march 2026 ·`.
    pub head: &'a str,
    /// The last words of the turn before it.
    pub before: &'a str,
    /// Who said it, or the title above it: `ada:`.
    pub lead: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// Both logits of a question and a memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// Does the memory answer the question, be it outdated or not?
    pub answers: f32,
    /// How well it answers beside others.
    pub rank: f32,
}

/// Word pieces of a question and a memory: `[CLS] question [SEP] memory [SEP]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The pieces of both parts, with their marks.
    pub ids: Vec<u32>,
    /// Where the memory begins: the pieces before it have token type 0, the others 1.
    pub memory_from: usize,
}

impl Pair {
    fn parts(&self) -> Parts<'_> {
        Parts {
            text: Text {
                ids: &self.ids,
                second_from: self.memory_from,
            },
            first: 1..self.memory_from.saturating_sub(1),
            second: self.memory_from..self.ids.len().saturating_sub(1),
        }
    }
}

/// The pair of a question with each memory.
#[must_use]
pub fn pairs(pieces: &WordPieces, question: &str, memories: &[MemoryText<'_>]) -> Vec<Pair> {
    let question = question_pieces(pieces, question);
    let (first, last) = pieces.marks();
    let pair = |memory: &MemoryText<'_>| {
        let mut ids = vec![first];
        ids.extend(&question);
        ids.push(last);
        let memory_from = ids.len();
        ids.extend(memory_pieces(pieces, &question, memory, MEMORY_MAX));
        ids.push(last);
        Pair { ids, memory_from }
    };
    memories.iter().map(pair).collect()
}

/// The pieces of a question that are read.
pub(super) fn question_pieces(pieces: &WordPieces, question: &str) -> Vec<u32> {
    let mut question = pieces.unmarked(question);
    if question.len() > QUESTION_MAX {
        let last = question.len() - (QUESTION_MAX - QUESTION_FIRST);
        question.drain(QUESTION_FIRST..last);
    }
    question
}

/// At most so many pieces of a memory, 31 at least: head, what was said before as far as there is room, lead, text.
pub(super) fn memory_pieces(
    pieces: &WordPieces,
    question: &[u32],
    memory: &MemoryText<'_>,
    most: usize,
) -> Vec<u32> {
    let mut found = pieces.unmarked(memory.head);
    found.truncate(HEAD_MAX);
    let mut lead = pieces.unmarked(memory.lead);
    lead.truncate(HEAD_LEAD_MAX - found.len());
    let room = most - found.len() - lead.len();
    let text = pieces.unmarked(memory.text);
    let text = window(&text, question, room);
    let free = room - text.len();
    if free >= BEFORE_MIN {
        let before = pieces.unmarked(memory.before);
        found.extend(&before[before.len().saturating_sub(free)..]);
    }
    found.extend(lead);
    found.extend(text);
    found
}

/// The text, or of a longer one the first window of `room` pieces that holds most pieces of the
/// question.
fn window<'a>(text: &'a [u32], question: &[u32], room: usize) -> &'a [u32] {
    if text.len() <= room {
        return text;
    }
    let held = |window: &[u32]| window.iter().filter(|id| question.contains(id)).count();
    let windows = text.windows(room).step_by(WINDOW_STEP);
    windows
        .min_by_key(|window| Reverse(held(window)))
        .unwrap_or(text)
}

impl CrossEncoderWeights {
    /// The judgement of each pair, in order, with the word vectors of the embedder, on up to
    /// `threads` threads by a named level. Neither level nor threads nor other pairs change a bit.
    ///
    /// # Errors
    /// `Weights` where the embedder's weights are damaged, `Invalid` for an unknown word piece or
    /// weights that are not a judge's.
    pub fn judge(
        &self,
        level: Level,
        words: &PackedWeights,
        pairs: &[Pair],
        threads: usize,
    ) -> Result<Vec<Judgement>> {
        let texts: Vec<_> = pairs.iter().map(Pair::parts).collect();
        let found = self.read(level, words, &texts, threads)?;
        let judgement = |[answers, rank]: [f32; OUTPUTS]| Judgement { answers, rank };
        Ok(found.into_iter().map(judgement).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces() -> WordPieces {
        let lines = include_bytes!("../../../../python/vestig/data/vocab.txt");
        WordPieces::new(lines.to_vec()).unwrap()
    }

    #[test]
    fn a_pair_is_the_question_and_the_parts_of_a_memory() {
        let pieces = pieces();
        let memory = MemoryText {
            head: "3 may",
            before: "and then where did you go",
            lead: "ada:",
            text: "to oslo",
        };
        let found = pairs(&pieces, "Where?", &[memory, MemoryText::default()]);
        let parts = [memory.head, memory.before, memory.lead, memory.text];
        let parts = parts.map(|part| pieces.unmarked(part)).concat();
        let question = [&[101], &pieces.unmarked("Where?")[..], &[102]].concat();
        assert_eq!(found[0].ids, [&question, &parts[..], &[102]].concat());
        assert_eq!(found[1].ids, [&question[..], &[102]].concat());
        assert!(found.iter().all(|pair| pair.memory_from == question.len()));
        assert!(pairs(&pieces, "Where?", &[]).is_empty());
    }

    #[test]
    fn no_pair_is_longer_than_its_parts_may_be() {
        let pieces = pieces();
        let long = "tea ".repeat(500);
        let memory = MemoryText {
            head: &long,
            before: &long,
            lead: &long,
            text: &long,
        };
        let pair = &pairs(&pieces, &long, &[memory])[0];
        assert_eq!(pair.memory_from, QUESTION_MAX + 2);
        assert_eq!(pair.ids.len(), QUESTION_MAX + MEMORY_MAX + 3);
    }

    #[test]
    fn the_first_window_that_holds_most_is_read() {
        let text: Vec<u32> = (0..40).collect();
        assert_eq!(window(&text, &[], 40), text);
        assert_eq!(window(&text, &[99], 10), &text[..10]);
        assert_eq!(window(&text, &[9], 10), &text[..10]);
        assert_eq!(window(&text, &[12, 17], 10), &text[8..18]);
        // 24 is the last multiple of 8 at which a window fits: no window holds both.
        assert_eq!(window(&text, &[33, 39], 10), &text[24..34]);
    }
}
