//! Everything that is known of the rows of one call.

use super::scorer::{Known, Scorer};
use super::segment_columns::Field;
use super::turn_signals::Signals;

/// Fields by part, and what is known by slot.
pub(super) struct Sheet<'a> {
    pub(super) fields: Vec<Field<'a>>,
    /// None = L has no such term.
    pub(super) signals: Option<Signals<'a>>,
}

impl Sheet<'_> {
    /// What is known of a row beside its cosine.
    pub(super) fn known(&self, scorer: &Scorer<'_>, part: usize, row: usize) -> Known {
        let mut known = self.fields[part].known(row);
        if let Some(signals) = &self.signals {
            signals.fill_raw(scorer, signals.places.slot(part, row), &mut known.raw);
        }
        known
    }
}
