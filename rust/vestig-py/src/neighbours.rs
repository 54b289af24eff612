//! Nearest rows, nodes and words of texts, between Python and the core.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use vestig_core::query::similar::{Neighbours, Probe, Similar};
use vestig_core::segment::Id;

use crate::ids::ids_of;

/// (id, cosine).
pub(crate) type Neighbour<'py> = (Bound<'py, PyBytes>, f64);

/// Wraps one neighbour.
pub(crate) fn neighbour<'py>(py: Python<'py>) -> impl Fn((Id, f64)) -> Neighbour<'py> {
    move |(id, cosine)| (PyBytes::new(py, &id), cosine)
}

/// Wraps a list of them.
pub(crate) fn neighbours(py: Python<'_>, found: Neighbours) -> Vec<Neighbour<'_>> {
    found.into_iter().map(neighbour(py)).collect()
}

/// Near, related and known rows, and (place, cosine) of earlier queries.
pub(crate) type SimilarValues<'py> = (
    Vec<Neighbour<'py>>,
    Vec<Neighbour<'py>>,
    Vec<Neighbour<'py>>,
    Vec<(usize, f64)>,
);

/// Wraps what is similar to one query.
pub(crate) fn similar_values<'py>(py: Python<'py>) -> impl Fn(Similar) -> SimilarValues<'py> {
    move |of| {
        (
            neighbours(py, of.near),
            neighbours(py, of.related),
            neighbours(py, of.known),
            of.earlier,
        )
    }
}

/// (id, kind, cosine or depth).
pub(crate) type NodeValue<'py, T> = (Bound<'py, PyBytes>, u8, T);

/// Wraps nodes.
pub(crate) fn node_values<T>(py: Python<'_>, found: Vec<(Id, u8, T)>) -> Vec<NodeValue<'_, T>> {
    let wrap = |(id, kind, value): (Id, u8, T)| (PyBytes::new(py, &id), kind, value);
    found.into_iter().map(wrap).collect()
}

/// Vectors one after the other, each with its scope, author, ids that are never near and ids that
/// are never related.
pub(crate) fn probes_of(
    vectors: &[f32],
    dimensions: usize,
    scopes: Vec<Option<String>>,
    authors: Vec<Option<String>>,
    exclude: Vec<Bound<'_, PyBytes>>,
    unrelated: Vec<Bound<'_, PyBytes>>,
) -> PyResult<Vec<Probe>> {
    let count = vectors.len() / dimensions;
    let lengths = [scopes.len(), authors.len(), exclude.len(), unrelated.len()];
    if lengths != [count; 4] || !vectors.len().is_multiple_of(dimensions) {
        let text = "expected one vector, scope, author and two exclusions each per query";
        return Err(PyValueError::new_err(text));
    }
    let places = scopes.into_iter().zip(authors);
    let excluded = exclude.into_iter().zip(unrelated);
    let places = places.zip(excluded).zip(vectors.chunks_exact(dimensions));
    places
        .map(|(((scope, author), (exclude, unrelated)), vector)| {
            let mut unrelated = ids_of(unrelated.as_bytes())?;
            unrelated.sort_unstable();
            Ok(Probe {
                vector: vector.to_vec(),
                scope,
                author,
                exclude: ids_of(exclude.as_bytes())?,
                unrelated,
            })
        })
        .collect()
}
