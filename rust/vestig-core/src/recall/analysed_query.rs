//! A query after its analysis.

use std::ops::Deref;

use super::topic::TopicPieces;
use crate::kernels::piece_codes::QueryPieces;
use crate::kernels::temporal::Window;
use crate::segment::Id;
use crate::words::ContentTerm;

/// The parts of a query as analysis gives them; what stands there twice counts once.
#[derive(Debug, Clone, Default)]
pub struct QueryParts {
    /// As given, not yet a unit vector; None = no similarity.
    pub vector: Option<Vec<f32>>,
    /// Index terms in order, repeats allowed; None = no lexical signal.
    pub terms: Option<Vec<String>>,
    /// Its content terms in order, repeats allowed.
    pub content: Vec<ContentTerm>,
    /// Hidden states of its word pieces; None = its topic is its vector.
    pub topic: Option<TopicPieces>,
    /// The text in which names of authors are looked for.
    pub names_text: Option<String>,
    /// Keywords of the analysed query.
    pub keywords: Vec<String>,
    /// Time windows of the query, µs; each start ≤ end, None = open.
    pub windows: Vec<Window>,
    /// Matched entities with their match score.
    pub entities: Vec<(Id, f64)>,
    /// Query time, µs since the epoch: ages and recency count up to it.
    pub query_time: i64,
    /// Of the walk, 0 … 2⁵³ − 1.
    pub seed: u64,
    /// Windows of explicit dates: start ≤ end; true = of every year in which a memory is valid.
    pub dates: Vec<(Option<i64>, Option<i64>, bool)>,
    /// 4-bit codes; `u32::MAX` marks a piece that belongs to no word. None = no late interaction.
    pub pieces: Option<QueryPieces>,
    /// Places of the word pieces that stand inside an expression of time; they may lie behind those
    /// that are compared.
    pub pieces_in_time: Vec<u32>,
    /// Scores of a cross-encoder for the best memories; None = no such signal.
    pub rerank_scores: Option<Vec<(Id, f64)>>,
}

/// A query: its parts, with distinct terms, keywords and entities.
#[derive(Debug, Clone)]
pub struct Query(QueryParts);

impl Query {
    /// Terms, keywords and entities once each, by first position; an entity with its best score.
    #[must_use]
    pub fn new(mut parts: QueryParts) -> Self {
        let mut entities: Vec<(Id, f64)> = Vec::new();
        for (id, score) in &parts.entities {
            match entities.iter_mut().find(|(known, _)| known == id) {
                Some((_, best)) => *best = best.max(*score),
                None => entities.push((*id, *score)),
            }
        }
        parts.entities = entities;
        parts.terms = parts.terms.map(once_each);
        parts.keywords = once_each(parts.keywords);
        Self(parts)
    }

    /// By content term, repeats included: its idf, 0 where it does not count. `dates_met`: an eligible
    /// memory meets a date of the query.
    pub(super) fn content_weights(&self, idfs: &[f64], dates_met: bool) -> Vec<f64> {
        let terms = self.0.terms.as_deref().unwrap_or_default();
        let idf = |term: &String| terms.iter().position(|own| own == term).map(|at| idfs[at]);
        let weight = |one: &ContentTerm| match one.counts(dates_met) {
            true => idf(&one.term).unwrap_or(0.0),
            false => 0.0,
        };
        self.0.content.iter().map(weight).collect()
    }

    /// The same query by words, times and entities alone.
    #[must_use]
    pub fn without_vector(&self) -> Self {
        let mut parts = self.0.clone();
        parts.vector = None;
        Self(parts)
    }

    /// The same query with scores of a cross-encoder.
    #[must_use]
    pub fn with_rerank_scores(&self, scores: Option<Vec<(Id, f64)>>) -> Self {
        let mut parts = self.0.clone();
        parts.rerank_scores = scores;
        Self(parts)
    }
}

impl Deref for Query {
    type Target = QueryParts;

    fn deref(&self) -> &QueryParts {
        &self.0
    }
}

fn once_each(texts: Vec<String>) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::with_capacity(texts.len());
    for text in texts {
        if !distinct.contains(&text) {
            distinct.push(text);
        }
    }
    distinct
}
