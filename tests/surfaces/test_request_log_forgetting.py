"""What is forgotten does not come back by the log of requests, whichever server logged it."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import vestig
from served import serving

WORD = "Quillfeather"


def _bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def _payloads(folder: Path) -> list[str | None]:
    import apsw

    with apsw.Connection(str(folder / "ledger.sqlite")) as conn:
        return [row[0] for row in conn.execute('SELECT payload FROM requests ORDER BY "row"')]


@pytest.mark.slow
@pytest.mark.parametrize("ask", ["recall", "context", "commit again"])
def test_no_queue_writes_back_what_was_forgotten(tmp_path: Path, ask: str) -> None:
    folder = tmp_path / "store"
    with (
        serving(folder, audit_payloads=True) as one,
        serving(folder, audit_payloads=True) as other,
    ):
        id = one.commit(f"The gate opens to the word {WORD} alone.")
        other.commit("The harbour crane lifts forty tonnes.")
        time.sleep(1.5)  # these are written
        for site in (one, other):
            if ask == "commit again":
                site.commit(f"The gate opens to the word {WORD} alone.")
            else:
                body: dict[str, object] = {"query": f"which word opens the gate, {WORD}?"}
                if ask == "context":
                    body["context"] = True
                assert site.post("recall", body).status == 200
        assert one.post("forget", {"ids": id, "confirm": True}).document["residues"] == 0
        assert other.post("recall", {"query": "which word opens the gate?"}).status == 200
        assert other.post("recall", {"query": "what lifts forty tonnes?"}).status == 200
        time.sleep(1.8)
        assert WORD.encode() not in _bytes(folder)
    assert WORD.encode() not in _bytes(folder)
    written = _payloads(folder)
    assert len(written) == 7, "every request has its row"
    assert any(text and "forty tonnes" in text for text in written), "what came later is logged"


def test_a_request_that_began_before_and_ended_after_is_logged_without_its_text(
    tmp_path: Path,
) -> None:
    from vestig.changes import RequestRecord
    from vestig.ids import new_id

    with vestig.open(tmp_path / "store") as store:
        id = store.commit(f"The gate opens to the word {WORD} alone.").memory_id
        session = store._session
        began = store.admin.stats().seq
        store.forget(id)
        forgotten = store.admin.stats().seq

        def record(began_seq: int, payload: str) -> RequestRecord:
            # the clock may have been set back since
            return RequestRecord(
                id=new_id("req"), namespace="default", route="recall", duration_us=1, status=200,
                began_us=session.now_us() + 10**9, began_seq=began_seq, payload=payload,
            )  # fmt: skip

        session.ledger.log_requests(
            [
                record(began, f'{{"response": "{WORD}"}}'),
                record(forgotten, f'{{"request": "{id}"}}'),
                record(forgotten, '{"request": "another"}'),
            ]
        )
    assert _payloads(tmp_path / "store") == [None, None, '{"request": "another"}']


@pytest.mark.slow
def test_what_is_read_while_a_forgetting_waits_its_turn_is_logged_without_its_text(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "store"
    with (
        serving(folder, audit_payloads=True) as one,
        serving(folder, audit_payloads=True) as other,
        ThreadPoolExecutor(1) as pool,
    ):
        id = one.commit(f"The gate opens to the word {WORD} alone.")
        time.sleep(1.5)  # this is written
        with other.store._session.ledger.writer(make=False):
            forgotten = pool.submit(one.post, "forget", {"ids": id, "confirm": True})
            time.sleep(0.3)
            # no id in it says what the words are from
            asked = {"query": f"is it {WORD}?", "where": {"authors": "Nobody"}}
            assert other.post("recall", asked).document["results"] == []
        assert forgotten.result().document["residues"] == 0
        time.sleep(1.8)
    assert WORD.encode() not in _bytes(folder)


def test_the_scope_of_a_deleted_item_goes_from_the_log_with_its_last_item(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with serving(folder, audit_payloads=True) as one:
        for key in ("tea", "cup"):
            one.post("item/put", {"key": key, "value": 1, "scope": "users/wilhelmina-quist"})
        one.post("item/list", {"scope": "users/wilhelmina-quist"})
    # what a server logged is written when it ends
    with serving(folder, audit_payloads=True) as one:
        one.post("item/delete", {"keys": "tea", "scope": "users/wilhelmina-quist", "confirm": True})
    assert any("wilhelmina" in str(one) for one in _payloads(folder))
    with serving(folder, audit_payloads=True) as one:
        one.post("item/delete", {"keys": "cup", "scope": "users/wilhelmina-quist", "confirm": True})
    written = _payloads(folder)
    assert written
    assert not [one for one in written if "wilhelmina" in str(one)]
