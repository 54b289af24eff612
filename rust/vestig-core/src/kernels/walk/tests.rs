mod fixture;

use fixture::{ENTITY, Fixture};

use super::*;

fn walk<L: Links>(links: &mut L, starts: &[u32], seed: u64, params: &WalkParams) -> Vec<Walked> {
    super::walk(links, starts, seed, params).0
}

fn reference() -> WalkParams {
    WalkParams {
        threshold: Some(0.5),
        depth_first: false,
        cap: 3,
        exploration: 2.0,
        decay: 1.0,
        theta: None,
        related: true,
        mentions: false,
        min_signal: 0.01,
        max_hops: None,
        use_tracerank: true,
        max_edges: 10,
    }
}

fn fg(with_e: bool) -> Fixture {
    let mut edges = vec![("S", "B", 0.9), ("S", "D", 0.8), ("B", "C", 0.3)];
    if with_e {
        edges.extend([("S", "E", 0.5), ("B", "E", 0.9)]);
    }
    Fixture::of(&edges)
}

fn named(links: &Fixture, walked: &[Walked]) -> Vec<(&'static str, f64, u32)> {
    let name = |w: &Walked| (links.names[w.node as usize], w.signal, w.hops);
    walked.iter().map(name).collect()
}

#[test]
fn best_first_admits_a_node_with_its_best_offer() {
    let mut links = fg(true);
    let found = walk(&mut links, &[0], 7, &reference());
    assert_eq!(
        named(&links, &found),
        [("S", 1.0, 0), ("B", 0.9, 1), ("E", 0.9 * 0.9, 2)]
    );
    assert_eq!(found[2].parent, 1);
    assert_eq!(found[2].step.unwrap().u, None);
}

#[test]
fn depth_first_and_best_first_take_different_orders() {
    let mut links = fg(false);
    let best = walk(&mut links, &[0], 7, &reference());
    assert_eq!(
        named(&links, &best),
        [("S", 1.0, 0), ("B", 0.9, 1), ("D", 0.8, 1)]
    );
    let deep = WalkParams {
        depth_first: true,
        ..reference()
    };
    let found = walk(&mut links, &[0], 7, &deep);
    assert_eq!(
        named(&links, &found),
        [("S", 1.0, 0), ("B", 0.9, 1), ("C", 0.9 * 0.3, 2)]
    );
    assert!((found[2].step.unwrap().p - 0.54).abs() < 1e-12);
}

#[test]
fn cycles_end_and_no_node_is_admitted_twice() {
    for depth_first in [false, true] {
        let mut links = Fixture::of(&[
            ("A", "B", 1.0),
            ("B", "C", 1.0),
            ("C", "A", 1.0),
            ("A", "B", 0.7),
        ]);
        let params = WalkParams {
            cap: 50,
            depth_first,
            ..reference()
        };
        let found = walk(&mut links, &[0], 1, &params);
        let mut nodes: Vec<u32> = found.iter().map(|w| w.node).collect();
        nodes.sort_unstable();
        assert_eq!(nodes, [0, 1, 2]);
        // Of the two edges between A and B only the stronger counts.
        let to_b = found.iter().find(|w| w.node == 1).unwrap();
        assert_eq!(to_b.step.unwrap().hop.weight, 1.0);
    }
}

#[test]
fn every_start_is_admitted() {
    for cap in [3, 1] {
        let mut links = fg(true);
        let params = WalkParams { cap, ..reference() };
        let found = walk(&mut links, &[0, 2, 3], 1, &params);
        let nodes: Vec<u32> = found.iter().map(|w| w.node).collect();
        assert_eq!(nodes, [0, 2, 3]);
    }
}

#[test]
fn edges_are_chosen_by_the_number_of_the_generator() {
    // exploration 1: p = weight.
    let params = WalkParams {
        threshold: None,
        exploration: 1.0,
        ..reference()
    };
    for (weight, reached) in [(0.25, false), (0.26, true), (0.0, false), (1.0, true)] {
        let mut links = Fixture::of(&[("S", "B", weight)]);
        let found = walk(&mut links, &[0], 7, &params);
        assert_eq!(found.len() == 2, reached, "{weight}");
        if reached {
            let u = found[1].step.unwrap().u;
            assert_eq!(u.is_some(), weight < 1.0);
            assert!(u.is_none_or(|u| (u - 0.256754842799).abs() < 5e-13));
        }
    }
    let zero = WalkParams {
        threshold: Some(0.0),
        min_signal: 0.0,
        ..reference()
    };
    assert_eq!(
        walk(&mut Fixture::of(&[("S", "B", 0.0)]), &[0], 7, &zero).len(),
        1
    );
}

#[test]
fn probabilities_of_the_table() {
    let p = |edges: &[(&'static str, &'static str, f64)], boost: f64, params: WalkParams| {
        let mut links = Fixture::of(edges);
        let last = (links.names.len() - 1) as u32;
        links.use_tracerank = vec![(last, boost)];
        let found = walk(&mut links, &[0], 1, &params);
        found.last().unwrap().step.map_or(0.0, |step| step.p)
    };
    let any = |exploration: f64, decay: f64| WalkParams {
        threshold: Some(1e-9),
        exploration,
        decay,
        ..reference()
    };
    assert_eq!(p(&[("A", "B", 0.6)], 1.0, any(2.0, 1.0)), 1.0);
    let chain = |w: f64| [("A", "B", w), ("B", "C", w)];
    assert!((p(&chain(0.6), 1.0, any(2.0, 1.0)) - 0.72).abs() < 1e-12);
    assert!((p(&chain(0.7), 1.0, any(2.0, 1.0)) - 0.98).abs() < 1e-12);
    // signal 0.5 at the second node: weight 1, decay 0.5
    let lifted = p(
        &[("A", "B", 1.0), ("B", "C", 0.3)],
        1.242601513,
        any(1.0, 0.5),
    );
    assert!((lifted - 0.186390227).abs() < 5e-10);
    let mut plain = any(1.0, 1.0);
    plain.use_tracerank = false;
    assert_eq!(p(&[("A", "B", 0.3)], 2.0, plain), 0.3);
    let mut normal = any(1.0, 1.0);
    normal.theta = Some(0.6);
    assert!((p(&[("A", "B", 0.9)], 1.0, normal.clone()) - 0.75).abs() < 1e-12);
    assert_eq!(p(&[("A", "B", 0.6)], 1.0, normal.clone()), 0.0);
    let one = WalkParams {
        theta: Some(1.0),
        ..normal
    };
    assert_eq!(p(&[("A", "B", 1.0)], 1.0, one.clone()), 1.0);
    assert_eq!(p(&[("A", "B", 0.9)], 1.0, one), 0.0);
}

#[test]
fn limits_stop_the_walk() {
    let chain: Vec<_> = ["A", "B", "C", "D", "E"]
        .windows(2)
        .map(|w| (w[0], w[1], 0.5))
        .collect();
    for depth_first in [false, true] {
        let params = WalkParams {
            cap: 50,
            threshold: Some(1e-9),
            depth_first,
            ..reference()
        };
        let count = |params: &WalkParams| walk(&mut Fixture::of(&chain), &[0], 1, params).len();
        assert_eq!(count(&params), 5);
        let hops = |most| WalkParams {
            max_hops: Some(most),
            ..params.clone()
        };
        assert_eq!(count(&hops(0)), 1);
        assert_eq!(count(&hops(2)), 3);
        let mut weak = params.clone();
        weak.min_signal = 0.2;
        assert_eq!(count(&weak), 3);
    }
}

#[test]
fn only_the_best_edges_are_tried() {
    let edges: Vec<_> = ["B", "C", "D", "E", "F"]
        .iter()
        .zip([0.9, 0.7, 0.8, 0.7, 0.6])
        .map(|(name, weight)| ("A", *name, weight))
        .collect();
    for reversed in [false, true] {
        for (depth_first, wanted) in [(false, "ABDC"), (true, "ABDC")] {
            let mut links = Fixture::of(&edges);
            links.reversed = reversed;
            let params = WalkParams {
                cap: 50,
                max_edges: 3,
                depth_first,
                ..reference()
            };
            let found = walk(&mut links, &[0], 1, &params);
            let names: String = found.iter().map(|w| links.names[w.node as usize]).collect();
            assert_eq!(names, wanted);
        }
    }
}

#[test]
fn mentions_are_one_choice_of_two_hops() {
    let mut links = Fixture {
        names: vec!["A", "B", "C", "D"],
        // P is mentioned by A, B, D; Q by A, B, C
        mentions: vec![
            (0, ENTITY, 0.9),
            (1, ENTITY, 0.8),
            (3, ENTITY, 1.0),
            (0, ENTITY + 1, 1.0),
            (1, ENTITY + 1, 0.5),
        ],
        most_mentions: 3,
        ..Fixture::default()
    };
    let params = WalkParams {
        mentions: true,
        cap: 50,
        exploration: 1.0,
        decay: 0.5,
        theta: Some(0.99),
        ..reference()
    };
    for reversed in [false, true] {
        for depth_first in [false, true] {
            links.reversed = reversed;
            let params = WalkParams {
                depth_first,
                ..params.clone()
            };
            let found = walk(&mut links, &[0], 1, &params);
            let of = |name: &str| {
                *found
                    .iter()
                    .find(|w| links.names[w.node as usize] == name)
                    .unwrap()
            };
            // Q has fewer mentions: it is the first way to B, θ does not apply.
            let b = of("B");
            assert_eq!((b.hops, b.signal), (2, 0.25));
            let step = b.step.unwrap();
            assert_eq!(
                (step.hop.entity, step.hop.weight, step.p),
                (ENTITY + 1, 0.5, 0.5)
            );
            assert_eq!(of("D").step.unwrap().hop.weight, 0.9);
            assert_eq!(found.len(), 3);
        }
    }
    let mut short = params.clone();
    short.max_hops = Some(1);
    assert_eq!(walk(&mut links, &[0], 1, &short).len(), 1);
    links.most_mentions = 2;
    let found = walk(&mut links, &[0], 1, &params);
    assert_eq!(found.len(), 2);
}

#[test]
fn draws_are_frequent_as_p_says() {
    let params = WalkParams {
        threshold: None,
        exploration: 1.0,
        ..reference()
    };
    for p in [0.1, 0.5, 0.9] {
        let mut links = Fixture::of(&[("S", "B", p)]);
        let mut reached = 0;
        for seed in 0..10_000 {
            reached += walk(&mut links, &[0], seed, &params).len() - 1;
        }
        let sigma = f64::sqrt(10_000.0 * p * (1.0 - p));
        assert!((reached as f64 - 10_000.0 * p).abs() <= 3.0 * sigma);
    }
}
