"""How well secrets and echoes are recognised, on texts that are made at run time from a seed, with
secrets and with what only looks like one.

The secrets are stored nowhere: each run makes its own, in the formats and places of
`secret_cases.txt`, and in formats that nobody has.
"""

from __future__ import annotations

import random
import re
import string
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.reader import SHIPPED, read_benchmark
from vestig.api.store import open_store
from vestig.firewall import SECRETS_VERSION, masked_text
from vestig.lazy_pattern import lazy_pattern
from vestig.recall.layouts import FORMATS, render
from vestig.types import _Value

_ALPHABETS: Final = {
    "alnum": string.ascii_letters + string.digits,
    "letters": string.ascii_letters,
    "digits": string.digits,
    "capitals": string.ascii_uppercase + string.digits,
    "small": string.ascii_lowercase + string.digits,
    "hex": "0123456789abcdef",
    "url": string.ascii_letters + string.digits + "-_",
    "base64": string.ascii_letters + string.digits + "+/",
}
_SIGNS: Final = "!@#%*+?"
_WORDS: Final = ("amber", "harbor", "violet", "copper", "meadow", "falcon", "winter", "tulip")
_MADE: Final = lazy_pattern(r"\{(uuid|w|(base64|[a-z]+)_?(\d+))\}")
_NOT: Final = "not: "


class Case(NamedTuple):
    """`secret`: what has to be found in the text; None = it holds none."""

    kind: str
    text: str
    secret: str | None


@cache
def _lists() -> Mapping[str, list[str]]:
    """Section → lines of the data file."""
    found: dict[str, list[str]] = {}
    text = Path(__file__).with_name("secret_cases.txt").read_text("utf-8")
    for line in text.splitlines():
        if line.startswith("[") and line.endswith("]") and " = " not in line:
            lines = found.setdefault(line[1:-1], [])
        elif not line.startswith("#"):
            lines.append(line.replace("\\n", "\n"))
    return found


class Maker:
    """Makes secrets and look-alikes; the same seed gives the same ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def secrets(self, count: int) -> list[Case]:
        """Return so many texts, each with one secret, of all kinds in turn."""
        kinds = list(_SECRETS.items())
        return [self._secret(*kinds[at % len(kinds)]) for at in range(count)]

    def look_alikes(self, count: int) -> list[Case]:
        """Return so many texts without a secret, of all kinds in turn."""
        kinds = [name for name in _lists() if name.startswith(_NOT)]
        found = []
        for at in range(count):
            kind = kinds[at % len(kinds)]
            text = _MADE.sub(self._value, self._random.choice(_lists()[kind]))
            found.append(Case(kind.removeprefix(_NOT), text, None))
        return found

    def _secret(self, kind: str, made: tuple[Callable[[Maker], str], str]) -> Case:
        secret, places = made[0](self), _lists()[made[1]]
        text = self._random.choice(places).replace("{w}", self._random.choice(_WORDS))
        return Case(kind, text.replace("{s}", secret), secret)

    def _value(self, name: re.Match[str]) -> str:
        if name[1] == "uuid":
            return str(uuid.UUID(int=self._random.getrandbits(128), version=4))
        if name[1] == "w":
            return self._random.choice(_WORDS)
        return self.run(name[2], int(name[3]))

    def run(self, alphabet: str, least: int, most: int | None = None) -> str:
        """Return so many characters of an alphabet, a digit and a letter among them."""
        characters = _ALPHABETS.get(alphabet, alphabet)
        length = self._random.randint(least, most or least)
        mixed = any(map(str.isdigit, characters)) and any(map(str.isalpha, characters))
        while True:
            found = "".join(self._random.choices(characters, k=length))
            if not mixed or (any(map(str.isdigit, found)) and any(map(str.isalpha, found))):
                return found

    def known_format(self) -> str:
        """Return a secret in a format that a vendor documents."""
        prefix, alphabet, length = self._random.choice(_lists()["formats"]).split(" ")
        return prefix + self.run(alphabet, int(length))

    def unknown_format(self) -> str:
        """Return a secret in a format that nobody has."""
        prefix = self.run(string.ascii_lowercase, 2, 6)
        joint = self._random.choice(("_", "-", "_live_", "_test_", "_pat_", "-v1-", ".", ""))
        body = self.run(self._random.choice(("alnum", "alnum", "url", "small")), 24, 48)
        return prefix + joint + body.strip("-_") + self.run("letters", 1)

    def password(self) -> str:
        """Return what somebody types: a word and more, or no word at all."""
        if self._random.random() < 0.5:
            word = self._random.choice(_WORDS).capitalize()
            return word + self.run("digits", 2, 4) + self.run(_SIGNS, 1)
        return self.run("alnum", 7, 12) + self.run(_SIGNS, 1) + self.run("alnum", 2)

    def web_token(self) -> str:
        """Return a JSON web token."""
        return f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIi{self.run('url', 40)}.{self.run('alnum', 43)}"

    def private_key(self) -> str:
        """Return a private key of several lines."""
        lines = "\n".join(self.run("base64", 64) for _ in range(6))
        kind = self._random.choice(("RSA ", "EC ", "OPENSSH ", ""))
        return f"-----BEGIN {kind}PRIVATE KEY-----\n{lines}\n-----END {kind}PRIVATE KEY-----"


_CASES: Final = 900
_FACTS: Final = 60
_ROUNDS: Final = 20


# kind → what makes the secret, the section of the texts around it
_SECRETS: Final[dict[str, tuple[Callable[[Maker], str], str]]] = {
    "known format": (Maker.known_format, "format"),
    "unknown format": (Maker.unknown_format, "token"),
    "password": (Maker.password, "password"),
    "web token": (Maker.web_token, "token"),
    "hexadecimal key": (lambda maker: maker.run("hex", 32, 64), "hexadecimal key"),
    "in an address": (lambda maker: maker.run("alnum", 8, 20), "address"),
    "in a header": (lambda maker: maker.run("alnum", 24, 40), "header"),
    "private key": (Maker.private_key, "private key"),
    "another unknown format": (Maker.unknown_format, "token"),
}


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
