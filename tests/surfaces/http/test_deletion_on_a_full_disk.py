"""What a server says where its disk is full after a deletion: that it happened, what is left to do,
and how over HTTP."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from served import Site, serving
from vestig.errors import StoreFullError
from vestig.memories import forget
from vestig.session.kept_answers import KeptAnswers
from vestig.store import erasure

KEY = {"Idempotency-Key": "delete-1"}
FULL = StoreFullError("/srv/memory: the disk is full; nothing was changed")
GC = "POST /api/memory/housekeeping/gc"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with serving(tmp_path / "store") as site:
        assert site.post("item/put", {"key": "pin", "value": "4711", "scope": "u"}).status == 200
        site.commit("Xenia keeps the spare key in the attic", scope="u")
        yield site


def full_before_search(patch: pytest.MonkeyPatch) -> None:
    def run(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    patch.setattr(erasure._Erase, "run", run)


def full_after_search(patch: pytest.MonkeyPatch) -> None:
    def drop(*_: object) -> None:
        raise FULL

    patch.setattr(erasure, "drop_patterns", drop)


def full_before_it_follows(patch: pytest.MonkeyPatch) -> None:
    def follow(*_: object) -> None:
        raise FULL

    patch.setattr(forget, "catch_up", follow)


@pytest.mark.parametrize("full", [full_before_search, full_after_search, full_before_it_follows])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("item/delete", {"keys": ["pin"], "scope": "u", "confirm": True}),
        ("forget", {"where": {"scope": "u"}, "confirm": True}),
    ],
)
def test_a_deletion_that_was_not_proved_says_that_it_happened_and_how_it_ends(
    site: Site, path: str, body: dict[str, Any], full: Any
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        full(patch)
        reply = site.post(path, body, KEY)
        assert (reply.status, reply.code) == (500, "forget-incomplete")
        detail = reply.document["detail"]
        assert "deleted, and no read returns it any more" in detail
        assert "its disk is full" in detail
        assert GC in detail
        assert "vestig " not in detail, "a client over HTTP has no command line"
        assert "/srv" not in detail
        (left,) = [one for one in site.get("doctor").document["findings"] if one["level"] != "ok"]
        assert GC in left["detail"]
        if full is not full_before_it_follows:
            again = site.post(path, body, KEY)
            assert (again.status, again.code) == (500, "forget-incomplete"), "it is not proved"
    assert site.post("housekeeping/gc", {}).status == 200
    assert {one["level"] for one in site.get("doctor").document["findings"]} == {"ok"}


def test_the_same_request_again_proves_what_the_first_could_not(site: Site) -> None:
    body = {"keys": ["pin"], "scope": "u", "confirm": True}
    with pytest.MonkeyPatch.context() as patch:
        full_before_search(patch)
        assert site.post("item/delete", body, KEY).status == 500
    report = site.post("item/delete", body, KEY)
    assert (report.status, report.document["residues"]) == (200, 0)
    assert report.document["files_scanned"] > 0
    assert {one["level"] for one in site.get("doctor").document["findings"]} == {"ok"}
    idle = site.post("item/delete", body)
    assert idle.document["files_scanned"] == 0, "nothing is searched for where all is proved"


def test_an_answer_that_is_not_kept_says_that_the_request_was_done(site: Site) -> None:
    body = {"keys": ["pin"], "scope": "u", "confirm": True}
    with pytest.MonkeyPatch.context() as patch:

        def keep(*_: object) -> None:
            raise FULL

        patch.setattr(KeptAnswers, "_keep", keep)
        reply = site.post("item/delete", body, KEY)
    assert (reply.status, reply.code) == (507, "store-full"), reply
    assert reply.document["detail"].startswith("the request was done")
    assert site.get("item/get?key=pin&scope=u").status == 404


def test_health_is_degraded_while_the_disk_is_full(site: Site) -> None:
    with pytest.MonkeyPatch.context() as patch:

        def commit(**_: object) -> None:
            raise FULL

        patch.setattr(site.store, "commit", commit)
        assert site.post("commit", {"content": "The gate is open at night"}).status == 507
        health = site.get("health")
        assert (health.status, health.document["status"]) == (200, "degraded")
        assert health.document["ledger"] == "store-full"
    assert site.post("commit", {"content": "The gate is open at night"}).status == 201
    assert site.get("health").document["status"] == "healthy"
