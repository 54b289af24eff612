//! From a folder to a snapshot: what the manifest names, checked once.

use std::collections::HashSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use crate::error::{CoreError, Result};
use crate::segment::Segment;
use crate::segment::format::{
    Damage, Identity, Manifest, SegmentEntry, header_crc, parse_manifest,
};
use crate::segment::map::Region;
use crate::snapshot::writer::{MANIFEST, open_file};
use crate::snapshot::{Part, Snapshot, Stamp};

/// How often a manifest is read again because a segment it names was replaced meanwhile.
const ATTEMPTS: usize = 8;

fn damaged_file(file: &str, damage: Damage) -> CoreError {
    CoreError::Damaged {
        file: file.to_owned(),
        what: damage.0,
    }
}

/// The manifest's stamp; None when there is no manifest.
pub fn stamp(folder: &Path) -> io::Result<Option<Stamp>> {
    match fs::symlink_metadata(folder.join(MANIFEST)) {
        Ok(metadata) => Ok(Some(stamp_of(&metadata))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn stamp_of(metadata: &fs::Metadata) -> Stamp {
    #[cfg(unix)]
    let file = std::os::unix::fs::MetadataExt::ino(metadata);
    #[cfg(not(unix))]
    let file = 0;
    Stamp {
        length: metadata.len(),
        file,
        modified: metadata.modified().ok(),
    }
}

fn read_manifest(folder: &Path) -> Result<Option<(Manifest, Stamp)>> {
    let mut file = match open_file(&folder.join(MANIFEST)) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let stamp = stamp_of(&file.metadata()?);
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut file, &mut bytes)?;
    let manifest = parse_manifest(&bytes).map_err(|damage| damaged_file(MANIFEST, damage))?;
    Ok(Some((manifest, stamp)))
}

/// Only the manifest; None when there is none.
pub fn manifest(folder: &Path) -> Result<Option<Manifest>> {
    Ok(read_manifest(folder)?.map(|(manifest, _)| manifest))
}

/// A merged segment on its way into the manifest: mapped, checked, without the rows that the
/// segments beside it mask.
#[derive(Clone)]
pub struct Prepared {
    /// All rows count.
    pub part: Part,
    /// Names of the segments it was made from and beside.
    pub beside: Arc<HashSet<String>>,
}

/// Parts that need not be mapped, checked and compared again.
pub struct Reusable<'a> {
    /// Its published parts, whose masks hold as long as a manifest names them: a version that is
    /// replaced or forgotten never counts again.
    pub held: &'a Snapshot,
    /// The segments that a merge of this process made.
    pub prepared: Option<&'a Prepared>,
}

impl Reusable<'_> {
    fn part(&self, name: &str) -> Option<Part> {
        let named = |part: &&Part| part.segment.name() == Some(name);
        let held = self.held.parts[..self.held.published].iter().find(named);
        held.or_else(|| self.prepared.map(|made| &made.part).filter(named))
            .cloned()
    }

    /// Returns whether the masks between two parts are made already.
    fn masks_hold(&self, a: &Part, b: &Part) -> bool {
        let (Some(a), Some(b)) = (a.segment.name(), b.segment.name()) else {
            return false;
        };
        let held = |name: &str| {
            let published = &self.held.parts[..self.held.published];
            published
                .iter()
                .any(|part| part.segment.name() == Some(name))
        };
        let made = |name: &str| {
            let part = self.prepared.map(|made| &made.part);
            part.is_some_and(|part| part.segment.name() == Some(name))
        };
        let beside = |name: &str| self.prepared.is_some_and(|made| made.beside.contains(name));
        match (held(a), held(b)) {
            (true, true) => true,
            (true, false) => made(b) && beside(a),
            (false, true) => made(a) && beside(b),
            (false, false) => false,
        }
    }
}

/// The published snapshot; None when there is no manifest. `reusable` segments are used again.
pub fn load(
    folder: &Path,
    identity: &Arc<Identity>,
    reusable: &Reusable<'_>,
) -> Result<Option<Snapshot>> {
    let mut missing = None;
    for _ in 0..ATTEMPTS {
        let Some((manifest, stamp)) = read_manifest(folder)? else {
            return Ok(None);
        };
        if manifest.store_uuid != identity.store_uuid {
            let damage = Damage("belongs to another store".into());
            return Err(damaged_file(MANIFEST, damage));
        }
        match bind_all(folder, identity, &manifest, reusable) {
            Ok(parts) => {
                return Ok(Some(assemble(
                    identity,
                    &manifest,
                    stamp,
                    mask(parts, reusable),
                )));
            }
            Err(CoreError::Io(error)) if error.kind() == ErrorKind::NotFound => {
                missing = Some(manifest);
            }
            Err(error) => return Err(error),
        }
    }
    let generation = missing.map_or(0, |manifest| manifest.generation);
    let damage = Damage(format!("names a missing segment (generation {generation})"));
    Err(damaged_file(MANIFEST, damage))
}

fn bind_all(
    folder: &Path,
    identity: &Identity,
    manifest: &Manifest,
    reusable: &Reusable<'_>,
) -> Result<Vec<Part>> {
    let mut parts = Vec::with_capacity(manifest.segments.len());
    for entry in &manifest.segments {
        let part = match reusable.part(&entry.name) {
            Some(part) => part,
            None => Part::whole(Arc::new(map(&folder.join(&entry.name), identity, entry)?)),
        };
        parts.push(part);
    }
    Ok(parts)
}

/// Maps and checks one segment.
pub fn map(path: &Path, identity: &Identity, entry: &SegmentEntry) -> Result<Segment> {
    let damaged = |damage| damaged_file(&entry.name, damage);
    let region = Region::map(open_file(path)?)?;
    let found = region.bytes().len() as u64;
    if found != entry.bytes {
        let text = format!("expected {} bytes, found {found}", entry.bytes);
        return Err(damaged(Damage(text)));
    }
    if header_crc(region.bytes()).map_err(damaged)? != entry.crc {
        return Err(damaged(Damage("header is not the one published".into())));
    }
    Segment::open(region, identity, Some(entry.name.clone())).map_err(damaged)
}

fn mask(mut parts: Vec<Part>, reusable: &Reusable<'_>) -> Vec<Part> {
    for newer in 1..parts.len() {
        for older in 0..newer {
            if !reusable.masks_hold(&parts[older], &parts[newer]) {
                parts[older] = parts[older].masked_by(&parts[newer]);
            }
        }
    }
    parts
}

fn assemble(
    identity: &Arc<Identity>,
    manifest: &Manifest,
    stamp: Stamp,
    parts: Vec<Part>,
) -> Snapshot {
    let mut snapshot = Snapshot::empty(Arc::clone(identity));
    snapshot.published = parts.len();
    snapshot.parts = parts;
    snapshot.generation = manifest.generation;
    snapshot.upto_seq = manifest.upto_seq;
    snapshot.applied_seq = manifest.upto_seq;
    snapshot.chain_head = manifest.head;
    snapshot.stamp = Some(stamp);
    snapshot
}
