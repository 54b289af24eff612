#![no_main]
#![allow(dead_code)]

#[path = "../../vestig-core/tests/fuzz/drivers.rs"]
mod drivers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drivers::onnx(bytes));
