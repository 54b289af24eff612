//! Edges, and the lists that find them from both ends.

use std::cmp::Ordering;

use super::checks::check_offsets;
use super::{
    EXTRA, Id, KIND_SHIFT, Record, RelatedEnd, SOURCE_MASK, Segment, by_strength, is_related,
    unpack,
};
use crate::segment::format::{Damage, Section, damaged};

impl Segment {
    pub(super) fn check_edges(&self) -> Result<(), Damage> {
        use Section as S;
        let records = self.column::<Record>(S::Edges);
        let wide = |section| self.column::<u32>(section).iter().map(|o| u64::from(*o));
        check_offsets(wide(S::EdgeOffsets), records.len(), "edges")?;
        let others = self.column::<Id>(S::OtherIds);
        if others.windows(2).any(|pair| pair[0] >= pair[1]) {
            return damaged("other_ids do not ascend");
        }
        let extras = self.column::<u32>(S::ExtraEdges);
        let mut extra = extras.iter();
        let offsets = self.column::<u32>(S::EdgeOffsets);
        let nodes = self.rows() + others.len();
        for (row, pair) in offsets.windows(2).enumerate() {
            let mut least = 0;
            for number in pair[0]..pair[1] {
                let (_, value, end, start) = unpack(&records[number as usize]);
                let (flagged, place) = (start & EXTRA != 0, start >> KIND_SHIFT & 3);
                if place < least {
                    return damaged("the edges of a row are not sorted by type");
                }
                least = place;
                if (start & SOURCE_MASK) as usize != row || end as usize >= nodes {
                    return damaged("an edge has an unknown end");
                }
                if flagged && extra.next() != Some(&number) {
                    return damaged("extra_edges do not name the flagged edges");
                }
                // Only a null confidence of a plain record is no number.
                let plain_mention = !flagged && place == 0;
                if !(value >= 0.0 && value.is_finite() || plain_mention && value.is_nan()) {
                    return damaged("an edge has a weight that is no weight");
                }
            }
        }
        if extra.next().is_some() {
            return damaged("extra_edges name edges without the flag");
        }
        Ok(())
    }

    /// Every edge stands once in the lists by node, or a RELATED one once at each of its ends.
    pub(super) fn check_ends(&self) -> Result<(), Damage> {
        use Section as S;
        let records = self.column::<Record>(S::Edges);
        let (incoming, related) = (
            self.column::<u32>(S::Incoming),
            self.column::<RelatedEnd>(S::Related),
        );
        let (mut ends, mut related_ends) = (0, 0);
        for record in records {
            let (_, _, end, start) = unpack(record);
            if is_related(record) {
                related_ends += 1 + usize::from(start & SOURCE_MASK != end);
            } else {
                ends += 1;
            }
        }
        self.expect(S::Incoming, ends)?;
        self.expect(S::Related, related_ends)?;
        let wide = |section| self.column::<u32>(section).iter().map(|o| u64::from(*o));
        check_offsets(wide(S::IncomingOffsets), ends, "incoming")?;
        check_offsets(wide(S::RelatedOffsets), related_ends, "related")?;
        let lists = self.column::<u32>(S::IncomingOffsets).windows(2);
        let related_lists = self.column::<u32>(S::RelatedOffsets).windows(2);
        for (node, (list, related_here)) in lists.zip(related_lists).enumerate() {
            let list = &incoming[list[0] as usize..list[1] as usize];
            let ends_here = |number: &u32| {
                let record = records.get(*number as usize);
                record.is_some_and(|r| unpack(r).2 as usize == node && !is_related(r))
            };
            if !list.iter().all(ends_here) || list.windows(2).any(|pair| pair[0] >= pair[1]) {
                return damaged("incoming does not sort the edges by their ends");
            }
            let list = &related[related_here[0] as usize..related_here[1] as usize];
            self.check_related(records, node as u32, list)?;
        }
        Ok(())
    }

    fn check_related(
        &self,
        records: &[Record],
        node: u32,
        list: &[RelatedEnd],
    ) -> Result<(), Damage> {
        let others = self.column::<Id>(Section::OtherIds);
        let id_of = |node: usize| {
            let own = self.ids().get(node);
            own.unwrap_or_else(|| &others[node - self.rows()])
        };
        let between = |[other, number]: &RelatedEnd| {
            records.get(*number as usize).is_some_and(|record| {
                let (_, _, end, start) = unpack(record);
                let ends = (start & SOURCE_MASK, end);
                is_related(record) && (ends == (node, *other) || ends == (*other, node))
            })
        };
        let order = |pair: &[RelatedEnd]| by_strength(records, &pair[0], &pair[1], id_of);
        if !list.iter().all(between) || list.windows(2).any(|pair| order(pair) != Ordering::Less) {
            return damaged("related does not sort the RELATED edges by both ends");
        }
        Ok(())
    }
}
