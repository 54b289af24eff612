"""Documents that are to be summed up, and what of them a language model is shown."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from vestig.config.schema import SummarySettings
from vestig.ids import id_text
from vestig.store.records import jobs
from vestig.store.records.jobs import Readable
from vestig.store.records.reads import LedgerView
from vestig.types import Memory

_CHARS_MAX: Final = 24_000


class Document(NamedTuple):
    """A document by its source, with the ids of its passages, and of the summaries that a new one
    takes the place of."""

    source: str
    ids: tuple[str, ...]
    older: tuple[str, ...]


def documents_due(
    view: LedgerView,
    namespace: str,
    readable: Sequence[Readable],
    chosen: Collection[str] | None,
    settings: SummarySettings,
) -> Iterator[Document]:
    """Documents that were read completely and have no summary of this version.

    Args:
        chosen: ids of passages, of which a document has one; None = all.
    """
    passages = [one for one in readable if not one.is_turn]
    for (scope, part_of), group in groupby(passages, lambda one: (one.scope, one.part_of)):
        members = list(group)
        ids = tuple(one.id for one in members)
        if len(ids) < settings.min_passages or any(one.state != "done" for one in members):
            continue
        if chosen is not None and not any(id in chosen for id in ids):
            continue
        source = id_text("source", bytes.fromhex(part_of))
        known = jobs.summaries(view, namespace, scope, source)
        if not any(one.is_current for one in known):
            yield Document(source, ids, tuple(one.id for one in known))


def shown_passages(passages: Mapping[int, Memory]) -> dict[int, Memory]:
    """The passages that are shown, at most 24,000 characters of them, evenly chosen."""
    total = sum(len(one.content) for one in passages.values())
    if total <= _CHARS_MAX:
        return dict(passages)
    numbers = list(passages)
    wanted = max(1, len(numbers) * _CHARS_MAX // total)
    while True:
        step = len(numbers) / wanted
        chosen = [numbers[int(at * step)] for at in range(wanted)]
        if wanted == 1 or sum(len(passages[n].content) for n in chosen) <= _CHARS_MAX:
            return {n: passages[n] for n in chosen}
        wanted -= 1


def prompt_values(title: str, passages: Mapping[int, Memory]) -> dict[str, str]:
    """Return what the prompt is given."""
    shown = shown_passages(passages)
    return {
        "title": title,
        "passages": "\n\n".join(f"[{n}] {one.content[:_CHARS_MAX]}" for n, one in shown.items()),
    }
