//! The version reader: a cross-encoder that reads a question with an older and a newer memory
//! together, and says whether the newer one takes the place of the older one.
//!
//! Its layers are those of the judge with a change of low rank (Hu et al., "LoRA", 2021), norms and
//! biases of its own; embeddings and positions are the judge's.

use std::path::Path;
use std::rc::Rc;

use super::cross_encoder::{self, CrossEncoder, FEATURES, Parts};
use super::encoder::{MATRICES, Rest};
use super::forward::Text;
use super::image::{Draft, Plan};
use super::judge::{MemoryText, fill_embeddings, memory_pieces, question_pieces};
use super::packed::PackedWeights;
use super::pinned::read_pinned;
use super::weights::{HIDDEN, LAYERS, pack};
use super::word_pieces::WordPieces;
use crate::error::Result;
use crate::kernels::dispatch::Level;
use crate::segment::map::bytes_of;

/// Most word pieces of each memory with what stands before its text.
const MEMORY_MAX: usize = 56;
const OUTPUTS: usize = 1;
/// Rank of the change of a matrix.
const RANK: usize = 16;
/// Matrices that share an inner factor: query, key and value; each other one has its own.
const TOGETHER: [usize; 4] = [3, 1, 1, 1];
/// Largest code of a weight.
const CODE_MAX: f64 = 127.0;

/// Word pieces of a question and two memories: `[CLS] question [SEP] older [SEP] newer [SEP]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Triple {
    /// The pieces of all parts, with their marks.
    pub ids: Vec<u32>,
    /// Where the older memory begins: the pieces before it have token type 0, the others 1.
    pub older_from: usize,
    /// Where the newer memory begins.
    pub newer_from: usize,
}

impl Triple {
    fn parts(&self) -> Parts<'_> {
        Parts {
            text: Text {
                ids: &self.ids,
                second_from: self.older_from,
            },
            first: self.older_from..self.newer_from.saturating_sub(1),
            second: self.newer_from..self.ids.len().saturating_sub(1),
        }
    }
}

/// A question with each pair of an older and a newer memory.
#[must_use]
pub fn triples(
    pieces: &WordPieces,
    question: &str,
    pairs: &[(MemoryText<'_>, MemoryText<'_>)],
) -> Vec<Triple> {
    let question = question_pieces(pieces, question);
    let (first, last) = pieces.marks();
    let read = |memory: &MemoryText<'_>| memory_pieces(pieces, &question, memory, MEMORY_MAX);
    let triple = |(older, newer): &(MemoryText<'_>, MemoryText<'_>)| {
        let mut ids = vec![first];
        ids.extend(&question);
        ids.push(last);
        let older_from = ids.len();
        ids.extend(read(older));
        ids.push(last);
        let newer_from = ids.len();
        ids.extend(read(newer));
        ids.push(last);
        Triple {
            ids,
            older_from,
            newer_from,
        }
    };
    pairs.iter().map(triple).collect()
}

/// SHA-256 of the judge's file, and of that of the change.
#[derive(Debug, Clone, Copy)]
pub struct Sources {
    /// Of the judge's file.
    pub judge: [u8; 32],
    /// Of the file of the change.
    pub change: [u8; 32],
}

/// Weights of the version reader without its word vectors, mapped or in memory.
pub struct VersionWeights(CrossEncoder);

fn plan(sources: &Sources) -> Plan {
    cross_encoder::plan(&[sources.judge, sources.change], OUTPUTS)
}

impl VersionWeights {
    /// Maps a packed file of the files with these hashes. All of it is checked.
    ///
    /// `Io` where it cannot be opened, a symbolic link among them; `Weights` where it is of another
    /// layout, of other files or damaged.
    pub fn map(path: &Path, sources: &Sources) -> Result<Self> {
        CrossEncoder::map(path, plan(sources)).map(Self)
    }

    /// Packs in memory the judge's weights with the change.
    ///
    /// `Io` where a file cannot be read; `Invalid` where it has another SHA-256, or what it holds is
    /// not of the model.
    pub fn pack(judge: &Path, change: &Path, sources: &Sources) -> Result<Self> {
        let judge = read_pinned(judge, &sources.judge, "a judge")?;
        let change = read_pinned(change, &sources.change, "a change of the judge")?;
        CrossEncoder::pack(plan(sources), |image| {
            let (mut judge, mut change) = (Rest::new(&judge), Rest::new(&change));
            fill_changed_layers(image, &mut judge, &mut change)?;
            fill_embeddings(image, &mut judge)?;
            image.floats(&change.floats(OUTPUTS * FEATURES)?)?;
            image.floats(&change.floats(OUTPUTS)?)?;
            change.end()
        })
        .map(Self)
    }

    /// Writes the packed file. False when another process is just doing so.
    pub fn write(&self, path: &Path) -> Result<bool> {
        self.0.write(path)
    }

    /// The logit of each triple, in order, with the word vectors of the embedder, on up to `threads`
    /// threads by a named level. Neither level nor threads nor other triples change a bit.
    ///
    /// # Errors
    /// `Weights` where the embedder's weights are damaged, `Invalid` for an unknown word piece.
    pub fn read(
        &self,
        level: Level,
        words: &PackedWeights,
        triples: &[Triple],
        threads: usize,
    ) -> Result<Vec<f32>> {
        let texts: Vec<_> = triples.iter().map(Triple::parts).collect();
        let found = self.0.read(level, words, &texts, threads)?;
        Ok(found.into_iter().map(|[takes]| takes).collect())
    }
}

/// The judge's layers with the change. Its file has, layer by layer, the change of query, key and
/// value together, of the output, up and down: 8-bit codes of the inner factor (rank × inputs) with a
/// scale for each row, 8-bit codes of the outer factor of each matrix (columns × rank) with a scale for
/// each column; then the biases of all six matrices, and weight and bias of both norms.
fn fill_changed_layers(
    image: &mut Draft<'_>,
    judge: &mut Rest<'_>,
    change: &mut Rest<'_>,
) -> Result<()> {
    for layer in 0..LAYERS {
        let mut factors = Vec::with_capacity(MATRICES.len());
        for together in TOGETHER {
            let (inputs, columns) = MATRICES[factors.len()];
            let what = format!("the change of matrix {} of layer {layer}", factors.len());
            let inner = Rc::new(scaled(change, RANK, inputs, &what)?);
            for _ in 0..together {
                factors.push((Rc::clone(&inner), scaled(change, columns, RANK, &what)?));
            }
        }
        for (number, (inputs, columns)) in MATRICES.into_iter().enumerate() {
            let what = format!("matrix {number} of layer {layer}");
            let codes = judge.codes(inputs * columns, &what)?;
            let scales = judge.scales(columns, &what)?;
            judge.floats(columns)?;
            let (inner, outer) = &factors[number];
            let (codes, scales) = changed(codes, &scales, inner, outer);
            image.put(bytes_of(&pack(&codes, inputs, columns)?))?;
            image.floats(&scales)?;
            image.floats(&change.floats(columns)?)?;
        }
        for _ in 0..4 {
            judge.floats(HIDDEN)?;
            image.floats(&change.floats(HIDDEN)?)?;
        }
    }
    Ok(())
}

/// The next rows of 8-bit codes with a scale for each row, one behind the other.
fn scaled(rest: &mut Rest<'_>, rows: usize, columns: usize, what: &str) -> Result<Vec<f64>> {
    let codes = rest.codes(rows * columns, what)?;
    let scales = rest.scales(rows, what)?;
    let of_row = |(row, scale): (&[i8], f32)| -> Vec<f64> {
        row.iter()
            .map(|code| f64::from(*code) * f64::from(scale))
            .collect()
    };
    Ok(codes.chunks(columns).zip(scales).flat_map(of_row).collect())
}

/// Codes (inputs × columns) and scales of a matrix, to which the product of both factors is added:
/// `inner` is rank × inputs, `outer` columns × rank. Each value is rounded to the nearest code, of two
/// as near to the even one.
fn changed(codes: &[i8], scales: &[f32], inner: &[f64], outer: &[f64]) -> (Vec<i8>, Vec<f32>) {
    let (columns, inputs) = (scales.len(), codes.len() / scales.len().max(1));
    let (mut made, mut made_scales) = (vec![0; codes.len()], Vec::with_capacity(columns));
    let mut values = vec![0.0; inputs];
    for (column, scale) in scales.iter().enumerate() {
        for (input, value) in values.iter_mut().enumerate() {
            *value = f64::from(codes[input * columns + column]) * f64::from(*scale);
        }
        let weights = &outer[column * RANK..][..RANK];
        for (row, weight) in inner.chunks(inputs).zip(weights) {
            for (value, factor) in values.iter_mut().zip(row) {
                *value += weight * factor;
            }
        }
        let most = values
            .iter()
            .fold(0.0_f64, |most, value| most.max(value.abs()));
        let scale = (most / CODE_MAX) as f32;
        let step = if scale > 0.0 { f64::from(scale) } else { 1.0 };
        for (input, value) in values.iter().enumerate() {
            let code = (value / step).round_ties_even();
            made[input * columns + column] = code.clamp(-CODE_MAX, CODE_MAX) as i8;
        }
        made_scales.push(scale);
    }
    (made, made_scales)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces() -> WordPieces {
        let lines = include_bytes!("../../../../python/vestig/data/vocab.txt");
        WordPieces::new(lines.to_vec()).unwrap()
    }

    #[test]
    fn a_triple_is_the_question_and_both_memories() {
        let pieces = pieces();
        let memory = |text| MemoryText {
            head: "3 may",
            lead: "ada:",
            text,
            ..MemoryText::default()
        };
        let pair = (memory("to oslo"), memory("back in bergen"));
        let found = &triples(&pieces, "Where?", &[pair])[0];
        let read = |one: MemoryText<'_>| {
            [one.head, one.lead, one.text]
                .map(|part| pieces.unmarked(part))
                .concat()
        };
        let question = [&[101], &pieces.unmarked("Where?")[..], &[102]].concat();
        let older = [&read(pair.0)[..], &[102]].concat();
        let newer = [&read(pair.1)[..], &[102]].concat();
        assert_eq!(found.ids, [&question[..], &older, &newer].concat());
        assert_eq!(found.older_from, question.len());
        assert_eq!(found.newer_from, question.len() + older.len());
    }

    #[test]
    fn no_triple_is_longer_than_its_parts_may_be() {
        let long = "tea ".repeat(500);
        let memory = MemoryText {
            head: &long,
            before: &long,
            lead: &long,
            text: &long,
        };
        let triple = &triples(&pieces(), &long, &[(memory, memory)])[0];
        assert_eq!(triple.ids.len(), 30 + 2 * MEMORY_MAX + 4);
        assert_eq!(triple.newer_from - triple.older_from, MEMORY_MAX + 1);
    }

    #[test]
    fn a_change_is_added_and_rounded_to_the_nearest_code() {
        // one input, two columns: 100 · 0.5 + 4 · 2 and −50 · 1 + 0
        let mut inner = vec![0.0; RANK];
        inner[0] = 4.0;
        let mut outer = vec![0.0; 2 * RANK];
        outer[0] = 2.0;
        let (codes, scales) = changed(&[100, -50], &[0.5, 1.0], &inner, &outer);
        assert_eq!(codes, [127, -127]);
        assert_eq!(scales, [(58.0 / 127.0) as f32, (50.0 / 127.0) as f32]);
        // nothing stays nothing
        let (codes, scales) = changed(&[0], &[0.0], &inner, &[0.0; RANK]);
        assert_eq!((codes, scales), (vec![0], vec![0.0]));
    }
}
