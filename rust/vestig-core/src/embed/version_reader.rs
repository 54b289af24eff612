//! The version reader: a cross-encoder that reads a question with an older and a newer memory
//! together, and says whether the newer one takes the place of the older one.
//!
//! Its adapter is its own; the layers below it are those of the judge.

use super::cross_encoder::{CrossEncoderWeights, Parts};
use super::forward::Text;
use super::judge::{MemoryText, memory_pieces, question_pieces};
use super::packed::PackedWeights;
use super::word_pieces::WordPieces;
use crate::error::Result;
use crate::kernels::dispatch::Level;

/// Most word pieces of each memory with what stands before its text.
const MEMORY_MAX: usize = 56;

/// Word pieces of a question and two memories: `[CLS] question [SEP] older [SEP] newer [SEP]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Triple {
    /// The pieces of all parts, with their marks.
    pub ids: Vec<u32>,
    /// Where the older memory begins: the pieces before it have token type 0, the others 1.
    pub older_from: usize,
    /// Where the newer memory begins.
    pub newer_from: usize,
}

impl Triple {
    fn parts(&self) -> Parts<'_> {
        Parts {
            text: Text {
                ids: &self.ids,
                second_from: self.older_from,
            },
            first: self.older_from..self.newer_from.saturating_sub(1),
            second: self.newer_from..self.ids.len().saturating_sub(1),
        }
    }
}

/// A question with each pair of an older and a newer memory.
#[must_use]
pub fn triples(
    pieces: &WordPieces,
    question: &str,
    pairs: &[(MemoryText<'_>, MemoryText<'_>)],
) -> Vec<Triple> {
    let question = question_pieces(pieces, question);
    let (first, last) = pieces.marks();
    let read = |memory: &MemoryText<'_>| memory_pieces(pieces, &question, memory, MEMORY_MAX);
    let triple = |(older, newer): &(MemoryText<'_>, MemoryText<'_>)| {
        let mut ids = vec![first];
        ids.extend(&question);
        ids.push(last);
        let older_from = ids.len();
        ids.extend(read(older));
        ids.push(last);
        let newer_from = ids.len();
        ids.extend(read(newer));
        ids.push(last);
        Triple {
            ids,
            older_from,
            newer_from,
        }
    };
    pairs.iter().map(triple).collect()
}

impl CrossEncoderWeights {
    /// The logit of each triple, in order, with the word vectors of the embedder, on up to `threads`
    /// threads by a named level. Neither level nor threads nor other triples change a bit.
    ///
    /// # Errors
    /// `Weights` where the embedder's weights are damaged, `Invalid` for an unknown word piece or
    /// weights that are not a version reader's.
    pub fn compare(
        &self,
        level: Level,
        words: &PackedWeights,
        triples: &[Triple],
        threads: usize,
    ) -> Result<Vec<f32>> {
        let texts: Vec<_> = triples.iter().map(Triple::parts).collect();
        let found = self.read(level, words, &texts, threads)?;
        Ok(found.into_iter().map(|[takes]| takes).collect())
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
    fn a_triple_is_the_question_and_both_memories() {
        let pieces = pieces();
        let memory = |text| MemoryText {
            head: "3 may",
            lead: "ada:",
            text,
            ..MemoryText::default()
        };
        let pair = (memory("to oslo"), memory("back in bergen"));
        let found = &triples(&pieces, "Where?", &[pair])[0];
        let read = |one: MemoryText<'_>| {
            [one.head, one.lead, one.text]
                .map(|part| pieces.unmarked(part))
                .concat()
        };
        let question = [&[101], &pieces.unmarked("Where?")[..], &[102]].concat();
        let older = [&read(pair.0)[..], &[102]].concat();
        let newer = [&read(pair.1)[..], &[102]].concat();
        assert_eq!(found.ids, [&question[..], &older, &newer].concat());
        assert_eq!(found.older_from, question.len());
        assert_eq!(found.newer_from, question.len() + older.len());
    }

    #[test]
    fn no_triple_is_longer_than_its_parts_may_be() {
        let long = "tea ".repeat(500);
        let memory = MemoryText {
            head: &long,
            before: &long,
            lead: &long,
            text: &long,
        };
        let triple = &triples(&pieces(), &long, &[(memory, memory)])[0];
        assert_eq!(triple.ids.len(), 30 + 2 * MEMORY_MAX + 4);
        assert_eq!(triple.newer_from - triple.older_from, MEMORY_MAX + 1);
    }
}
