//! Near-duplicates and neighbours of new vectors, exact and in one pass: in the store, and among
//! the new ones themselves.

use crate::kernels::bits::Bits;
use crate::kernels::dot::{cosine, dot, threshold, unit};
use crate::kernels::tiles;
use crate::kernels::top_k::descending;
use crate::query::filter::{Filter, eligible};
use crate::query::row_blocks::{Search, pass, pass_earlier, with_vectors};
use crate::segment::format::Section;
use crate::segment::{Id, KIND_MEMORY, NO_STRING, STATUS_ACTIVE, Segment};
use crate::snapshot::Snapshot;

/// A new text.
#[derive(Debug, Clone, Default)]
pub struct Probe {
    /// As the embedder gave it.
    pub vector: Vec<f32>,
    /// Near, and known, only in the same scope.
    pub scope: Option<String>,
    /// Near only by the same author.
    pub author: Option<String>,
    /// Never near, never known.
    pub exclude: Vec<Id>,
    /// Never related, never known, ascending: memories of the same text.
    pub unrelated: Vec<Id>,
}

/// Which neighbours are wanted.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Cosine, inclusive, rounded to float32.
    pub threshold: f64,
    /// 0 = none.
    pub top: usize,
}

/// Which lists a probe gets.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// Of its scope and author.
    pub near: Limits,
    /// Of the namespace.
    pub related: Limits,
    /// Of its scope.
    pub known: Limits,
}

/// (id, cosine), best first, ties by id.
pub type Neighbours = Vec<(Id, f64)>;

/// The memories that are similar to one probe.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Similar {
    /// Active or archived MEMORY rows of its namespace, scope and author.
    pub near: Neighbours,
    /// Active MEMORY rows of the namespace.
    pub related: Neighbours,
    /// Active or archived MEMORY rows of its namespace and scope.
    pub known: Neighbours,
    /// (place, cosine) of earlier probes of another text, ascending by place.
    pub earlier: Vec<(usize, f64)>,
}

/// Which probes are compared with each other.
#[derive(Debug, Clone, Copy)]
pub struct Earlier<'a> {
    /// Number of the text of each probe: those of one text are not compared.
    pub texts: &'a [u32],
    /// Cosine, inclusive, rounded to float32.
    pub threshold: f64,
}

/// The best of what is offered.
pub(crate) struct Best {
    limits: Limits,
    least: f32,
    found: Neighbours,
}

impl Best {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            least: limits.threshold as f32,
            found: Vec::new(),
        }
    }

    /// Least cosine that is kept.
    pub(crate) fn floor(&self) -> f64 {
        match self.limits.top {
            0 => f64::INFINITY,
            top if self.found.len() < top => f64::from(self.least),
            top => self.found[top - 1].1,
        }
    }

    pub(crate) fn offer(&mut self, id: Id, value: f32) {
        if value < self.least || self.limits.top == 0 {
            return;
        }
        let cosine = cosine(value);
        let before = |other: &(Id, f64)| descending(other.1, cosine).then(other.0.cmp(&id)).is_lt();
        let at = self.found.partition_point(before);
        if at < self.limits.top {
            self.found.insert(at, (id, cosine));
            self.found.truncate(self.limits.top);
        }
    }

    pub(crate) fn into_found(self) -> Neighbours {
        self.found
    }
}

/// Per probe what is similar in the store and, where asked for, among the probes before it.
#[must_use]
pub fn similar(
    snapshot: &Snapshot,
    namespace: &str,
    probes: &[Probe],
    wanted: Wanted,
    earlier: Option<Earlier<'_>>,
    threads: usize,
) -> Vec<Similar> {
    let filter = Filter {
        namespace: namespace.to_owned(),
        kinds: Some(vec![KIND_MEMORY]),
        include_archived: true,
        ..Filter::default()
    };
    let tops = [wanted.near.top, wanted.related.top, wanted.known.top];
    let parts: Vec<(&Segment, Bits)> = if tops == [0; 3] {
        Vec::new()
    } else {
        let held = snapshot.parts.iter();
        held.map(|part| with_vectors(&part.segment, eligible(part, &filter).0))
            .collect()
    };
    let search = |probe| ProbeSearch::new(&parts, snapshot.identity.lanes(), probe, wanted);
    let mut searches: Vec<_> = probes.iter().map(search).collect();
    pass(&parts, &mut searches, threads);
    let mut among = earlier.map_or_else(Vec::new, |wanted| earlier_probes(&searches, wanted));
    among.resize_with(probes.len(), Vec::new);
    let found = searches.into_iter().zip(among);
    found
        .map(|((_, search), earlier)| Similar {
            near: search.near.into_found(),
            related: search.related.into_found(),
            known: search.known.into_found(),
            earlier,
        })
        .collect()
}

/// Per probe those before it that reach the threshold.
fn earlier_probes(
    searches: &[(tiles::Probe, ProbeSearch<'_>)],
    Earlier {
        texts,
        threshold: at_least,
    }: Earlier<'_>,
) -> Vec<Vec<(usize, f64)>> {
    let limit = threshold(at_least);
    let coded: Vec<&tiles::Probe> = searches.iter().map(|(coded, _)| coded).collect();
    let mut found = vec![Vec::new(); searches.len()];
    pass_earlier(&coded, limit, |later, earlier| {
        if texts[later] != texts[earlier] {
            let value = cosine(dot(&searches[later].1.vector, &searches[earlier].1.vector));
            if value >= limit {
                found[later].push((earlier, value));
            }
        }
    });
    found
}

/// The wishes of one probe.
struct ProbeSearch<'a> {
    parts: &'a [(&'a Segment, Bits)],
    probe: &'a Probe,
    vector: Vec<f32>,
    scopes: Vec<ProbeScope>,
    near: Best,
    related: Best,
    known: Best,
}

impl<'a> ProbeSearch<'a> {
    fn new(
        parts: &'a [(&'a Segment, Bits)],
        lanes: usize,
        probe: &'a Probe,
        wanted: Wanted,
    ) -> (tiles::Probe, Self) {
        let mut vector = vec![0.0; lanes];
        unit(&probe.vector, &mut vector);
        let scope = |(segment, _): &(&Segment, Bits)| ProbeScope::of(segment, probe);
        let search = Self {
            parts,
            probe,
            scopes: parts.iter().map(scope).collect(),
            near: Best::new(wanted.near),
            related: Best::new(wanted.related),
            known: Best::new(wanted.known),
            vector,
        };
        (tiles::Probe::new(&search.vector), search)
    }
}

impl Search for ProbeSearch<'_> {
    fn floor(&self) -> f64 {
        let others = self.related.floor().min(self.known.floor());
        self.near.floor().min(others)
    }

    fn offer(&mut self, part: usize, row: usize) {
        let segment = self.parts[part].0;
        let id = segment.ids()[row];
        let scope = &self.scopes[part];
        let beside = scope.holds_scope(segment, row) && !self.probe.exclude.contains(&id);
        let close = beside && scope.holds_author(segment, row);
        let other_text = self.probe.unrelated.binary_search(&id).is_err();
        let active = segment.attributes(row).status == STATUS_ACTIVE && other_text;
        if !beside && !active {
            return;
        }
        let value = dot(&self.vector, segment.vector(row));
        if close {
            self.near.offer(id, value);
        }
        if active {
            self.related.offer(id, value);
        }
        if beside && other_text {
            self.known.offer(id, value);
        }
    }
}

/// Scope and author of a probe as numbers of one segment.
struct ProbeScope([Option<u32>; 2]);

impl ProbeScope {
    fn of(segment: &Segment, probe: &Probe) -> Self {
        let number = |text: &Option<String>| match text {
            None => Some(NO_STRING),
            Some(text) => segment.string_number(text),
        };
        Self([number(&probe.scope), number(&probe.author)])
    }

    fn holds_scope(&self, segment: &Segment, row: usize) -> bool {
        Some(segment.column::<u32>(Section::Scope)[row]) == self.0[0]
    }

    fn holds_author(&self, segment: &Segment, row: usize) -> bool {
        Some(segment.column::<u32>(Section::Author)[row]) == self.0[1]
    }
}
