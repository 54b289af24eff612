//! Sessions of one segment in the order of the conversation, computed at first use.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use super::{NO_SEQUENCE, NO_STRING, NoteRows, Segment};
use crate::segment::format::Section;

/// Names a session in every segment: namespace, scope and session id.
pub(crate) type SessionKey = [u8; 16];

/// Memory rows that have a session and a sequence.
pub(crate) struct SessionRows {
    /// Session by session, in each by (sequence, seq, id).
    pub(crate) rows: Vec<u32>,
    /// Extents in `rows`, by the first row of the session.
    pub(crate) sessions: Vec<Range<u32>>,
    /// (key, position in `sessions`), ascending.
    pub(crate) keys: Vec<(SessionKey, u32)>,
}

/// The columns of a segment's sessions.
pub(super) struct SessionCache {
    number: u64,
    rows: OnceLock<SessionRows>,
    pub(super) notes: OnceLock<NoteRows>,
}

impl SessionCache {
    pub(super) fn new() -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        Self {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            rows: OnceLock::new(),
            notes: OnceLock::new(),
        }
    }
}

impl Segment {
    /// No other segment of this process has it.
    pub(crate) fn number(&self) -> u64 {
        self.sessions.number
    }

    pub(crate) fn session_rows(&self) -> &SessionRows {
        self.sessions.rows.get_or_init(|| self.find_sessions())
    }

    fn find_sessions(&self) -> SessionRows {
        let namespaces = self.column::<u32>(Section::Namespace);
        let scopes = self.column::<u32>(Section::Scope);
        let sessions = self.column::<u32>(Section::Session);
        let sequences = self.column::<i64>(Section::Sequence);
        let key = |row: u32| {
            let row = row as usize;
            (namespaces[row], scopes[row], sessions[row])
        };
        let talks = |row: &u32| {
            sessions[*row as usize] != NO_STRING && sequences[*row as usize] != NO_SEQUENCE
        };
        let mut rows: Vec<u32> = (0..self.memory_rows as u32).filter(talks).collect();
        // Rows ascend by (seq, id).
        rows.sort_unstable_by_key(|row| (key(*row), sequences[*row as usize], *row));
        let mut found: Vec<(u32, Range<u32>)> = Vec::new();
        let mut start = 0;
        for session in rows.chunk_by(|a, b| key(*a) == key(*b)) {
            let end = start + session.len() as u32;
            found.push((session.iter().copied().min().unwrap_or(0), start..end));
            start = end;
        }
        found.sort_unstable_by_key(|(first, _)| *first);
        let mut ordered = Vec::with_capacity(rows.len());
        let mut extents = Vec::with_capacity(found.len());
        let mut keys = Vec::with_capacity(found.len());
        for (number, (first, extent)) in found.into_iter().enumerate() {
            let start = ordered.len() as u32;
            ordered.extend_from_slice(&rows[extent.start as usize..extent.end as usize]);
            extents.push(start..ordered.len() as u32);
            keys.push((self.session_key(key(first)), number as u32));
        }
        keys.sort_unstable();
        SessionRows {
            rows: ordered,
            sessions: extents,
            keys,
        }
    }

    fn session_key(&self, (namespace, scope, session): (u32, u32, u32)) -> SessionKey {
        self.hashed_key([namespace, scope, session], &[])
    }

    /// Of these texts and of what stands behind them, the same in every segment.
    pub(super) fn hashed_key(&self, texts: [u32; 3], behind: &[u8]) -> SessionKey {
        let mut hash = Sha256::new();
        for number in texts {
            let text = self.string(number);
            // Null is no text, not the empty one.
            hash.update(
                text.map_or(u64::MAX, |text| text.len() as u64)
                    .to_le_bytes(),
            );
            hash.update(text.unwrap_or_default());
        }
        hash.update(behind);
        let mut key = [0; 16];
        key.copy_from_slice(&hash.finalize()[..16]);
        key
    }
}
