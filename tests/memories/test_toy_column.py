"""A column of a memory: stored, read, filtered by, exported and imported by its declaration."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import vestig

# Module → the line before which one is added, and that. These say what the column is.
DECLARED = {
    "types.py": ("    key: str | None = None\n\n    def __repr__", "    language: str | None\n"),
    "store/tables/memories.py": (
        '            text("key", Erase.NAMES, null=True, value=Value.KEY),\n',
        '            text("language", exempt=_LABEL, null=True, value=Value.LABEL),\n',
    ),
    "calls/filter.py": (
        "    min_similarity: Annotated[\n",
        '    languages: Annotated[Words | UnsetType, Names("Its language.", "--languages"),'
        ' _narrows(column="language")] = UNSET\n',
    ),
}
# These take it from a caller.
USED = {
    "calls/commit.py": (
        '    actor: Annotated[str | None, Label("Who stores it; kept in the event.", "--actor")]',
        '    language: Annotated[str | None, Label("Its language.", "--language")] = None\n',
    ),
    "commit/rows.py": (
        "        author=request.author,\n",
        "        language=request.language,\n",
    ),
}

SCRIPT = """
import sys
from pathlib import Path

import vestig
from vestig.testing import HashingEmbedder

folder = Path(sys.argv[1])


def opened(name):
    return vestig.open(folder / name, embedder=HashingEmbedder(16))


def languages(store):
    return {one.content: one.language for one in store.list(limit=9)}


def check(store):
    found = {"Guten Tag, Ada": "de", "Good day, Ada": "en", "Ada writes letters": None}
    assert languages(store) == found, languages(store)
    for wanted, count in (("de", 1), (["de", "en"], 2), ("fr", 0), ([], 0)):
        where = {"languages": wanted}
        assert len(store.list(where=where)) == store.count(where=where) == count, wanted
        assert len(store.recall("Ada", limit=9, all=True, where=where)) == count, wanted
        assert len(store.search("Ada", where=where, limit=9)) >= count, wanted
    assert [one.memory.language for one in store.recall("Ada", where={"languages": "de"})] == ["de"]
    assert store._session.ledger.verify_all() == []


with opened("a") as store:
    store.commit_many(
        [
            {"content": "Guten Tag, Ada", "language": "de"},
            {"content": "Good day, Ada", "language": "en"},
            {"content": "Ada writes letters"},
        ]
    )
    check(store)
    store.export(folder / "all.jsonl")
    store.export(folder / "some.jsonl", where={"languages": "de"})
with opened("b") as store:
    store.import_(folder / "all.jsonl")
    check(store)
    store.export(folder / "again.jsonl")
assert (folder / "again.jsonl").read_bytes() == (folder / "all.jsonl").read_bytes()
with opened("c") as store:
    store.import_(folder / "some.jsonl")
    assert languages(store) == {"Guten Tag, Ada": "de"}
    text = (folder / "all.jsonl").read_text().replace('"language":"de"', '"language":5')
    (folder / "bad.jsonl").write_text(text)
    try:
        store.import_(folder / "bad.jsonl", merge=True)
    except vestig.ValidationError as error:
        assert "language" in str(error), error
    else:
        raise AssertionError("a language that is no text")
"""


def shadow(source: Path, target: Path, changed: dict[str, str]) -> None:
    """The package at another place, its files linked, but for those that are changed."""
    target.mkdir()
    for entry in source.iterdir():
        inside = {
            path.removeprefix(f"{entry.name}/"): text
            for path, text in changed.items()
            if path.startswith(f"{entry.name}/")
        }
        if inside:
            shadow(entry, target / entry.name, inside)
        elif entry.name in changed:
            (target / entry.name).write_text(changed[entry.name])
        elif entry.name != "__pycache__":
            (target / entry.name).symlink_to(entry)


def with_line(text: str, place: str, line: str) -> str:
    assert text.count(place) == 1, place
    return text.replace(place, line + place)


def test_a_new_column_is_declared_in_three_files(tmp_path: Path) -> None:
    package = Path(vestig.__file__).parent
    changed = {
        name: with_line((package / name).read_text(), *added)
        for name, added in (DECLARED | USED).items()
    }
    shadow(package, tmp_path / "vestig", changed)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
