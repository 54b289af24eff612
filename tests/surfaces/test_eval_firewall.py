"""`vestig eval --firewall`: what is recognised, on texts made from a seed."""

from __future__ import annotations

from command_answers import Vestig

from vestig.evaluation.firewall import evaluate_firewall
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


def test_the_command_prints_it(vestig: Vestig) -> None:
    found = vestig("eval", "--firewall", "--seed", "5")
    assert found.code == 0
    assert "look-alikes" in found.out
    document = vestig("eval", "--firewall", "--json").document
    assert document["schema"] == "vestig/evaluation/1"
    assert document["precision"] >= 0.95
    assert vestig("eval", "--seed", "5").code == 2
    assert vestig("eval", "--firewall", "--gate").code == 2
