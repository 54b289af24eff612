//! Terms of L that look at the content terms of the query alone.

use super::analysed_query::Query;
use super::neighbour_vectors::Bounds;
use super::scorer::Scorer;
use super::segment_columns::{SegmentColumns, TermStatistics};
use super::signal::Signal;
use super::topic::Topic;
use super::turn_columns::largest_of;
use super::turn_index::NONE;
use super::turn_signals::TurnSignals;
use crate::kernels::lexical::{frequency, rows_before, saturation};
use crate::segment::format::Section;
use crate::segment::packed_number;

/// Whether any of them weighs something.
pub(super) fn any_weighed(scorer: &Scorer<'_>) -> bool {
    [Signal::Topic, Signal::TopicLexical, Signal::Bigram]
        .into_iter()
        .any(|signal| scorer.weighs(signal))
}

impl TurnSignals<'_> {
    /// Columns and maxima; the dates are known before. Without a vector of the query, content terms,
    /// or two of them, the signals are unavailable. `cosines`: those with the query, by turn.
    pub(super) fn fill_content(
        &mut self,
        parts: &[SegmentColumns<'_>],
        scorer: &mut Scorer<'_>,
        query: &Query,
        statistics: &TermStatistics,
        cosines: &Bounds,
    ) {
        if !any_weighed(scorer) {
            return;
        }
        if scorer.weighs(Signal::Topic) && !scorer.vector.is_empty() {
            let known = (statistics, self.dates_met);
            let topic = Topic::new(parts, &self.index, scorer, query, known, cosines);
            scorer.maxima[Signal::Topic] = Some(topic.most(&self.index, &self.segments));
            self.topic = Some(topic);
        }
        let content = query.content_terms(self.dates_met);
        if scorer.weighs(Signal::TopicLexical) && !content.is_empty() {
            self.topic_lexical = self.content_scores(query, &content, statistics);
            scorer.maxima[Signal::TopicLexical] = Some(largest_of(&self.topic_lexical));
        }
        let pairs = query.content_pairs(self.dates_met);
        if scorer.weighs(Signal::Bigram) && !pairs.is_empty() {
            self.bigram = self.pair_counts(&pairs);
            scorer.maxima[Signal::Bigram] = Some(largest_of(&self.bigram));
        }
    }

    /// By turn, how many of these distinct pairs of terms stand side by side in the text without
    /// function words. Only texts that hold both terms of a pair are looked at.
    fn pair_counts(&self, pairs: &[(&str, &str)]) -> Vec<f64> {
        let mut counts = vec![0.0; self.index.len()];
        for (part, segment) in self.segments.iter().enumerate() {
            let turns = self.index.turns(part);
            for (first, second) in pairs {
                let numbers = segment.term_number(first).zip(segment.term_number(second));
                let Some((first, second)) = numbers else {
                    continue;
                };
                let mut pair = Vec::new();
                packed_number::push(&mut pair, first);
                packed_number::push(&mut pair, second);
                let rows = |term: u32| segment.postings(term as usize).0;
                for row in common(rows(first), rows(second)) {
                    // Postings of entities lie behind the memories.
                    let turn = turns.get(row as usize).filter(|turn| **turn != NONE);
                    if let Some(turn) = turn
                        && segment.text_terms(row as usize).contain(&pair)
                    {
                        counts[*turn as usize] += 1.0;
                    }
                }
            }
        }
        counts
    }

    /// BM25 by turn over some terms of the query, in the order of the query; idf and lengths are
    /// those of the lexical score.
    fn content_scores(
        &self,
        query: &Query,
        content: &[&str],
        statistics: &TermStatistics,
    ) -> Vec<f64> {
        let mut scores = vec![0.0; self.index.len()];
        let numbers = statistics.numbers.iter().zip(&statistics.idfs);
        let terms = query.terms.iter().flatten().zip(numbers);
        for (_, (numbers, idf)) in terms.filter(|(term, _)| content.contains(&term.as_str())) {
            for (part, (segment, number)) in self.segments.iter().zip(numbers).enumerate() {
                let Some(number) = number else {
                    continue;
                };
                let turns = self.index.turns(part);
                let lengths = segment.column::<u32>(Section::Lengths);
                let (rows, counts) = segment.postings(*number as usize);
                for (row, count) in rows.iter().zip(counts) {
                    // Postings of entities lie behind the memories.
                    let at = *row as usize;
                    if let Some(turn) = turns.get(at).filter(|turn| **turn != NONE) {
                        let norm = statistics.norms.of(lengths[at]);
                        scores[*turn as usize] += idf * saturation(frequency(*count), norm);
                    }
                }
            }
        }
        scores
    }
}

/// What both of two ascending lists hold.
fn common<'a>(a: &'a [u32], b: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
    let (few, mut many) = if a.len() < b.len() { (a, b) } else { (b, a) };
    few.iter().copied().filter(move |row| {
        many = &many[rows_before(many, *row)..];
        many.first() == Some(row)
    })
}
