//! Words: tokens and index terms.

use std::collections::HashSet;

use pyo3::prelude::*;
use vestig_core::words;

/// Short texts that are looked for at once.
#[pyclass(frozen, module = "vestig._core")]
struct Substrings(words::Substrings);

#[pymethods]
impl Substrings {
    #[new]
    fn new(wanted: Vec<String>) -> Self {
        Self(words::Substrings::new(wanted.iter().map(String::as_str)))
    }

    fn any_in(&self, text: &str) -> bool {
        self.0.any_in(text)
    }
}

/// Words that are no content of a query.
#[pyclass(frozen, module = "vestig._core")]
struct ContentWords(HashSet<String>);

/// An index term that says what a query is about.
#[pyclass(frozen, eq, module = "vestig._core")]
#[derive(PartialEq)]
pub(crate) struct ContentTerm(pub(crate) words::ContentTerm);

#[pymethods]
impl ContentWords {
    #[new]
    fn new(left_out: HashSet<String>) -> Self {
        Self(left_out)
    }

    fn terms(&self, text: &str, times: Vec<(usize, usize)>) -> Vec<ContentTerm> {
        let found = words::content_terms(text, &times, &self.0).into_iter();
        found.map(ContentTerm).collect()
    }
}

#[pymethods]
impl ContentTerm {
    #[new]
    #[pyo3(signature = (term, start, end, *, in_time = false))]
    fn new(term: String, start: usize, end: usize, in_time: bool) -> Self {
        Self(words::ContentTerm {
            term,
            start,
            end,
            in_time,
        })
    }

    #[getter]
    fn term(&self) -> &str {
        &self.0.term
    }

    #[getter]
    fn start(&self) -> usize {
        self.0.start
    }

    #[getter]
    fn end(&self) -> usize {
        self.0.end
    }

    #[getter]
    fn in_time(&self) -> bool {
        self.0.in_time
    }

    fn __repr__(&self) -> String {
        let words::ContentTerm {
            term,
            start,
            end,
            in_time,
        } = &self.0;
        let in_time = if *in_time { ", in_time=True" } else { "" };
        format!("ContentTerm({term:?}, {start}, {end}{in_time})")
    }
}

#[pyfunction]
fn tokens(py: Python<'_>, text: &str) -> Vec<(String, usize, usize, bool)> {
    py.detach(|| {
        let found = words::tokens(text).into_iter();
        found
            .map(|token| (token.text, token.start, token.end, token.identifier))
            .collect()
    })
}

#[pyfunction]
fn keywords(text: &str, limit: usize, left_out: HashSet<String>) -> Vec<String> {
    words::keywords(text, limit, &left_out)
}

#[pyfunction]
fn lower_words(text: &str) -> Vec<&str> {
    words::lower_words(text)
}

#[pyfunction]
fn visible(text: &str) -> std::borrow::Cow<'_, str> {
    words::visible(text)
}

#[pyfunction]
fn text_flags(text: &str) -> u32 {
    words::text_flags(text)
}

#[pyfunction]
#[pyo3(signature = (text, author = None))]
fn terms(py: Python<'_>, text: &str, author: Option<&str>) -> Vec<String> {
    py.detach(|| words::terms(text, author))
}

#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
fn terms_among(
    py: Python<'_>,
    wanted: HashSet<String>,
    texts: Vec<String>,
) -> Vec<(usize, String)> {
    py.detach(|| words::terms_among(&wanted, &texts))
}

#[pyfunction]
fn placed_terms(py: Python<'_>, text: &str) -> Vec<(String, usize, usize)> {
    py.detach(|| {
        let found = words::placed_terms(text).into_iter();
        found
            .map(|placed| (placed.term, placed.start, placed.end))
            .collect()
    })
}

/// Adds the functions of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ANALYSER_VERSION", words::analyser_version())?;
    module.add_class::<Substrings>()?;
    module.add_class::<ContentWords>()?;
    module.add_class::<ContentTerm>()?;
    module.add_function(wrap_pyfunction!(tokens, module)?)?;
    module.add_function(wrap_pyfunction!(keywords, module)?)?;
    module.add_function(wrap_pyfunction!(lower_words, module)?)?;
    module.add_function(wrap_pyfunction!(placed_terms, module)?)?;
    module.add_function(wrap_pyfunction!(text_flags, module)?)?;
    module.add_function(wrap_pyfunction!(visible, module)?)?;
    module.add_function(wrap_pyfunction!(terms_among, module)?)?;
    module.add_function(wrap_pyfunction!(terms, module)?)
}
