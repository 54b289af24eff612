"""Secrets and echoes: what is recognised, on texts made from a seed."""

from __future__ import annotations

from benchmarks.firewall import evaluate_firewall
from vestig.recall.layouts import FORMATS


def test_the_report_counts_each_kind() -> None:
    report = evaluate_firewall(5)
    assert report.recall >= 0.95
    assert report.precision >= 0.95
    assert sum(row.texts for row in report.secrets) == 900
    assert {row.kind for row in report.secrets} >= {"unknown format", "password", "private key"}
    assert {row.kind for row in report.look_alikes} >= {"commit", "UUID", "prose", "placeholder"}
    assert [row.recognised for row in report.corpora] == [0]
    assert [(row.kind, row.recognised) for row in report.echoes] == [
        (layout, row.texts)
        for layout, row in zip((*FORMATS, "context"), report.echoes, strict=True)
    ]
    assert evaluate_firewall(5) == report
    assert "recall" in report.text()
