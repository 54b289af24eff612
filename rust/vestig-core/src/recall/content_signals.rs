//! Terms of L that look at the content terms of the query alone.

use super::analysed_query::Query;
use super::scorer::Scorer;
use super::segment_columns::{SegmentColumns, TermStatistics};
use super::signal::Signal;
use super::topic::Topic;
use super::turn_columns::largest_of;
use super::turn_index::NONE;
use super::turn_signals::TurnSignals;
use crate::kernels::lexical::{frequency, saturation};
use crate::segment::Id;
use crate::segment::format::Section;

/// Whether any of them weighs something.
pub(super) fn any_weighed(scorer: &Scorer<'_>) -> bool {
    [Signal::Topic, Signal::TopicLexical, Signal::Bigram]
        .into_iter()
        .any(|signal| scorer.weighs(signal))
}

impl TurnSignals<'_> {
    /// Columns and maxima; the dates are known before. Without a vector of the query, content terms,
    /// or two of them, the signals are unavailable.
    pub(super) fn fill_content(
        &mut self,
        parts: &[SegmentColumns<'_>],
        scorer: &mut Scorer<'_>,
        query: &Query,
        statistics: &TermStatistics,
    ) {
        if !any_weighed(scorer) {
            return;
        }
        if scorer.weighs(Signal::Topic) && !scorer.vector.is_empty() {
            let known = (statistics, self.dates_met);
            let topic = Topic::new(parts, &self.index, scorer, query, known);
            scorer.maxima[Signal::Topic] = Some(topic.most(&self.index, &self.segments));
            self.topic = Some(topic);
        }
        let content = query.content_terms(self.dates_met);
        if scorer.weighs(Signal::TopicLexical) && !content.is_empty() {
            self.topic_lexical = self.content_scores(query, &content, statistics);
            scorer.maxima[Signal::TopicLexical] = Some(largest_of(&self.topic_lexical));
        }
        let pairs = query.content_pairs(self.dates_met);
        let given = query.neighbours.as_ref().filter(|_| !pairs.is_empty());
        if let Some(given) = given.filter(|_| scorer.weighs(Signal::Bigram)) {
            let mut counts = vec![0.0; self.index.len()];
            for (id, held) in given {
                if let Some(turn) = self.turn_of(id) {
                    counts[turn] = held.iter().filter(|pair| pairs.contains(pair)).count() as f64;
                }
            }
            scorer.maxima[Signal::Bigram] = Some(largest_of(&counts));
            self.bigram = counts;
        }
    }

    fn turn_of(&self, id: &Id) -> Option<usize> {
        self.segments
            .iter()
            .enumerate()
            .find_map(|(part, segment)| {
                let row = segment.find(id)?;
                let turn = self.index.turns(part).get(row)?;
                (*turn != NONE).then_some(*turn as usize)
            })
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
        let terms = query.terms.iter().flatten().zip(&statistics.idfs);
        for (term, idf) in terms.filter(|(term, _)| content.contains(&term.as_str())) {
            for (part, segment) in self.segments.iter().enumerate() {
                let Some(number) = segment.term_number(term) else {
                    continue;
                };
                let turns = self.index.turns(part);
                let lengths = segment.column::<u32>(Section::Lengths);
                let (rows, counts) = segment.postings(number as usize);
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
