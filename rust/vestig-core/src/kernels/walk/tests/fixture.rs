//! A graph that is written down by hand.

use crate::kernels::rng::Name;
use crate::kernels::walk::*;

/// Nodes with one-letter names, edges numbered from 0.
#[derive(Default)]
pub(super) struct Fixture {
    pub(super) names: Vec<&'static str>,
    pub(super) related: Vec<(u32, u32, f64)>,
    /// (memory, entity, confidence)
    pub(super) mentions: Vec<(u32, u32, f64)>,
    pub(super) use_tracerank: Vec<(u32, f64)>,
    pub(super) most_mentions: usize,
    /// Given in reverse, to show that order does not matter.
    pub(super) reversed: bool,
}

pub(super) const ENTITY: u32 = 40;

impl Fixture {
    pub(super) fn node(&self, name: &str) -> u32 {
        self.names.iter().position(|n| *n == name).unwrap() as u32
    }

    pub(super) fn of(edges: &[(&'static str, &'static str, f64)]) -> Self {
        let mut made = Self {
            most_mentions: 50,
            ..Self::default()
        };
        for (a, b, _) in edges {
            for name in [*a, *b] {
                if !made.names.contains(&name) {
                    made.names.push(name);
                }
            }
        }
        made.related = edges
            .iter()
            .map(|(a, b, w)| (made.node(a), made.node(b), *w))
            .collect();
        made
    }
}

impl Links for Fixture {
    fn nodes(&self) -> usize {
        64
    }

    fn related(&mut self, node: u32, _: usize, sink: impl FnMut(Hop) -> bool) {
        let edges = self.related.iter().enumerate();
        let mut found: Vec<Hop> = edges
            .filter(|(_, (a, b, _))| *a == node || *b == node)
            .map(|(i, (a, b, weight))| {
                Hop::related(if *a == node { *b } else { *a }, *weight, i as u64)
            })
            .collect();
        found.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.node.cmp(&b.node)));
        let _ = found.into_iter().all(sink);
    }

    fn mentions(&mut self, node: u32, out: &mut Vec<Hop>) {
        let edges = || self.mentions.iter().enumerate();
        for (first, (_, entity, own)) in edges().filter(|(_, (m, _, _))| *m == node) {
            let degree = edges().filter(|(_, (_, e, _))| e == entity).count();
            if degree > self.most_mentions {
                continue;
            }
            for (second, (other, _, theirs)) in edges().filter(|(_, (_, e, _))| e == entity) {
                if *other != node {
                    out.push(Hop {
                        node: *other,
                        entity: *entity,
                        degree: degree as u32,
                        weight: own * theirs,
                        edge: 100 + first as u64,
                        second: 100 + second as u64,
                    });
                }
            }
        }
        if self.reversed {
            out.reverse();
        }
    }

    fn tracerank(&mut self, node: u32) -> f64 {
        let found = self.use_tracerank.iter().find(|(n, _)| *n == node);
        found.map_or(1.0, |(_, boost)| *boost)
    }

    fn id(&self, node: u32) -> [u8; 16] {
        [node as u8; 16]
    }

    fn edge_id(&self, edge: u64) -> [u8; 16] {
        [edge as u8; 16]
    }

    fn start_name(&self, node: u32) -> Name {
        Name::text(&format!("mem_{}", self.names[node as usize].to_lowercase()))
    }

    fn edge_name(&self, edge: u64) -> Name {
        Name::text(&format!("edge_{}", edge + 1))
    }
}
