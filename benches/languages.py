"""How well a question finds a memory within a language and across two, by language:

    python benches/languages.py [--provider NAME] [--model NAME] [--base-url URL] [--profile NAME]

`languages.jsonl` has ten facts in six languages, each with a question that shares few words with
it, and twelve more sentences of each language. A store for each language holds its ten facts and
the further sentences of all six; all sixty questions are asked there. Printed are tables with a row
for the language of the question and a column for that of the memories: how many of ten questions
find their fact first, how many within five, and the mean confidence.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import vestig
from benchmarks.run import cached_embedder
from vestig.config import load
from vestig.ports import Embedder
from vestig.registry import make_embedder

FILE = Path(__file__).with_suffix(".jsonl")
LIMIT = 5


class Sentence(NamedTuple):
    """A fact with its question, or a sentence without one."""

    language: str
    statement: str
    subject: int | None = None
    question: str | None = None


class Found(NamedTuple):
    """How many of the questions found their fact, and the mean confidence."""

    first: int
    within: int
    confidence: float


def sentences() -> list[Sentence]:
    """Return all of the file."""
    return [Sentence(**json.loads(line)) for line in FILE.read_text("utf-8").splitlines()]


def measured(
    embedder: Embedder, given: Sequence[Sentence], profile: str
) -> dict[tuple[str, str], Found]:
    """(language of the question, of the memories) → what was found."""
    asked = [one for one in given if one.question is not None]
    others = [one.statement for one in given if one.question is None]
    languages = list(dict.fromkeys(one.language for one in given))
    found = {}
    for stored in languages:
        facts = {one.subject: one.statement for one in asked if one.language == stored}
        with vestig.open(":memory:", embedder=embedder, profile=profile) as store:
            for text in [*facts.values(), *others]:
                outcome = store.commit(text).outcome
                assert outcome == "INSERTED_NEW", f"{outcome}: {text}"
            for language in languages:
                questions = [one for one in asked if one.language == language]
                found[language, stored] = answered(store, questions, facts)
    return found


def answered(
    store: vestig.Vestig, questions: Sequence[Sentence], facts: dict[int | None, str]
) -> Found:
    """Return what questions of one language find."""
    first = within = 0
    confidence = 0.0
    for one in questions:
        result = store.recall(one.question, limit=LIMIT, all=True)
        texts = [hit.content for hit in result]
        wanted = facts[one.subject]
        first += texts[:1] == [wanted]
        within += wanted in texts
        confidence += result.confidence or 0.0
    return Found(first, within, confidence / len(questions))


def table(title: str, found: dict[tuple[str, str], Found], field: str) -> str:
    """One number of all pairs, as a Markdown table."""
    languages = list(dict.fromkeys(stored for _, stored in found))
    rows = [f"| {title} | {' | '.join(languages)} |", "|---" * (len(languages) + 1) + "|"]
    for asked in languages:
        cells = [getattr(found[asked, stored], field) for stored in languages]
        shown = [f"{one:.2f}" if isinstance(one, float) else str(one) for one in cells]
        rows.append(f"| {asked} | {' | '.join(shown)} |")
    return "\n".join(rows)


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--provider", help="embedding.provider; default: that of the settings")
    parser.add_argument("--model", help="embedding.model")
    parser.add_argument("--base-url", help="embedding.base_url")
    parser.add_argument("--profile", default="default", help="default: default")
    given = vars(parser.parse_args())
    profile = given.pop("profile")
    keys: dict[str, Any] = {
        f"embedding.{name}": value for name, value in given.items() if value is not None
    }
    config = load(overrides=keys, environ={}, cwd=FILE.parent)
    embedder = cached_embedder(make_embedder(config.settings.embedding))
    found = measured(embedder, sentences(), profile)
    print(table("first of 10", found, "first"), end="\n\n")
    print(table("within 5", found, "within"), end="\n\n")
    if profile == "default":  # the others have none
        print(table("confidence", found, "confidence"))


if __name__ == "__main__":
    main()
