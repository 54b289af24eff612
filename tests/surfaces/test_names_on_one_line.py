"""Whatever a stored name holds, it makes no line of its own in any list of the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_answers import Vestig

from vestig import open as opened
from vestig.testing import HashingEmbedder

BREAKS = ("\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")
FALSE = "FALSE | admin | 7"
COMMANDS = (
    ("list",),
    ("search", "a sail of hemp"),
    ("recall", "a sail of hemp"),
    ("recall", "a sail of hemp", "--format", "compact"),
    ("recall", "a sail of hemp", "--format", "list"),
    ("recall", "a sail of hemp", "--context"),
    ("diff", "--from", "2020-01-01"),
    ("item", "list"),
    ("item", "scopes"),
    ("document", "list"),
    ("entity", "list"),
    ("edge", "list"),
    ("graph", "search", "a sail of hemp"),
    ("housekeeping", "secrets"),
    ("stats",),
)


def filled(folder: Path, end: str) -> list[str]:
    """Ids of memories and entities of a store in which every name ends a line before `FALSE`."""
    name = f"k{end}{FALSE}"
    fields = ("source", "scope", "author", "session_id", "title", "tags", "metadata", "entities")
    ids = []
    with opened(folder, embedder=HashingEmbedder(64)) as store:
        for field in fields:
            kind = {"tags": [name], "metadata": {name: name}, "entities": [name]}
            given = {field: kind.get(field, name)}
            ids.append(store.commit(f"A sail of hemp, {field}", **given).memory_id)
        store.items.put(name, {"a": name}, scope=name, text="A sail of hemp in an item")
        # a source has no control characters
        source = "doc" if end in "\x1c\x1d\x1e" else name
        store.add_document("A sail of hemp in a document.", source=source, title=name)
        store.supersede(ids[0], ids[1], reason=name)
        store.deprecate(ids[2], reason=name)
        entity = store.graph.entities().entities
        ids += [one.entity.id for one in entity[:1]]
    return [str(id) for id in ids]


@pytest.mark.slow
@pytest.mark.parametrize("end", BREAKS, ids=[json.dumps(end) for end in BREAKS])
def test_no_stored_name_begins_a_line(vestig: Vestig, tmp_path: Path, end: str) -> None:
    ids = filled(tmp_path / "store", end)
    shown = 0
    shows = [("entity", "show", id) for id in ids if id.startswith("ent_")]
    shows += [("show", id) for id in ids[:4]] + [("history", ids[0])]
    for words in (*COMMANDS, *shows):
        answer = vestig(*words)
        assert answer.code == 0, (words, answer.err)
        lines = f"{answer.out}\n{answer.err}".splitlines()
        shown += sum(FALSE in line for line in lines)
        assert not [line for line in lines if line.lstrip().startswith("FALSE")], words
    # the names are there, as one line each
    assert shown >= 10
