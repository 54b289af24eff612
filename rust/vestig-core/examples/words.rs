//! Times the analyser: `cargo run --release --example words`.
use std::time::Instant;

use vestig_core::words::{Stems, visit_terms};

fn main() {
    let text = "Anna's caches were flushed after the deployment of v1.2 on Friday, and the \
        monitoring dashboards in src/main.rs showed that the latency of the retrieval service \
        had improved considerably; nevertheless the engineers decided to keep investigating the \
        intermittent failures that customers reported (see JIRA-9988) before the next release.";
    let mut best = f64::MAX;
    let mut count = 0;
    for _ in 0..20 {
        let start = Instant::now();
        for _ in 0..200 {
            visit_terms(
                text,
                Some("Bob"),
                None,
                &mut Stems::of_one_text(),
                |term, _| count += term.len(),
            );
        }
        best = best.min(start.elapsed().as_secs_f64() / 200.0);
    }
    let size = text.len() as f64;
    println!(
        "{:.1} µs for {size} bytes, {:.1} MB/s ({count})",
        best * 1e6,
        size / best / 1e6
    );
}
