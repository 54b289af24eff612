//! What the kernels that walk ask for.

use super::{Net, handle};
use crate::format::Section;
use crate::graph::Node;
use crate::kernels::entity_walk::Mentions;
use crate::kernels::walk::{Hop, Links};
use crate::segment::{Id, MENTIONS, RELATED, Record, unpack};
use crate::snapshot::has;

impl Links for Net<'_> {
    fn nodes(&self) -> usize {
        self.offsets.last().map_or(0, |rows| *rows as usize)
    }

    fn related(&mut self, node: u32, out: &mut Vec<Hop>) {
        let at = self.node(node);
        self.each_outgoing(at, RELATED, |number, edge, end| {
            if self.is_eligible(end) {
                let hop = Hop::related(self.number(end), edge.weight, handle(at.part, number));
                out.push(hop);
            }
        });
        self.each_incoming(at, RELATED, |part, number, edge| {
            if has(&self.eligible[part as usize], edge.source) {
                let other = self.offsets[part as usize] + edge.source as u32;
                out.push(Hop::related(other, edge.weight, handle(part, number)));
            }
            true
        });
    }

    fn mentions(&mut self, node: u32, out: &mut Vec<Hop>) {
        let at = self.node(node);
        let mut own: Vec<(Node, u64, f64)> = Vec::new();
        self.each_outgoing(at, MENTIONS, |number, edge, end| {
            own.push((end, handle(at.part, number), edge.confidence.unwrap_or(1.0)));
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

    /// Whatever is read of a neighbour that is chosen from is asked of memory at once.
    fn ahead(&self, hops: &[Hop]) {
        let mut sum = 0_u64;
        for hop in hops {
            let at = self.node(hop.node);
            let segment = self.segment(at.part);
            let row = at.row as usize;
            sum ^= u64::from(segment.column::<[u8; 8]>(Section::Attributes)[row][0]);
            sum ^= segment.column::<i64>(Section::Valid)[row] as u64;
            sum ^= u64::from(segment.column::<u32>(Section::EventOffsets)[row]);
            sum ^= u64::from(segment.ids()[row][0]);
        }
        std::hint::black_box(sum);
    }

    fn boost(&mut self, node: u32) -> f64 {
        self.factors(self.node(node)).clipped
    }

    fn id(&self, node: u32) -> Id {
        self.graph.id(self.node(node))
    }

    fn edge_id(&self, edge: u64) -> Id {
        if edge == u64::MAX {
            return [0; 16];
        }
        let segment = self.segment((edge >> 32) as u32);
        let number = (edge & u64::from(u32::MAX)) as usize;
        unpack(&segment.column::<Record>(Section::Edges)[number]).0
    }
}

impl Mentions for Net<'_> {
    fn memories_total(&self) -> usize {
        self.eligible_total
    }

    fn entities(&mut self, memory: u32, out: &mut Vec<u32>) {
        self.each_outgoing(self.node(memory), MENTIONS, |_, _, end| {
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
