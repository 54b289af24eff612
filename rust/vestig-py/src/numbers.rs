//! Numbers: vectors, logarithm and power as ranking has them, settings of TraceRank.

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use vestig_core::kernels::tracerank::TraceParams;
use vestig_core::kernels::{dot as dots, math};

use crate::errors::to_python;

/// The float32 values of a C-contiguous buffer of float32, or of bytes in little-endian order.
///
/// ValueError: another format, not contiguous, a length no multiple of 4, or a value that is not
/// finite; the message names the argument.
pub(crate) fn floats(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Vec<f32>> {
    let py = object.py();
    let refuse = |fact: &str| {
        PyValueError::new_err(format!(
            "expected {name} as a C-contiguous float32 buffer, {fact}"
        ))
    };
    let buffer = PyUntypedBuffer::get(object)?;
    if !buffer.is_c_contiguous() {
        return Err(refuse("got one with gaps"));
    }
    let values: Vec<f32> = if let Ok(typed) = buffer.as_typed::<f32>() {
        typed.to_vec(py)?
    } else if let Ok(bytes) = buffer.as_typed::<u8>() {
        let bytes = bytes.to_vec(py)?;
        let (words, rest) = bytes.as_chunks::<4>();
        if !rest.is_empty() {
            let length = bytes.len();
            return Err(refuse(&format!("got {length} bytes, no multiple of 4")));
        }
        words.iter().map(|word| f32::from_le_bytes(*word)).collect()
    } else {
        return Err(refuse("got another item format"));
    };
    if values.iter().all(|value| value.is_finite()) {
        Ok(values)
    } else {
        Err(refuse("got a value that is not finite"))
    }
}

/// Float32 values as bytes in little-endian order.
pub(crate) fn to_bytes<'py>(py: Python<'py>, values: &[f32]) -> Bound<'py, PyBytes> {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes());
    PyBytes::new(py, &bytes.collect::<Vec<u8>>())
}

#[pyfunction]
fn unit<'py>(py: Python<'py>, v: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let values = floats("v", v)?;
    let mut out = vec![0.0; values.len()];
    dots::unit(&values, &mut out);
    Ok(to_bytes(py, &out))
}

#[pyfunction]
fn ln(x: f64) -> f64 {
    math::ln(x)
}

#[pyfunction]
fn pow(x: f64, y: f64) -> f64 {
    math::pow(x, y)
}

/// Settings of TraceRank, by the attributes of one object.
#[derive(FromPyObject)]
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct TraceFields {
    enabled: bool,
    event_weights: Vec<f64>,
    tau_days: f64,
    cooldown_hours: f64,
    burst_discount: f64,
    k: f64,
    temporal_decay_enabled: bool,
    dynamic_tau_days: f64,
    ephemeral_tau_days: Option<f64>,
    static_boost: f64,
    clip_min: f64,
    clip_max: f64,
    spacing_enabled: bool,
    spacing_bonus: f64,
    spacing_days: f64,
    connectivity_enabled: bool,
    graph_k: f64,
}

impl TraceFields {
    /// ValueError: a number outside of its range.
    pub(crate) fn checked(self) -> PyResult<TraceParams> {
        let params = TraceParams {
            enabled: self.enabled,
            event_weights: self.event_weights,
            tau_days: self.tau_days,
            cooldown_hours: self.cooldown_hours,
            burst_discount: self.burst_discount,
            k: self.k,
            temporal_decay_enabled: self.temporal_decay_enabled,
            dynamic_tau_days: self.dynamic_tau_days,
            ephemeral_tau_days: self.ephemeral_tau_days,
            static_boost: self.static_boost,
            clip_min: self.clip_min,
            clip_max: self.clip_max,
            spacing_enabled: self.spacing_enabled,
            spacing_bonus: self.spacing_bonus,
            spacing_days: self.spacing_days,
            connectivity_enabled: self.connectivity_enabled,
            graph_k: self.graph_k,
        };
        params.check().map_err(to_python)?;
        Ok(params)
    }
}

/// Adds the functions and types of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(unit, module)?)?;
    module.add_function(wrap_pyfunction!(ln, module)?)?;
    module.add_function(wrap_pyfunction!(pow, module)?)
}
