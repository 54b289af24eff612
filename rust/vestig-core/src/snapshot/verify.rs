//! Checksums and sizes of the published files.

use crate::snapshot::load;
use crate::snapshot::projection::Projection;

impl Projection {
    /// Checks every checksum of every mapped section again; one line per finding.
    #[must_use]
    pub fn verify(&self) -> Vec<String> {
        let snapshot = self.snapshot();
        let mut findings = Vec::new();
        for part in &snapshot.parts[..snapshot.published] {
            let name = part.segment.name().unwrap_or("memory");
            for section in part.segment.wrong_sections() {
                findings.push(format!("{name}: checksum of section {section} differs"));
            }
        }
        if let Some(Err(error)) = self.folder.as_deref().map(load::manifest) {
            findings.push(error.to_string());
        }
        findings
    }

    /// (section, bytes) over all published segments, then ("tail", bytes).
    #[must_use]
    pub fn sizes(&self) -> Vec<(&'static str, u64)> {
        let snapshot = self.snapshot();
        let mut sizes: Vec<(&'static str, u64)> = crate::segment::format::SECTION_TABLE
            .iter()
            .map(|(name, _)| (*name, 0))
            .collect();
        for part in &snapshot.parts[..snapshot.published] {
            let sections = part.segment.section_sizes();
            sizes
                .iter_mut()
                .zip(sections)
                .for_each(|(sum, (_, bytes))| sum.1 += bytes);
        }
        let tail = snapshot.parts[snapshot.published..].iter();
        sizes.push((
            "tail",
            tail.map(|part| part.segment.image().len() as u64).sum(),
        ));
        sizes
    }
}
