//! Everything that is known of the eligible rows of one call.

use super::scorer::Scorer;
use super::segment_columns::SegmentColumns;
use super::signal::{BySignal, Signal, Source};

/// Columns by part, and what scores are made of them with.
pub(super) struct ScoreTable<'a> {
    pub(super) parts: Vec<SegmentColumns<'a>>,
    pub(super) scorer: Scorer<'a>,
    /// Signals that were computed, of all rows or of some.
    pub(super) known: BySignal<bool>,
}

impl<'a> ScoreTable<'a> {
    pub(super) fn new(parts: Vec<SegmentColumns<'a>>, scorer: Scorer<'a>) -> Self {
        Self {
            parts,
            scorer,
            known: BySignal::of(false),
        }
    }

    /// Returns what is found where S is L, whether the ranking orders candidates by it or not.
    pub(super) fn by_level<T>(&mut self, find: impl FnOnce(&Self) -> T) -> T {
        let enabled = std::mem::replace(&mut self.scorer.start_enabled, true);
        let found = find(self);
        self.scorer.start_enabled = enabled;
        found
    }

    /// Raw values of a row with that S_query; None = unavailable or not computed.
    pub(super) fn signals(&self, part: usize, row: usize, semantic: f64) -> BySignal<Option<f64>> {
        let columns = &self.parts[part];
        let sparse = columns.sparse_row(row).copied().unwrap_or_default();
        let features = columns.segment.features(row);
        let mut found = BySignal::of(None);
        for signal in Signal::ALL {
            let value = match signal.source() {
                Source::Column => columns.values[signal].get(row).copied().unwrap_or(0.0),
                Source::Text(value) => value(features),
                Source::Cosine => semantic,
                Source::Sparse | Source::Pieces => sparse.value(signal),
            };
            let pieces = matches!(signal.source(), Source::Pieces);
            let computed = self.known[signal] && (sparse.pooled || !pieces);
            found[signal] = computed.then_some(value);
        }
        found
    }
}
