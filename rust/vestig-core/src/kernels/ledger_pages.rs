//! The bytes that live rows of an SQLite file hold, read page by page without SQLite.
//!
//! Only b-trees are followed, from their roots: free pages, the unused parts of pages and what a
//! moved row left behind are no part of a live row. Layout: sqlite.org/fileformat2.html.

/// A page that is not what a b-tree may hold; the file may be written meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

const HEADER: usize = 100;

/// Gives `take` the records of all rows and index entries, each whole, until it answers false.
///
/// `page` copies the page of a number (from 1) into the buffer; `usable` are the bytes of a page
/// without its reserved end.
pub fn each_record(
    roots: &[u32],
    pages: u32,
    usable: usize,
    mut page: impl FnMut(u32, &mut Vec<u8>) -> Result<(), Unreadable>,
    mut take: impl FnMut(&[u8]) -> bool,
) -> Result<(), Unreadable> {
    let mut open: Vec<u32> = roots.to_vec();
    let (mut read, mut overflow, mut record) = (Vec::new(), Vec::new(), Vec::new());
    // No page belongs to two places, so a sound file ends before this counts them all.
    let mut visited = 0;
    while let Some(number) = open.pop() {
        visited += 1;
        if visited > pages {
            return Err(Unreadable);
        }
        page(number, &mut read)?;
        let start = if number == 1 { HEADER } else { 0 };
        let kind = *read.get(start).ok_or(Unreadable)?;
        let (interior, index) = match kind {
            2 => (true, true),
            5 => (true, false),
            10 => (false, true),
            13 => (false, false),
            _ => return Err(Unreadable),
        };
        let cells = usize::from(u16_at(&read, start + 3)?);
        let pointers = start + if interior { 12 } else { 8 };
        if interior {
            open.push(u32_at(&read, start + 8)?);
        }
        for cell in 0..cells {
            let mut at = usize::from(u16_at(&read, pointers + 2 * cell)?);
            if interior {
                open.push(u32_at(&read, at)?);
                at += 4;
                if !index {
                    continue;
                }
            }
            let payload = usize::try_from(varint(&read, &mut at)?).map_err(|_| Unreadable)?;
            if !index {
                varint(&read, &mut at)?;
            }
            let local = local_bytes(payload, usable, index);
            record.clear();
            record.extend_from_slice(read.get(at..at + local).ok_or(Unreadable)?);
            let mut next = if local < payload {
                u32_at(&read, at + local)?
            } else {
                0
            };
            while record.len() < payload {
                visited += 1;
                if next == 0 || visited > pages {
                    return Err(Unreadable);
                }
                page(next, &mut overflow)?;
                let part = (payload - record.len()).min(usable - 4);
                record.extend_from_slice(overflow.get(4..4 + part).ok_or(Unreadable)?);
                next = u32_at(&overflow, 0)?;
            }
            if !take(&record) {
                return Ok(());
            }
        }
    }
    Ok(())
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
            let mut seen = 0;
            let _ = each_record(&[root], 8, 512, page, |record| {
                seen += record.len();
                seen < 1 << 20
            });
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
