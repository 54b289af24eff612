//! Questions that memories answer: BM25 over words that the caller makes of their texts.

use std::collections::HashMap;
use std::sync::Arc;

use super::text_flags::each_row;
use super::turn_index::Places;
use crate::kernels::lexical::{self, Norms};
use crate::segment::{Id, Segment};

/// By term: places of the documents that hold it, and how often each does.
pub type Postings = HashMap<String, (Vec<u32>, Vec<u32>)>;

/// An extra field of memories: how many words each has, and where those of a query stand.
#[derive(Debug, Clone, Default)]
pub struct FieldWords {
    ids: Vec<Id>,
    lengths: Vec<u32>,
    postings: Postings,
}

impl FieldWords {
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

/// Raw scores by slot; statistics are those of the eligible, who may have no words here.
pub(super) fn score(
    places: &Places,
    segments: &[&Segment],
    terms: &[String],
    words: &FieldWords,
) -> Vec<f64> {
    let ids = words.ids.iter().zip(0_usize..);
    let known: HashMap<&Id, usize> = ids.collect();
    let mut lengths = vec![0_u32; places.len()];
    let mut slots = vec![None; words.ids.len()];
    each_row(places, segments, |slot, _, segment, row| {
        if let Some(at) = known.get(&segment.ids()[row]) {
            lengths[slot] = words.lengths.get(*at).copied().unwrap_or(0);
            slots[*at] = Some(slot as u32);
        }
    });
    let total = lengths.iter().map(|length| u64::from(*length)).sum();
    let count = places.len() as u64;
    let norms = Norms::new(total, count);
    let mut scores = vec![0.0; places.len()];
    for (documents, counts) in terms.iter().filter_map(|term| words.postings.get(term)) {
        let slot = |at: &u32| slots.get(*at as usize).copied().flatten();
        let found = documents.iter().zip(counts);
        let found = found.filter_map(|(at, count)| Some((slot(at)?, *count)));
        let (rows, counts): (Vec<u32>, Vec<u32>) = found.unzip();
        let idf = lexical::idf(count, rows.len() as u64);
        lexical::accumulate(&mut scores, idf, (&rows, &counts), &lengths, None, &norms);
    }
    scores
}
