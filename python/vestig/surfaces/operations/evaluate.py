"""`eval`: recall measured on labelled benchmarks. `replay`: recorded requests of retrieve under two
configurations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from vestig.calls.argument import Choice, Flag, Integer, Switch, Text, Texts, Words
from vestig.surfaces.operation import Call, Operation

if TYPE_CHECKING:
    from pathlib import Path

    from vestig.evaluation.firewall import FirewallReport
    from vestig.evaluation.report import EvaluationReport, RetrievalReplay

_FORMATS: Final = ("table", "json", "markdown", "html")
_SUFFIXES: Final = {
    ".json": "json",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".txt": "table",
}


def _switch(text: str) -> dict[str, Any]:
    """`KEY=VALUE`, or several with spaces between them, values read as YAML.

    Example:
        >>> _switch("ranking.base=cosine ranking.tracerank_power=0.0")
        {'ranking.base': 'cosine', 'ranking.tracerank_power': 0.0}
    """
    from vestig.config.files import read_scalar
    from vestig.errors import ValidationError

    found: dict[str, Any] = {}
    for pair in text.split():
        key, sign, value = pair.partition("=")
        if not sign or not key:
            raise ValidationError("switch", pair, "KEY=VALUE")
        try:
            found[key] = read_scalar(value, key)
        except ValueError as error:
            raise ValidationError("switch", pair, "one YAML value", str(error)) from None
    if not found:
        raise ValidationError("switch", text, "KEY=VALUE")
    return found


def _targets(paths: Sequence[str], shown: str) -> list[tuple[Path, str]]:
    """Files to write, and the format of each by the suffix of its name."""
    from pathlib import Path

    from vestig.errors import ValidationError

    found = [(Path(one), _SUFFIXES.get(Path(one).suffix.lower(), shown)) for one in paths]
    for path, _ in found:
        # checked before an evaluation of minutes, not after it
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise ValidationError("output", str(path), "a file in a folder that exists")
    return found


def _text(value: EvaluationReport | FirewallReport, args: Mapping[str, Any]) -> str:
    from vestig.evaluation.firewall import FirewallReport

    if isinstance(value, FirewallReport):
        return value.text()
    return _formed(value, str(args.get("format", "table")))


def _formed(value: EvaluationReport, form: str) -> str:
    from vestig.evaluation import html_report, tables
    from vestig.surfaces import wire

    if form == "json":
        return wire.encode(wire.document(_EVAL.document, value)).decode() + "\n"
    if form == "html":
        return html_report.html(value)
    return tables.markdown(value) if form == "markdown" else tables.text(value)


def _eval(call: Call) -> Any:
    import vestig

    given = dict(call.args)
    if given.pop("firewall", False):
        return _firewall(given)
    if "seed" in given:
        raise vestig.ValidationError("seed", given["seed"], "it beside --firewall alone")
    shown = given.pop("format", "table")
    targets = _targets(given.pop("output", ()), shown)
    switches = [_switch(text) for text in given.pop("switches", ())]
    benchmarks = given.pop("benchmarks", None)
    report = vestig.evaluate(
        benchmarks, switches=switches, config=call.config, progress=call.progress, **given
    )
    for path, form in targets:
        path.write_text(_formed(report, form), encoding="utf-8")
    return report


def _firewall(given: Mapping[str, Any]) -> FirewallReport:
    from vestig.errors import ValidationError
    from vestig.evaluation.firewall import evaluate_firewall

    other = next((name for name in given if name not in ("seed", "format")), None)
    if other is not None:
        raise ValidationError(other, given[other], "nothing but --seed beside --firewall")
    return evaluate_firewall(given.get("seed", 1))


_EVAL: Final = Operation(
    name="eval",
    options=(
        Text(
            "Folders with corpus.jsonl and queries.jsonl (.gz too); absent: the shipped one.",
            name="benchmarks",
            many=True,
            required=False,
        ),
        Words(
            "Recall profiles to measure; repeatable.",
            "--profile",
            name="profiles",
            default_text="all shipped ones",
        ),
        Texts(
            "A row with KEY=VALUE set, several keys with spaces between them; repeatable.",
            "--switch",
            name="switches",
        ),
        Flag(
            "A row for each signal and switch of the profile off, one by one.",
            "--ablate",
            name="ablate",
        ),
        Flag("Exit 1 when default is below baseline in recall@5 or nDCG@5.", "--gate", name="gate"),
        Switch(
            "Rows of plain cosine, BM25 and hybrid.", "--peers", name="peers", default_text="peers"
        ),
        Flag(
            "In JSON, the ranks of the relevant units of every question too.",
            "--questions",
            name="questions",
        ),
        Flag(
            "Measure how well confidence separates questions that the memories answer from"
            " those that they do not; three times as many queries.",
            "--confidence",
            name="confidence",
        ),
        Words("Categories of questions to leave out; repeatable.", "--leave-out", name="leave_out"),
        Flag(
            "Measure retrieve instead: each question as the last message of a conversation,"
            " alone and after four turns, beside a single recall.",
            "--retrieve",
            name="retrieve",
        ),
        Integer(
            "With --retrieve, so many questions of each benchmark, drawn by a fixed seed.",
            "--sample",
            name="sample",
            default_text="all",
        ),
        Flag(
            "Measure instead which secrets and which results that come back are recognised, on"
            " texts made at run time.",
            "--firewall",
            name="firewall",
        ),
        Integer("With --firewall, the seed of the texts.", "--seed", name="seed", default_text="1"),
        Text("Folder in which vectors are stored between runs.", "--cache", name="cache"),
        Choice("What is printed.", "--format", name="format", default_text="table", words=_FORMATS),
        Texts(
            "A file to write the report to, in the format that its suffix names (.html, .md,"
            " .json, .txt); repeatable.",
            "--output",
            name="output",
        ),
    ),
    run=_eval,
    document="evaluation",
    text=_text,
    exit_code=lambda report: 1 if report.gate_failures else 0,
    needs_store=False,
)


def _replay_requests(call: Call) -> Any:
    import vestig

    given = dict(call.args)
    sides = {name: given.pop(name, call.config) for name in ("old", "new")}
    path = call.config.settings.store.path
    return vestig.replay_requests(
        given.pop("file"), store=path, progress=call.progress, **sides, **given
    )


def _compared(value: RetrievalReplay, _: Mapping[str, Any]) -> str:
    from vestig.evaluation.tables import replay_tables, text_of

    lines = [f"{value.requests:,} requests, seq {value.old.seq}"]
    for name, side in (("old", value.old), ("new", value.new)):
        lines.append(f"{name}: {side.config or 'the configuration in effect'}")
    lines += [f"Warning: {line}" for line in value.warnings]
    return "\n".join(lines) + "\n\n" + text_of(replay_tables(value))


_REPLAY_REQUESTS: Final = Operation(
    name="replay",
    options=(
        Text(
            "A request in JSON on each line, with relevant (ids or references) and"
            " expected_confidence where they are known.",
            name="file",
        ),
        Text(
            "Configuration file of the old side.",
            "--old",
            name="old",
            default_text="the one in effect",
        ),
        Text(
            "Configuration file of the new side.",
            "--new",
            name="new",
            default_text="the one in effect",
        ),
        Switch(
            "Let the configured language model plan and judge.",
            "--llm",
            name="llm",
            default_text="llm",
        ),
    ),
    run=_replay_requests,
    document="retrieval_replay",
    text=_compared,
    needs_store=False,
)


OPERATIONS: Final = (_EVAL, _REPLAY_REQUESTS)
