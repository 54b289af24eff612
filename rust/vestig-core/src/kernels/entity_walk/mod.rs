//! The entity walk: personalised PageRank over memory–entity edges by forward push.
//!
//! Definition, to the bit: rounds; in each round first the memories, then the entities, each by
//! (seq, id) ascending, whose residual exceeds `THRESHOLD` · degree are pushed, until a round
//! pushes nothing or `PUSHES_MAX` pushes are done. Only touched nodes cost anything.

use super::math;

mod numbers;

use numbers::{Numbers, TOUCHED, turn};

/// Share of a residual that stays where it is pushed.
pub const RESTART: f64 = 0.3;
/// Residual per edge above which a node is pushed.
pub const THRESHOLD: f64 = 1e-4;
/// Most pushes of a walk.
pub const PUSHES_MAX: usize = 33_333;
/// Share of the memories above which an entity is too common, and the count that never is.
const COMMON_SHARE: f64 = 0.1;
const COMMON_LEAST: f64 = 3.0;
/// Added to the distance from the weakest start, so that it starts too.
const START_LEAST: f64 = 1e-6;
/// Rounds between prefetching a node's lists and reading them.
const AHEAD: usize = 4;
/// Contrast of the signal.
const CONTRAST: f64 = 1e4;

/// A graph to walk: eligible memories and their unexpired MENTIONS edges only.
pub trait Mentions {
    /// Number of eligible memories.
    fn memories_total(&self) -> usize;
    /// Above every number of a node; a memory and an entity have different ones.
    fn nodes_end(&self) -> usize;
    /// Adds the distinct entities of a memory, any order.
    fn entities(&mut self, memory: u32, out: &mut Vec<u32>);
    /// Number of distinct memories of an entity, or anything above `most` if it is larger.
    fn degree(&mut self, entity: u32, most: usize) -> usize;
    /// Adds the distinct memories of an entity, any order.
    fn memories(&mut self, entity: u32, out: &mut Vec<u32>);
    /// Prefetches what a push of this node reads: where its lists begin; with `near`, the lists.
    fn prefetch(&self, _node: u32, _near: bool) {}
    /// Place of a node in the order of pushes: (seq, id).
    fn key(&self, node: u32) -> (i64, [u8; 16]);

    /// Returns whether node numbers ascend by `key`, memories and entities each for themselves.
    fn ordered(&self) -> bool {
        false
    }
}

/// The hot part of a touched node: each push reads it of all neighbours.
struct Held {
    residual: f64,
    /// Residual above which it goes into its queue; infinite while it is there.
    least: f64,
}

impl Held {
    /// Returns whether the node has to go into its queue, where it counts as from now on.
    #[inline]
    fn add(&mut self, share: f64) -> bool {
        self.residual += share;
        let above = self.residual > self.least;
        if above {
            self.least = f64::INFINITY;
        }
        above
    }

    /// The residual to push, now gone from here; None where it lies at most at `least`.
    #[inline]
    fn take(&mut self, least: f64) -> Option<f64> {
        self.least = least;
        if self.residual <= least {
            return None;
        }
        Some(std::mem::replace(&mut self.residual, 0.0))
    }
}

/// A touched memory.
struct Memory {
    node: u32,
    rank: f64,
    /// Residual above which it is pushed: of one edge until its entities are known.
    least: f64,
    /// Its entities in their arena, known after the first push.
    entities: Option<(u32, u32)>,
}

/// A touched entity.
struct Entity {
    node: u32,
    /// 0 = too common, not part of the graph.
    weight: f64,
    degree: usize,
    /// Residual above which it is pushed.
    least: f64,
    /// Its memories in their arena, known after the first push.
    memories: Option<(u32, u32)>,
}

struct Walk<'a, M: Mentions> {
    graph: &'a mut M,
    total: f64,
    common: usize,
    threshold: f64,
    memories: Vec<Memory>,
    entities: Vec<Entity>,
    /// Of the memories and of the entities.
    held_memories: Vec<Held>,
    held_entities: Vec<Held>,
    /// ln(1 + total / degree) by degree; 0 = not computed.
    weights: Vec<f64>,
    /// Of memories and entities, each for themselves.
    numbers: Numbers,
    /// Numbers of entities, each with its part of what a memory pushes.
    entity_arena: Vec<(u32, f64)>,
    memory_arena: Vec<u32>,
    scratch: Vec<u32>,
    /// To be sorted: see `turn`.
    turns: Vec<u64>,
    memory_queue: Vec<u64>,
    entity_queue: Vec<u64>,
    ordered: bool,
    pushes: usize,
}

/// Most memories of so many that may mention an entity before it is too common for the graph.
#[must_use]
pub fn mentions_max(memories: usize) -> usize {
    f64::max(COMMON_LEAST, COMMON_SHARE * memories as f64) as usize
}

/// The result of a walk.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ranks {
    /// (memory, π), π > 0, any order.
    pub memories: Vec<(u32, f64)>,
    /// Largest π of a memory; 0 if there is none.
    pub most: f64,
    /// Pushes done.
    pub pushes: usize,
}

/// ln(1 + 10⁴ · π / max π) / ln(1 + 10⁴): the signal of a memory, in [0, 1].
#[must_use]
pub fn signal(rank: f64, most: f64) -> f64 {
    if most <= 0.0 {
        return 0.0;
    }
    math::ln(1.0 + CONTRAST * (rank / most)) / math::ln(1.0 + CONTRAST)
}

/// π of every memory that the walk reaches. `starts`: the best memories with their L₁, best first;
/// `entities`: distinct entities of the query. `threshold`: [`THRESHOLD`]; 0 with a larger
/// `pushes_max` comes as near to the limit as float64 allows.
pub fn entity_walk<M: Mentions>(
    graph: &mut M,
    starts: &[(u32, f64)],
    entities: &[u32],
    threshold: f64,
    pushes_max: usize,
) -> Ranks {
    let memories_total = graph.memories_total();
    let total = memories_total as f64;
    let (ordered, nodes_end) = (graph.ordered(), graph.nodes_end());
    let mut walk = Walk {
        graph,
        total,
        ordered,
        threshold,
        common: mentions_max(memories_total),
        memories: Vec::with_capacity(TOUCHED),
        entities: Vec::with_capacity(TOUCHED),
        held_memories: Vec::with_capacity(TOUCHED),
        held_entities: Vec::with_capacity(TOUCHED),
        weights: Vec::new(),
        numbers: Numbers::new(nodes_end),
        entity_arena: Vec::with_capacity(TOUCHED),
        memory_arena: Vec::with_capacity(TOUCHED),
        scratch: Vec::new(),
        turns: Vec::new(),
        memory_queue: Vec::new(),
        entity_queue: Vec::new(),
        pushes: 0,
    };
    walk.restart(starts, entities);
    walk.run(pushes_max);
    let ranked = walk.memories.iter().filter(|memory| memory.rank > 0.0);
    let memories: Vec<(u32, f64)> = ranked.map(|memory| (memory.node, memory.rank)).collect();
    Ranks {
        most: memories.iter().fold(0.0, |most, (_, rank)| most.max(*rank)),
        memories,
        pushes: walk.pushes,
    }
}

/// Sorts turns by key.
fn sort<M: Mentions>(graph: &M, ordered: bool, turns: &mut [u64]) {
    if ordered {
        turns.sort_unstable();
    } else {
        turns.sort_by_cached_key(|turn| graph.key((turn >> 32) as u32));
    }
}

impl<M: Mentions> Walk<'_, M> {
    /// Half to the query's entities by weight, half to the starts by L₁ above the weakest; all to
    /// one side when the other is empty.
    fn restart(&mut self, starts: &[(u32, f64)], entities: &[u32]) {
        let mut given: Vec<u32> = Vec::new();
        for entity in entities {
            let number = self.entity(*entity);
            if self.entities[number as usize].weight > 0.0 && !given.contains(&number) {
                given.push(number);
            }
        }
        self.sort_entities(&mut given);
        let least = starts
            .iter()
            .fold(f64::INFINITY, |least, (_, level)| least.min(*level));
        let strength = |level: f64| level - least + START_LEAST;
        let of_starts: f64 = starts.iter().map(|(_, level)| strength(*level)).sum();
        let of_entities: f64 = given
            .iter()
            .map(|n| self.entities[*n as usize].weight)
            .sum();
        let share = if starts.is_empty() || given.is_empty() {
            1.0
        } else {
            0.5
        };
        for number in given {
            let weight = self.entities[number as usize].weight;
            self.give_entity(number, share * (weight / of_entities));
        }
        for (node, level) in starts {
            let number = self.memory(*node);
            let held = &mut self.held_memories[number as usize];
            held.residual += share * (strength(*level) / of_starts);
            // Its degree is not known yet: looked at once.
            if held.least != f64::INFINITY {
                held.least = f64::INFINITY;
                self.memory_queue.push(turn(*node, number));
            }
        }
    }

    fn run(&mut self, pushes_max: usize) {
        let (mut memories, mut entities) = (Vec::new(), Vec::new());
        while !self.memory_queue.is_empty() || !self.entity_queue.is_empty() {
            std::mem::swap(&mut memories, &mut self.memory_queue);
            sort(self.graph, self.ordered, &mut memories);
            for at in 0..memories.len() {
                if self.pushes == pushes_max {
                    return;
                }
                self.ask_ahead(&memories, at);
                self.push_memory(memories[at] as u32);
            }
            memories.clear();
            std::mem::swap(&mut entities, &mut self.entity_queue);
            sort(self.graph, self.ordered, &mut entities);
            for at in 0..entities.len() {
                if self.pushes == pushes_max {
                    return;
                }
                self.ask_ahead(&entities, at);
                self.push_entity(entities[at] as u32);
            }
            entities.clear();
        }
    }

    /// Asks for what the turns behind this one read.
    fn ask_ahead(&self, turns: &[u64], at: usize) {
        for (distance, near) in [(2 * AHEAD, false), (AHEAD, true)] {
            if let Some(turn) = turns.get(at + distance) {
                self.graph.prefetch((turn >> 32) as u32, near);
            }
        }
    }

    fn push_memory(&mut self, number: u32) {
        let (first, count) = self.entities_of(number);
        let memory = &mut self.memories[number as usize];
        let Some(residual) = self.held_memories[number as usize].take(memory.least) else {
            return;
        };
        self.pushes += 1;
        memory.rank += RESTART * residual;
        let rest = (1.0 - RESTART) * residual;
        for at in first..first + count {
            let (entity, part) = self.entity_arena[at as usize];
            self.give_entity(entity, rest * part);
        }
    }

    fn push_entity(&mut self, number: u32) {
        let entity = &self.entities[number as usize];
        let Some(residual) = self.held_entities[number as usize].take(entity.least) else {
            return;
        };
        self.pushes += 1;
        let share = (1.0 - RESTART) * residual / entity.degree as f64;
        let (first, count) = self.memories_of(number);
        for at in first..first + count {
            let memory = self.memory_arena[at as usize];
            if self.held_memories[memory as usize].add(share) {
                let node = self.memories[memory as usize].node;
                self.memory_queue.push(turn(node, memory));
            }
        }
    }

    fn give_entity(&mut self, number: u32, share: f64) {
        if self.held_entities[number as usize].add(share) {
            let node = self.entities[number as usize].node;
            self.entity_queue.push(turn(node, number));
        }
    }

    fn memory(&mut self, node: u32) -> u32 {
        let next = self.memories.len() as u32;
        let number = self.numbers.of(node, next);
        if number == next {
            self.memories.push(Memory {
                node,
                rank: 0.0,
                least: self.threshold,
                entities: None,
            });
            self.held_memories.push(Held {
                residual: 0.0,
                least: self.threshold,
            });
        }
        number
    }

    fn entity(&mut self, node: u32) -> u32 {
        let next = self.entities.len() as u32;
        let number = self.numbers.of(node, next);
        if number == next {
            let degree = self.graph.degree(node, self.common);
            let known = degree > 0 && degree <= self.common;
            let least = self.threshold * degree as f64;
            let weight = if known { self.weight(degree) } else { 0.0 };
            self.entities.push(Entity {
                node,
                weight,
                degree,
                least,
                memories: None,
            });
            self.held_entities.push(Held {
                residual: 0.0,
                least,
            });
        }
        number
    }

    /// ln(1 + total / degree), computed once for a degree: most entities have a few memories.
    fn weight(&mut self, degree: usize) -> f64 {
        if degree >= self.weights.len() {
            self.weights.resize(degree + 1, 0.0);
        }
        let weight = &mut self.weights[degree];
        if *weight == 0.0 {
            *weight = math::ln(1.0 + self.total / degree as f64);
        }
        *weight
    }

    /// Range in the arena: the entities of a memory that are part of the graph, by creation.
    fn entities_of(&mut self, number: u32) -> (u32, u32) {
        if let Some(known) = self.memories[number as usize].entities {
            return known;
        }
        let mut nodes = std::mem::take(&mut self.scratch);
        nodes.clear();
        self.graph
            .entities(self.memories[number as usize].node, &mut nodes);
        for node in &mut nodes {
            *node = self.entity(*node);
        }
        nodes.retain(|entity| self.entities[*entity as usize].weight > 0.0);
        self.sort_entities(&mut nodes);
        let range = (self.entity_arena.len() as u32, nodes.len() as u32);
        let entities = &self.entities;
        let weight = |number: u32| entities[number as usize].weight;
        let total: f64 = nodes.iter().map(|number| weight(*number)).sum();
        let parts = nodes
            .iter()
            .map(|number| (*number, weight(*number) / total));
        self.entity_arena.extend(parts);
        let memory = &mut self.memories[number as usize];
        memory.least = self.threshold * f64::from(range.1);
        memory.entities = Some(range);
        self.scratch = nodes;
        range
    }

    fn sort_entities(&mut self, numbers: &mut [u32]) {
        self.turns.clear();
        for number in numbers.iter() {
            let node = self.entities[*number as usize].node;
            self.turns.push(turn(node, *number));
        }
        sort(self.graph, self.ordered, &mut self.turns);
        for (number, turn) in numbers.iter_mut().zip(&self.turns) {
            *number = *turn as u32;
        }
    }

    fn memories_of(&mut self, number: u32) -> (u32, u32) {
        if let Some(known) = self.entities[number as usize].memories {
            return known;
        }
        let mut nodes = std::mem::take(&mut self.scratch);
        nodes.clear();
        self.graph
            .memories(self.entities[number as usize].node, &mut nodes);
        self.numbers.reserve(nodes.len());
        for node in &mut nodes {
            *node = self.memory(*node);
        }
        let range = (self.memory_arena.len() as u32, nodes.len() as u32);
        self.entities[number as usize].memories = Some(range);
        self.memory_arena.extend_from_slice(&nodes);
        self.scratch = nodes;
        range
    }
}

#[cfg(test)]
mod tests;
