"""Sessions that a scripted model reads, and what it finds in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import vestig
from vestig.changes import ChangeSet, NewEdge, NewSource
from vestig.errors import ModelCallError
from vestig.ids import new_id
from vestig.ports import ModelRequest
from vestig.testing import ScriptedModel
from vestig.types import EdgeType

Reading = Callable[[list[dict[str, Any]]], Any]
# Rules find names, and no model is asked about anything but windows.
QUIET: dict[str, Any] = {"updates.enabled": False}


def shown(request: ModelRequest, name: str = "memories") -> list[dict[str, Any]]:
    """The memories of a request, as the model sees them: those to read, or the context."""
    _, _, rest = request.user.partition(f' name="{name}">\n')
    body, _, _ = rest.partition("\n</data-")
    return [json.loads(line) for line in body.splitlines() if line.strip()]


def claim(content: str, *numbers: int, **fields: Any) -> dict[str, Any]:
    """A claim as a model gives it."""
    return {
        "content": content,
        "subject": content.split(maxsplit=1)[0],
        "fact_type": "SAID",
        "object": "",
        "attributes": {},
        "confidence": 0.9,
        "from": list(numbers),
        **fields,
    }


def entity(name: str, type: str = "PERSON", **fields: Any) -> dict[str, Any]:
    """An entity as a model gives it."""
    return {"name": name, "type": type, "description": "", **fields}


def found(*items: dict[str, Any]) -> dict[str, Any]:
    """An answer: claims and entities."""
    return {
        "entities": [one for one in items if "type" in one],
        "claims": [one for one in items if "fact_type" in one],
    }


def reading(read: Reading, **options: Any) -> ScriptedModel:
    """A model whose answers are made of the memories that it is shown."""

    def answer(request: ModelRequest) -> Any:
        if request.purpose != "extract_claims":
            raise ModelCallError(f"not asked for: {request.purpose}")
        return read(shown(request))

    return ScriptedModel(answer, **options)


def always(*items: dict[str, Any], **options: Any) -> ScriptedModel:
    """A model that finds the same in every window."""
    return reading(lambda _: found(*items), **options)


def noted(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """What a model finds that takes every memory for a claim: its author notes it."""
    return found(
        *(
            claim(
                f"{one['author']} noted that {one['text'].lower()}",
                one["number"],
                fact_type="NOTED",
                object=one["text"],
            )
            for one in lines
        )
    )


def say(
    store: vestig.Vestig,
    texts: Iterable[str],
    *,
    session: str = "s1",
    start: int = 1,
    author: str = "Ann",
    **fields: Any,
) -> list[str]:
    """Ids of turns that say this, one after the other; no other job waits for them."""
    given = {"temporal_stability": "static", "enrich": False, "author": author, **fields}
    return [
        str(store.commit(text, session_id=session, sequence=at, **given).memory_id)
        for at, text in enumerate(texts, start)
    ]


def turns(count: int, topic: str = "the garden") -> list[str]:
    """Texts of a conversation, all different."""
    return [f"Entry {n} about {topic}: row {n * 7 % 41} is done" for n in range(1, count + 1)]


def document(
    store: vestig.Vestig, passages: Iterable[str], *, title: str = "Manual", previous: str = ""
) -> tuple[str, list[str]]:
    """Id of the source of a document that produced these passages, and their ids; `previous`: the
    source of the version that it takes the place of."""
    ids = []
    for number, text in enumerate(passages, 1):
        outcome = store.commit(
            text,
            source="import",
            title=title,
            metadata={"passage": number},
            provenance={"origin_type": "document"},
            temporal_stability="static",
            enrich=False,
        )
        ids.append(str(outcome.memory_id))
    session = store._session
    metadata = {"title": title, "passages": len(ids)}
    source = NewSource(
        id=new_id("source"),
        namespace="default",
        source_type="file",
        created_us=session.now_us(),
        path=f"/{title}.md",
        metadata=metadata | ({"previous": previous} if previous else {}),
    )
    produced = tuple(
        NewEdge(id=new_id("edge"), from_id=source.id, to_id=id, edge_type=EdgeType.PRODUCED)
        for id in ids
    )
    with session.ledger.write(session.now_us()) as txn:
        txn.apply(ChangeSet(namespace="default", sources=(source,), edges=produced))
    return source.id, ids
