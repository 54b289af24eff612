"""Secrets that were stored before are found, and taken out with the bytes that hold them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import vestig
from scripted import Opener
from vestig.commit import pipeline
from vestig.errors import VestigError
from vestig.testing import FrozenClock
from vestig.types import Status

_OFF = {"firewall": {"secrets": "off"}}
_TEXT = "The password of the harbor router is {}"
_SECRETS = ("Kx9!mmQ2", "Boat2031x!", "Regen#77seil", "Fjord_1984x")


def _bytes_of(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def _filled(store: vestig.Vestig) -> dict[str, str]:
    """Memories with a secret: in the text, in metadata, superseded, archived and pinned."""
    one, two, three, four = _SECRETS
    ids = {
        "text": store.commit(_TEXT.format(one), author="Ada", tags=["infra"], source="handbook"),
        "metadata": store.commit("The pier lamp is green", metadata={"login": {"password": two}}),
        "archived": store.commit(f"Passwort: {three} gilt am Steg", metadata={"floor": 2}),
    }
    store.archive(str(ids["archived"].memory_id))
    store.pin(str(ids["text"].memory_id))
    old = store.commit(f"login: admin, password: {four}")
    new = store.commit("The login moved to another server", supersedes=[str(old.memory_id)])
    store.commit("Deploys run on Fridays")
    return {name: str(one.memory_id) for name, one in ids.items()} | {
        "old": str(old.memory_id),
        "new": str(new.memory_id),
    }


def test_they_are_listed_without_a_text(opener: Opener) -> None:
    store = opener(config=_OFF)
    ids = _filled(store)
    report = store.admin.secrets()
    assert {one.memory_id for one in report} == {
        ids[name] for name in ("text", "metadata", "archived", "old")
    }
    assert report.evaluated == 6
    assert not any(secret in str(report.to_dict()) for secret in _SECRETS)
    assert store.admin.secrets(fix=True, dry_run=True).fixed == 0
    assert len(store.admin.secrets()) == 4


def test_fix_leaves_the_masked_text_and_no_byte_of_the_secret(
    tmp_path: Path, opener: Opener, clock: FrozenClock
) -> None:
    store = opener("store", config=_OFF)
    ids = _filled(store)
    clock.move(days=3)
    report = store.admin.secrets(fix=True)
    assert (report.fixed, report.errors) == (4, ())
    assert len(store.admin.secrets()) == 0
    kept = {one.content: one for one in store.list(where={"include_archived": True})}
    router = kept[_TEXT.format("[secret:password]")]
    assert (router.author, router.tags, router.pinned) == ("Ada", ("infra",), True)
    assert router.t_valid.isoformat().startswith("2026-03-18")
    assert {one.source for one in store.events(router.id)} >= {"handbook"}
    assert kept["The pier lamp is green"].metadata["login"] == {"password": "[secret:password]"}
    assert kept["Passwort: [secret:password] gilt am Steg"].status is Status.ARCHIVED
    assert ids["new"] in {one.id for one in kept.values()}
    for name in ("text", "metadata", "archived", "old"):
        with pytest.raises(vestig.NotFoundError, match="forgotten"):
            store.show(ids[name])
    assert [one for one in store.admin.doctor().findings if one.level == "damage"] == []
    store.close()
    data = _bytes_of(tmp_path)
    assert b"[secret:password]" in data
    for secret in _SECRETS:
        assert secret.encode() not in data


def test_a_rule_whose_text_is_masked_binds_on(opener: Opener) -> None:
    store = opener(config=_OFF)
    old = store.rules.add(_TEXT.format(_SECRETS[0]), "command = login", "deny", unless="tool = A")
    store.rules.check(command="login now")
    assert store.admin.secrets(fix=True).fixed == 1
    (rule,) = store.rules.list()
    assert rule.id != old.id
    assert (rule.when, rule.do, rule.unless) == ("command = login", "deny", "tool = A")
    assert (rule.text, rule.denied) == (_TEXT.format("[secret:password]"), 1)
    assert store.rules.test(command="login now").decision == "deny"


def _condition(store: vestig.Vestig, secret: str) -> None:
    store.rules.add(f"Never send {secret}", f'text ~ "*{secret}*"', "deny")


def _edited(store: vestig.Vestig) -> None:
    (rule,) = store.rules.list()
    store.rules.edit(rule.id, when='text ~ "*password of the harbor*"')


def _scope(store: vestig.Vestig, secret: str) -> None:
    store.commit("The shed is green", scope=f"team/{secret}")


def _moved(store: vestig.Vestig) -> None:
    (one,) = store.list(where={"scope_prefix": "team"})
    store.update(one.id, scope="yard")


def _item_key(store: vestig.Vestig, secret: str) -> None:
    store.items.put(f"gate {secret}", 1)


def _deleted(store: vestig.Vestig) -> None:
    store.items.delete([one.key for one in store.items.list()])


@pytest.mark.parametrize("teller", ["memory", "item"])
@pytest.mark.parametrize(
    ("hold", "resolve"),
    [(_condition, _edited), (_scope, _moved), (_item_key, _deleted)],
    ids=["condition", "scope", "key"],
)
def test_what_cannot_be_masked_is_found_again(
    tmp_path: Path, opener: Opener, teller: str, hold: Any, resolve: Any
) -> None:
    secret = _SECRETS[0]
    store = opener("store", config=_OFF)
    if teller == "memory":
        store.commit(_TEXT.format(secret))
    else:
        store.items.put("router", {"password": secret}, scope="lamps")
    also = store.commit("The router hangs in the office", title=f"Router {secret}")
    hold(store, secret)
    for _ in range(2):
        report = store.admin.secrets(fix=True)
        assert len(report.errors) == 2
        assert any("see the other errors first" in one.message for one in report.errors)
        assert len(store.admin.secrets()) == 2
    # what can be masked is, at once
    assert also.memory_id not in {one.id for one in store.list()}
    resolve(store)
    assert store.admin.secrets(fix=True).errors == ()
    assert len(store.admin.secrets()) == 0
    store.close()
    assert secret.encode() not in _bytes_of(tmp_path)


def test_what_was_interrupted_goes_on(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opener(config=_OFF)
    _filled(store)
    commit, calls = pipeline.commit, list[Any]()

    def fails_at_the_second(*args: Any, **named: Any) -> Any:
        calls.append(args)
        if len(calls) == 2:
            raise RuntimeError("the process ends here")
        return commit(*args, **named)

    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "commit", fails_at_the_second)
        with pytest.raises(RuntimeError, match="ends here"):
            store.admin.secrets(fix=True)
    assert len(store.admin.secrets()) == 4
    assert store.admin.secrets(fix=True).errors == ()
    assert len(store.admin.secrets()) == 0
    texts = sorted(one.content for one in store.list(where={"include_archived": True}))
    assert texts == [
        "Deploys run on Fridays",
        "Passwort: [secret:password] gilt am Steg",
        "The login moved to another server",
        _TEXT.format("[secret:password]"),
        "The pier lamp is green",
    ]


def test_one_that_cannot_be_masked_is_named_and_stays(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opener(config=_OFF)
    id = store.commit(_TEXT.format(_SECRETS[0])).memory_id

    def refuses(*_: Any, **__: Any) -> Any:
        raise VestigError("no room")

    monkeypatch.setattr(pipeline, "commit", refuses)
    report = store.admin.secrets(fix=True)
    assert report.fixed == 0
    assert [error.message for error in report.errors] == [f"{id}: no room"]
    assert len(store.admin.secrets()) == 1


def test_an_export_with_secrets_is_masked_when_it_comes_in(tmp_path: Path, opener: Opener) -> None:
    careless = opener("careless", config=_OFF)
    _filled(careless)
    careless.export(tmp_path / "out.jsonl")
    careless.close()
    store = opener("careful")
    report = store.import_(tmp_path / "out.jsonl")
    assert any("4 memories held secrets" in warning for warning in report.warnings)
    assert len(store.admin.secrets()) == 0
    assert _TEXT.format("[secret:password]") in {one.content for one in store.list()}
    again = store.import_(tmp_path / "out.jsonl", merge=True)
    assert again.memories == 0
    store.close()
    for secret in _SECRETS:
        assert secret.encode() not in _bytes_of(tmp_path / "careful")


def test_messages_and_memories_of_a_file_are_masked(tmp_path: Path, opener: Opener) -> None:
    lines = [
        f'{{"content": "{_TEXT.format(_SECRETS[0])}"}}',
        f'{{"content": "the pier is open", "metadata": {{"password": "{_SECRETS[1]}"}}}}',
    ]
    (tmp_path / "in.jsonl").write_text("\n".join(lines), "utf-8")
    store = opener("careful")
    assert store.import_(tmp_path / "in.jsonl").memories == 2
    assert len(store.admin.secrets()) == 0
    store.close()
    for secret in _SECRETS:
        assert secret.encode() not in _bytes_of(tmp_path / "careful")


def test_a_key_that_is_a_secret_is_left_out(tmp_path: Path, opener: Opener) -> None:
    store = opener(config=_OFF)
    secret = _SECRETS[1]
    store.commit("The pier lamp is green", key=f"password: {secret}", tags=["pier"])
    report = store.admin.secrets(fix=True)
    assert (report.fixed, report.errors) == (1, ())
    (memory,) = store.list()
    assert (memory.content, memory.key, memory.tags) == ("The pier lamp is green", None, ("pier",))
    assert len(store.admin.secrets()) == 0
    store.close()
    assert secret.encode() not in _bytes_of(tmp_path)


def test_a_secret_is_masked_wherever_it_stands_again(tmp_path: Path, opener: Opener) -> None:
    store = opener("store", config=_OFF)
    secret, word = _SECRETS[0], "tulip"
    store.commit(
        _TEXT.format(secret),
        title=f"Router {secret}",
        metadata={"note": f"Ada says {secret}", secret: 1},
        keywords=[secret, "router"],
        tags=["infra", secret],
        source=f"sheet {secret}",
        actor=secret,
    )
    boat = store.commit("The boat lies at the pier")
    store.deprecate(str(boat.memory_id), reason=f"{secret} is gone")
    typed = store.commit(f"Type {secret} at the pier")
    store.pin(str(typed.memory_id), reason=f"{secret} is asked often")
    store.commit("The shed is open", metadata={"password": word}, title=f"A {word} garden")
    store.commit(f"The {word}s are in bloom")
    store.items.put("router", {"hint": f"starts like {secret}"})
    assert len(store.admin.secrets()) == 5
    report = store.admin.secrets(fix=True)
    assert (report.fixed, report.items_fixed, report.errors) == (4, 1, ())
    assert len(store.admin.secrets()) == 0
    titles = {one.title for one in store.list()}
    assert titles == {None, "Router [secret:password]", f"A {word} garden"}
    assert f"The {word}s are in bloom" in {one.content for one in store.list()}
    assert store.items.get("router").value == {"hint": "starts like [secret:password]"}
    store.close()
    assert secret.encode() not in _bytes_of(tmp_path)


def test_what_no_marker_can_stand_in_is_named_with_what_to_do(
    tmp_path: Path, opener: Opener
) -> None:
    store = opener("store", config=_OFF)
    secret = _SECRETS[0]
    rule = store.rules.add(_TEXT.format(secret), f'text ~ "*{secret}*"', "deny")
    scoped = store.commit("The pier lamp is green", scope=f"pier/{secret}")
    kept = store.commit("Deploys run on Fridays", entities=[f"ITEM:{secret}"])
    assert {one.memory_id or one.id for one in store.admin.secrets()} >= {
        rule.id,
        scoped.memory_id,
        kept.entities[0],
    }
    report = store.admin.secrets(fix=True)
    assert report.fixed == 0
    said = [error.message for error in report.errors]
    assert len(said) == len(report)
    for id, call in (
        (rule.id, "rules.edit"),
        (scoped.memory_id, f'update("{scoped.memory_id}", scope'),
        (kept.entities[0], "purge_entities"),
    ):
        assert any(str(id) in one and call in one for one in said)
    assert not any(secret in one for one in said)
    assert store.rules.check(text=f"send {secret}").decision == "deny"
    store.rules.edit(rule.id, when='text ~ "*password*"')
    store.update(str(scoped.memory_id), scope="pier")
    store.graph.expire_entity(kept.entities[0])
    store.graph.purge_entities(kept.entities[0])
    assert store.admin.secrets(fix=True).errors == ()
    assert len(store.admin.secrets()) == 0
    store.close()
    assert secret.encode() not in _bytes_of(tmp_path)
