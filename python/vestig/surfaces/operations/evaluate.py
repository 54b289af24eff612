"""`eval`: recall measured on labelled benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from vestig.parameters import Parameter
from vestig.surfaces.operation import Call, Operation

if TYPE_CHECKING:
    from pathlib import Path

    from vestig.evaluation.report import EvaluationReport

__all__ = ["OPERATIONS"]

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
    from vestig.config.environment import read_scalar
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


def _text(value: EvaluationReport, args: Mapping[str, Any]) -> str:
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


_EVAL: Final = Operation(
    name="eval",
    params=(
        Parameter(
            name="benchmarks",
            help="Folders with corpus.jsonl and queries.jsonl (.gz too); absent: the shipped one.",
            many=True,
            required=False,
        ),
        Parameter(
            name="profiles",
            kind="words",
            flag="--profile",
            help="Recall profiles to measure; repeatable.",
            default_text="all shipped ones",
        ),
        Parameter(
            name="switches",
            kind="texts",
            flag="--switch",
            help="A row with KEY=VALUE set, several keys with spaces between them; repeatable.",
        ),
        Parameter(
            name="ablate",
            kind="flag",
            flag="--ablate",
            help="A row for each signal and switch of the profile off, one by one.",
        ),
        Parameter(
            name="gate",
            kind="flag",
            flag="--gate",
            help="Exit 1 when default is below baseline in recall@5 or nDCG@5.",
        ),
        Parameter(
            name="peers",
            kind="switch",
            flag="--peers",
            help="Rows of plain cosine, BM25 and hybrid.",
            default_text="peers",
        ),
        Parameter(
            name="questions",
            kind="flag",
            flag="--questions",
            help="In JSON, the ranks of the relevant units of every question too.",
        ),
        Parameter(
            name="confidence",
            kind="flag",
            flag="--confidence",
            help="Measure how well confidence separates questions that the memories answer from"
            " those that they do not; three times as many queries.",
        ),
        Parameter(
            name="leave_out",
            kind="words",
            flag="--leave-out",
            help="Categories of questions to leave out; repeatable.",
        ),
        Parameter(
            name="retrieve",
            kind="flag",
            flag="--retrieve",
            help="Measure retrieve instead: each question as the last message of a conversation,"
            " alone and after four turns, beside a single recall.",
        ),
        Parameter(
            name="sample",
            kind="integer",
            least=1,
            flag="--sample",
            help="With --retrieve, so many questions of each benchmark, drawn by a fixed seed.",
            default_text="all",
        ),
        Parameter(
            name="cache",
            flag="--cache",
            help="Folder in which vectors are stored between runs.",
        ),
        Parameter(
            name="format",
            kind="choice",
            flag="--format",
            choices=_FORMATS,
            help="What is printed.",
            default_text="table",
        ),
        Parameter(
            name="output",
            kind="texts",
            flag="--output",
            help="A file to write the report to, in the format that its suffix names (.html, .md,"
            " .json, .txt); repeatable.",
        ),
    ),
    run=_eval,
    document="evaluation",
    text=_text,
    exit_code=lambda report: 1 if report.gate_failures else 0,
    needs_store=False,
)

OPERATIONS: Final = (_EVAL,)
