//! The traversal from the start nodes, over whatever gives neighbours.
//!
//! Nodes are numbers below [`Links::nodes`]; edges are numbers of the caller's. The result depends
//! on ids, weights and use_tracerank only, never on the order in which neighbours are given.

use std::cmp::Ordering;

use super::rng::UniformSource;
use super::top_k::descending;

mod links;
mod queue;

use queue::Queue;

pub use links::{Hop, Links, NONE, Step, WalkParams, Walked};

struct Walk<'a, L: Links> {
    links: &'a mut L,
    params: &'a WalkParams,
    seed: u64,
    starts: Vec<u32>,
    uniforms: Vec<Option<UniformSource>>,
    admitted: Vec<u64>,
    walked: Vec<Walked>,
    /// Neighbours of the node that is expanded: one bit each, then cleared.
    seen: Vec<u64>,
    tried: Vec<u32>,
    found: Vec<Hop>,
    hops: Vec<Hop>,
    numbers_drawn: usize,
}

/// Walks from `starts` (distinct memories, best first) and returns every admitted node in order of
/// admission, starts first, and how many numbers were drawn.
pub fn walk<L: Links>(
    links: &mut L,
    starts: &[u32],
    seed: u64,
    params: &WalkParams,
) -> (Vec<Walked>, usize) {
    let mut walk = Walk {
        admitted: vec![0; links.nodes().div_ceil(64)],
        seen: vec![0; links.nodes().div_ceil(64)],
        links,
        params,
        seed,
        starts: starts.to_vec(),
        uniforms: vec![None; starts.len()],
        walked: Vec::new(),
        tried: Vec::new(),
        found: Vec::new(),
        hops: Vec::new(),
        numbers_drawn: 0,
    };
    for (rank, node) in starts.iter().enumerate() {
        walk.links.prefetch(*node, false);
        walk.admit(Walked {
            node: *node,
            start: rank as u32,
            signal: 1.0,
            hops: 0,
            parent: NONE,
            step: None,
        });
    }
    if params.depth_first {
        walk.depth_first();
    } else {
        walk.best_first();
    }
    (walk.walked, walk.numbers_drawn)
}

impl<L: Links> Walk<'_, L> {
    fn is_full(&self) -> bool {
        self.walked.len() >= self.params.cap
    }

    fn is_admitted(&self, node: u32) -> bool {
        has(&self.admitted, node)
    }

    fn admit(&mut self, walked: Walked) -> u32 {
        self.admitted[walked.node as usize / 64] |= 1 << (walked.node % 64);
        self.walked.push(walked);
        (self.walked.len() - 1) as u32
    }

    fn best_first(&mut self) {
        let mut queue = Queue::default();
        let mut next = 0;
        loop {
            if next < self.walked.len() && !self.is_full() {
                self.expand(next as u32, &mut queue);
                next += 1;
                continue;
            }
            if self.is_full() {
                return;
            }
            let links = &*self.links;
            let Some(walked) = queue.pop(|a, b| stronger(links, a, b)) else {
                return;
            };
            if !self.is_admitted(walked.node) {
                self.admit(walked);
            }
        }
    }

    fn expand(&mut self, parent: u32, queue: &mut Queue<Walked>) {
        self.gather(parent);
        let hops = std::mem::take(&mut self.hops);
        let after = self.walked.get(parent as usize + 1).or(queue.first());
        if let Some(after) = after {
            self.links.prefetch(after.node, true);
        }
        for hop in &hops {
            if let Some(walked) = self.choose(parent, hop) {
                let links = &*self.links;
                links.prefetch(walked.node, false);
                queue.push(walked, |a, b| stronger(links, a, b));
            }
        }
        self.hops = hops;
    }

    /// A node is expanded where it is admitted: the stack holds what is left of every ancestor's
    /// neighbours, so no recursion is as deep as the walk.
    fn depth_first(&mut self) {
        for start in 0..self.starts.len() as u32 {
            let mut stack = vec![(start, self.ordered(start).into_iter())];
            while let Some((parent, rest)) = stack.last_mut() {
                if self.is_full() {
                    return;
                }
                let (parent, next) = (*parent, rest.next());
                let Some(hop) = next else {
                    stack.pop();
                    continue;
                };
                if self.is_admitted(hop.node) {
                    continue;
                }
                if let Some(walked) = self.choose(parent, &hop) {
                    let at = self.admit(walked);
                    if !self.is_full() {
                        stack.push((at, self.ordered(at).into_iter()));
                    }
                }
            }
        }
    }

    fn ordered(&mut self, parent: u32) -> Vec<Hop> {
        if self.is_full() {
            return Vec::new();
        }
        self.gather(parent);
        let (links, hops) = (&*self.links, &mut self.hops);
        let related = hops.iter().take_while(|hop| !hop.mentions()).count();
        hops[related..].sort_unstable_by(|a, b| by_strength(links, a, b));
        self.hops.clone()
    }

    /// The neighbours of a node that are tried: of each edge type the best `max_edges`, without the
    /// admitted ones; RELATED first, in order.
    fn gather(&mut self, parent: u32) {
        let (node, hops) = {
            let walked = &self.walked[parent as usize];
            (walked.node, walked.hops)
        };
        self.hops.clear();
        let reach = self
            .params
            .max_hops
            .map_or(u32::MAX, |most| most.saturating_sub(hops));
        if self.params.related && reach >= 1 {
            self.best_related(node);
        }
        if self.params.mentions && reach >= 2 {
            self.found.clear();
            self.links.mentions(node, &mut self.found);
            self.cut();
        }
    }

    fn best_related(&mut self, node: u32) {
        let most = self.params.max_edges;
        if most == 0 {
            return;
        }
        let (tried, hops) = (&mut self.tried, &mut self.hops);
        let (seen, admitted) = (&mut self.seen, &self.admitted);
        self.links.related(node, most, |hop| {
            let (word, bit) = (hop.node as usize / 64, 1 << (hop.node % 64));
            if seen[word] & bit != 0 {
                return true;
            }
            seen[word] |= bit;
            tried.push(hop.node);
            if !has(admitted, hop.node) {
                hops.push(hop);
            }
            tried.len() < most
        });
        for node in tried.drain(..) {
            seen[node as usize / 64] = 0;
        }
    }

    /// The first way to each neighbour; of these the first `max_edges` go to `hops`, without the
    /// admitted ones.
    fn cut(&mut self) {
        let links = &*self.links;
        let found = &mut self.found;
        if has_repeats(found) {
            found.sort_unstable_by(|a, b| {
                a.node.cmp(&b.node).then_with(|| by_strength(links, a, b))
            });
            found.dedup_by_key(|hop| hop.node);
        }
        let most = self.params.max_edges;
        if found.len() > most {
            found.select_nth_unstable_by(most, |a, b| by_strength(links, a, b));
            found.truncate(most);
        }
        let admitted = &self.admitted;
        let fresh = |hop: &Hop| !has(admitted, hop.node);
        self.hops.extend(found.drain(..).filter(fresh));
    }

    /// The signal that a neighbour is offered with, if chance or the threshold chooses it.
    fn choose(&mut self, parent: u32, hop: &Hop) -> Option<Walked> {
        let params = self.params;
        let from = self.walked[parent as usize];
        let signal = from.signal * hop.weight * params.decay;
        if signal < params.min_signal || signal.is_nan() {
            return None;
        }
        let mut p = match params.theta {
            Some(theta) if !hop.mentions() => normalised(hop.weight, theta),
            _ => hop.weight,
        };
        if p <= 0.0 {
            return None;
        }
        if params.use_tracerank {
            p *= self.links.tracerank(hop.node);
        }
        let p = (p * from.signal * params.exploration).min(1.0);
        let mut u = None;
        let chosen = match params.threshold {
            Some(threshold) => p >= threshold && p > 0.0,
            None if p > 0.0 && p < 1.0 => {
                let drawn = self.draw(from.start, hop);
                u = Some(drawn);
                drawn < p
            }
            None => p >= 1.0,
        };
        chosen.then(|| Walked {
            node: hop.node,
            start: from.start,
            signal,
            hops: from.hops + hop.hops(),
            parent,
            step: Some(Step { hop: *hop, p, u }),
        })
    }

    fn draw(&mut self, start: u32, hop: &Hop) -> f64 {
        self.numbers_drawn += 1;
        let (links, seed) = (&*self.links, self.seed);
        let node = self.starts[start as usize];
        let uniforms = self.uniforms[start as usize]
            .get_or_insert_with(|| UniformSource::new(seed, links.start_name(node).bytes()));
        let first = links.edge_name(hop.edge);
        if hop.mentions() {
            let second = links.edge_name(hop.second);
            uniforms.uniform(&first, Some(&second))
        } else {
            uniforms.uniform(&first, None)
        }
    }
}

/// w′ = max(0, (w − θ) / (1 − θ)); with θ = 1 only a full weight counts.
fn normalised(weight: f64, theta: f64) -> f64 {
    if theta >= 1.0 {
        return f64::from(u8::from(weight >= 1.0));
    }
    ((weight - theta) / (1.0 - theta)).max(0.0)
}

/// Which of two offers is admitted first: the stronger one; ties: start rank, id, then the earlier
/// parent and the first way.
fn stronger<L: Links>(links: &L, a: &Walked, b: &Walked) -> bool {
    let order = descending(a.signal, b.signal)
        .then(a.start.cmp(&b.start))
        .then_with(|| ids(links, a.node, b.node))
        .then(a.parent.cmp(&b.parent))
        .then(a.hops.cmp(&b.hops));
    order == Ordering::Less
}

fn ids<L: Links>(links: &L, a: u32, b: u32) -> Ordering {
    if a == b {
        Ordering::Equal
    } else {
        links.id(a).cmp(&links.id(b))
    }
}

/// MENTIONS by entity degree ascending, then ids of neighbour and entity, then the stronger
/// confidences and the ids of the edges.
fn by_strength<L: Links>(links: &L, a: &Hop, b: &Hop) -> Ordering {
    let edges = || {
        (links.edge_id(a.edge).cmp(&links.edge_id(b.edge)))
            .then_with(|| links.edge_id(a.second).cmp(&links.edge_id(b.second)))
    };
    (a.degree.cmp(&b.degree))
        .then_with(|| ids(links, a.node, b.node))
        .then_with(|| ids(links, a.entity, b.entity))
        .then_with(|| descending(a.weight, b.weight))
        .then_with(edges)
}

fn has(bits: &[u64], node: u32) -> bool {
    bits[node as usize / 64] >> (node % 64) & 1 == 1
}

fn has_repeats(hops: &[Hop]) -> bool {
    if hops.len() > 64 {
        return true;
    }
    let mut repeats = false;
    for (i, hop) in hops.iter().enumerate() {
        for other in &hops[..i] {
            repeats |= hop.node == other.node;
        }
    }
    repeats
}

#[cfg(test)]
mod tests;
