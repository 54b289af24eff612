"""Words that a newcomer tries before reading, and the call that does what is meant.

A guess is answered right where it works, or where its error names one of the calls that the table
has for it. An error that names another call is a wrong hint, which is worse than none.
"""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

import guessed_expressions
import guessed_lines
import guesses
import vestig
from guesses import SAYS, WORKS, each
from vestig import calls
from vestig.answers import RecallHit, RecallResult
from vestig.calls.declaration import Request, rows_of
from vestig.calls.filter import FIELDS
from vestig.config.schema import default_values
from vestig.other_words import GROUPS, nearest
from vestig.results import ForgetReport, MemoryPage
from vestig.surfaces.cli.commands import cli
from vestig.surfaces.cli.option_words import instead_of_option
from vestig.surfaces.cli.other_words import instead_of
from vestig.testing import FrozenClock, HashingEmbedder
from vestig.types import CommitOutcome, Memory
from vestig.word_tables import call_words

RIGHT_LEAST = 0.95
# How a message gives a hint, in Python and at the command line.
HINT = re.compile(
    r"(?:; use |; there is no such call: |; write |did you mean |the nearest valid key is "
    r"|In Vestig it is `vestig |It is `vestig |Did you mean `vestig "
    r"|In Vestig it is (?=-)|Did you mean (?=-))([^?;`]+)"
)


def hint_of(message: str) -> str:
    found = HINT.search(message)
    return found[1].strip() if found else ""


def verdict(said: str, meant: str) -> str:
    """`right`, `wrong` or `silent`, of what an error said; WORKS where there was none."""
    hint = "" if said == WORKS else hint_of(said)
    for one in meant.split("|"):
        if WORKS in (one, said):
            if one == said:
                return "right"
        elif one.startswith(SAYS):
            if not hint and one.removeprefix(SAYS) in said:
                return "right"
        elif one == "":
            if not hint:
                return "right"
        elif re.search(rf"(?<!\w){re.escape(one)}(?!\w)", hint):
            return "right"
    return "wrong" if hint or (said == WORKS) else "silent"


def said_of(guess: Callable[[], object]) -> str:
    try:
        guess()
    except Exception as error:
        return str(error)
    return WORKS


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The names of the expressions, in a folder with an export and with files of others."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "notes.xyz").write_text("notes", encoding="utf-8")
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as s:
        s.commit("The spare pump is in hall one, says Ada Lovelace", key="pump.place")
        s.export("full.jsonl")
        result, bays = s.recall("pump", all=True), count()
        yield {
            "vestig": vestig,
            "s": s,
            "result": result,
            "hit": result[0],
            "memory": result[0].memory,
            "id": result[0].id,
            "new": lambda: s.commit(f"The ladder of bay {next(bays)} is grey").memory_id,
            "page": s.list(),
            "entity": s.graph.entities()[0],
            "inner": s.graph.entities()[0].entity,
            "detail": s.show(result[0].id),
            "retrieved": s.retrieve([{"content": "Where is the pump?"}]),
            "check": s.rules.check(tool="Bash"),
            "doctor": s.admin.doctor(),
            "outcome": s.commit("The crane is in the yard"),
            "report": s.forget(s.commit("The ladder is in the yard").memory_id),
            "clock": FrozenClock(),
        }


def told_of_expressions(names: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for text, meant in each(guessed_expressions.EXPRESSIONS, " ; |\n"):
        code = compile(text, "guess", "single" if re.search(r"\] = ", text) else "eval")
        yield text, meant, said_of(lambda code=code: eval(code, dict(names)))  # type: ignore[misc]


def told_of_attributes(names: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for word, meant in each(guesses.STORE):
        said = said_of(lambda word=word: getattr(names["s"], word))  # type: ignore[misc]
        own = f"store.{word}" in meant.split("|")
        yield f"store.{word}", WORKS if own and said == WORKS else meant, said
    for word, meant in each(guesses.MODULE):
        for text in (f"import vestig; vestig.{word}", f"from vestig import {word}"):
            yield text, meant, said_of(lambda text=text: exec(text, {}))  # type: ignore[misc]
    for line, meant in each(guesses.NAMES, ";"):
        module, name = line.split()
        if is_there(module):
            for text in (f"import {module}; {module}.{name}", f"from {module} import {name}"):
                yield text, meant, said_of(lambda text=text: exec(text, {}))  # type: ignore[misc]


def is_there(module: str) -> bool:
    """An adapter is not where its framework is not installed."""
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


def told_of_commands(_: object = None) -> Iterator[tuple[str, str, str]]:
    group = cli.make_context("vestig", ["--help"], resilient_parsing=True)
    known = cli.list_commands(group)
    for word, meant in each(guessed_lines.COMMANDS):
        there = word in known and word in meant.split("|")
        said = WORKS if there else instead_of([word], "", known)
        yield f"vestig {word}", WORKS if there else meant, said


def told_of_options(_: object = None) -> Iterator[tuple[str, str, str]]:
    group = cli.make_context("vestig", ["--help"], resilient_parsing=True)
    for line, meant in each(guessed_lines.OPTIONS, ";"):
        name, option = line.split()
        command = cli.get_command(group, name)
        assert command is not None
        known = [name for row in command.get_params(group) for name in row.opts]
        there = option in known
        said = WORKS if there else instead_of_option(option, "", name, known, {})
        yield f"vestig {line}", WORKS if there else meant, said


@pytest.mark.parametrize(
    "told", [told_of_expressions, told_of_attributes, told_of_commands, told_of_options]
)
def test_nearly_all_first_guesses_are_led_right_and_none_wrong(
    names: dict[str, Any], told: Callable[[dict[str, Any]], Iterator[tuple[str, str, str]]]
) -> None:
    found = [(verdict(said, meant), guess, meant, said) for guess, meant, said in told(names)]
    assert [one for one in found if one[0] == "wrong"] == []
    silent = [one for one in found if one[0] == "silent"]
    assert len(silent) <= (1 - RIGHT_LEAST) * len(found), silent


def every_set_of_names() -> dict[str, list[str]]:
    """All sets that a word is compared with, by what they are."""
    store = [name for name in dir(vestig.Vestig) if name[0] != "_"]
    sets = {"store": [*store, *GROUPS], "configuration": list(default_values())}
    sets |= {"filter": list(FIELDS), "module": vestig.__all__}
    group = cli.make_context("vestig", ["--help"], resilient_parsing=True)
    sets["commands"] = cli.list_commands(group)
    assert all(getattr(calls, name) for name in calls.__all__)
    for call in Request.__subclasses__():
        sets[call.__name__] = list(rows_of(call))
    for kind in (RecallHit, RecallResult, Memory, CommitOutcome, MemoryPage, ForgetReport):
        sets[kind.__name__] = [name for name in dir(kind) if name[0] != "_"]
    return sets


def test_a_word_that_only_looks_a_little_alike_is_near_to_nothing() -> None:
    found = [
        (word, names, near)
        for names, among in every_set_of_names().items()
        for word in guesses.UNRELATED.split()
        if (near := nearest(word, among)).lower() not in ("", word, f"{word}s")
    ]
    assert found == []


def slip(random: Random, word: str) -> str:
    """The word with a letter left out, doubled, or swapped with its neighbour."""
    at = random.randrange(1, len(word) - 1)
    return random.choice(
        [
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
            word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :],
        ]
    )


def test_a_slip_of_the_fingers_is_near_to_its_name() -> None:
    random, wrong, silent, slips = Random(7), [], [], 0
    for among in every_set_of_names().values():
        for name in random.sample(sorted(among), min(8, len(among))):
            typed = slip(random, name) if len(name) >= 5 else name
            if typed in among:
                continue
            slips += 1
            near = nearest(typed, among)
            if not near:
                silent.append((typed, name))
            elif near != name:
                wrong.append((typed, name, near))
    assert slips >= 100
    assert wrong == []
    assert len(silent) <= slips // 20, silent


def test_every_name_that_is_answered_with_exists(names: dict[str, Any]) -> None:
    words = call_words()
    tables = (words["store"], words["named"], *words["groups"].values())
    every = {ours for table in tables for ours in table}
    found = [call for call in every if re.fullmatch(r"[\w.]+", call)]
    assert len(found) >= 50
    for call in found:
        assert callable(eval(call, {"store": names["s"], "vestig": vestig})), call
    values = {type(one).__name__: one for one in names.values()}
    for kind in words["results"].keys() & values.keys():
        for ours in filter(re.compile(r"[\w.]+").fullmatch, words["results"][kind]):
            eval(f"value.{ours}", {"value": values[kind]})


def test_a_module_of_ours_is_imported_although_its_name_is_a_word_for_something() -> None:
    code = "from vestig import session, memories, changes, config, store, items"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_word_for_a_call_is_no_name_of_a_store() -> None:
    for words in call_words()["store"].values():
        assert not [word for word in words.split() if hasattr(vestig.Vestig, word)]


def test_modules_that_callers_import_are_there_without_an_import_of_their_own() -> None:
    code = (
        "import vestig; vestig.aio.open, vestig.errors.VestigError, vestig.testing.HashingEmbedder"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("call", ["recall", "commit", "retrieve"])
def test_a_call_of_a_store_that_is_asked_of_the_package_says_to_open_one(call: str) -> None:
    importlib.import_module(f"vestig.{call}")
    with pytest.raises(TypeError, match=rf"; use vestig\.open\(path\)\.{call}"):
        getattr(vestig, call)("where is the pump?")
