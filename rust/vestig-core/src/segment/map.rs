//! Read-only memory: mapped files and held images as typed slices. Together with the kernel
//! dispatch the only `unsafe` of the crate.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;

#[cfg(target_endian = "big")]
compile_error!("segments are little-endian and are read in place");

/// Numbers without padding or invalid patterns, so that any aligned bytes are values.
///
/// # Safety
/// Every bit pattern must be a valid value, and the type must have no padding.
pub unsafe trait Plain: Copy + 'static {}
// SAFETY: integers and floats have no padding and no invalid bit patterns.
unsafe impl Plain for u8 {}
// SAFETY: as above.
unsafe impl Plain for i8 {}
// SAFETY: as above.
unsafe impl Plain for u16 {}
// SAFETY: as above.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl Plain for u64 {}
// SAFETY: as above.
unsafe impl Plain for i64 {}
// SAFETY: as above.
unsafe impl Plain for f32 {}
// SAFETY: as above.
unsafe impl Plain for f64 {}
// SAFETY: arrays of bytes are bytes.
unsafe impl<const N: usize> Plain for [u8; N] {}
// SAFETY: as above.
unsafe impl<const N: usize> Plain for [i8; N] {}
// SAFETY: as above, of floats.
unsafe impl<const N: usize> Plain for [f32; N] {}
// SAFETY: two integers without padding between them.
unsafe impl Plain for [u32; 2] {}

/// The bytes as values; None unless they are aligned and a whole number of them.
#[must_use]
pub fn cast<T: Plain>(bytes: &[u8]) -> Option<&[T]> {
    let width = size_of::<T>();
    if width == 0
        || !bytes.len().is_multiple_of(width)
        || bytes.as_ptr().align_offset(align_of::<T>()) != 0
    {
        return None;
    }
    // SAFETY: aligned and of whole width as just checked, any pattern is valid (`Plain`), and
    // the lifetime and immutability are those of `bytes`.
    Some(unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / width) })
}

/// The values as bytes, as they lie in the file.
#[must_use]
pub fn bytes_of<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: `Plain` has no padding, so every byte is initialised; bytes need no alignment.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// Asks memory for a value that will be read. Nothing waits for it; out of range does nothing.
#[inline(always)]
pub fn fetch<T>(values: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(value) = values.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch changes nothing but the cache, whatever the address; this one is a
        // reference's.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, at);
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Zeroed heap memory that begins at a multiple of 64.
pub struct Held {
    lines: Vec<Line>,
    length: usize,
}

impl Held {
    /// `length` zero bytes.
    #[must_use]
    pub fn zeroed(length: usize) -> Self {
        Self {
            lines: vec![Line([0; 64]); length.div_ceil(64)],
            length,
        }
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the lines are initialised, contiguous and at least `length` bytes.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.length) }
    }

    /// The bytes, to fill in.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.length) }
    }
}

/// The image of a segment or of packed weights, mapped from a file or held in memory.
pub enum Region {
    /// A file that is never changed after its name is known, with the open file; the shared lock
    /// of a segment says that somebody still reads it.
    Mapped(memmap2::Mmap, File),
    /// Memory of this process.
    Held(Held),
}

impl Region {
    /// Maps a whole segment for reading, under a shared kernel lock for as long as the map lives.
    ///
    /// `NotFound` when the file lost its name while it was being opened.
    pub fn map(file: File) -> io::Result<Self> {
        file.lock_shared()?;
        #[cfg(unix)]
        if std::os::unix::fs::MetadataExt::nlink(&file.metadata()?) == 0 {
            return Err(io::ErrorKind::NotFound.into());
        }
        Self::map_unlocked(file)
    }

    /// Maps a whole file for reading: one whose name may be given to another file, but which is
    /// never changed itself.
    pub fn map_unlocked(file: File) -> io::Result<Self> {
        if file.metadata()?.len() == 0 {
            return Ok(Self::Held(Held::zeroed(0)));
        }
        // SAFETY: segments and packed weights are written under a name that nobody maps, and never
        // changed, truncated or reused once they have their own (FORMAT.md).
        let map = unsafe { memmap2::Mmap::map(&file)? };
        Ok(Self::Mapped(map, file))
    }

    /// The image.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Mapped(map, _) => map,
            Self::Held(held) => held.bytes(),
        }
    }
}
