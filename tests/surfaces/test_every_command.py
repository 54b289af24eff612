"""Every operation once on the command line: one JSON document, or text."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from command_answers import Vestig

from vestig.surfaces.operation import operations


def an_edge(vestig: Vestig) -> str:
    """Id of the edge from a memory's source."""
    edges = vestig("edge", "list", "--json").document["edges"]
    return next(str(one["id"]) for one in edges if one["edge_type"] == "PRODUCED")


def two_entities(vestig: Vestig) -> list[str]:
    """Ids of two names that a memory mentions."""
    vestig("memory", "add", "The keys are kept by Ada Lovelace and Grace Hopper")
    return [one["id"] for one in vestig("entity", "list", "--json").document["entities"]]


def a_document(vestig: Vestig) -> str:
    """Id of a document."""
    return str(vestig("document", "add", "Tar is black.", "--json").document["source_id"])


def a_rule(vestig: Vestig) -> str:
    """Id of a rule."""
    said = ("Ask before a release", "--when", "command = 'make release'")
    return str(vestig("rule", "add", *said, "--json").document["id"])


def an_anchored(vestig: Vestig, source: str) -> str:
    """Id of a memory with an anchor."""
    said = ("The backup is weekly, as the port says", "--anchor", source)
    return str(vestig("memory", "add", *said, "--json").document["memory_id"])


def a_branch(vestig: Vestig, folder: Path) -> str:
    """Name of a branch with a memory, of a repository that is worked in from here on."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    os.chdir(folder)
    project = vestig("branch", "list", "--json").document["project"]
    vestig("memory", "add", "The mirror of the store is in Bergen", "--scope", f"{project}@mirror")
    return "mirror"


def a_conversation(tmp_path: Path) -> Path:
    """A file of messages."""
    path = tmp_path / "talk.json"
    path.write_text('[{"content": "Which port does the database use?"}]', encoding="utf-8")
    return path


def commands(
    tmp_path: Path,
    ids: list[str],
    produced: str,
    named: list[str],
    document: str,
    rule: str,
    *,
    anchored: str,
    branch: str,
) -> dict[str, tuple[str, ...]]:
    """One line for each operation, in an order in which all of them succeed."""
    bench = tmp_path / "bench"
    bench.mkdir()
    (bench / "corpus.jsonl").write_text('{"id": "d1", "text": "The port is 5433", "turn": 0}\n')
    (bench / "queries.jsonl").write_text(
        '{"id": "q1", "text": "which port?", "relevant": ["d1"], "category": "fact"}\n'
    )
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"content": "The nightly backup writes to the bucket vault-eu"}\n')
    puts = '[{"key": "city", "value": "Porto", "scope": "user/ada"}]'
    requests = tmp_path / "requests.jsonl"
    requests.write_text('{"messages": [{"content": "which port?"}]}\n')
    return {
        "memory add": ("memory", "add", "Kofi owns the search cluster this month"),
        "memory recall": ("memory", "recall", "which port", "--explain", "--timing"),
        "replay": ("replay", str(requests)),
        "memory show": ("memory", "show", ids[0]),
        "memory get": ("memory", "get", ids[0]),
        "memory list": ("memory", "list"),
        "memory history": ("memory", "history", ids[0]),
        "keys": ("keys",),
        "count": ("count", "--statuses", "active"),
        "stats": ("stats",),
        "memory events": ("memory", "events", ids[0]),
        "memory pin": ("memory", "pin", ids[0]),
        "memory unpin": ("memory", "unpin", ids[0]),
        "memory confirm": ("memory", "confirm", ids[0], "--by", "Ada"),
        "memory archive": ("memory", "archive", ids[0]),
        "memory unarchive": ("memory", "unarchive", ids[0]),
        "memory add-structured": ("memory", "add-structured", "Ports", "They were swapped"),
        "search": ("search", "which port"),
        "diff": ("diff", "--from", "2020-01-01"),
        "graph search": ("graph", "search", "which port"),
        "graph neighbourhood": ("graph", "neighbourhood", ids[0], "--depth", "3"),
        "retrieve": ("retrieve", str(a_conversation(tmp_path))),
        "document add": ("document", "add", "Oak is heavy.", "--source", "wiki/oak"),
        "document list": ("document", "list"),
        "document forget": ("document", "forget", document, "--yes"),
        "item put": ("item", "put", "theme", '{"dark": true}', "--text", "Ada prefers it dark"),
        "item put-many": ("item", "put-many", puts),
        "item get": ("item", "get", "theme"),
        "item list": ("item", "list"),
        "item scopes": ("item", "scopes"),
        "item delete": ("item", "delete", "theme", "--yes"),
        "anchor show": ("anchor", "show", anchored),
        "anchor refresh": ("anchor", "refresh", anchored),
        "anchor stale": ("anchor", "stale"),
        "branch list": ("branch", "list"),
        "branch show": ("branch", "show", branch),
        "branch merge": ("branch", "merge"),
        "branch drop": ("branch", "drop", branch),
        "rule add": ("rule", "add", "Never push on a Friday", "--when", "command = 'git push'"),
        "rule list": ("rule", "list"),
        "rule show": ("rule", "show", rule),
        "rule edit": ("rule", "edit", rule, "--do", "ask"),
        "rule check": ("rule", "check", "--command", "git push"),
        "rule test": ("rule", "test", "--command", "git push", "--tool", "Bash"),
        "rule suggest": ("rule", "suggest"),
        "rule remove": ("rule", "remove", rule),
        "entity list": ("entity", "list"),
        "entity show": ("entity", "show", named[0], "--limit", "3"),
        "entity extract": ("entity", "extract"),
        "housekeeping entity-backfill": ("housekeeping", "entity-backfill"),
        "entity merge": ("entity", "merge", named[0], named[1]),
        "entity expire": ("entity", "expire", named[1]),
        "entity purge": ("entity", "purge", "--yes"),
        "edge link": ("edge", "link", ids[0], ids[1]),
        "edge list": ("edge", "list"),
        "edge show": ("edge", "show", produced),
        "edge unlink": ("edge", "unlink", produced),
        "edge rebuild": ("edge", "rebuild"),
        "memory update": ("memory", "update", ids[0], "--tags", "a,b"),
        "memory supersede": ("memory", "supersede", ids[0], ids[1]),
        "memory deprecate": ("memory", "deprecate", ids[2]),
        "housekeeping enrich": ("housekeeping", "enrich"),
        "memory forget": ("memory", "forget", ids[2], "--yes"),
        "housekeeping gc": ("housekeeping", "gc"),
        "housekeeping secrets": ("housekeeping", "secrets", "--fix"),
        "housekeeping prune": ("housekeeping", "prune"),
        "housekeeping compact": ("housekeeping", "compact"),
        "export": ("export", str(tmp_path / "out.jsonl")),
        "import": ("import", str(lines)),
        "backup": ("backup", str(tmp_path / "copy")),
        "restore": ("restore", str(tmp_path / "copy"), "--store", str(tmp_path / "again")),
        "rebuild": ("rebuild",),
        "doctor": ("doctor",),
        "demo": ("demo",),
        "eval": ("eval", str(bench)),
        "config show": ("config", "show"),
        "config explain": ("config", "explain", "hygiene.min_chars"),
        "destroy": ("destroy", str(tmp_path / "copy"), "--yes"),
    }


# they answer others and print nothing of their own
SERVERS = {"hook", "inspect", "install", "mcp", "serve"}
# they are of no use without a language model
MODELLED = {"cognify"}
# they need a database: `tests/fleet`
IN_A_DATABASE = {op.name for op in operations() if op.name.startswith(("tenant ", "fleet "))}
DOCUMENTS = {
    "memory history": "history",
    "memory add": "outcome",
    "memory add-structured": "outcome",
    "search": "recall",
    "graph search": "graph_search",
    "graph neighbourhood": "neighbourhood",
    "memory recall": "recall",
    "replay": "retrieval_replay",
    "memory show": "memory",
    "memory get": "memory",
    "memory list": "memories",
    "count": "count",
    "diff": "diff",
    "stats": "stats",
    "memory events": "events",
    "memory supersede": "supersession",
    "memory update": "update",
    "memory forget": "forgotten",
    "document add": "document",
    "document list": "documents",
    "document forget": "forgotten",
    "item put": "put",
    "item put-many": "puts",
    "item get": "item",
    "item list": "items",
    "item scopes": "scopes",
    "item delete": "forgotten",
    "anchor show": "anchors",
    "anchor refresh": "anchors",
    "anchor stale": "stale",
    "branch list": "branches",
    "branch show": "branch",
    "branch merge": "branch_changes",
    "branch drop": "branch_changes",
    "rule add": "rule",
    "rule list": "rules",
    "rule show": "rule",
    "rule edit": "rule",
    "rule check": "check",
    "rule test": "check",
    "rule suggest": "suggestions",
    "entity list": "entities",
    "entity show": "entity",
    "entity extract": "entity_backfill",
    "entity merge": "entity",
    "entity expire": "entity",
    "entity purge": "entities_purged",
    "housekeeping entity-backfill": "entity_backfill",
    "edge link": "edge",
    "edge list": "edges",
    "edge show": "edge",
    "edge unlink": "edge",
    "edge rebuild": "edges_rebuilt",
    "housekeeping gc": "gc",
    "housekeeping prune": "prune",
    "housekeeping secrets": "secrets",
    "housekeeping compact": "compaction",
    "housekeeping enrich": "enrichment",
    "eval": "evaluation",
    "config show": "config",
    "config explain": "explanations",
    "destroy": "destruction",
}


@pytest.mark.slow
def test_every_command_gives_one_document(
    vestig: Vestig, ids: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = commands(
        tmp_path,
        ids,
        an_edge(vestig),
        two_entities(vestig),
        a_document(vestig),
        a_rule(vestig),
        anchored=an_anchored(vestig, ids[0]),
        branch=a_branch(vestig, tmp_path / "mirror"),
    )
    assert set(lines) == {op.name for op in operations()} - SERVERS - MODELLED - IN_A_DATABASE
    for name, words in lines.items():
        answer = vestig(*words, "--json")
        assert answer.code == 0, (name, answer.err)
        type_name = DOCUMENTS.get(name, name if " " not in name else "state")
        assert answer.document["schema"] == f"vestig/{type_name}/1", name


@pytest.mark.parametrize("name", sorted(MODELLED))
def test_a_command_for_a_model_says_that_there_is_none(vestig: Vestig, name: str) -> None:
    vestig("memory", "add", "The keys are kept by Ada Lovelace")
    for words in ((), ("--dry-run",)):
        answer = vestig(*name.split(), *words)
        assert (answer.code, answer.out) == (4, "")
        assert "needs a language model: set llm.provider" in answer.err
        assert "import, recall" in answer.err


@pytest.mark.slow
def test_every_command_speaks_text(
    vestig: Vestig, ids: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = commands(
        tmp_path,
        ids,
        an_edge(vestig),
        two_entities(vestig),
        a_document(vestig),
        a_rule(vestig),
        anchored=an_anchored(vestig, ids[0]),
        branch=a_branch(vestig, tmp_path / "mirror"),
    )
    for name, words in lines.items():
        answer = vestig(*words)
        assert answer.code == 0, (name, answer.err)
        assert answer.out.strip(), name
        assert "<vestig." not in answer.out
