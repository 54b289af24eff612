//! A query after its analysis.

use std::sync::Arc;

use super::question_words::QuestionWords;
use crate::kernels::temporal::Window;
use crate::kernels::token_vectors::OwnedPieces;
use crate::segment::Id;

/// The parts of a query that signals are made of.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// As given, not yet a unit vector; None = no similarity.
    pub vector: Option<Vec<f32>>,
    /// Index terms in order, repeats allowed; None = no lexical signal.
    pub terms: Option<Vec<String>>,
    /// Keywords of the analysed query.
    pub keywords: Vec<String>,
    /// Time windows of the query, µs; each start ≤ end, None = open.
    pub windows: Vec<Window>,
    /// Matched entities with their match score.
    pub entities: Vec<(Id, f64)>,
    /// Of the walk, 0 … 2⁵³ − 1.
    pub seed: u64,
    /// The text in which names of authors are looked for.
    pub names_text: Option<String>,
    /// Windows of explicit dates: start ≤ end; true = of every year in which a memory is valid.
    pub dates: Vec<(Option<i64>, Option<i64>, bool)>,
    /// Bits: 0 when, 1 how many, 2 who, where, which or what thing.
    pub question_kinds: u8,
    /// Token vectors; `u32::MAX` marks a piece that belongs to no word. None = no late interaction.
    pub pieces: Option<OwnedPieces>,
    /// Words of the questions that memories answer; None = no such term.
    pub questions: Option<Arc<QuestionWords>>,
    /// Scores of a cross-encoder for the best memories; None = no such signal.
    pub reranked: Option<Vec<(Id, f64)>>,
}

impl Query {
    /// Terms, keywords and entities once each, by first position; an entity with its best score.
    #[must_use]
    pub(super) fn distinct(&self) -> Self {
        let mut entities: Vec<(Id, f64)> = Vec::new();
        for (id, score) in &self.entities {
            match entities.iter_mut().find(|(known, _)| known == id) {
                Some((_, best)) => *best = best.max(*score),
                None => entities.push((*id, *score)),
            }
        }
        Self {
            terms: self.terms.as_deref().map(once_each),
            keywords: once_each(&self.keywords),
            entities,
            ..self.clone()
        }
    }
}

fn once_each(texts: &[String]) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    for text in texts {
        if !distinct.contains(text) {
            distinct.push(text.clone());
        }
    }
    distinct
}
