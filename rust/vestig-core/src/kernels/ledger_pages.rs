//! The bytes that live rows of an SQLite file hold, read page by page without SQLite.
//!
//! Only b-trees are followed, from their roots: free pages, the unused parts of pages and what a
//! moved row left behind are no part of a live row. Layout: sqlite.org/fileformat2.html.

use std::collections::HashSet;

/// A page that is not what a b-tree may hold; the file may be written meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

const HEADER: usize = 100;

/// Which records are read.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    /// Pages that b-trees begin at.
    pub roots: &'a [u32],
    /// Pages of the file.
    pub pages: u32,
    /// Bytes of a page without its reserved end.
    pub usable: usize,
    /// Only the records that begin in these pages; None = all.
    pub within: Option<&'a HashSet<u32>>,
}

/// Gives `take` the records of rows and index entries, each whole, until it answers false. `page`
/// copies the page of a number (from 1) into the buffer.
///
/// The leaves of a b-tree lie equally deep, so those that nobody wants are not read.
pub fn each_record(
    reading: Reading<'_>,
    mut page: impl FnMut(u32, &mut Vec<u8>) -> Result<(), Unreadable>,
    mut take: impl FnMut(&[u8]) -> bool,
) -> Result<(), Unreadable> {
    // No page belongs to two places, so a sound file ends before this counts them all.
    let mut left = reading.pages;
    let mut read = Vec::new();
    for root in reading.roots {
        let mut level = vec![*root];
        while !level.is_empty() {
            left = left.checked_sub(level.len() as u32).ok_or(Unreadable)?;
            page(level[0], &mut read)?;
            let leaves = Head::of(&read, level[0])?.is_leaf;
            let mut below = Vec::new();
            for number in level {
                let wanted = reading.within.is_none_or(|within| within.contains(&number));
                if leaves && !wanted {
                    continue;
                }
                page(number, &mut read)?;
                let head = Head::of(&read, number)?;
                if head.is_leaf != leaves {
                    return Err(Unreadable);
                }
                for cell in 0..head.cells {
                    let mut at = usize::from(u16_at(&read, head.pointers + 2 * cell)?);
                    if !leaves {
                        below.push(u32_at(&read, at)?);
                        at += 4;
                    }
                    let holds = leaves || head.is_index;
                    if holds && wanted {
                        let cell = (&read[..], at, head.is_index);
                        let record = record(cell, reading.usable, &mut left, &mut page)?;
                        if !take(&record) {
                            return Ok(());
                        }
                    }
                }
                if !leaves {
                    below.push(u32_at(&read, head.start + 8)?);
                }
            }
            level = below;
        }
    }
    Ok(())
}

/// The beginning of a page of a b-tree.
struct Head {
    start: usize,
    is_leaf: bool,
    is_index: bool,
    cells: usize,
    /// Where the numbers begin that say where its cells are.
    pointers: usize,
}

impl Head {
    fn of(page: &[u8], number: u32) -> Result<Self, Unreadable> {
        let start = if number == 1 { HEADER } else { 0 };
        let (is_leaf, is_index) = match *page.get(start).ok_or(Unreadable)? {
            2 => (false, true),
            5 => (false, false),
            10 => (true, true),
            13 => (true, false),
            _ => return Err(Unreadable),
        };
        Ok(Self {
            start,
            is_leaf,
            is_index,
            cells: usize::from(u16_at(page, start + 3)?),
            pointers: start + if is_leaf { 8 } else { 12 },
        })
    }
}

/// The record of a cell (page, place, in an index), with what of it lies in other pages, which are
/// taken off those that are `left`.
fn record(
    (read, mut at, index): (&[u8], usize, bool),
    usable: usize,
    left: &mut u32,
    mut page: impl FnMut(u32, &mut Vec<u8>) -> Result<(), Unreadable>,
) -> Result<Vec<u8>, Unreadable> {
    let payload = usize::try_from(varint(read, &mut at)?).map_err(|_| Unreadable)?;
    if !index {
        varint(read, &mut at)?;
    }
    let local = local_bytes(payload, usable, index);
    let mut record = read.get(at..at + local).ok_or(Unreadable)?.to_vec();
    if local == payload {
        return Ok(record);
    }
    let mut next = u32_at(read, at + local)?;
    let mut overflow = Vec::new();
    while record.len() < payload {
        *left = left.checked_sub(1).ok_or(Unreadable)?;
        page(next, &mut overflow)?;
        let part = (payload - record.len()).min(usable - 4);
        record.extend_from_slice(overflow.get(4..4 + part).ok_or(Unreadable)?);
        next = u32_at(&overflow, 0)?;
    }
    Ok(record)
}

/// How much of a payload lies in the page of its cell.
fn local_bytes(payload: usize, usable: usize, index: bool) -> usize {
    let least = (usable - 12) * 32 / 255 - 23;
    let most = if index {
        (usable - 12) * 64 / 255 - 23
    } else {
        usable - 35
    };
    if payload <= most {
        return payload;
    }
    let fitting = least + (payload - least) % (usable - 4);
    if fitting <= most { fitting } else { least }
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, Unreadable> {
    let raw = bytes.get(at..at + 2).ok_or(Unreadable)?;
    Ok(u16::from_be_bytes([raw[0], raw[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, Unreadable> {
    let raw = bytes.get(at..at + 4).ok_or(Unreadable)?;
    Ok(u32::from_be_bytes([raw[0], raw[1], raw[2], raw[3]]))
}

fn varint(bytes: &[u8], at: &mut usize) -> Result<u64, Unreadable> {
    let mut value = 0_u64;
    for place in 0..9 {
        let byte = *bytes.get(*at).ok_or(Unreadable)?;
        *at += 1;
        if place == 8 {
            return Ok(value << 8 | u64::from(byte));
        }
        value = value << 7 | u64::from(byte & 0x7F);
        if byte < 0x80 {
            break;
        }
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_bytes_panic(
            bytes in prop::collection::vec(any::<u8>(), 1024..4096),
            root in 0_u32..6,
            kind in prop::sample::select(vec![2_u8, 5, 10, 13]),
        ) {
            let mut bytes = bytes;
            bytes[512] = kind;
            let page = |number: u32, into: &mut Vec<u8>| {
                let start = (number as usize).checked_sub(1).ok_or(Unreadable)? * 512;
                into.clear();
                into.extend_from_slice(bytes.get(start..start + 512).ok_or(Unreadable)?);
                Ok(())
            };
            let within = HashSet::from([root, 2]);
            for within in [None, Some(&within)] {
                let reading = Reading { roots: &[root], pages: 8, usable: 512, within };
                let mut seen = 0;
                let _ = each_record(reading, page, |record| {
                    seen += record.len();
                    seen < 1 << 20
                });
            }
        }
    }

    #[test]
    fn a_varint_has_up_to_nine_bytes() {
        for (raw, value) in [
            (vec![0x7F], 127),
            (vec![0x81, 0x00], 128),
            (vec![0xFF; 9], u64::MAX),
        ] {
            let mut at = 0;
            assert_eq!(varint(&raw, &mut at), Ok(value));
            assert_eq!(at, raw.len());
        }
    }
}
