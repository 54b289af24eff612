//! Python bindings of vestig-core: convert, release the interpreter, wrap.
use pyo3::prelude::*;

mod confidence;
mod cross_encoder;
mod embedder;
mod errors;
mod filter;
mod ids;
mod marks;
mod names;
mod neighbours;
mod numbers;
mod projection;
mod query;
mod ranking;
mod rows;
mod scan;
mod secrets;
mod testing;
mod words;

/// The native module `vestig._core`.
#[pymodule(gil_used = false)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    errors::register(module)?;
    ids::register(module)?;
    embedder::register(module)?;
    cross_encoder::register(module)?;
    numbers::register(module)?;
    words::register(module)?;
    secrets::register(module)?;
    names::register(module)?;
    marks::register(module)?;
    ranking::register(module)?;
    confidence::register(module)?;
    projection::register(module)?;
    testing::register(module)
}
