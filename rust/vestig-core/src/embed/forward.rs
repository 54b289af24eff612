//! The forward pass: word pieces in, hidden states and the vector of a text out.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::weights::{HIDDEN, LAYERS, PIECES_MAX, Row, Weights};
use crate::kernels::dispatch::Level;
use crate::kernels::encoder::States;
use crate::{CoreError, Result};

/// Rows of short texts that are computed together, for weights are read once for all of them.
const ROWS_TOGETHER: usize = 96;

thread_local! {
    /// Buffers of this thread; absent while a text is computed with them.
    static STATES: Cell<Option<Box<States>>> = const { Cell::new(None) };
}

/// Word pieces of one text.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    /// 1 to 256 word pieces.
    pub ids: &'a [u32],
    /// The first piece of token type 1; those before it have type 0.
    pub second_from: usize,
}

impl<'a> From<&'a [u32]> for Text<'a> {
    /// A text of token type 0 alone.
    fn from(ids: &'a [u32]) -> Self {
        Self {
            ids,
            second_from: ids.len(),
        }
    }
}

/// Last hidden states of one text: a row of 384 values for each word piece.
#[derive(Clone, Copy)]
pub struct Hidden<'a> {
    rows: &'a [[f32; HIDDEN]],
}

impl<'a> Hidden<'a> {
    #[cfg(test)]
    pub(super) fn new(rows: &'a [[f32; HIDDEN]]) -> Self {
        Self { rows }
    }

    /// The row of each word piece, in order.
    #[must_use]
    pub fn rows(&self) -> &[[f32; HIDDEN]] {
        self.rows
    }

    /// The vector of the text: the mean of the rows in float64, of unit length where `normalize`.
    /// A mean of zeros stays zeros.
    #[must_use]
    pub fn pooled(&self, normalize: bool) -> [f32; HIDDEN] {
        let mut mean = [0.0_f64; HIDDEN];
        for row in self.rows {
            for (sum, value) in mean.iter_mut().zip(row) {
                *sum += f64::from(*value);
            }
        }
        let pieces = self.rows.len().max(1) as f64;
        let mut squares = 0.0;
        for value in &mut mean {
            *value /= pieces;
            squares += *value * *value;
        }
        let norm = squares.sqrt();
        if normalize && norm > 0.0 {
            return mean.map(|value| (value / norm) as f32);
        }
        mean.map(|value| value as f32)
    }
}

/// `made` of the hidden states of one text of 1 to 256 word pieces.
///
/// # Errors
/// As [`embed_each`].
pub fn embed<T: Send>(
    weights: &dyn Weights,
    ids: &[u32],
    made: impl Fn(&Hidden<'_>) -> T + Sync,
) -> Result<T> {
    let mut only = embed_each(weights, &[ids.into()], 1, |_, hidden| made(hidden))?;
    only.pop()
        .ok_or_else(|| CoreError::Invalid("expected one text, got none".into()))
}

/// `made` of the number and the hidden states of each text, in the order of the texts, on up to
/// `threads` threads. Neither threads nor the other texts change a bit of a text's states.
///
/// # Errors
/// [`CoreError::Invalid`] for a text without word pieces or with more than 256, or for an unknown
/// word piece, and what the weights give.
pub fn embed_each<T: Send>(
    weights: &dyn Weights,
    texts: &[Text<'_>],
    threads: usize,
    made: impl Fn(usize, &Hidden<'_>) -> T + Sync,
) -> Result<Vec<T>> {
    embed_each_with(Level::best(), weights, texts, threads, made)
}

/// [`embed_each`] by a named level; the same bits as any other.
///
/// # Errors
/// As [`embed_each`].
pub fn embed_each_with<T: Send>(
    level: Level,
    weights: &dyn Weights,
    texts: &[Text<'_>],
    threads: usize,
    made: impl Fn(usize, &Hidden<'_>) -> T + Sync,
) -> Result<Vec<T>> {
    let mut counts = texts.iter().map(|text| text.ids.len());
    if let Some(count) = counts.find(|count| !(1..=PIECES_MAX).contains(count)) {
        let text = format!("expected a text of 1 to {PIECES_MAX} word pieces, got {count}");
        return Err(CoreError::Invalid(text));
    }
    let groups = groups(texts, threads);
    let next = AtomicUsize::new(0);
    let work = &|| -> Result<Vec<(usize, T)>> {
        let mut states = STATES.take().unwrap_or_default();
        let mut found = Vec::new();
        while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
            let ranges = run(level, weights, texts, group, &mut states)?;
            for (number, range) in group.iter().zip(ranges) {
                let rows = &states.rows[range];
                found.push((*number, made(*number, &Hidden { rows })));
            }
        }
        STATES.set(Some(states));
        Ok(found)
    };
    let mut found = std::thread::scope(|scope| {
        let others = threads.min(groups.len()).saturating_sub(1);
        let others: Vec<_> = (0..others).map(|_| scope.spawn(work)).collect();
        let mut found = work()?;
        for other in others {
            match other.join() {
                Ok(part) => found.extend(part?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok::<_, CoreError>(found)
    })?;
    found.sort_unstable_by_key(|(number, _)| *number);
    Ok(found.into_iter().map(|(_, made)| made).collect())
}

/// Numbers of texts that are computed together: longest first, short ones in groups.
fn groups(texts: &[Text<'_>], threads: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|number| std::cmp::Reverse(texts[*number].ids.len()));
    let all: usize = texts.iter().map(|text| text.ids.len()).sum();
    let most = ROWS_TOGETHER.min(all.div_ceil(threads.max(1)));
    let (mut groups, mut rows) = (Vec::<Vec<usize>>::new(), 0);
    for number in order {
        let pieces = texts[number].ids.len();
        match groups.last_mut() {
            Some(group) if rows + pieces <= most => group.push(number),
            _ => {
                groups.push(vec![number]);
                rows = 0;
            }
        }
        rows += pieces;
    }
    groups
}

/// Computes the states of a group of texts; which rows are whose.
fn run(
    level: Level,
    weights: &dyn Weights,
    texts: &[Text<'_>],
    group: &[usize],
    states: &mut States,
) -> Result<Vec<Range<usize>>> {
    states.rows.clear();
    let mut ranges = Vec::with_capacity(group.len());
    for number in group {
        let first = states.rows.len();
        let text = texts[*number];
        for (at, id) in text.ids.iter().enumerate() {
            let (word, position) = (weights.word(*id)?, weights.position(at)?);
            let token_type = weights.token_type(usize::from(at >= text.second_from))?;
            states.rows.push(embedding(word, token_type, position));
        }
        ranges.push(first..states.rows.len());
    }
    states.norm(&weights.embedding_norm()?);
    for number in 0..LAYERS {
        states.layer(level, &weights.layer(number)?, &ranges);
    }
    Ok(ranges)
}

/// (word + token type) + position.
fn embedding(word: Row<'_>, token_type: &[f32; HIDDEN], position: Row<'_>) -> [f32; HIDDEN] {
    std::array::from_fn(|i| {
        let word_value = f32::from(word.0[i]) * word.1;
        word_value + token_type[i] + f32::from(position.0[i]) * position.1
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::weights::{Layer, Norm};

    /// Weights of which none can be read.
    struct Missing;

    fn missing<T>() -> Result<T> {
        Err(CoreError::Invalid("missing".into()))
    }

    impl Weights for Missing {
        fn word(&self, _: u32) -> Result<Row<'_>> {
            missing()
        }
        fn position(&self, _: usize) -> Result<Row<'_>> {
            missing()
        }
        fn token_type(&self, _: usize) -> Result<&[f32; HIDDEN]> {
            missing()
        }
        fn embedding_norm(&self) -> Result<Norm<'_>> {
            missing()
        }
        fn layer(&self, _: usize) -> Result<Layer<'_>> {
            missing()
        }
    }

    #[test]
    fn a_text_has_1_to_256_word_pieces() {
        for count in [0, 257] {
            let error = embed(&Missing, &vec![1; count], |_| ())
                .unwrap_err()
                .to_string();
            let wanted = format!("expected a text of 1 to 256 word pieces, got {count}");
            assert_eq!(error, wanted);
        }
    }

    #[test]
    fn weights_that_cannot_be_read_are_an_error_on_every_thread() {
        let texts = vec![Text::from(&[1_u32; 200] as &[u32]); 9];
        for threads in [1, 4] {
            let error = embed_each(&Missing, &texts, threads, |_, _| ()).unwrap_err();
            assert_eq!(error.to_string(), "missing");
        }
        assert!(embed_each(&Missing, &[], 4, |_, _| ()).unwrap().is_empty());
    }

    #[test]
    fn groups_take_every_text_once_and_use_every_thread() {
        let ids = [7_u32; 256];
        let text = |count: usize| Text::from(&ids[..count]);
        let texts = [5, 256, 90, 6, 13, 1].map(text);
        assert_eq!(groups(&texts, 1), [vec![1], vec![2], vec![4, 3, 0, 5]]);
        let short = vec![text(13); 6];
        assert_eq!(groups(&short, 1).len(), 1);
        assert_eq!(groups(&short, 3).len(), 3);
        assert!(groups(&[], 3).is_empty());
    }

    #[test]
    fn pooling_is_the_mean_of_unit_length() {
        let mut rows = [[0.0; HIDDEN]; 2];
        (rows[0][0], rows[1][0], rows[0][1]) = (5.0, 1.0, 8.0);
        let hidden = Hidden { rows: &rows };
        assert_eq!(hidden.pooled(false)[..3], [3.0, 4.0, 0.0]);
        assert_eq!(hidden.pooled(true)[..3], [0.6, 0.8, 0.0]);
        let zeros = Hidden {
            rows: &[[0.0; HIDDEN]],
        };
        assert_eq!(zeros.pooled(true), [0.0; HIDDEN]);
    }
}
