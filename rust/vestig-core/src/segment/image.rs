//! The image of a segment, to memory or to a file. Vectors and codes, those of word pieces too, are
//! written row by row; the other columns are in memory. Each pass makes a row anew, so that rows of
//! other files take no memory.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::kernels::piece_codes::Pieces;
use crate::kernels::quantised::quantise_row;
use crate::segment::KIND_ENTITY;
use crate::segment::columns::{Columns, Versions};
use crate::segment::format::{
    self, ALIGNMENT, Extent, Header, Identity, SECTION_TABLE, SECTIONS, Section,
};
use crate::segment::map::{Held, bytes_of};
use crate::segment::row::{RowVersion, Vector};

/// The rows of an image: memories, then entities, by (seq, id).
pub trait Rows<'a> {
    /// How many.
    fn count(&self) -> usize;
    /// All columns but those that are made while they are written.
    fn columns(&self) -> Columns;
    /// Of one row.
    fn vector(&self, at: usize) -> Vector<'a>;
    /// Of one row.
    fn pieces(&self, at: usize) -> Pieces<'a>;
}

/// An image on its way to memory or to a file.
pub struct Image<'r, R> {
    identity: &'r Identity,
    rows: &'r R,
    columns: Columns,
    extents: [Extent; SECTIONS],
}

impl<'r, 'a, R: Rows<'a>> Image<'r, R> {
    /// Makes all columns but the vectors and what belongs to them, and codes of word pieces.
    #[must_use]
    pub fn of(identity: &'r Identity, rows: &'r R) -> Self {
        let columns = rows.columns();
        let pieces = columns.pieces();
        let mut extents = [Extent::default(); SECTIONS];
        let mut end = format::header_length(identity) as u64;
        for (i, extent) in extents.iter_mut().enumerate() {
            let width = SECTION_TABLE[i].1;
            let length = match made_late(i) {
                Some(Section::Vectors | Section::Codes) => {
                    (rows.count() * identity.lanes()) as u64 * width
                }
                Some(Section::Scales | Section::Bounds) => rows.count() as u64 * width,
                Some(_) => pieces * width,
                None => columns.0[i].len() as u64,
            };
            *extent = Extent {
                offset: end.next_multiple_of(ALIGNMENT),
                length,
                crc: 0,
            };
            end = extent.offset + length;
        }
        Self {
            identity,
            rows,
            columns,
            extents,
        }
    }

    /// Length of the image.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.extents
            .last()
            .map_or(0, |extent| extent.offset + extent.length)
    }

    /// Writes everything in order, with zeros in the place of the header; returns the header.
    /// `summed`: with the checksums of all sections.
    pub fn write(mut self, out: &mut dyn Write, summed: bool) -> io::Result<Vec<u8>> {
        let (mut at, mut scales, mut bounds) = (0, Vec::new(), Vec::new());
        for i in 0..SECTIONS {
            put_zeros(out, self.extents[i].offset - at)?;
            at = self.extents[i].offset + self.extents[i].length;
            let mut part = Summed {
                out,
                crc: summed.then(crc32fast::Hasher::new),
            };
            match made_late(i) {
                Some(Section::Vectors) => self.put_vectors(&mut part)?,
                Some(Section::Codes) => (scales, bounds) = self.put_codes(&mut part)?,
                Some(Section::Scales) => part.put(bytes_of(&scales))?,
                Some(Section::Bounds) => part.put(bytes_of(&bounds))?,
                Some(section) => self.put_pieces(&mut part, section)?,
                None => part.put(&std::mem::take(&mut self.columns.0[i]))?,
            }
            self.extents[i].crc = part.crc.map_or(0, crc32fast::Hasher::finalize);
        }
        Ok(format::encode_header(&Header {
            identity: self.identity.clone(),
            rows: self.rows.count() as u64,
            extents: self.extents,
        }))
    }

    fn put_vectors(&self, part: &mut Summed<'_>) -> io::Result<()> {
        let none = vec![0.0_f32; self.identity.lanes()];
        (0..self.rows.count()).try_for_each(|at| {
            let vector = self.rows.vector(at);
            part.put(bytes_of(vector.unit().unwrap_or(&none)))
        })
    }

    fn put_pieces(&self, part: &mut Summed<'_>, section: Section) -> io::Result<()> {
        (0..self.rows.count()).try_for_each(|at| {
            let pieces = self.rows.pieces(at);
            part.put(match section {
                Section::PieceIds => bytes_of(pieces.ids),
                Section::PieceScales => bytes_of(pieces.scales),
                _ => bytes_of(pieces.signs),
            })
        })
    }

    /// Scales and bounds of the rows.
    fn put_codes(&self, part: &mut Summed<'_>) -> io::Result<(Vec<f32>, Vec<f32>)> {
        let count = self.rows.count();
        let (mut scales, mut bounds) = (vec![0.0; count], vec![0.0; count]);
        let mut fresh = vec![0_i8; self.identity.lanes()];
        for at in 0..count {
            let codes = match self.rows.vector(at) {
                Vector::None => {
                    fresh.fill(0);
                    fresh.as_slice()
                }
                Vector::Unit(unit) => {
                    (scales[at], bounds[at]) = quantise_row(unit, &mut fresh);
                    fresh.as_slice()
                }
                Vector::Coded(_, codes, scale, bound) => {
                    (scales[at], bounds[at]) = (scale, bound);
                    codes
                }
            };
            part.put(bytes_of(codes))?;
        }
        Ok((scales, bounds))
    }
}

/// Sections that are made while they are written.
const MADE_LATE: [Section; 7] = [
    Section::Vectors,
    Section::Codes,
    Section::Scales,
    Section::Bounds,
    Section::PieceIds,
    Section::PieceScales,
    Section::PieceSigns,
];

fn made_late(place: usize) -> Option<Section> {
    MADE_LATE
        .into_iter()
        .find(|section| *section as usize == place)
}

/// A section on its way, with the checksum of what has passed.
struct Summed<'o> {
    out: &'o mut dyn Write,
    crc: Option<crc32fast::Hasher>,
}

impl Summed<'_> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(crc) = &mut self.crc {
            crc.update(bytes);
        }
        self.out.write_all(bytes)
    }
}

fn put_zeros(out: &mut dyn Write, count: u64) -> io::Result<()> {
    io::copy(&mut io::Read::take(io::repeat(0), count), out).map(drop)
}

/// Rows that are in memory, in their order.
struct HeldRows<'r, 'a>(Vec<&'r RowVersion<'a>>);

impl<'a> Versions<'a> for HeldRows<'_, 'a> {
    fn iter<'s>(&'s self) -> impl Iterator<Item = Cow<'s, RowVersion<'a>>>
    where
        'a: 's,
    {
        self.0.iter().map(|row| Cow::Borrowed(*row))
    }
}

impl<'a> Rows<'a> for HeldRows<'_, 'a> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn columns(&self) -> Columns {
        Columns::of(self)
    }

    fn vector(&self, at: usize) -> Vector<'a> {
        self.0[at].vector.clone()
    }

    fn pieces(&self, at: usize) -> Pieces<'a> {
        self.0[at].pieces
    }
}

/// The image of these rows, without checksums of sections (see [`seal`]). Ids are distinct.
#[must_use]
pub fn build(identity: &Identity, rows: &[RowVersion<'_>]) -> Held {
    let mut order: Vec<&RowVersion<'_>> = rows.iter().collect();
    order.sort_unstable_by_key(|row| (row.attributes.kind == KIND_ENTITY, row.seq, row.id));
    let rows = HeldRows(order);
    let image = Image::of(identity, &rows);
    let mut held = Held::zeroed(image.bytes() as usize);
    let mut place = held.bytes_mut();
    // The place is as long as the image, so nothing can fail.
    let header = image.write(&mut place, false).unwrap_or_default();
    held.bytes_mut()[..header.len()].copy_from_slice(&header);
    held
}

/// Fills in the checksums of all sections; what is written to a file is always sealed.
pub fn seal(held: &mut Held) -> Result<(), format::Damage> {
    let mut header = format::parse_header(held.bytes())?;
    for extent in &mut header.extents {
        let range = extent.offset as usize..(extent.offset + extent.length) as usize;
        extent.crc = format::checksum(&held.bytes()[range]);
    }
    let bytes = format::encode_header(&header);
    held.bytes_mut()[..bytes.len()].copy_from_slice(&bytes);
    Ok(())
}
