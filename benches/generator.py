"""Seeded texts and questions for benches: distinct, short, without expressions of time.

Texts are distinct after lower-casing and have at most 200 word pieces; no rule finds a time in
them, so their stability is unknown. The same seed gives the same texts on every platform.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split("|"))


FIRST = _listed(
    """
    Ada | Alan | Amara | Anders | Beatriz | Bodil | Carlos | Chidi | Dana | Dmitri | Elif |
    Emeka | Farid | Fiona | Grete | Hanna | Hiro | Ines | Ivo | Jonas | Kaede | Kofi | Lars
    | Leila | Magnus | Mateo | Mina | Nadia | Niko | Olga | Omar | Petra | Quentin | Ravi |
    Rosa | Sanna | Tariq | Ulla | Viktor | Wanda | Xenia | Yusuf | Zofia
    """
)
_LAST = _listed(
    """
    Abara | Berg | Castillo | Dahl | Eriksen | Farouk | Greco | Hansen | Ito | Jansen |
    Keller | Lindqvist | Moreau | Novak | Okafor | Petrov | Quist | Romano | Santos | Tanaka
    | Ueda | Varga | Weber | Yilmaz | Zeller
    """
)
_THINGS = _listed(
    """
    the billing service | a wooden canoe | the search index | a box of ceramic tiles |
    the payment gateway | the irrigation pump | a bronze statue | the customs form |
    a telescope mount | the backup script | a leather saddle | the staging cluster |
    the greenhouse roof | a violin bow | the message queue | the harbour crane |
    a set of oil paints | the parser library | the beehive frames | a copper kettle |
    the login page | the mountain hut | a film projector | the cache layer | the grain mill
    | a chess clock | the release notes | the lighthouse lamp | a paper lantern |
    the invoice template | the tunnel drill | a carbon mast | the sensor firmware |
    the loading dock | a silk kimono | the audit log | the oak table | the water turbine |
    a glass marble | the test harness | the stone oven | a fishing net | the data model |
    the elevator motor | a map of the delta | the color palette | the rope bridge |
    the dental scanner
    """
)
_DEEDS = _listed(
    """
    repaired | painted | measured | sold | inspected | designed | translated | photographed
    | documented | rebuilt | rejected | ordered | delivered | sketched | packed | cleaned |
    compared | borrowed | insured | catalogued | weighed | approved | replaced | labelled |
    moved | tested | described | signed | polished | assembled
    """
)
_PLACES = _listed(
    """
    in the Oslo office | near the Lagos harbour | at the Kyoto workshop |
    behind the Turin depot | inside the Quito archive | beside the Bergen pier |
    at the Dakar warehouse | in the Porto studio | on the Tallinn campus |
    under the Cusco market | at the Hanoi plant | in the Leeds laboratory |
    outside the Sofia museum | at the Malmo shipyard | in the Accra kitchen |
    at the Denver hangar
    """
)
_REASONS = _listed(
    """
    because the supplier asked for it | to satisfy the new safety rule |
    after the insurer complained | so that the auditors could read it |
    since nobody else had the key | to save floor space | because the old one leaked |
    to match the customer's drawing | after the pressure test failed |
    so that two crews could share it | to keep the noise down |
    because the warranty required it
    """
)
_DETAILS = _listed(
    """
    The price was {n} crowns. | It carries the label {code}. | The parts came from {place2}.
    | {other} disagreed with the choice. | The manual has {n} pages. | It weighs {n} grams.
    | {other} keeps the receipt under {code}. | The supplier of record is {last} and Sons. |
    The drawing is filed as {code}. | It needs {n} volts. | {other} helped with {thing2}.
    """
)
_QUESTIONS = _listed(
    """
    who {deed} {thing} {place}? | why was {thing} {deed}? |
    what did {first} do with {thing}? | where is {thing} that {first} {deed}? |
    which label does {thing} carry {place}?
    """
)


def chance_fields(rng: random.Random) -> dict[str, Any]:
    """Words for the places of a sentence."""
    letters = "".join(rng.choices("BCDFGHJKLMNPQRSTVWXZ", k=3))
    return {
        "first": rng.choice(FIRST),
        "last": rng.choice(_LAST),
        "other": rng.choice(FIRST),
        "deed": rng.choice(_DEEDS),
        "thing": rng.choice(_THINGS),
        "thing2": rng.choice(_THINGS),
        "place": rng.choice(_PLACES),
        "place2": rng.choice(_PLACES).split(" ", 1)[1],
        "reason": rng.choice(_REASONS),
        "n": rng.randrange(3000, 100_000),
        "code": f"{letters}-{rng.randrange(100, 100_000)}",
    }


def texts(count: int, seed: int = 0) -> list[str]:
    """`count` different texts of 10 to 60 words.

    >>> len({text.lower() for text in texts(1000)})
    1000
    """
    return [record["content"] for record in records(count, seed)]


def records(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """`commit` arguments: `content`, and an `author` in two of three."""
    return list(stream(count, seed))


def stream(count: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """As `records`, one after the other."""
    rng = random.Random(f"vestig-texts-{seed}")
    seen: set[int] = set()
    while len(seen) < count:
        sentences = ["{first} {last} {deed} {thing} {place} {reason}."]
        sentences += rng.choices(_DETAILS, k=rng.randrange(0, 5))
        text = " ".join(sentence.format(**chance_fields(rng)) for sentence in sentences)
        key = int.from_bytes(hashlib.blake2b(text.lower().encode(), digest_size=8).digest())
        if key in seen:
            continue
        seen.add(key)
        author = rng.choice(FIRST) if rng.random() < 2 / 3 else None
        yield {"content": text} if author is None else {"content": text, "author": author}


def questions(count: int, seed: int = 0) -> list[str]:
    """`count` questions about the same world, repeats possible."""
    rng = random.Random(f"vestig-questions-{seed}")
    return [rng.choice(_QUESTIONS).format(**chance_fields(rng)) for _ in range(count)]


def embedded_text(record: dict[str, Any]) -> str:
    """What the engine embeds of a record: `author: text`, or the text."""
    author = record.get("author")
    return record["content"] if author is None else f"{author}: {record['content']}"


def vectors(
    count: int, dimensions: int = 384, seed: int = 0, group: int | None = None
) -> NDArray[np.float32]:
    """Unit vectors. `group`: that many neighbours share a direction (cosine about 0.8)."""
    rng = np.random.default_rng([seed, count, dimensions])
    made = rng.standard_normal((count, dimensions), dtype=np.float32)
    if group is not None:
        centres = rng.standard_normal((-(-count // group), dimensions), dtype=np.float32)
        made = 2.0 * centres[np.arange(count) // group] + made
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made.astype("<f4")


def batches(items: list[dict[str, Any]], size: int = 1000) -> Iterator[list[dict[str, Any]]]:
    """Slices of at most `size`."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
