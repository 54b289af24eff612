//! The data that the kernels that walk ask for.

use super::{EligibleGraph, handle};
use crate::kernels::entity_walk::Mentions;
use crate::kernels::walk::{Hop, Links};
use crate::query::graph::Node;
use crate::segment::format::Section;
use crate::segment::{Id, MENTIONS, unpack};

impl Links for EligibleGraph<'_> {
    fn nodes(&self) -> usize {
        self.offsets.last().map_or(0, |rows| *rows as usize)
    }

    fn related(&mut self, node: u32, most: usize, sink: impl FnMut(Hop) -> bool) {
        self.each_related(self.node(node), most, sink);
    }

    fn mentions(&mut self, node: u32, out: &mut Vec<Hop>) {
        let at = self.node(node);
        let mut own: Vec<(Node, u64, f64)> = Vec::new();
        self.each_target(at, MENTIONS, |number, end| {
            let edge = self.segment(at.part).edge(number);
            own.push((
                end,
                handle(at.part, number as u32),
                edge.confidence.unwrap_or(1.0),
            ));
        });
        let mut mentioning = std::mem::take(&mut self.mentioning);
        for (entity, first, confidence) in own {
            if !self.is_entity(entity) {
                continue;
            }
            let degree = self.collect(entity, self.max_entity_degree, &mut mentioning);
            let entity = self.number(entity);
            for (other, second, theirs) in &mentioning {
                if *other != node {
                    out.push(Hop {
                        node: *other,
                        entity,
                        degree: degree as u32,
                        weight: confidence * theirs,
                        edge: first,
                        second: *second,
                    });
                }
            }
        }
        self.mentioning = mentioning;
    }

    fn prefetch(&self, node: u32, near: bool) {
        let at = self.node(node);
        self.columns[at.part as usize].fetch_related_of(at.row as usize, near);
    }

    fn tracerank(&mut self, node: u32) -> f64 {
        self.factors(self.node(node)).clipped
    }

    fn id(&self, node: u32) -> Id {
        let at = self.node(node);
        self.columns[at.part as usize].ids[at.row as usize]
    }

    fn edge_id(&self, edge: u64) -> Id {
        if edge == u64::MAX {
            return [0; 16];
        }
        let records = self.columns[(edge >> 32) as usize].records;
        unpack(&records[(edge & u64::from(u32::MAX)) as usize]).0
    }
}

impl Mentions for EligibleGraph<'_> {
    fn memories_total(&self) -> usize {
        self.eligible_total
    }

    fn nodes_end(&self) -> usize {
        self.nodes()
    }

    fn entities(&mut self, memory: u32, out: &mut Vec<u32>) {
        self.each_target(self.node(memory), MENTIONS, |_, end| {
            let number = self.number(end);
            if !out.contains(&number) && self.is_entity(end) {
                out.push(number);
            }
        });
    }

    fn degree(&mut self, entity: u32, most: usize) -> usize {
        self.mentions_of(self.node(entity), most)
    }

    fn memories(&mut self, entity: u32, out: &mut Vec<u32>) {
        self.starts_of(self.node(entity), out);
    }

    fn prefetch(&self, node: u32, near: bool) {
        let at = self.node(node);
        self.columns[at.part as usize].fetch_mentions(at.row as usize, near);
    }

    fn ordered(&self) -> bool {
        self.ordered
    }

    fn key(&self, node: u32) -> (i64, Id) {
        let at = self.node(node);
        let segment = self.segment(at.part);
        let row = at.row as usize;
        (segment.column::<i64>(Section::Seq)[row], segment.ids()[row])
    }
}
