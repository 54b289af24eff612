"""Anchors of the turns of an editor's session: what it edited, and what its texts name."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import vestig
from repositories import repository, text_of, write
from vestig.calls.declaration import checked
from vestig.calls.files import ImportRequest
from vestig.exchange.importer import import_files
from vestig.surfaces.hooks.sessions import _imported
from vestig.testing import HashingEmbedder

FILE = "src/db.py"
SAID = "2026-03-18T10:00:00.000Z"
BEFORE = 1_700_000_000


class Transcript:
    """A transcript of Claude Code that grows."""

    def __init__(self, folder: Path) -> None:
        self.path = folder.parent / "session.jsonl"
        self._folder = folder
        self._lines: list[dict[str, Any]] = []

    def add(self, kind: str, message: str | None, *content: dict[str, Any]) -> None:
        self._lines.append(
            {
                "type": kind,
                "sessionId": "s1",
                "uuid": f"u{len(self._lines)}",
                "timestamp": SAID,
                "cwd": str(self._folder),
                "message": {"role": kind, "id": message, "content": list(content)},
            }
        )
        self.path.write_text("".join(json.dumps(line) + "\n" for line in self._lines))

    def said(self, kind: str, text: str, message: str | None = None) -> None:
        self.add(kind, message, {"type": "text", "text": text})

    def used(self, message: str, name: str, **given: Any) -> None:
        self.add("assistant", message, {"type": "tool_use", "name": name, "input": given})


class Rollout:
    """A session log of Codex that grows."""

    def __init__(self, folder: Path) -> None:
        self.path = folder.parent / "rollout-1.jsonl"
        self._lines: list[dict[str, Any]] = []
        self.add("session_meta", id="s1", cwd=str(folder))

    def add(self, kind: str, **payload: Any) -> None:
        self._lines.append({"type": kind, "timestamp": SAID, "payload": payload})
        self.path.write_text("".join(json.dumps(line) + "\n" for line in self._lines))

    def said(self, role: str, text: str) -> None:
        kind = "input_text" if role == "user" else "output_text"
        content = [{"type": kind, "text": text}]
        self.add("response_item", type="message", role=role, content=content)

    def patched(self, *lines: str) -> None:
        patch = "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])
        self.add("response_item", type="custom_tool_call", name="apply_patch", input=patch)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = repository(tmp_path / "work", {FILE: text_of(1, 60), "README.md": "notes\n"})
    for name in (FILE, "README.md"):
        os.utime(made / name, (BEFORE, BEFORE))
    monkeypatch.chdir(made)
    return made


def anchors(
    transcript: Transcript | Rollout,
) -> dict[str, list[tuple[str | None, tuple[int, int] | None]]]:
    """Text → target and lines of each of its anchors."""
    with vestig.open(":memory:", embedder=HashingEmbedder(32)) as store:
        report = _imported(store, transcript.path, "p")
        assert not report.errors, report
        return {
            one.content: [(found.target, found.lines) for found in store.anchors.show(one.id)]
            for one in store.list()
        }


def test_a_turn_is_anchored_to_what_it_edited(folder: Path) -> None:
    transcript = Transcript(folder)
    transcript.said("user", "The pool of the database is too small for our load")
    transcript.said("assistant", "I will give the pool more connections at once", "m1")
    transcript.used("m1", "Edit", file_path=str(folder / FILE), new_string="POOL = 10\nWAIT = 3\n")
    transcript.used("m2", "Write", file_path="README.md", content="how the pool grows\n")
    transcript.said("assistant", "The pool of the database has ten connections", "m3")
    transcript.said("user", "Good, that is enough for the coming year")
    write(folder, {FILE: f"POOL = 10\nWAIT = 3\n{text_of(1, 60)}"})
    write(folder, {"README.md": "how the pool grows\n"})
    assert anchors(transcript) == {
        "The pool of the database is too small for our load": [],
        "I will give the pool more connections at once": [(FILE, (1, 2))],
        "The pool of the database has ten connections": [("README.md", (1, 1))],
        "Good, that is enough for the coming year": [],
    }


ANSWER = "The pool of the database has ten connections"


def test_a_turn_of_codex_is_anchored_to_what_its_patches_wrote(folder: Path) -> None:
    rollout = Rollout(folder)
    rollout.said("user", "The pool of the database is too small for our load")
    rollout.said("assistant", "I will give the pool more connections at once")
    rollout.patched(
        "*** Add File: src/new.py", "+POOL = 10", "+", "+WAIT = 3",
        "*** Update File: src/db.py", "@@ def pool():",
        " line 4", "-line 5", "+line five", " line 6", "+*** line six", " line 7",
        "@@", " line 30", "-line 31", " line 32",
        "*** Delete File: gone.py",
        "*** Update File: README.md", "*** Move to: docs/notes.md", "@@", "-notes", "+the notes",
        "*** End of File",
    )  # fmt: skip
    rollout.said("assistant", ANSWER)
    text = text_of(1, 60).replace("line 5\n", "line five\n")
    write(folder, {FILE: text.replace("line 6\n", "line 6\n*** line six\n")})
    write(folder, {"src/new.py": "POOL = 10\n\nWAIT = 3\n", "docs/notes.md": "the notes\n"})
    found = anchors(rollout)
    assert found.pop(ANSWER) == [("src/new.py", (1, 3)), (FILE, (5, 7)), ("docs/notes.md", (1, 1))]
    assert not any(found.values())


CALLS: dict[str, tuple[dict[str, Any], bool]] = {
    "arguments": ({"arguments": json.dumps({"input": "{patch}"})}, True),
    "of another tool": ({"name": "shell", "input": "{patch}"}, False),
    "no text": ({"input": 7}, False),
    "no arguments": ({"arguments": json.dumps([1])}, False),
    "broken arguments": ({"arguments": "{"}, False),
    "arguments of a number": ({"arguments": 3}, False),
}


@pytest.mark.parametrize("name", CALLS)
def test_each_form_of_a_call_of_codex(folder: Path, name: str) -> None:
    payload, is_read = CALLS[name]
    patch = f"*** Begin Patch\n*** Update File: {FILE}\n+line 7\n*** End Patch"
    filled = json.loads(json.dumps(payload))
    for member, value in filled.items():
        if isinstance(value, str):
            whole = json.dumps(patch)[1:-1]
            filled[member] = value.replace("{patch}", whole if member == "arguments" else patch)
    rollout = Rollout(folder)
    rollout.add("response_item", **{"type": "function_call", "name": "apply_patch", **filled})
    rollout.said("assistant", ANSWER)
    assert anchors(rollout) == {ANSWER: [(FILE, (7, 7))] if is_read else []}


@pytest.mark.parametrize("after", ["nothing", "POOL = 100\n", "POOL = 10\nline\nPOOL = 10\n", None])
def test_an_edit_that_does_not_stand_once_in_its_file_is_none(
    folder: Path, after: str | None
) -> None:
    transcript = Transcript(folder)
    transcript.said("assistant", "The pool of the database has ten connections", "m1")
    transcript.used("m1", "Edit", file_path=str(folder / FILE), new_string="POOL = 10")
    if after is None:
        (folder / FILE).unlink()
    else:
        write(folder, {FILE: after})
    assert list(anchors(transcript).values()) == [[]]


def test_files_outside_and_bad_edits_are_passed_over(folder: Path) -> None:
    (folder.parent / "other.py").write_text("POOL = 10\n")
    (folder / "link.py").symlink_to(folder.parent / "other.py")
    transcript = Transcript(folder)
    transcript.said("assistant", "See ../other.py, link.py, /etc/hosts and none.py for it", "m1")
    for path in (str(folder.parent / "other.py"), "link.py", "a\0b", 5, None):
        transcript.used("m1", "Edit", file_path=path, new_string="POOL = 10\n")
    transcript.used("m1", "Edit", file_path=FILE, new_string=7)
    transcript.used("m1", "MultiEdit", file_path=FILE, edits=[3, {"new_string": "line 7\n"}])
    assert list(anchors(transcript).values()) == [[(FILE, (7, 7))]]


def test_a_text_is_anchored_to_the_files_it_names(folder: Path) -> None:
    transcript = Transcript(folder)
    text = f"The limits stand in {FILE}:10-30, and README.md explains them. See example.com too."
    transcript.said("user", text)
    assert anchors(transcript) == {text: [(FILE, (10, 30)), ("README.md", None)]}


def test_a_file_that_was_written_after_the_turn_is_none(folder: Path) -> None:
    transcript = Transcript(folder)
    transcript.said("user", f"The limits of the service stand in {FILE} for now")
    os.utime(folder / FILE)
    assert list(anchors(transcript).values()) == [[]]


def test_lines_that_a_file_does_not_have_cost_no_turn(folder: Path) -> None:
    transcript = Transcript(folder)
    transcript.said("user", f"The limits of the service stand in {FILE}:90-95 for now")
    assert list(anchors(transcript).values()) == [[]]


def test_an_import_by_hand_takes_no_anchors(folder: Path) -> None:
    transcript = Transcript(folder)
    transcript.said("user", f"The limits of the service stand in {FILE} for now")
    with vestig.open(":memory:", embedder=HashingEmbedder(32)) as store:
        import_files(store._session, checked(ImportRequest, {"files": transcript.path}))
        (memory,) = store.list()
        assert list(store.anchors.show(memory.id)) == []
