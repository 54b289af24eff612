//! The law of the files: pure encode and parse on byte slices (FORMAT.md).
//!
//! Everything is little-endian, every offset is a `u64` from the start of the file and is
//! checked with checked arithmetic. Any bytes give a value or a [`Damage`], never a panic.

use std::fmt;

mod sections;

pub use sections::{SECTION_TABLE, SECTIONS, Section};

/// Version of the file layout; any other one is discarded and rebuilt.
pub const FORMAT_VERSION: u32 = 1;
/// Sections begin at multiples of this.
pub const ALIGNMENT: u64 = 64;
/// Longest header that is accepted.
pub const HEADER_MAX: usize = 1 << 16;
const SEGMENT_MAGIC: &[u8; 8] = b"VESTIGSG";
const MANIFEST_MAGIC: &[u8; 8] = b"VESTIGMF";
const FIXED: usize = 64;
const ENTRY: usize = 24;
const NAME_MAX: usize = 255;
const SEGMENTS_MAX: usize = 4096;

/// Why a file cannot be used: expectation and fact, never content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage(pub String);

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Damage {}

/// Shorthand for an `Err` with a reason.
pub fn damaged<T>(reason: impl Into<String>) -> Result<T, Damage> {
    Err(Damage(reason.into()))
}

/// Whose file this is: a file of another store, model or analyser is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// 16 bytes of the ledger.
    pub store_uuid: [u8; 16],
    /// Length of a vector.
    pub dimensions: u32,
    /// Name of the embedding model.
    pub model: String,
    /// Version of tokens and stemmer.
    pub analyser: String,
}

impl Identity {
    /// Stored length of a vector: dimensions rounded up to whole lanes of 64.
    #[must_use]
    pub fn lanes(&self) -> usize {
        (self.dimensions as usize).div_ceil(64) * 64
    }
}

/// Place and checksum of one section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extent {
    /// From the start of the file.
    pub offset: u64,
    /// In bytes.
    pub length: u64,
    /// CRC-32 (IEEE) of these bytes.
    pub crc: u32,
}

/// The one header of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Whose file it is.
    pub identity: Identity,
    /// Number of row versions.
    pub rows: u64,
    /// One per [`Section`].
    pub extents: [Extent; SECTIONS],
}

/// Reads numbers from untrusted bytes.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], Damage> {
        match self.0.split_at_checked(n) {
            Some((head, rest)) => {
                self.0 = rest;
                Ok(head)
            }
            None => damaged(format!("expected {n} more bytes, found {}", self.0.len())),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    fn u16(&mut self) -> Result<usize, Damage> {
        Ok(usize::from(u16::from_le_bytes(self.array()?)))
    }

    fn u32(&mut self) -> Result<u32, Damage> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, Damage> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn text(&mut self, n: usize) -> Result<String, Damage> {
        match std::str::from_utf8(self.take(n)?) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => damaged("a name is not UTF-8"),
        }
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// Checksum of every file part.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// Length of the header of this identity, before padding.
#[must_use]
pub fn header_length(identity: &Identity) -> usize {
    FIXED + identity.model.len() + identity.analyser.len() + SECTIONS * ENTRY + 4
}

/// Header bytes (FORMAT.md, "Segment header").
#[must_use]
pub fn encode_header(header: &Header) -> Vec<u8> {
    let identity = &header.identity;
    let mut out = Vec::with_capacity(header_length(identity));
    out.extend_from_slice(SEGMENT_MAGIC);
    out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    out.extend_from_slice(&(header_length(identity) as u32).to_le_bytes());
    out.extend_from_slice(&identity.store_uuid);
    out.extend_from_slice(&header.rows.to_le_bytes());
    out.extend_from_slice(&identity.dimensions.to_le_bytes());
    out.extend_from_slice(&(SECTIONS as u32).to_le_bytes());
    out.extend_from_slice(&(identity.model.len() as u16).to_le_bytes());
    out.extend_from_slice(&(identity.analyser.len() as u16).to_le_bytes());
    out.resize(FIXED, 0);
    put_text(&mut out, &identity.model);
    put_text(&mut out, &identity.analyser);
    for extent in &header.extents {
        out.extend_from_slice(&extent.offset.to_le_bytes());
        out.extend_from_slice(&extent.length.to_le_bytes());
        out.extend_from_slice(&extent.crc.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
    }
    let crc = checksum(&out);
    out.extend_from_slice(&crc.to_le_bytes());
    out
}

/// Parses and checks the header of a whole file. Sections are inside the file, aligned, in
/// order and do not overlap, bytes between them are zero; their contents are not looked at.
pub fn parse_header(file: &[u8]) -> Result<Header, Damage> {
    let mut r = Reader(file);
    if r.take(8)? != SEGMENT_MAGIC {
        return damaged("not a segment file");
    }
    let version = r.u32()?;
    if version != FORMAT_VERSION {
        return damaged(format!(
            "expected format version {FORMAT_VERSION}, found {version}"
        ));
    }
    let length = r.u32()? as usize;
    if !(FIXED + 4..=HEADER_MAX.min(file.len())).contains(&length) {
        return damaged(format!(
            "header of {length} bytes in a file of {}",
            file.len()
        ));
    }
    let (body, crc) = file[..length].split_at(length - 4);
    if Reader(crc).u32()? != checksum(body) {
        return damaged("header checksum differs");
    }
    let mut r = Reader(&body[16..]);
    let store_uuid = r.array()?;
    let rows = r.u64()?;
    let dimensions = r.u32()?;
    let count = r.u32()? as usize;
    let (model, analyser) = (r.u16()?, r.u16()?);
    let mut r = Reader(&body[FIXED..]);
    let identity = Identity {
        store_uuid,
        dimensions,
        model: r.text(model)?,
        analyser: r.text(analyser)?,
    };
    if count != SECTIONS {
        return damaged(format!("expected {SECTIONS} sections, found {count}"));
    }
    if rows >= u64::from(u32::MAX) {
        return damaged(format!("{rows} rows do not fit one segment"));
    }
    let mut extents = [Extent::default(); SECTIONS];
    let mut end = length as u64;
    for (extent, (name, _)) in extents.iter_mut().zip(SECTION_TABLE) {
        *extent = Extent {
            offset: r.u64()?,
            length: r.u64()?,
            crc: r.u32()?,
        };
        r.take(4)?;
        let stop = extent.offset.checked_add(extent.length);
        let aligned = extent.offset.is_multiple_of(ALIGNMENT) && extent.offset >= end;
        let Some(stop) = stop.filter(|stop| aligned && *stop <= file.len() as u64) else {
            return damaged(format!("section {name} lies outside the file"));
        };
        if file[end as usize..extent.offset as usize]
            .iter()
            .any(|byte| *byte != 0)
        {
            return damaged(format!("bytes before section {name} are not zero"));
        }
        end = stop;
    }
    if !r.0.is_empty() {
        return damaged("header is longer than its table");
    }
    if end != file.len() as u64 {
        return damaged(format!(
            "expected a file of {end} bytes, found {}",
            file.len()
        ));
    }
    Ok(Header {
        identity,
        rows,
        extents,
    })
}

/// One segment of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentEntry {
    /// File name, without folder.
    pub name: String,
    /// Length of the file.
    pub bytes: u64,
    /// CRC-32 of its header, which holds those of its sections.
    pub crc: u32,
}

/// Which segments, oldest first, are the projection at `upto_seq`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Counts publications.
    pub generation: u64,
    /// Last ledger transaction contained.
    pub upto_seq: u64,
    /// Chain head of the ledger there.
    pub head: [u8; 32],
    /// 16 bytes of the ledger that the projection is made from.
    pub store_uuid: [u8; 16],
    /// Oldest first.
    pub segments: Vec<SegmentEntry>,
}

/// Manifest bytes (FORMAT.md, "Manifest").
#[must_use]
pub fn encode_manifest(manifest: &Manifest) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(MANIFEST_MAGIC);
    out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    out.extend_from_slice(&(manifest.segments.len() as u32).to_le_bytes());
    out.extend_from_slice(&manifest.store_uuid);
    out.extend_from_slice(&manifest.generation.to_le_bytes());
    out.extend_from_slice(&manifest.upto_seq.to_le_bytes());
    out.extend_from_slice(&manifest.head);
    for segment in &manifest.segments {
        out.extend_from_slice(&segment.bytes.to_le_bytes());
        out.extend_from_slice(&segment.crc.to_le_bytes());
        out.extend_from_slice(&(segment.name.len() as u16).to_le_bytes());
        put_text(&mut out, &segment.name);
    }
    let crc = checksum(&out);
    out.extend_from_slice(&crc.to_le_bytes());
    out
}

/// Parses and checks a whole manifest file.
pub fn parse_manifest(file: &[u8]) -> Result<Manifest, Damage> {
    let mut r = Reader(file);
    if r.take(8)? != MANIFEST_MAGIC {
        return damaged("not a manifest file");
    }
    let version = r.u32()?;
    if version != FORMAT_VERSION {
        return damaged(format!(
            "expected format version {FORMAT_VERSION}, found {version}"
        ));
    }
    let (body, crc) = file.split_at(file.len() - 4);
    if Reader(crc).u32()? != checksum(body) {
        return damaged("manifest checksum differs");
    }
    let mut r = Reader(&body[12..]);
    let count = r.u32()? as usize;
    if count > SEGMENTS_MAX {
        return damaged(format!("manifest names {count} segments"));
    }
    let (store_uuid, generation, upto_seq, head) = (r.array()?, r.u64()?, r.u64()?, r.array()?);
    let mut segments = Vec::new();
    for _ in 0..count {
        let (bytes, crc, length) = (r.u64()?, r.u32()?, r.u16()?);
        let name = r.text(length)?;
        if !segment_name_is_plain(&name) {
            return damaged("manifest names a file that is no segment");
        }
        segments.push(SegmentEntry { name, bytes, crc });
    }
    if !r.0.is_empty() {
        return damaged("manifest is longer than its table");
    }
    Ok(Manifest {
        generation,
        upto_seq,
        head,
        store_uuid,
        segments,
    })
}

/// `seg-<generation>-<random hex>`: no separators, so a manifest cannot point elsewhere.
#[must_use]
pub fn segment_name_is_plain(name: &str) -> bool {
    name.len() <= NAME_MAX && segment_generation(name).is_some()
}

/// Name of a new segment file.
#[must_use]
pub fn segment_name(generation: u64, random: u64) -> String {
    format!("seg-{generation}-{random:016x}")
}

/// Generation in a segment file name; None for any other name.
#[must_use]
pub fn segment_generation(name: &str) -> Option<u64> {
    let (generation, random) = name.strip_prefix("seg-")?.split_once('-')?;
    let hex = random
        .bytes()
        .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    if random.len() != 16 || !hex || !generation.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    generation.parse().ok()
}

/// CRC of the header of a segment image: the last four header bytes.
pub fn header_crc(file: &[u8]) -> Result<u32, Damage> {
    let mut r = Reader(file);
    r.take(12)?;
    let length = r.u32()? as usize;
    match length
        .checked_sub(4)
        .and_then(|start| file.get(start..length))
    {
        Some(bytes) => Reader(bytes).u32(),
        None => damaged("header is cut"),
    }
}
