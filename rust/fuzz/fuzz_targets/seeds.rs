//! Writes files to begin with to `corpus/<target>/`.
#![allow(dead_code)]

#[path = "../../vestig-core/tests/fuzz/drivers.rs"]
mod drivers;

use std::error::Error;
use std::fs;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("vestig-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let image = drivers::image(&folder).ok_or("no segment was published")?;
    let manifest = fs::read(folder.join("manifest"))?;
    fs::remove_dir_all(&folder)?;
    let onnx = drivers::onnx_file();
    let seeds: [(&str, &[u8]); 6] = [
        ("segment", &image),
        ("sealed_segment", &image),
        ("manifest", &manifest),
        ("onnx", &onnx),
        ("find_marks", b"12345678\x05\x00ab abc abcd abcab abcabcabc"),
        (
            "text",
            "Größe v2.1 a_b/c@d 東京タワー ภาษาไทย naïve's 3.14".as_bytes(),
        ),
    ];
    for (target, bytes) in seeds {
        let corpus = Path::new("corpus").join(target);
        fs::create_dir_all(&corpus)?;
        fs::write(corpus.join("sound"), bytes)?;
    }
    Ok(())
}
