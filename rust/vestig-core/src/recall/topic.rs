//! The topic of a query: one vector for what its content words mean.

use super::analysed_query::Query;

/// Hidden states of the word pieces of a query, from the run of the model that gave its vector.
#[derive(Debug, Clone, Default)]
pub struct TopicPieces {
    /// By piece, each as long as a vector.
    pub states: Vec<f32>,
    /// By piece, the content terms of the word that it belongs to, as places in `Query::content`;
    /// none for special pieces, punctuation and words that are no content.
    pub terms: Vec<Vec<u32>>,
}

/// unit(Σ weight · state), in whole lanes: a piece weighs as much as the rarest content term of its
/// word. None where no piece weighs anything. `dates_met`: an eligible memory meets a date of the
/// query.
pub(super) fn vector_of(
    query: &Query,
    idfs: &[f64],
    dates_met: bool,
    lanes: usize,
) -> Option<Vec<f32>> {
    let pieces = query
        .topic
        .as_ref()
        .filter(|pieces| !pieces.terms.is_empty())?;
    let weights = query.content_weights(idfs, dates_met);
    let dimensions = pieces.states.len() / pieces.terms.len();
    let mut sums = vec![0.0_f64; dimensions];
    let states = pieces.states.chunks_exact(dimensions.max(1));
    for (state, terms) in states.zip(&pieces.terms) {
        let own = terms.iter().map(|term| weights[*term as usize]);
        let weight = own.fold(0.0, f64::max);
        if weight > 0.0 {
            for (sum, value) in sums.iter_mut().zip(state) {
                *sum += weight * f64::from(*value);
            }
        }
    }
    let squares = sums.iter().fold(0.0, |total, sum| total + sum * sum);
    let length = squares.sqrt();
    if length == 0.0 {
        return None;
    }
    let mut vector = vec![0.0; lanes];
    for (out, sum) in vector.iter_mut().zip(&sums) {
        *out = (sum / length) as f32;
    }
    Some(vector)
}
