//! Columns of values by turn.

use std::ops::Range;

use super::turn_index::{NONE, TurnIndex};

/// Values that are compared at once.
const LANES: usize = 8;

/// The largest value, at least 0.
pub(super) fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

/// As `largest`, of a column without NaN.
pub(super) fn largest_of(values: &[f64]) -> f64 {
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut most = [0.0_f64; LANES];
    for chunk in chunks {
        for (most, value) in most.iter_mut().zip(chunk) {
            if *value > *most {
                *most = *value;
            }
        }
    }
    largest(most.into_iter().chain(rest.iter().copied()))
}

impl TurnIndex {
    /// Where no text is split: turns of this range that have another at that offset, and those.
    pub(super) fn pairs(
        &self,
        turns: Range<usize>,
        offset: isize,
    ) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        self.sessions_in(turns.clone()).filter_map(move |session| {
            let moved = |turn: usize| turn.saturating_add_signed(-offset);
            let from = moved(session.start).max(session.start).max(turns.start);
            let to = moved(session.end).min(session.end).min(turns.end);
            let other = |turn: usize| turn.wrapping_add_signed(offset);
            (from < to).then(|| (from..to, other(from)..other(to)))
        })
    }
}

/// The largest value among the memories at that offset; 0 outside the session.
#[inline]
pub(super) fn beside(index: &TurnIndex, values: &[f64], turn: usize, offset: isize) -> f64 {
    if index.single() {
        return if index.reaches(turn, offset) {
            values[turn.wrapping_add_signed(offset)]
        } else {
            0.0
        };
    }
    let found = index.beside(turn, offset).map(|at| values[at]);
    found.reduce(f64::max).unwrap_or(0.0)
}

/// A column of rows by turn; an empty one is all 0.
pub(super) fn by_turn<'a>(index: &TurnIndex, of: impl Fn(usize) -> &'a Vec<f64>) -> Vec<f64> {
    let mut found = vec![0.0; index.len()];
    for part in 0..index.parts() {
        let values = of(part);
        for (turn, value) in index.turns(part).iter().zip(values) {
            if *turn != NONE {
                found[*turn as usize] = *value;
            }
        }
    }
    found
}

/// The largest of values, at least 0.
pub(super) struct Largest<'a> {
    index: &'a TurnIndex,
    values: &'a [f64],
    most: f64,
    at: Option<usize>,
}

impl<'a> Largest<'a> {
    pub(super) fn of(index: &'a TurnIndex, values: &'a [f64]) -> Self {
        let most = largest_of(values);
        let at = values.iter().position(|value| *value == most);
        Self {
            index,
            values,
            most,
            at,
        }
    }

    /// The largest that a memory has at that offset.
    pub(super) fn beside(&self, offset: isize) -> f64 {
        // A value is a neighbour of the turn on its other side.
        if self
            .at
            .is_some_and(|turn| self.index.reaches(turn, -offset))
        {
            return self.most;
        }
        let seen = self.values.iter().enumerate();
        let seen = seen.filter(|(turn, _)| self.index.reaches(*turn, -offset));
        largest(seen.map(|(_, value)| *value))
    }
}

#[cfg(test)]
mod tests {
    use super::super::turn_index::TurnIndex;
    use super::super::window_words::SHAPES;
    use super::*;
    use crate::segment::Segment;
    use crate::segment::format::Identity;
    use crate::snapshot::projection::Projection;
    use crate::snapshot::tail::NewRow;

    /// Rows in sessions of 1 to 9, one of 70 in two parts, and some in none.
    fn projection() -> Projection {
        let identity = Identity {
            store_uuid: [1; 16],
            dimensions: 8,
            model: "m".into(),
            analyser: "a".into(),
        };
        let projection = Projection::open(None, identity, false).unwrap();
        let session = |n: u8| match n {
            90..160 => Some("long".to_owned()),
            _ if n % 23 == 5 => None,
            _ => Some(format!("{}", u32::from(n) / (1 + u32::from(n) / 30))),
        };
        let rows: Vec<NewRow> = (0..240_u8)
            .map(|n| NewRow {
                id: [n; 16],
                seq: i64::from(n),
                wseq: i64::from(n),
                namespace: "default".into(),
                session: session(n),
                sequence: Some(i64::from(n)),
                ..NewRow::default()
            })
            .collect();
        for part in rows.chunks(121) {
            let upto = part.last().map_or(0, |row| row.wseq as u64);
            projection.apply(part, upto, [0; 32]).unwrap();
        }
        projection
    }

    #[test]
    fn whole_columns_equal_values_turn_by_turn() {
        let projection = projection();
        let snapshot = projection.snapshot();
        let parts = || snapshot.parts.iter();
        let segments: Vec<&Segment> = parts().map(|part| part.segment.as_ref()).collect();
        let eligible: Vec<_> = parts().map(|part| part.live.as_ref()).collect();
        let index = TurnIndex::of(&segments, &eligible);
        assert!(index.single() && index.len() == 240);
        let values: Vec<f64> = (0..240).map(|turn| f64::from(turn * 37 % 101)).collect();
        for offset in [-3, -2, -1, 1, 2, 3] {
            for block in [1, 7, 64, 240] {
                let mut found = vec![0.0; 240];
                for start in (0..240).step_by(block) {
                    let end = (start + block).min(240);
                    for (turns, near) in index.pairs(start..end, offset) {
                        assert!(start <= turns.start && turns.end <= end);
                        found[turns].copy_from_slice(&values[near]);
                    }
                }
                let wanted = (0..240).map(|turn| beside(&index, &values, turn, offset));
                assert_eq!(found, wanted.collect::<Vec<_>>(), "{offset} {block}");
            }
            let wanted = largest((0..240).map(|turn| beside(&index, &values, turn, offset)));
            assert_eq!(Largest::of(&index, &values).beside(offset), wanted);
        }
        let mut found = vec![7; 240];
        let own: Vec<u32> = (0..240).map(|turn| turn * 37 % 11).collect();
        for shape in SHAPES {
            let mut wanted = vec![0; 240];
            for (turn, n) in own.iter().enumerate() {
                index.spread(turn, shape, |at, weight| wanted[at] += weight * n);
            }
            index.spread_all(&own, shape, &mut found);
            assert_eq!(found, wanted);
        }
        assert_eq!(largest_of(&values), largest(values.iter().copied()));
    }
}
