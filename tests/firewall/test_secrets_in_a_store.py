"""No secret reaches a file, a log, a metric, a prompt or an error of a store."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

import vestig
from benchmarks.firewall import Maker
from scripted import Opener
from served import serving
from vestig.firewall import masked_text
from vestig.testing import HashingEmbedder
from vestig.types import CommitOutcomeKind

_TOKEN = "ghp_" + "9fK2mQ7xLw3Zt8RbV5nYc1Hd6Js4Gp0A" + "x8Yz"
_TEXT = "The password of the harbor router is Kx9!mmQ2"
_MASKED = "The password of the harbor router is [secret:password]"


class _Listening(HashingEmbedder):
    """Keeps what it was asked to embed."""

    def __init__(self) -> None:
        super().__init__(64)
        self.texts: list[str] = []

    def embed(self, texts: Any) -> Any:
        self.texts += texts
        return super().embed(texts)


def _bytes_of(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_a_commit_masks_and_says_so(store: vestig.Vestig) -> None:
    outcome = store.commit(_TEXT, author=f"see {_TOKEN}", metadata={"pw": "tulip"})
    assert outcome.outcome is CommitOutcomeKind.INSERTED_NEW
    assert {(one.rule, one.count) for one in outcome.masked} == {("password", 2), ("github", 1)}
    memory = store.show(str(outcome.memory_id)).memory
    assert memory.content == _MASKED
    assert memory.author == "see [secret:github]"
    assert memory.metadata["pw"] == "[secret:password]"
    counters = store._session.metrics.snapshot()
    assert counters['vestig_secrets_total{action="masked",rule="github"}'] == 1
    assert counters['vestig_secrets_total{action="masked",rule="password"}'] == 2


def test_what_is_a_secret_in_one_argument_is_one_in_the_others(store: vestig.Vestig) -> None:
    outcome = store.commit(_TEXT, title="Router Kx9!mmQ2", metadata={"note": "so Ada: Kx9!mmQ2"})
    memory = store.show(str(outcome.memory_id)).memory
    assert (memory.title, memory.metadata["note"]) == (
        "Router [secret:password]",
        "so Ada: [secret:password]",
    )
    (masked,) = outcome.masked
    assert set(masked.places) == {"content[37:45]", "title[7:15]", "metadata.note[8:16]"}
    with pytest.raises(vestig.ValidationError, match="tags: expected text without a secret"):
        store.commit(_TEXT, tags=["Kx9!mmQ2"])


@pytest.mark.parametrize(
    ("secret", "title"),
    [
        ("tulip", "A tulip garden"),
        ("20240501", "Since 20240501"),
        ("Kx9!mmQ2", "Router AKx9!mmQ2"),
        ("blue-heron", "The blue-heron lamp"),
    ],
)
def test_a_word_that_is_a_password_too_stays_where_it_is_a_word(
    store: vestig.Vestig, secret: str, title: str
) -> None:
    outcome = store.commit("The shed lamp", metadata={"password": secret}, title=title)
    assert outcome.masked
    assert store.show(str(outcome.memory_id)).memory.title == title


def test_a_condition_with_a_secret_of_its_text_is_refused(store: vestig.Vestig) -> None:
    with pytest.raises(vestig.ValidationError, match="when: expected a condition without secrets"):
        store.rules.add(_TEXT, 'text ~ "*Kx9!mmQ2*"', "deny")
    rule = store.rules.add(_TEXT, "tool = Bash", "deny")
    with pytest.raises(vestig.ValidationError, match="unless: expected a condition without"):
        store.rules.edit(rule.id, text=f"{_TEXT} now", unless='text ~ "*Kx9!mmQ2*"')
    assert store.rules.edit(rule.id, do="ask").when == "tool = Bash"


def test_texts_that_differ_in_the_secret_alone_are_two_memories(store: vestig.Vestig) -> None:
    other = _TEXT.replace("Kx9!mmQ2", "Zz7#other")
    first = store.commit(_TEXT)
    outcomes = [store.commit(other), *store.commit_many([_TEXT, other])]
    assert {one.outcome for one in outcomes} == {CommitOutcomeKind.INSERTED_NEW}
    assert store.count() == 4
    shown = {one.content for one in store.list()}
    assert shown == {_TEXT.replace("Kx9!mmQ2", "[secret:password]")}
    # what is shown may have been either
    assert store.commit(shown.pop()).outcome is CommitOutcomeKind.INSERTED_NEW
    assert outcomes[0].memory_id != first.memory_id
    assert outcomes[0].similar[0].memory_id == first.memory_id


def test_one_text_twice_in_a_batch_is_one_memory(store: vestig.Vestig) -> None:
    first, second = store.commit_many([_TEXT, _TEXT])
    assert (first.memory_id, store.count()) == (second.memory_id, 1)


def test_a_turn_that_is_sent_again_is_the_same(store: vestig.Vestig) -> None:
    turn = {"session_id": "s1", "sequence": 4}
    first = store.commit(_TEXT, **turn)
    assert store.commit(_TEXT, **turn).memory_id == first.memory_id
    assert store.commit(_TEXT, session_id="s1", sequence=5).memory_id != first.memory_id


def test_another_secret_under_a_key_is_another_version(store: vestig.Vestig) -> None:
    first = store.commit(_TEXT, key="router")
    second = store.commit(_TEXT.replace("Kx9!mmQ2", "Zz7#other"), key="router")
    assert second.superseded == (first.memory_id,)
    one = store.items.put("login", {"password": "Kx9!mmQ2"})
    other = store.items.put("login", {"password": "Zz7#other"})
    assert (one.version, other.version, other.changed) == (1, 2, True)


def test_an_outcome_says_which_characters_were_masked(store: vestig.Vestig) -> None:
    text = f"Ünder the mat: {_TEXT}, and {_TOKEN}"
    outcome = store.commit(text, metadata={"db": [{"password": "tulip"}]}, title=f"see {_TOKEN}")
    given = {"content": text, "title": f"see {_TOKEN}", "metadata.db[0].password": "tulip"}
    found = []
    for one in outcome.masked:
        for place in one.places:
            name, _, span = place[:-1].rpartition("[")
            start, end = map(int, span.split(":"))
            found.append((one.rule, given[name][start:end]))
    assert sorted(found) == [
        ("github", _TOKEN),
        ("github", _TOKEN),
        ("password", "Kx9!mmQ2"),
        ("password", "tulip"),
    ]
    assert [one.count for one in outcome.masked] == [len(one.places) for one in outcome.masked]


def test_passages_of_a_document_that_differ_in_a_secret_are_all_kept(
    store: vestig.Vestig,
) -> None:
    told = "The crane on the quay lifts at most nine tonnes, says the man in the booth. " * 20
    part = f"# Door\n\nThe password of the door is Kx9!mmQ%d.\n\n{told}\n"
    added = store.add_document("\n".join(part % n for n in range(3)), source="doors", title="Doors")
    texts = [one.content for one in store.list(limit=50)]
    assert sum("[secret:password]" in one for one in texts) == 3
    assert added.added == len(texts)


def test_an_import_says_what_was_masked_and_cut(tmp_path: Path, store: vestig.Vestig) -> None:
    crane = store.commit("The crane on the quay lifts nine tonnes")
    id = str(crane.memory_id)
    day = store.show(id).memory.t_valid.date().isoformat()
    echo = f"[{id[4:12]}] {day}: The crane on the quay lifts nine tonnes"
    (tmp_path / "note.md").write_text(f"# Quay\n\n{_TEXT}.\n\n{echo}\n\nSays Omar.\n", "utf-8")
    report = store.import_(tmp_path / "note.md")
    assert (report.left_out["secret"], report.left_out["echo of a memory"]) == (1, 1)
    said = "\n".join(report.warnings)
    assert "masked 1 × password: content[" in said
    assert id in said
    lines = [json.dumps({"content": f"{_TEXT} on Monday"})]
    (tmp_path / "in.jsonl").write_text("\n".join(lines), "utf-8")
    again = store.import_(tmp_path / "in.jsonl")
    assert again.left_out["secret"] == 1
    assert any("line 1: masked 1 × password: content[37:45]" in one for one in again.warnings)


def test_a_path_that_holds_a_secret_is_refused(tmp_path: Path, store: vestig.Vestig) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / f"{_TOKEN}.md").write_text("# Tides\n\nThe tide table says noon.", "utf-8")
    (folder / "pier.md").write_text("# Pier\n\nThe lamp at the pier is green.", "utf-8")
    report = store.import_(folder)
    (error,) = report.errors
    assert error.message.endswith(
        "path: expected text without a secret, got one (github); leave it out"
    )
    assert report.passages == 1
    store.close()
    assert _TOKEN.encode() not in _bytes_of(tmp_path / "store")


def test_a_query_is_masked_with_a_warning(opener: Opener) -> None:
    embedder = _Listening()
    store = opener(embedder=embedder)
    store.commit("Deploys run on Fridays")
    asked = f"where is {_TOKEN} used?"
    for result in (
        store.recall(asked),
        store.search(asked),
        store.recall(messages=[{"role": "user", "content": asked}]),
        store.retrieve([{"role": "user", "content": asked}]).metadata,
        store.graph.search(asked),
    ):
        assert any("github" in warning for warning in result.warnings), result
    many = store.recall_many([asked, "deploys?"])
    assert many[0].warnings
    assert not many[1].warnings
    assert not any(_TOKEN in text for text in embedder.texts)


@pytest.mark.parametrize("field", ["tags"])
def test_a_tag_with_a_secret_is_refused(store: vestig.Vestig, field: str) -> None:
    with pytest.raises(vestig.ValidationError, match=field) as caught:
        store.commit("Deploys run on Fridays", **{field: [_TOKEN]})
    assert _TOKEN not in str(caught.value)
    assert store.count() == 0
    counters = store._session.metrics.snapshot()
    assert counters['vestig_secrets_total{action="refused",rule="github"}'] == 1


def test_an_update_masks_and_finds_its_own_text_again(store: vestig.Vestig) -> None:
    id = store.commit("Deploys run on Fridays").memory_id
    changed = store.update(str(id), content=_TEXT)
    assert changed.outcome is not None
    assert [(one.rule, one.count) for one in changed.outcome.masked] == [("password", 1)]
    assert store.show(changed.memory_id).memory.content == _MASKED
    assert not store.update(changed.memory_id, content=_TEXT).changed
    store.update(changed.memory_id, metadata={"note": _TOKEN})
    assert store.show(changed.memory_id).memory.metadata["note"] == "[secret:github]"


def test_reject_refuses_the_text_and_names_the_rule(opener: Opener) -> None:
    store = opener(config={"firewall": {"secrets": "reject"}})
    outcome = store.commit(_TEXT)
    assert outcome.outcome is CommitOutcomeKind.REJECTED_HYGIENE
    assert outcome.hygiene_reasons == ("Content contains a secret (password)",)
    with pytest.raises(vestig.ValidationError, match=r"^title: .*\(github\)"):
        store.commit("Deploys run on Fridays", title=_TOKEN)
    with pytest.raises(vestig.ValidationError, match=r"^query: .*\(github\)"):
        store.recall(_TOKEN)
    id = str(store.commit("Deploys run on Fridays").memory_id)
    with pytest.raises(vestig.HygieneError, match="contains a secret"):
        store.update(id, content=_TEXT)
    assert store.count() == 1


def test_off_is_a_finding_of_doctor(opener: Opener) -> None:
    store = opener(config={"firewall": {"secrets": "off"}})
    id = str(store.commit(_TEXT).memory_id)
    assert store.show(id).memory.content == _TEXT
    findings = {one.check: one.level for one in store.admin.doctor().findings}
    assert findings["secrets"] == "finding"


def test_a_file_that_was_merely_found_cannot_let_secrets_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vestig.yaml").write_text("firewall:\n  secrets: off\n  echo: false\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(vestig.ConfigError, match=r"firewall\.secrets"):
        vestig.open(tmp_path / "s", embedder=HashingEmbedder())


def _use_everything(store: vestig.Vestig, secret: str, embedded: str) -> None:
    """Gives a secret to every argument that takes text."""
    text = f"The harbor service uses {embedded}"
    one = store.commit(
        f"{text} since May",
        author=embedded,
        title=embedded,
        metadata={"note": embedded, "deep": {"secret": secret}},
        provenance={"artifact_ref": embedded},
        entities=[{"name": "Harbor", "type": "ORG", "evidence": embedded}],
        keywords=[embedded],
        trigger="problem-solution",
        hypothetical_queries=[f"What is {embedded}?"],
        claim={"subject": "Ada", "fact_type": "WORKS_AT", "object": f"Acme {embedded}"},
        session_id="s1",
    )
    store.commit_many([{"content": f"{text} in June", "session_id": "s1"}, f"{text} in July"])
    two = store.commit(f"{text} in August")
    store.pin(str(one.memory_id), reason=embedded)
    store.unpin(str(one.memory_id), reason=embedded)
    store.graph.link(str(one.memory_id), str(two.memory_id), evidence=embedded)
    store.supersede(str(one.memory_id), str(two.memory_id), reason=embedded)
    three = store.update(str(two.memory_id), content=f"{text} in September")
    store.deprecate(three.memory_id, reason=embedded)
    store.recall(text)
    store.retrieve([{"role": "user", "content": text}])
    for bad in (
        lambda: store.commit(text, tags=[embedded]),
        lambda: store.commit(text, trigger=embedded),
        lambda: store.commit(text, t_valid=embedded),
        lambda: store.show(embedded),
        lambda: store.recall(text, limit=embedded),
    ):
        with pytest.raises(vestig.VestigError) as caught:
            bad()
        assert secret not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_no_secret_is_in_any_file_log_metric_or_error(
    tmp_path: Path, opener: Opener, caplog: pytest.LogCaptureFixture, seed: int
) -> None:
    caplog.set_level(logging.DEBUG)
    trace = tmp_path / "trace.jsonl"
    cases = [one for one in Maker(seed).secrets(400) if one.secret and "\n" not in one.secret]
    found = [one for one in cases if one.secret not in masked_text(one.text)[0]][::23]
    embedder = _Listening()
    store = opener("store", embedder=embedder, config={"telemetry": {"trace_file": str(trace)}})
    for one in found:
        assert one.secret is not None
        _use_everything(store, one.secret, one.text.replace("\n", " ").replace('"', "'"))
    metrics = str(store._session.metrics.snapshot())
    store.close()
    kept = _bytes_of(tmp_path) + metrics.encode() + caplog.text.encode()
    kept += "\n".join(embedder.texts).encode()
    assert b"[secret:" in kept
    for one in found:
        assert one.secret is not None
        assert one.secret.encode() not in kept, one


def test_a_server_that_logs_texts_logs_no_secret(tmp_path: Path) -> None:
    with serving(tmp_path / "store", audit=True, audit_payloads=True) as site:
        reply = site.ask("POST", "commit", {"content": _TEXT, "title": f"see {_TOKEN}"})
        assert reply.status == 201
        assert {one["rule"] for one in reply.document["masked"]} == {"password", "github"}
        refused = site.ask("POST", "commit", {"content": "Deploys run", "tags": [_TOKEN]})
        assert refused.status == 422
        assert _TOKEN.encode() not in refused.body
        asked = site.ask("POST", "recall", {"query": f"where is {_TOKEN} used?"})
        assert any("github" in one for one in asked.document["warnings"])
        metrics = site.ask("GET", "metrics").body
        assert b'vestig_secrets_total{action="masked",rule="password"} 1' in metrics
    kept = _bytes_of(tmp_path) + metrics
    assert b"[secret:github]" in kept
    assert _TOKEN.encode() not in kept
    assert b"Kx9!mmQ2" not in kept


def test_a_key_with_a_secret_is_refused(store: vestig.Vestig) -> None:
    with pytest.raises(vestig.ValidationError, match=r"^key: .*\(github\)") as caught:
        store.commit("Deploys run on Fridays", key=_TOKEN)
    assert _TOKEN not in str(caught.value)
    assert store.count() == 0
