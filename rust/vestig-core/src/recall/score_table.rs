//! Everything that is known of the rows of one call.

use super::scorer::{RowSignals, Scorer};
use super::segment_columns::SegmentColumns;
use super::turn_signals::TurnSignals;

/// Columns by part, and what is known by turn.
pub(super) struct ScoreTable<'a> {
    pub(super) parts: Vec<SegmentColumns<'a>>,
    /// None = L has no such term.
    pub(super) signals: Option<TurnSignals<'a>>,
}

impl ScoreTable<'_> {
    /// Makes what takes less time for several rows, (part, row) and distinct, than for one by one.
    pub(super) fn prepare(&self, rows: impl Iterator<Item = (usize, usize)>) {
        if let Some(signals) = &self.signals {
            signals.prepare(rows.map(|(part, row)| signals.index.turn(part, row)));
        }
    }

    /// What is known of a row beside its cosine.
    pub(super) fn row_signals(&self, scorer: &Scorer<'_>, part: usize, row: usize) -> RowSignals {
        let mut row_signals = self.parts[part].row_signals(row);
        if let Some(signals) = &self.signals {
            signals.fill_raw(scorer, signals.index.turn(part, row), &mut row_signals.raw);
        }
        row_signals
    }
}
