"""What is stored and asked stands in answers that were asked for, and nowhere else."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from served import serving

MARK = "Zanzibarquokka"
TEXT = f"The {MARK} keeps the spare key under the blue pot"


def test_problems_metrics_and_logs_hold_no_text(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(tmp_path / "store") as site:
        fields = {"tags": [f"{MARK}-tag"], "author": f"{MARK} Author", "metadata": {"m": MARK}}
        id = site.commit(TEXT, entities=[f"PERSON:{MARK}"], **fields)
        asked = {"query": f"who is {MARK}?"}
        assert site.post("recall", asked).document["results"]
        recall = site.store.recall

        def defect(*_: object, **__: object) -> None:
            raise RuntimeError(TEXT)

        problems = [
            site.post("recall", {**asked, "limit": 0}),
            site.post("recall", {**asked, "where": {"tags": [f"{MARK}-tag", None]}}),
            site.post("recall", {"query": [MARK]}),
            site.post("commit", {"content": [TEXT]}),
            site.post("commit", {"content": TEXT, "t_valid": 5}),
            site.post("commit", {"content": TEXT, "metadata": [MARK]}),
            site.post(
                "commit", f'{{"content": "{TEXT}", '.encode(), {"Content-Type": "application/json"}
            ),
            site.post("forget", {"where": {"tags": f"{MARK}-tag"}}),
            site.post("forget", {"where": {"authors": [MARK, " "]}, "confirm": True}),
            site.post("supersede", {"old": id, "new": id}),
            site.post("deprecate", {"id": "mem_00000000"}),
        ]
        site.store.recall = defect  # type: ignore[method-assign,assignment]
        problems.append(site.post("recall", asked))
        site.store.recall = recall  # type: ignore[method-assign]
        for reply in problems:
            assert reply.status >= 400
            assert MARK.encode() not in reply.body, reply.body
        assert MARK.encode() not in site.get("metrics").body
        assert MARK.encode() not in site.get("health").body
        site.service.close()
        with site.store._session.ledger.read() as view:
            rows = [tuple(row) for row in view.connection.execute("SELECT * FROM requests")]
        assert rows
        assert MARK not in repr(rows)
    assert MARK not in caplog.text
    out, err = capfd.readouterr()
    assert MARK not in out + err
