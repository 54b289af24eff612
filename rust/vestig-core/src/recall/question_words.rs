//! Questions that memories answer: BM25 over words that the caller makes of their texts.

use std::collections::HashMap;
use std::sync::Arc;

use super::text_flags::each_row;
use super::turn_index::TurnIndex;
use crate::kernels::lexical::{self, Norms};
use crate::segment::{Id, Segment};

/// By term: places of the documents that hold it, and how often each does.
pub type Postings = HashMap<String, (Vec<u32>, Vec<u32>)>;

/// An extra columns of memories: how many words each has, and where those of a query stand.
#[derive(Debug, Clone, Default)]
pub struct QuestionWords {
    ids: Vec<Id>,
    lengths: Vec<u32>,
    postings: Postings,
}

impl QuestionWords {
    /// Ids and lengths of documents, and the postings of a query's terms among them; places beyond
    /// the documents are passed over.
    #[must_use]
    pub fn new(ids: Vec<Id>, lengths: Vec<u32>, postings: Postings) -> Arc<Self> {
        Arc::new(Self {
            ids,
            lengths,
            postings,
        })
    }
}

/// Raw scores by turn; statistics are those of the eligible, who may have no words here.
pub(super) fn score(
    index: &TurnIndex,
    segments: &[&Segment],
    terms: &[String],
    words: &QuestionWords,
) -> Vec<f64> {
    let ids = words.ids.iter().zip(0_usize..);
    let known: HashMap<&Id, usize> = ids.collect();
    let mut lengths = vec![0_u32; index.len()];
    let mut turns = vec![None; words.ids.len()];
    each_row(index, segments, |turn, _, segment, row| {
        if let Some(at) = known.get(&segment.ids()[row]) {
            lengths[turn] = words.lengths.get(*at).copied().unwrap_or(0);
            turns[*at] = Some(turn as u32);
        }
    });
    let total = lengths.iter().map(|length| u64::from(*length)).sum();
    let count = index.len() as u64;
    let norms = Norms::new(total, count);
    let mut scores = vec![0.0; index.len()];
    for (documents, counts) in terms.iter().filter_map(|term| words.postings.get(term)) {
        let turn = |at: &u32| turns.get(*at as usize).copied().flatten();
        let found = documents.iter().zip(counts);
        let found = found.filter_map(|(at, count)| Some((turn(at)?, *count)));
        let (rows, counts): (Vec<u32>, Vec<u32>) = found.unzip();
        let idf = lexical::idf(count, rows.len() as u64);
        lexical::accumulate(
            &mut scores,
            idf,
            (&rows, &counts),
            |n| n,
            &lengths,
            None,
            &norms,
        );
    }
    scores
}
