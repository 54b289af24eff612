//! An image of packed weights: arrays behind a head with their checksums, in a file of the user's
//! cache folder that every process maps, or in memory (FORMAT.md, "Packed weights").
//!
//! **Invariant** The bytes are a function of the sources and of [`LAYOUT`] alone. The head is
//! checked when the file is mapped, an array when it is first read.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{CoreError, Result};
use crate::segment::map::{Held, Plain, Region, bytes_of, cast};
use crate::snapshot::writer::{open_file, replace_file};

/// Version of the layout: another one has other arrays, or the same in another order.
pub const LAYOUT: u32 = 2;
const MAGIC: [u8; 8] = *b"VESTIGWT";
/// Magic, layout, number of checksums, length of the file.
const HEAD_FIXED: usize = 8 + 4 + 4 + 8;
const ALIGNMENT: usize = 64;

fn unusable(what: impl Into<String>) -> CoreError {
    CoreError::Weights(what.into())
}

/// The sources that an image is packed from, and where each of its arrays lies.
pub(super) struct Plan {
    /// SHA-256 of each source, one behind the other.
    hashes: Vec<u8>,
    places: Vec<Range<usize>>,
    length: usize,
}

impl Plan {
    /// Of sources with these hashes and arrays of so many bytes.
    pub(super) fn new(hashes: &[[u8; 32]], lengths: impl IntoIterator<Item = usize>) -> Self {
        let lengths: Vec<usize> = lengths.into_iter().collect();
        let hashes = hashes.as_flattened().to_vec();
        let mut end = HEAD_FIXED + hashes.len() + (lengths.len() + 1) * size_of::<u32>();
        let place = |length| {
            let start = end.next_multiple_of(ALIGNMENT);
            end = start + length;
            start..end
        };
        Self {
            places: lengths.into_iter().map(place).collect(),
            hashes,
            length: end,
        }
    }

    /// Where the checksums begin.
    fn checksums(&self) -> usize {
        HEAD_FIXED + self.hashes.len()
    }

    /// The checksum of an array as the head has it; behind the last array that of the head itself.
    fn checksum(&self, image: &[u8], array: usize) -> Option<u32> {
        let at = self.checksums() + array * size_of::<u32>();
        let word = image.get(at..)?.first_chunk::<4>()?;
        Some(u32::from_le_bytes(*word))
    }

    /// The image with its head: checksums of all arrays, and one of the head itself.
    fn seal(&self, mut held: Held) -> Held {
        let mut head = Vec::new();
        head.extend_from_slice(&MAGIC);
        head.extend_from_slice(&LAYOUT.to_le_bytes());
        head.extend_from_slice(&(self.places.len() as u32).to_le_bytes());
        head.extend_from_slice(&(self.length as u64).to_le_bytes());
        head.extend_from_slice(&self.hashes);
        for place in &self.places {
            let bytes = held.bytes().get(place.clone()).unwrap_or_default();
            head.extend_from_slice(&crc32fast::hash(bytes).to_le_bytes());
        }
        head.extend_from_slice(&crc32fast::hash(&head).to_le_bytes());
        held.bytes_mut()[..head.len()].copy_from_slice(&head);
        held
    }

    fn check_head(&self, image: &[u8]) -> Result<()> {
        let arrays = self.places.len();
        let end = self.checksums() + arrays * size_of::<u32>();
        let Some((head, _)) = image.split_at_checked(end) else {
            return Err(unusable(format!("it has {} bytes", image.len())));
        };
        if head[..8] != MAGIC {
            return Err(unusable("it holds no packed weights"));
        }
        if head[8..12] != LAYOUT.to_le_bytes() || head[12..16] != (arrays as u32).to_le_bytes() {
            return Err(unusable(format!("it is not of layout {LAYOUT}")));
        }
        if self.checksum(image, arrays) != Some(crc32fast::hash(head)) {
            return Err(unusable("the checksum of its head is wrong"));
        }
        if head[HEAD_FIXED..self.checksums()] != self.hashes {
            return Err(unusable("it was packed from other weights"));
        }
        let length = self.length;
        if head[16..24] != (length as u64).to_le_bytes() || image.len() != length {
            let found = image.len();
            return Err(unusable(format!("expected {length} bytes, it has {found}")));
        }
        Ok(())
    }
}

/// An image, mapped or in memory.
pub(super) struct Image {
    region: Region,
    plan: Plan,
    /// True if the checksum of an array has been compared.
    sound: Vec<AtomicBool>,
}

impl Image {
    fn new(region: Region, plan: Plan, sound: bool) -> Self {
        let sound = plan.places.iter().map(|_| AtomicBool::new(sound)).collect();
        Self {
            region,
            plan,
            sound,
        }
    }

    /// Maps the file of an image of this plan.
    ///
    /// `Io` where it cannot be opened, a symbolic link among them; `Weights` where it is of another
    /// layout, of other sources or damaged in its head.
    pub(super) fn map(path: &Path, plan: Plan) -> Result<Self> {
        let region = Region::map_unlocked(open_file(path)?)?;
        plan.check_head(region.bytes())?;
        Ok(Self::new(region, plan, false))
    }

    /// An image in memory whose arrays are put there in order.
    pub(super) fn pack(
        plan: Plan,
        fill: impl FnOnce(&mut Draft<'_>) -> Result<()>,
    ) -> Result<Self> {
        let mut draft = Draft {
            held: Held::zeroed(plan.length),
            places: &plan.places,
            next: 0,
        };
        fill(&mut draft)?;
        let held = plan.seal(draft.held);
        Ok(Self::new(Region::Held(held), plan, true))
    }

    /// Writes the packed file. False when another process is just doing so.
    pub(super) fn write(&self, path: &Path) -> Result<bool> {
        Ok(replace_file(path, self.bytes())?)
    }

    /// The whole image, as it lies in the file.
    pub(super) fn bytes(&self) -> &[u8] {
        self.region.bytes()
    }

    /// The bytes of an array; `Weights` where its checksum is wrong.
    pub(super) fn array(&self, number: usize) -> Result<&[u8]> {
        let place = self.plan.places.get(number).cloned();
        let bytes = place.and_then(|place| self.bytes().get(place));
        let bytes = bytes.ok_or_else(|| unusable(format!("it has no array {number}")))?;
        let sound = self.sound.get(number);
        if !sound.is_some_and(|sound| sound.load(Ordering::Relaxed)) {
            if self.plan.checksum(self.bytes(), number) != Some(crc32fast::hash(bytes)) {
                return Err(unusable(format!("the checksum of array {number} is wrong")));
            }
            if let Some(sound) = sound {
                sound.store(true, Ordering::Relaxed);
            }
        }
        Ok(bytes)
    }

    /// Compares the checksums of all arrays.
    pub(super) fn check(&self) -> Result<()> {
        (0..self.sound.len()).try_for_each(|number| self.array(number).map(|_| ()))
    }

    /// The values of an array.
    pub(super) fn values<T: Plain>(&self, number: usize) -> Result<&[T]> {
        cast(self.array(number)?).ok_or_else(|| unusable(format!("array {number} is cut")))
    }
}

/// An image that is filled array by array.
pub(super) struct Draft<'a> {
    held: Held,
    places: &'a [Range<usize>],
    next: usize,
}

impl Draft<'_> {
    /// Fills the next array; what `bytes` leaves of it stays zeros.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let place = self.places.get(self.next).cloned();
        let into = place.and_then(|place| self.held.bytes_mut().get_mut(place));
        let into = into.and_then(|into| into.get_mut(..bytes.len()));
        let Some(into) = into else {
            let text = format!("array {} has no room for {} bytes", self.next, bytes.len());
            return Err(CoreError::Invalid(text));
        };
        into.copy_from_slice(bytes);
        self.next += 1;
        Ok(())
    }

    /// Fills the next array with these numbers.
    pub(super) fn floats(&mut self, values: &[f32]) -> Result<()> {
        self.put(bytes_of(values))
    }
}
