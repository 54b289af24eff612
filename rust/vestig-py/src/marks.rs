//! Marks of byte runs, and digests of texts: see `vestig_core::kernels::{rolling_hash, digests}`.
use std::collections::{HashMap, HashSet};

use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::PyBytes;
use vestig_core::kernels::byte_runs::ByteRuns;
use vestig_core::kernels::ledger_pages::{Reading, Unreadable, each_record};
use vestig_core::kernels::{digests, rolling_hash};

#[pyfunction]
fn mark(key: u64, run: &[u8]) -> u64 {
    rolling_hash::mark(key, run)
}

/// Mark → (how often, first offset).
#[pyfunction]
fn find_marks(
    py: Python<'_>,
    key: u64,
    data: &[u8],
    seen: usize,
    length: usize,
    wanted: HashSet<u64>,
) -> HashMap<u64, (u64, usize)> {
    py.detach(|| {
        let found = rolling_hash::find(key, data, seen, length, &wanted).into_iter();
        found.map(|(m, f)| (m, (f.count, f.offset))).collect()
    })
}

/// Number of a run → (how often, first offset).
type RunsInFile = HashMap<u32, (u64, u64)>;

/// Byte runs that are searched for together.
#[pyclass(frozen, name = "ByteRuns", module = "vestig._core")]
struct PyByteRuns(ByteRuns);

#[pymethods]
impl PyByteRuns {
    #[new]
    fn new(runs: Vec<PyBackedBytes>) -> Self {
        Self(ByteRuns::new(runs.iter().map(|run| run.to_vec()).collect()))
    }

    /// Number of a run → (how often, first offset).
    fn find(&self, py: Python<'_>, data: &[u8], seen: usize) -> HashMap<u32, (u64, usize)> {
        py.detach(|| {
            let found = self.0.find(data, seen).into_iter();
            found.map(|(run, f)| (run, (f.count, f.first))).collect()
        })
    }

    /// Number of a run → (how often, first offset) in all that `read` (start, count) gives, which is
    /// fewer bytes than asked for at the end alone; and how many these are.
    fn find_in_file(&self, py: Python<'_>, read: &Bound<'_, PyAny>) -> PyResult<(RunsInFile, u64)> {
        let mut found = RunsInFile::new();
        let (mut start, mut end) = (0, 0);
        loop {
            let seen = end - start;
            let window = read.call1((start, seen + WINDOW))?.cast_into::<PyBytes>()?;
            let data = window.as_bytes();
            if data.len() as u64 <= seen {
                return Ok((found, end));
            }
            for (run, hits) in py.detach(|| self.0.find(data, seen as usize)) {
                let first = start + hits.first as u64;
                found.entry(run).or_insert((0, first)).0 += hits.count;
            }
            end = start + data.len() as u64;
            start = end.saturating_sub(self.0.longest().saturating_sub(1) as u64);
        }
    }

    /// Numbers of the runs that stand in a live row of an SQLite file, one that begins in a page of
    /// these offsets, or in any (None); None where its pages cannot be followed.
    fn find_live(
        &self,
        read: &Bound<'_, PyAny>,
        size: u64,
        roots: Vec<u32>,
        offsets: Option<Vec<u64>>,
    ) -> PyResult<Option<Vec<u32>>> {
        let mut file = Blocks::new(read, size);
        if offsets.is_some() {
            // Few pages, far from each other.
            file.length = LEAST_BLOCK;
        }
        let head = file.at(0, 100)?.to_vec();
        if head.len() < 100 {
            return Ok(None);
        }
        let page_size = match u16::from_be_bytes([head[16], head[17]]) {
            1 => 65_536,
            bytes => usize::from(bytes),
        };
        let usable = page_size.saturating_sub(usize::from(head[20]));
        if page_size < 512 || usable < 480 {
            return Ok(None);
        }
        if page_size > file.length {
            file.held.clear();
            file.length = READ_BLOCK;
        }
        let number = |offset: &u64| u32::try_from(offset / page_size as u64 + 1).ok();
        let within: Option<HashSet<u32>> =
            offsets.map(|offsets| offsets.iter().filter_map(number).collect());
        let reading = Reading {
            roots: &roots,
            pages: u32::try_from(size / page_size as u64).unwrap_or(u32::MAX),
            usable,
            within: within.as_ref(),
        };
        let mut live = HashSet::new();
        if !self.add_live(&mut live, reading, page_size, &mut file)? {
            return Ok(None);
        }
        Ok(Some(live.into_iter().collect()))
    }
}

impl PyByteRuns {
    /// Adds the runs that stand in one of these records; false where pages cannot be followed.
    fn add_live(
        &self,
        live: &mut HashSet<u32>,
        reading: Reading<'_>,
        page_size: usize,
        file: &mut Blocks<'_, '_>,
    ) -> PyResult<bool> {
        let mut failed = None;
        let mut block = Vec::new();
        let page = |number: u32, into: &mut Vec<u8>| {
            let start = u64::from(number).checked_sub(1).ok_or(Unreadable)?;
            match file.at(start * page_size as u64, page_size) {
                Ok(bytes) if bytes.len() == page_size => {
                    into.clear();
                    into.extend_from_slice(bytes);
                    Ok(())
                }
                Ok(_) => Err(Unreadable),
                Err(error) => {
                    failed = Some(error);
                    Err(Unreadable)
                }
            }
        };
        let done = each_record(reading, page, |record| {
            block.extend_from_slice(record);
            block.push(0);
            if block.len() >= LIVE_BLOCK {
                live.extend(self.0.find(&block, 0).into_keys());
                block.clear();
            }
            live.len() < self.0.count()
        });
        if let Some(error) = failed {
            return Err(error);
        }
        live.extend(self.0.find(&block, 0).into_keys());
        Ok(done.is_ok())
    }
}

/// Bytes of a file that are looked at together: as much as a processor keeps near.
const WINDOW: u64 = 256 << 10;
const LIVE_BLOCK: usize = 1 << 18;
const READ_BLOCK: usize = 1 << 16;
const LEAST_BLOCK: usize = 1 << 12;
const BLOCKS_MAX: usize = 1024;

/// A file that is read in blocks through a function of its owner.
struct Blocks<'a, 'py> {
    read: &'a Bound<'py, PyAny>,
    size: u64,
    /// Of a block: a multiple of a page's length.
    length: usize,
    held: HashMap<u64, Bound<'py, PyBytes>>,
}

impl<'a, 'py> Blocks<'a, 'py> {
    fn new(read: &'a Bound<'py, PyAny>, size: u64) -> Self {
        let held = HashMap::new();
        Self {
            read,
            size,
            length: READ_BLOCK,
            held,
        }
    }

    /// Bytes that lie in one block, fewer at the end of the file.
    fn at(&mut self, start: u64, length: usize) -> PyResult<&[u8]> {
        let number = start / self.length as u64;
        if !self.held.contains_key(&number) {
            if self.held.len() >= BLOCKS_MAX {
                self.held.clear();
            }
            let begin = number * self.length as u64;
            let bytes = self.size.saturating_sub(begin).min(self.length as u64);
            let read = self.read.call1((begin, bytes))?.cast_into::<PyBytes>()?;
            self.held.insert(number, read);
        }
        let block = self.held[&number].as_bytes();
        let from = ((start % self.length as u64) as usize).min(block.len());
        Ok(&block[from..(from + length).min(block.len())])
    }
}

#[pyfunction]
fn first_mismatched_text(texts: Vec<(PyBackedStr, PyBackedBytes)>) -> Option<usize> {
    let pairs = texts.iter();
    digests::first_mismatch(pairs.map(|(text, digest)| (text.as_bytes(), digest.as_ref())))
}

/// Adds the functions of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(first_mismatched_text, module)?)?;
    module.add_class::<PyByteRuns>()?;
    module.add_function(wrap_pyfunction!(mark, module)?)?;
    module.add_function(wrap_pyfunction!(find_marks, module)?)
}
