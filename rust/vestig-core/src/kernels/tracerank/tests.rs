//! Golden numbers of reinforcement, confidence and connectivity, and properties of the multiplier.
use super::*;
use proptest::prelude::*;

const NOW: i64 = 1_800_000_000_000_000;
const HOUR: i64 = 3_600_000_000;
const DAY: i64 = 24 * HOUR;

fn params() -> TraceParams {
    TraceParams::new(vec![0.0, 0.0, 1.0, 1.0])
}

fn event(ago_us: i64) -> TraceEvent {
    TraceEvent {
        kind: 2,
        occurred_us: NOW - ago_us,
        seq: 1,
        row: 1,
    }
}

fn at(ages: &[i64], params: &TraceParams) -> TraceFactors {
    let subject = TraceSubject {
        valid_from_us: NOW,
        stability: Stability::Unknown,
        connectivity_n: 0,
    };
    tracerank(
        &mut Vec::new(),
        ages.iter().map(|&age| event(age)),
        NOW,
        subject,
        params,
    )
}

#[test]
fn golden_multipliers() {
    let days: Vec<i64> = (0..5).map(|i| i * 7 * DAY).collect();
    let cases: [(&[i64], f64); 11] = [
        (&[], 1.0),
        (&[0], 1.242601513),
        (&[7 * DAY], 1.189106951),
        (&[21 * DAY], 1.109641591),
        (&[60 * DAY], 1.019545370),
        (&days[..3], 1.410363160),
        (&days, 1.472862701),
        (&[0; 5], 1.360366796),
        (&[0, HOUR], 1.275897002),
        (&[0, DAY], 1.379046457),
        (&[0, DAY - HOUR / 60], 1.274478305),
    ];
    for (ages, wanted) in cases {
        let got = at(ages, &params()).clipped;
        assert!(
            (got - wanted).abs() < 1e-9,
            "{ages:?}: {got} instead of {wanted}"
        );
    }
    let year: Vec<i64> = (0..365).map(|i| i * DAY).collect();
    let factors = at(&year, &params());
    assert!((factors.unclipped - 2.089792069).abs() < 1e-9);
    assert_eq!((factors.clipped, factors.events), (2.0, 365));
    let mut spaced = params();
    let ages = [0, 14 * DAY, 28 * DAY];
    assert!((at(&ages, &spaced).clipped - 1.357481720).abs() < 1e-9);
    spaced.spacing_enabled = true;
    assert!((at(&ages, &spaced).clipped - 1.402186855).abs() < 1e-9);
}

#[test]
fn golden_connectivity_and_confidence() {
    let mut params = params();
    assert_eq!(params.connectivity(5), 1.0);
    params.connectivity_enabled = true;
    let cases = [
        (0, 1.0),
        (1, 1.103972),
        (5, 1.268764),
        (20, 1.456678),
        (100, 1.692268),
    ];
    for (n, wanted) in cases {
        assert!((params.connectivity(n) - wanted).abs() < 5e-7);
    }
    let age = |days: i64, stability| params.confidence(stability, NOW - days * DAY, NOW);
    for (days, wanted) in [
        (1, 0.988950),
        (30, 0.716531),
        (90, 0.367879),
        (365, 0.017326),
    ] {
        assert!((age(days, Stability::Dynamic) - wanted).abs() < 5e-7);
    }
    for (days, wanted) in [(1, 0.866878), (7, 0.367879), (30, 0.013764), (60, 0.01)] {
        assert!((age(days, Stability::Ephemeral) - wanted).abs() < 5e-7);
    }
    assert_eq!(age(-3, Stability::Ephemeral), 1.0);
    for (days, tau) in [(8.0, 3.0), (20.0, 5.0), (90.0, 7.0)] {
        let params = TraceParams {
            dynamic_tau_days: days,
            ..params.clone()
        };
        assert_eq!(params.ephemeral_tau(), tau);
    }
}

#[test]
fn off_is_exactly_one_and_checks_name_the_field() {
    let off = TraceParams {
        enabled: false,
        ..params()
    };
    assert_eq!(at(&[0, 0], &off), TraceFactors::NONE);
    let bad = TraceParams {
        tau_days: 0.0,
        ..params()
    };
    assert!(bad.check().unwrap_err().to_string().contains("tau_days"));
    assert!(
        TraceParams {
            clip_min: 3.0,
            ..params()
        }
        .check()
        .is_err()
    );
    assert!(params().check().is_ok());
}

proptest! {
    #[test]
    fn input_order_never_matters(
        raw in prop::collection::vec((0u8..5, -5i64..50, 0i64..4, 0i64..1000), 0..12)
            .prop_flat_map(|events| (Just(events.clone()), Just(events).prop_shuffle())),
    ) {
        let events = |list: &[(u8, i64, i64, i64)]| -> Vec<TraceEvent> {
            list.iter().map(|&(kind, age, seq, row)| TraceEvent {
                kind, occurred_us: NOW - age * 10 * HOUR, seq, row,
            }).collect()
        };
        let mut weighted = params();
        weighted.event_weights = vec![0.0, 0.5, 1.0, 0.3];
        weighted.spacing_enabled = true;
        let subject = TraceSubject {
            valid_from_us: NOW, stability: Stability::Dynamic, connectivity_n: 3,
        };
        let run = |list| tracerank(&mut Vec::new(), events(list), NOW, subject, &weighted);
        prop_assert_eq!(run(&raw.0), run(&raw.1));
    }

    #[test]
    fn future_events_weigh_as_now(ahead in 0i64..1_000_000) {
        prop_assert_eq!(at(&[-ahead * HOUR], &params()), at(&[0], &params()));
    }
}
