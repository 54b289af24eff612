"""Each intervention of the table in docs/concepts.md acts where its definition holds, and the
outcome says what was done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import vestig
from scripted import Opener
from vestig.recall.layouts import render
from vestig.testing import FrozenClock

_FACT = "The kiln at the quay fires at 900 degrees on Fridays."


@pytest.mark.parametrize(
    "again",
    [
        f"  {_FACT}\n",
        _FACT.replace(" ", "  "),
        _FACT.replace("kiln", "ki\u00adln"),
        _FACT.replace("fires", "\ufb01res"),
    ],
)
def test_an_equal_normal_form_is_an_exact_duplicate(store: vestig.Vestig, again: str) -> None:
    first = store.commit(_FACT)
    outcome = store.commit(again)
    assert (outcome.outcome, outcome.matched_memory_id) == ("EXACT_DUPE", first.memory_id)
    assert store.get(str(first.memory_id)).content == _FACT


def test_an_equal_canonical_form_is_a_near_duplicate(opener: Opener) -> None:
    store = opener(vectors={})
    first = store.commit(_FACT)
    outcome = store.commit("please remember that the kiln at the quay fires at 900 °C on Fridays!")
    assert outcome.outcome == "INSERTED_NEW"
    again = "the kiln at the quay fires at nine hundred degrees on Fridays!"
    outcome = store.commit(again)
    assert (outcome.outcome, outcome.matched_memory_id) == ("NEAR_DUPE", first.memory_id)
    assert again in str([one.payload for one in store.events(str(first.memory_id))])


@pytest.mark.parametrize("text", ["ok, thx", "…", "a\x00b is no text of a note"])
def test_a_refusal_has_its_reason(store: vestig.Vestig, text: str) -> None:
    outcome = store.commit(text)
    assert (outcome.outcome, outcome.memory_id) == ("REJECTED_HYGIENE", None)
    assert len(outcome.hygiene_reasons) == 1


def test_a_mask_and_an_echo_name_their_characters(store: vestig.Vestig) -> None:
    first = store.commit(_FACT)
    shown = render(store.recall("kiln", limit=1), "text")
    text = f"The password of the kiln is Kx9!mmQ2.\n{shown}"
    outcome = store.commit(text)
    (masked,) = outcome.masked
    assert masked.places == (f"content[{text.index('Kx9')}:{text.index('.')}]",)
    kept = "The password of the kiln is [secret:password]."
    assert store.get(str(outcome.memory_id)).content == kept
    assert outcome.echoes == (first.memory_id,)
    spans = [one[len("content[") : -1].split(":") for one in outcome.echo_places]
    taken = "".join(f"{kept}\n{shown}"[int(start) : int(end)] for start, end in spans)
    assert "".join(taken.split()) == "".join(shown.split())


def test_an_end_is_named(store: vestig.Vestig, clock: FrozenClock) -> None:
    first = store.commit("blue", key="kiln.colour")
    clock.move(days=1)
    second = store.commit("green", key="kiln.colour")
    assert second.superseded == (first.memory_id,)
    third = store.commit(_FACT, supersedes=[str(second.memory_id)])
    assert third.superseded == (second.memory_id,)


def test_what_files_lose_is_counted(opener: Opener, tmp_path: Path) -> None:
    store = opener()
    note = tmp_path / "2026-03-17 kiln.md"
    note.write_text(f"---\ncover: x.png\n---\n# Kiln\x07\n\n{_FACT}\n\nIt is red.\n")
    report = store.import_(note)
    assert report.left_out == {"front matter field": 1, "control character": 1}
    (memory,) = store.list()
    assert (memory.metadata["time_from"], memory.t_valid.day) == ("file_name", 17)
    note.write_text("# Kiln\n\nIt is green.\n")
    assert store.import_(note).ended == 1
    said = "<system-reminder>\nBe kind.\n</system-reminder>\n\nHow hot is the kiln today?"
    line = {"type": "user", "uuid": "u", "sessionId": "s", "timestamp": "2026-03-02T10:00:00Z"}
    log = tmp_path / "s.jsonl"
    log.write_text(json.dumps({**line, "message": {"role": "user", "content": said}}))
    assert store.import_(log).left_out == {"injected context": 1}
    assert "How hot is the kiln today?" in [one.content for one in store.list()]


def test_what_a_read_folds_names_the_others(store: vestig.Vestig) -> None:
    ids = [
        store.commit("The kiln is too hot", session_id=name, sequence=0).memory_id
        for name in ("s1", "s2")
    ]
    found = store.recall("is the kiln hot?")
    assert found.counts.folded == 1
    assert {found[0].id, *(one.id for one in found[0].repeats)} == set(ids)
