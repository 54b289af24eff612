"""What each kernel means, in a few slow lines: the definition the core is tested against."""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from vestig._core import ln

DAY_US = 86_400_000_000
LANES = 64
Window = tuple[int | None, int | None]


def dot(x: np.ndarray, y: np.ndarray) -> Any:
    """Dot product, or that of each row of x, of 64 lanes: multiplied, then added, folded by halves;
    every step in float32."""
    blocks = -(-len(y) // LANES)
    rows = x.shape[:-1]
    left = np.zeros((*rows, blocks * LANES), np.float32)
    right = np.zeros(blocks * LANES, np.float32)
    left[..., : len(y)], right[: len(y)] = x, y
    products = (left * right).reshape(*rows, blocks, LANES)
    lanes = np.zeros((*rows, LANES), np.float32)
    for at in range(blocks):
        lanes = lanes + products[..., at, :]
    while lanes.shape[-1] > 1:
        half = lanes.shape[-1] // 2
        lanes = lanes[..., :half] + lanes[..., half:]
    return lanes[..., 0]


def dot_error(x: np.ndarray, y: np.ndarray) -> float:
    """Largest distance of `dot` from the real number."""
    steps = -(-len(x) // LANES) + 7
    size = float(np.sum(np.abs(x.astype(np.float64) * y.astype(np.float64))))
    return steps * 2.0**-24 * 1.0001 * size + 1e-37


def unit(v: np.ndarray) -> np.ndarray:
    """f32(f64(v) / sqrt(s)), s the float64 sum of squares in index order; zeros stay zeros."""
    squares = 0.0
    for value in v:
        squares += float(value) * float(value)
    if squares == 0.0:
        return np.zeros(len(v), np.float32)
    return (v.astype(np.float64) / math.sqrt(squares)).astype(np.float32)


def within(batch: np.ndarray, threshold: float) -> list[list[tuple[int, float]]]:
    """Of each vector the earlier ones whose cosine reaches the threshold rounded to float32."""
    units, limit = np.array([unit(v) for v in batch]), float(np.float32(threshold))
    found = []
    for place, own in enumerate(units):
        cosines = np.clip(dot(units[:place], own).astype(np.float64), -1.0, 1.0).tolist()
        found.append([(at, cosine) for at, cosine in enumerate(cosines) if cosine >= limit])
    return found


def tracerank(
    events: Sequence[tuple[int, int, int, int]],
    query_us: int,
    valid_us: int,
    stability: int,
    *,
    event_weights: Sequence[float],
    connectivity_n: int = 0,
    **settings: float | bool | None,
) -> tuple[float, float, float, float, float, float, int]:
    """TraceRank of one memory, by its counted events, the newest first.

    `events`: (kind, occurred at, seq, number), times in microseconds. Returns trace, basic boost,
    connectivity, temporal confidence, boost before and after clipping, events counted.
    """
    s: dict[str, float | bool | None] = {
        "enabled": True,
        "tau_days": 21.0,
        "cooldown_hours": 24.0,
        "burst_discount": 0.2,
        "k": 0.35,
        "temporal_decay_enabled": True,
        "dynamic_tau_days": 90.0,
        "ephemeral_tau_days": None,
        "static_boost": 1.0,
        "clip_min": 0.25,
        "clip_max": 2.0,
        "spacing_enabled": False,
        "spacing_bonus": 0.25,
        "spacing_days": 14.0,
        "connectivity_enabled": False,
        "graph_k": 0.15,
    } | settings
    if not s["enabled"]:
        return 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0
    counted = [e for e in events if e[0] < len(event_weights) and event_weights[e[0]] > 0]
    counted.sort(key=lambda e: (e[1], e[2], e[3]), reverse=True)
    trace = 0.0
    for i, (kind, at, _, _) in enumerate(counted):
        recency = math.exp(-max(0, query_us - at) / DAY_US / s["tau_days"])
        burst = spacing = 1.0
        if i > 0 and counted[i - 1][1] - at < s["cooldown_hours"] * 3_600_000_000:
            burst = s["burst_discount"]
        if s["spacing_enabled"] and i + 1 < len(counted):
            gap_days = (at - counted[i + 1][1]) / DAY_US
            spacing = 1 + s["spacing_bonus"] * min(1.0, gap_days / s["spacing_days"])
        trace += event_weights[kind] * recency * burst * spacing
    basic = 1 + s["k"] * math.log(1 + trace)
    connectivity = 1.0
    if s["connectivity_enabled"]:
        connectivity = 1 + s["graph_k"] * math.log(1 + connectivity_n)
    age = (query_us - valid_us) / DAY_US
    ephemeral = s["ephemeral_tau_days"]
    if ephemeral is None:
        ephemeral = max(3.0, min(7.0, s["dynamic_tau_days"] / 4))
    confidence = 1.0
    if s["temporal_decay_enabled"] and age > 0:
        confidence = (
            s["static_boost"],
            max(0.01, math.exp(-age / s["dynamic_tau_days"])),
            max(0.01, math.exp(-age / ephemeral)),
            1.0,
        )[stability]
    unclipped = basic * connectivity * confidence
    clipped = min(max(unclipped, s["clip_min"]), s["clip_max"])
    return trace, basic, connectivity, confidence, unclipped, clipped, len(counted)


def temporal_match(
    instants: Sequence[int],
    windows: Sequence[Window],
    query: Sequence[Window],
    open_scale_days: float = 30.0,
) -> float:
    """exp(−distance / width) of the nearest pair of times, in days: 1 where they overlap."""
    best = 0.0
    for start, end in query:
        low, high = _ends((start, end))
        bounded = start is not None and end is not None
        width = max(1.0, (end - start) / DAY_US) if bounded else open_scale_days
        for own_low, own_high in [(t, t) for t in instants] + [_ends(w) for w in windows]:
            distance = max(0, low - own_high, own_low - high) / DAY_US
            best = max(best, math.exp(-distance / width))
    return best


def _ends(window: Window) -> tuple[float, float]:
    start, end = window
    return (-math.inf if start is None else start, math.inf if end is None else end)


_MARK = "M"
_CIRCLED = "[\u24b6-\u24e9\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189]"
_CJK = re.compile(
    "[\u2e80-\u2fd5\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3041-\u3096\u309d-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff66-\uff9d\U00016fe2-\U00016fe3\U00016ff0-\U00016ff1\U0001aff0-\U0001b16f"
    "\U00020000-\U0003ffff]"
)
_THAI = re.compile("[\u0e01-\u0e3a\u0e40-\u0e5b]")


def is_mark(c: str) -> bool:
    return unicodedata.category(c)[0] == _MARK


def is_letter(c: str) -> bool:
    """Alphabetic or numeric. Marks that count as letters (vowel signs) begin a run too."""
    return unicodedata.category(c)[0] in "LN" or bool(re.match(_CIRCLED, c))


def lower(text: str) -> str:
    """Lower case in which the dotted and the dotless i are one letter."""
    return re.sub("i\u0307+", "i", text.lower().replace("\u0131", "i"))


def _signs(text: str, begin: int, end: int) -> int:
    """Signs at the end of a word of letters: `C++`, `C#`."""
    signs = re.match(r"\+\+?|#", text[end:])
    if signs is None or any(unicodedata.category(c)[0] == "N" for c in text[begin:end]):
        return 0
    behind = text[end + signs.end() :][:1]
    return 0 if behind and (behind in "+#" or is_letter(behind)) else signs.end()


def _is_one_character_word(text: str, at: int, alone: bool) -> bool:
    c, before, behind = text[at], text[:at][-1:], text[at + 1 :][:1]
    if c in "0123456789":
        return alone
    if not re.match("[b-hj-zA-HJ-Z]", c) or before in ("'", "’"):
        return False
    if c.islower() and behind in ("'", "’"):
        return False
    return alone or (c.isupper() and "/" in (before, behind))


def _script(c: str) -> str:
    return "cjk" if _CJK.match(c) else "thai" if _THAI.match(c) else "word"


def _is_identifier(chain: str) -> bool:
    parts = re.split(r"[-_./:@#+]", chain.rstrip("+#"))
    if len(parts) == 1:
        return False
    mixed = any(
        any(c.islower() for c in part) and any(c.isupper() for c in part[1:]) for part in parts
    )
    numeric = any(unicodedata.category(c)[0] == "N" for c in chain)
    return mixed or numeric or any(c in "_/@." for c in chain)


def _pieces(run: str, start: int) -> list[tuple[str, int, int, bool]]:
    groups: list[tuple[str, int, str]] = []
    for i, c in enumerate(run):
        if groups and (is_mark(c) or groups[-1][2] == _script(c)):
            text, at, script = groups[-1]
            groups[-1] = (text + c, at, script)
        else:
            groups.append((c, start + i, _script(c)))
    found = []
    for text, at, script in groups:
        if script == "word":
            if len(text) > 1:
                found.append((lower(text), at, at + len(text), False))
        elif len(text) == 1:
            found.append((text, at, at + 1, False))
        else:
            pairs = [
                (text[i : i + 2].lower(), at + i, at + i + 2, False) for i in range(len(text) - 1)
            ]
            found += pairs
    return found


def tokens(text: str) -> list[tuple[str, int, int, bool]]:
    """(token, start, end, identifier) of a text without marks that stand alone and pictographs:
    letters and digits; identifiers whole; Chinese, Japanese and Thai in pairs of characters."""
    runs: list[tuple[int, int]] = []
    i = 0
    while i < len(text):
        begin = i
        while i < len(text) and (is_letter(text[i]) or (i > begin and is_mark(text[i]))):
            i += 1
        if i > begin:
            i += _signs(text, begin, i)
            runs.append((begin, i))
        else:
            i += 1
    chains: list[list[tuple[int, int]]] = []
    for begin, end in runs:
        joined = chains and begin - chains[-1][-1][1] == 1 and text[begin - 1] in "-_./:@#+"
        if joined:
            chains[-1].append((begin, end))
        else:
            chains.append([(begin, end)])
    found = []
    for chain in chains:
        start, end = chain[0][0], chain[-1][1]
        if _is_identifier(text[start:end]):
            found.append((lower(text[start:end]), start, end, True))
        else:
            for begin, stop in chain:
                if stop - begin == 1 and _is_one_character_word(text, begin, len(chain) == 1):
                    found.append((lower(text[begin:stop]), begin, stop, False))
                found += _pieces(text[begin:stop], begin)
    return found


def uniform(seed: int, start: str, edge: str) -> float:
    """The draw in [0, 1) for one edge of a walk: the first 53 bits of a hash."""
    text = b"\0".join([b"vestig-walk-1", str(seed).encode(), start.encode(), edge.encode()])
    return (int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> 11) / 2**53


def jaccard(query: set[str], memory: set[str]) -> float:
    """Keywords in common divided by all keywords of both; 0 where the memory has none."""
    return len(query & memory) / len(query | memory) if memory else 0.0


class Way(NamedTuple):
    """How to get to a neighbour: places are (type, id), edges one or two ids."""

    to: bytes
    order: tuple[object, ...]
    weight: float
    places: tuple[tuple[int, bytes], ...]
    edges: tuple[bytes, ...]


class Reached(NamedTuple):
    """An admitted node."""

    node: bytes
    start: int
    signal: float
    path: tuple[tuple[int, bytes], ...]
    steps: tuple[tuple[tuple[bytes, ...], float, float, float | None], ...]


def name_of(prefix: str, id: bytes) -> str:
    """Ids as the ledger writes them."""
    return f"{prefix}_{uuid.UUID(bytes=id)}"


def walk(
    starts: Sequence[bytes],
    ways: Callable[[bytes], tuple[list[Way], list[Way]]],
    boost: Callable[[bytes], float],
    seed: int,
    cap: int,
    settings: Mapping[str, Any],
) -> list[Reached]:
    """The walk over edges from the best memories. `ways`: RELATED and MENTIONS ways of a
    node to eligible others, expired edges left out. `settings`: fields of `WalkFields`."""
    admitted = [Reached(node, rank, 1.0, (), ()) for rank, node in enumerate(starts)]
    inside = set(starts)

    def tried(node: Reached) -> list[Way]:
        found = []
        for kind in ways(node.node):
            first: dict[bytes, Way] = {}
            for way in sorted(kind, key=lambda way: way.order):
                first.setdefault(way.to, way)
            found += list(first.values())[: settings["max_edges"]]
        return [way for way in found if way.to not in inside]

    def offered(node: Reached, way: Way) -> Reached | None:
        signal = node.signal * way.weight * settings["signal_decay"]
        path = node.path + way.places
        most = settings["max_hops"]
        if signal < settings["min_signal"] or (most is not None and len(path) > most):
            return None
        p = way.weight
        if settings["normalize_weights"] and len(way.edges) == 1:
            p = max(0.0, (p - settings["theta"]) / (1 - settings["theta"]))
        if settings["use_tracerank"]:
            p *= boost(way.to)
        p = min(1.0, p * node.signal * settings["exploration_factor"])
        drawn = None
        if p == 0:
            return None
        if settings["deterministic"]:
            if p < settings["threshold"]:
                return None
        elif p < 1:
            edge = "|".join(name_of("edge", id) for id in way.edges)
            drawn = uniform(seed, name_of("mem", starts[node.start]), edge)
            if drawn >= p:
                return None
        step = (way.edges, way.weight, p, drawn)
        return Reached(way.to, node.start, signal, path, (*node.steps, step))

    def admit(node: Reached) -> None:
        inside.add(node.node)
        admitted.append(node)

    def deep(node: Reached) -> None:
        for way in tried(node) if len(admitted) < cap else []:
            chosen = None if way.to in inside else offered(node, way)
            if chosen is not None and len(admitted) < cap:
                admit(chosen)
                deep(chosen)

    if settings["order"] == "dfs":
        for start in admitted[: len(starts)]:
            deep(start)
        return admitted
    queue: list[Reached] = []
    for start in admitted[: len(starts)]:
        queue += _some(offered(start, way) for way in tried(start)) if len(admitted) < cap else []
    while queue and len(admitted) < cap:
        best = min(queue, key=lambda offer: (-offer.signal, offer.start, offer.node))
        queue.remove(best)
        if best.node not in inside:
            admit(best)
            if len(admitted) < cap:
                queue += _some(offered(best, way) for way in tried(best))
    return admitted


def _some(found: Iterable[Reached | None]) -> list[Reached]:
    return [one for one in found if one is not None]


def entity_walk(
    mentions: Sequence[Sequence[int]],
    starts: Sequence[tuple[int, float]],
    query_entities: Sequence[int],
    threshold: float = 1e-4,
    pushes_max: int = 33_333,
) -> list[float]:
    """π of the entity walk by pushes. `mentions`: entities of every eligible memory, both numbered
    in their order; `starts`: the best memories with L₁."""
    total = len(mentions)
    memories_of: dict[int, list[int]] = {}
    for memory, entities in enumerate(mentions):
        for entity in set(entities):
            memories_of.setdefault(entity, []).append(memory)
    memories_of = {e: m for e, m in memories_of.items() if len(m) <= max(3, 0.1 * total)}
    own = [sorted(e for e in set(entities) if e in memories_of) for entities in mentions]
    weight = {e: ln(1 + total / len(m)) for e, m in memories_of.items()}
    query_entities = sorted({e for e in query_entities if e in memories_of})
    share = 0.5 if query_entities and starts else 1.0
    least = min((level for _, level in starts), default=0.0)
    strength = {memory: level - least + 1e-6 for memory, level in starts}
    whole, named = sum(strength.values()), sum(weight[e] for e in query_entities)
    rest = [share * (strength[m] / whole) if m in strength else 0.0 for m in range(total)]
    known = {
        e: share * (weight[e] / named) if e in query_entities else 0.0 for e in sorted(memories_of)
    }
    rank = [0.0] * total
    for _ in range(pushes_max):
        moved = False
        for m in range(total):
            if rest[m] > threshold * len(own[m]):
                given, rest[m], moved = rest[m], 0.0, True
                rank[m] += 0.3 * given
                of = sum(weight[e] for e in own[m])
                for e in own[m]:
                    known[e] += (1 - 0.3) * given * (weight[e] / of)
        for e, given in known.items():
            if given > threshold * len(memories_of[e]):
                known[e], moved = 0.0, True
                for m in memories_of[e]:
                    rest[m] += (1 - 0.3) * given / len(memories_of[e])
        if not moved:
            break
    return rank


def entity_signal(rank: Sequence[float]) -> list[float]:
    """ln(1 + 10⁴·π/max π) / ln(1 + 10⁴); 0 where nothing was reached."""
    most = max(rank, default=0.0)
    return [ln(1 + 1e4 * (r / most)) / ln(1 + 1e4) if most > 0 else 0.0 for r in rank]
