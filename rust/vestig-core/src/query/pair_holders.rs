//! Memories that hold two terms.

use super::filter::{Filter, eligible};
use crate::kernels::bits::has;
use crate::segment::Id;
use crate::snapshot::Snapshot;

/// Ids of the memories that pass the filter and hold both terms of one of these pairs, ascending;
/// where the terms stand is not known here.
#[must_use]
pub fn pair_holders(snapshot: &Snapshot, filter: &Filter, pairs: &[(String, String)]) -> Vec<Id> {
    let mut found = Vec::new();
    for part in &snapshot.parts {
        let segment = &part.segment;
        let mut rows = Vec::new();
        for (first, second) in pairs {
            let numbers = segment.term_number(first).zip(segment.term_number(second));
            if let Some((first, second)) = numbers {
                let rows_of = |number: u32| segment.postings(number as usize).0;
                add_common(rows_of(first), rows_of(second), &mut rows);
            }
        }
        if rows.is_empty() {
            continue;
        }
        rows.sort_unstable();
        rows.dedup();
        let (eligible, _) = eligible(part, filter);
        // Postings of entities lie behind the memories.
        let memories = segment.memory_rows();
        let rows = rows.into_iter().map(|row| row as usize);
        let rows = rows.filter(|row| *row < memories && has(&eligible, *row));
        found.extend(rows.map(|row| segment.ids()[row]));
    }
    found.sort_unstable();
    found
}

/// Adds what two ascending lists have in common.
fn add_common(first: &[u32], second: &[u32], out: &mut Vec<u32>) {
    let mut others = second.iter().peekable();
    for row in first {
        while others.next_if(|other| *other < row).is_some() {}
        if others.peek() == Some(&row) {
            out.push(*row);
        }
    }
}
