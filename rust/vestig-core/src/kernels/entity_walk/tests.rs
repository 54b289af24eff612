use super::*;

/// Memories 0 …, entities from 1000 on; (memory, entity) pairs.
struct Fixture {
    memories: usize,
    pairs: Vec<(u32, u32)>,
    reversed: bool,
}

impl Fixture {
    fn f4() -> Self {
        // {P, X}, {P, Y}, {Q, X}, {}
        Self {
            memories: 4,
            pairs: vec![
                (0, 1000),
                (0, 1001),
                (1, 1000),
                (1, 1002),
                (2, 1003),
                (2, 1001),
            ],
            reversed: false,
        }
    }
}

impl Mentions for Fixture {
    fn memories_total(&self) -> usize {
        self.memories
    }

    /// Entities begin at 1000; one that no memory mentions is a node too.
    fn nodes_end(&self) -> usize {
        1100
    }

    fn entities(&mut self, memory: u32, out: &mut Vec<u32>) {
        let own = self.pairs.iter().filter(|(m, _)| *m == memory);
        out.extend(own.map(|(_, e)| *e));
        if self.reversed {
            out.reverse();
        }
    }

    fn degree(&mut self, entity: u32, _: usize) -> usize {
        self.pairs.iter().filter(|(_, e)| *e == entity).count()
    }

    fn memories(&mut self, entity: u32, out: &mut Vec<u32>) {
        let own = self.pairs.iter().filter(|(_, e)| *e == entity);
        out.extend(own.map(|(m, _)| *m));
        if self.reversed {
            out.reverse();
        }
    }

    fn key(&self, node: u32) -> (i64, [u8; 16]) {
        (i64::from(node), [0; 16])
    }
}

const LEVELS: [(u32, f64); 4] = [(0, 0.5), (1, 0.4), (2, 0.3), (3, 0.2)];

fn rank(ranks: &Ranks, memory: u32) -> f64 {
    let found = ranks.memories.iter().find(|(m, _)| *m == memory);
    found.map_or(0.0, |(_, rank)| *rank)
}

#[test]
fn golden_limit_of_f4() {
    let limit = entity_walk(&mut Fixture::f4(), &LEVELS, &[1000], 0.0, 100_000);
    let wanted = [0.207394102, 0.209890479, 0.082714928, 0.00000025];
    for (memory, wanted) in wanted.into_iter().enumerate() {
        let found = rank(&limit, memory as u32);
        assert!((found - wanted).abs() < 1e-9, "{memory}: {found}");
    }
    let pushed = entity_walk(&mut Fixture::f4(), &LEVELS, &[1000], THRESHOLD, PUSHES_MAX);
    for memory in 0..4 {
        assert!((rank(&pushed, memory) - rank(&limit, memory)).abs() < 1e-3);
    }
    assert!(pushed.pushes < 200);
}

#[test]
fn order_of_neighbours_changes_nothing() {
    let run = |reversed| {
        let mut graph = Fixture {
            reversed,
            ..Fixture::f4()
        };
        let mut ranks = entity_walk(&mut graph, &LEVELS, &[1001, 1000], THRESHOLD, PUSHES_MAX);
        ranks.memories.sort_unstable_by_key(|(m, _)| *m);
        ranks
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn an_empty_side_gives_its_half_away() {
    let alone = entity_walk(&mut Fixture::f4(), &LEVELS[..1], &[], 0.0, 100_000);
    let both = entity_walk(&mut Fixture::f4(), &LEVELS[..1], &[1099], 0.0, 100_000);
    assert_eq!(alone, both);
    let total: f64 = alone.memories.iter().map(|(_, rank)| rank).sum();
    assert!(total > 0.5);
    let entities = entity_walk(&mut Fixture::f4(), &[], &[1003], 0.0, 100_000);
    assert!(rank(&entities, 2) > rank(&entities, 0));
    assert_eq!(
        entity_walk(&mut Fixture::f4(), &[], &[], 0.0, 9),
        Ranks::default()
    );
}

#[test]
fn common_entities_are_not_part_of_the_graph() {
    // 100 memories, entity 1000 in 11 of them, 1001 in 10.
    let mut pairs: Vec<(u32, u32)> = (0..11).map(|m| (m, 1000)).collect();
    pairs.extend((0..10).map(|m| (m, 1001)));
    let mut graph = Fixture {
        memories: 100,
        pairs,
        reversed: false,
    };
    let ranks = entity_walk(&mut graph, &[(0, 1.0)], &[], THRESHOLD, PUSHES_MAX);
    assert!(rank(&ranks, 9) > 0.0);
    assert_eq!(rank(&ranks, 10), 0.0);
    let seeded = entity_walk(&mut graph, &[], &[1000], THRESHOLD, PUSHES_MAX);
    assert_eq!(seeded, Ranks::default());
    // df ≤ 3 is never too common.
    let mut few = Fixture {
        memories: 4,
        pairs: vec![(0, 1000), (1, 1000), (2, 1000)],
        reversed: false,
    };
    assert!(rank(&entity_walk(&mut few, &[(0, 1.0)], &[], THRESHOLD, 99), 2) > 0.0);
}

#[test]
fn pushes_end_at_the_cap() {
    let ranks = entity_walk(&mut Fixture::f4(), &LEVELS, &[1000], 0.0, 5);
    assert_eq!(ranks.pushes, 5);
}

#[test]
fn signals_are_logarithmic() {
    assert_eq!(signal(0.0, 0.5), 0.0);
    assert_eq!(signal(0.5, 0.5), 1.0);
    assert!((signal(0.005, 0.5) - f64::ln(101.0) / f64::ln(10_001.0)).abs() < 1e-12);
    assert_eq!(signal(0.0, 0.0), 0.0);
}
