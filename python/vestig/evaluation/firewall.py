"""How well secrets and echoes are recognised, on texts that are made at run time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from vestig.api.store import open_store
from vestig.evaluation.benchmarks import SHIPPED, read_benchmark
from vestig.evaluation.secret_cases import Case, Maker
from vestig.firewall import SECRETS_VERSION, masked_text
from vestig.recall.layouts import FORMATS, render
from vestig.types import _Value

_CASES: Final = 900
_FACTS: Final = 60
_ROUNDS: Final = 20


class FirewallRow(_Value, frozen=True, kw_only=True):
    """Texts of one kind, and how many of them were recognised: as a secret, or as an echo."""

    kind: str
    texts: int
    recognised: int


class FirewallReport(_Value, frozen=True, kw_only=True):
    """`secrets`: texts with one secret each, by kind; `look_alikes`, `corpora`: texts without one,
    of which each that is recognised is a false alarm; `echoes`: results that were committed, by
    layout. `recall` and `precision` are those of the first two."""

    seed: int
    version: str
    secrets: tuple[FirewallRow, ...]
    look_alikes: tuple[FirewallRow, ...]
    corpora: tuple[FirewallRow, ...]
    echoes: tuple[FirewallRow, ...]
    recall: float
    precision: float
    gate_failures: tuple[str, ...] = ()

    def text(self) -> str:
        """The report as tables."""
        parts = [f"secrets: recall {self.recall:.4f}, precision {self.precision:.4f}"]
        for name in ("secrets", "look_alikes", "corpora", "echoes"):
            rows: tuple[FirewallRow, ...] = getattr(self, name)
            width = max(len(row.kind) for row in rows)
            lines = [f"  {row.kind:<{width}}  {row.recognised} of {row.texts}" for row in rows]
            parts.append("\n".join([name.replace("_", "-"), *lines]))
        return "\n\n".join([*parts, f"seed {self.seed}, rows of version {self.version}"])


def evaluate_firewall(seed: int) -> FirewallReport:
    """Secrets found and missed by kind, false alarms on look-alikes and on the shipped corpus, and
    echoes in every layout.

    Args:
        seed: the same one makes the same texts.

    Example:
        >>> evaluate_firewall(1).recall > 0.95
        True
    """
    maker = Maker(seed)
    secrets = _rows(maker.secrets(_CASES), _is_masked)
    others = _rows(maker.look_alikes(_CASES), _alarms)
    shipped = read_benchmark(SHIPPED)
    units = [unit for some in shipped.units.values() for unit in some]
    texts = [Case("shipped benchmark", unit.text, None) for unit in units]
    found = sum(row.recognised for row in secrets)
    false_alarms = sum(row.recognised for row in others)
    return FirewallReport(
        seed=seed,
        version=SECRETS_VERSION,
        secrets=secrets,
        look_alikes=others,
        corpora=_rows(texts, _alarms),
        echoes=_echoes(maker),
        recall=found / sum(row.texts for row in secrets),
        precision=found / max(1, found + false_alarms),
    )


def _is_masked(case: Case) -> bool:
    return str(case.secret) not in masked_text(case.text)[0]


def _alarms(case: Case) -> bool:
    return bool(masked_text(case.text)[1])


def _rows(cases: Sequence[Case], recognised: Callable[[Case], bool]) -> tuple[FirewallRow, ...]:
    total = Counter(case.kind for case in cases)
    found = Counter(case.kind for case in cases if recognised(case))
    return tuple(
        FirewallRow(kind=kind, texts=count, recognised=found[kind]) for kind, count in total.items()
    )


def _echoes(maker: Maker) -> tuple[FirewallRow, ...]:
    """Results of a small store that are committed to it again."""
    lines = [maker.run("letters", 7) for _ in range(_FACTS)]
    facts = [f"Crate {n} of the {line} line went to pier {n % 9}" for n, line in enumerate(lines)]
    with open_store(":memory:", config={"embedding": {"provider": "hashing"}}) as store:
        store.commit_many(facts)

        def shown(layout: str, question: str) -> str:
            if layout != "context":
                return render(store.recall(question), layout)
            block = store.recall(question, context=True).context
            assert block is not None, "asked for"
            return block.text

        rows = []
        for layout in (*FORMATS, "context"):
            outcomes = [store.commit(shown(layout, f"where is crate {n}?")) for n in range(_ROUNDS)]
            echoes = sum(bool(one.echoes) and one.seq is None for one in outcomes)
            rows.append(FirewallRow(kind=layout, texts=_ROUNDS, recognised=echoes))
        return tuple(rows)
