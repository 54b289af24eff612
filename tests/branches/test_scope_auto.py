"""The scope `auto` in Python and on the command line: the project, and the branch that is checked
out; everywhere else the word is refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from branch_work import FACT, FILE, OTHER, Work, branch

import vestig
from command_lines import Answer
from repositories import git
from tables import each
from vestig.errors import ValidationError
from vestig.surfaces.cli import run
from vestig.surfaces.mcp import answers
from vestig.types import ItemError

PLAIN = "The team meets on Mondays"


@pytest.fixture(autouse=True)
def in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)


# --- in Python ---------------------------------------------------------------------------------


def test_a_view_keeps_with_the_branch_what_speaks_of_a_file_that_it_changed(work: Work) -> None:
    work.by_view = True
    branch(work.folder)
    assert work.remember(FACT, FILE).scope == work.scope("pool")
    assert work.remember("The web is slow", OTHER).scope == work.project
    assert work.remember(PLAIN).scope == work.project
    assert len(work.seen()) == work.view.count() == 3
    git(work.folder, "checkout", "-q", "main")
    assert work.seen() == {"The web is slow", PLAIN}
    git(work.folder, "merge", "-q", "pool")
    assert work.moved() == {FACT}


@pytest.mark.parametrize("lazy", [False, True], ids=["list", "iterator"])
def test_each_of_many_has_its_place(work: Work, lazy: bool) -> None:
    branch(work.folder)
    texts: list[Any] = [
        PLAIN,
        {"content": FACT, "anchor": FILE},
        {"content": "The web is slow", "anchor": OTHER},
        {"content": "The pool is shared", "anchor": [OTHER, f"{FILE}:1"]},
        {"content": "The pool is old", "anchor": 5},
        7,
    ]
    made = work.view.commit_many(iter(texts) if lazy else texts)
    scopes = [one.scope if isinstance(one, vestig.CommitOutcome) else None for one in made]
    own = work.scope("pool")
    assert scopes == [work.project, own, work.project, own, None, None]


def test_a_structured_memory_has_its_place(work: Work) -> None:
    branch(work.folder)
    made = work.view.commit_structured("pool", "We looked at it", decisions="grow", anchor=FILE)
    assert made.scope == work.scope("pool")


def test_what_replaces_a_memory_of_the_project_is_the_projects(work: Work) -> None:
    old = work.view.commit("The pool holds thirty connections", anchor=FILE)
    assert old.scope == work.project
    branch(work.folder)
    new = work.view.commit(FACT, anchor=FILE, supersedes=[str(old.memory_id)])
    assert new.scope == work.project
    last = work.view.commit("The pool holds ten connections", anchor=FILE)
    newest = work.view.commit(
        "The pool holds nine connections", anchor=FILE, supersedes=[str(last.memory_id)]
    )
    assert newest.scope == last.scope == work.scope("pool")
    with pytest.raises(vestig.NotFoundError):
        work.view.commit("The pool is new", anchor=FILE, supersedes=["mem_" + "0" * 8])


def test_the_branchs_value_of_a_key_stands_for_the_projects(work: Work) -> None:
    work.view.commit("The pool holds thirty connections", key="pool", anchor=FILE)
    branch(work.folder)
    assert work.view.get("pool").content == "The pool holds thirty connections"
    work.view.commit(FACT, key="pool", anchor=FILE)
    assert work.view.get("pool").content == FACT
    assert [one.content for one in work.view.history("pool")] == [FACT]
    git(work.folder, "checkout", "-q", "main")
    assert work.view.get("pool").content == "The pool holds thirty connections"
    with pytest.raises(vestig.NotFoundError):
        work.view.get("depth")


def test_what_is_stale_and_the_keys_are_of_both(work: Work) -> None:
    work.view.commit("The pool is deep", key="pool.depth", anchor=f"{FILE}:9")
    branch(work.folder)
    work.view.commit(FACT, key="pool.size", anchor=f"{FILE}:1")
    work.store.commit("The pool of others is small", key="other", scope="p", anchor=f"{FILE}:1")
    assert work.view.keys() == ["pool.depth", "pool.size"]
    assert work.view.keys("pool.s") == ["pool.size"]
    (work.folder / FILE).write_text("nothing is as it was\n")
    assert {one.text for one in work.view.anchors.stale()} == {FACT, "The pool is deep"}
    assert len(work.store.anchors.stale(scope=work.project)) == 1
    assert len(work.store.anchors.stale(scope=[work.project, "p"])) == 2
    assert len(work.store.anchors.stale()) == 3


READS: dict[str, Callable[[vestig.Vestig], set[str]]] = {
    "recall": lambda s: {one.content for one in s.recall("the pool", all=True)},
    "search": lambda s: {one.content for one in s.search("the pool", all=True)},
    "retrieve": lambda s: {
        str(one.memory_id and s.get(one.memory_id).content)
        for one in s.retrieve([{"content": "How is the pool?"}], debug=True).details
    },
    "count": lambda s: {FACT, PLAIN} if s.count() == 2 else set(),
}


@pytest.mark.parametrize("name", READS)
def test_reads_see_both(work: Work, name: str) -> None:
    branch(work.folder)
    work.view.commit_many([PLAIN, {"content": FACT, "anchor": FILE}])
    work.store.commit("The pool of others is small", scope="project:other")
    assert READS[name](work.view) == {FACT, PLAIN}


def test_a_store_without_a_folder_knows_no_project(work: Work) -> None:
    work.store._session.folder = lambda: None
    with pytest.raises(ValidationError, match="no working folder"):
        work.store.scoped("auto")


# --- elsewhere the word is no scope ------------------------------------------------------------

REFUSED: dict[str, Callable[[vestig.Vestig], object]] = {
    "commit": lambda s: s.commit(FACT, scope="auto"),
    "a view in capitals": lambda s: s.scoped("AUTO"),
    "in capitals": lambda s: s.commit(FACT, scope="Auto"),
    "update": lambda s: s.update(str(s.commit(FACT).memory_id), scope="auto"),
    "recall": lambda s: s.recall("the pool", where={"scope": ["auto"]}),
    "list": lambda s: s.list({"scope": "auto"}),
    "retrieve": lambda s: s.retrieve([{"content": "Which pool?"}], scope="auto"),
    "get": lambda s: s.get("pool", scope="auto"),
    "keys": lambda s: s.keys(scope="auto"),
    "item": lambda s: s.items.put("pool", 4, scope="auto"),
    "rule": lambda s: s.rules.add("Never", when='command = "rm"', scope="auto"),
    "stale": lambda s: s.anchors.stale(scope="auto"),
    "document": lambda s: s.add_document("The pool", scope="auto"),
    "import": lambda s: s.import_("nothing.jsonl", scope="auto"),
}


@each("name", REFUSED)
def test_the_word_is_refused(work: Work, name: str) -> None:
    with pytest.raises(ValidationError, match="auto is the project of the folder"):
        REFUSED[name](work.store)


def test_an_item_of_many_is_refused_alone(work: Work) -> None:
    first, second = work.store.commit_many([{"content": FACT, "scope": "auto"}, PLAIN])
    assert isinstance(first, ItemError)
    assert isinstance(second, vestig.CommitOutcome)


def test_a_tool_that_is_called_with_the_word_is_refused(work: Work) -> None:
    with pytest.raises(ValidationError, match="auto is the project of the folder"):
        answers.remember(work.at, {"text": FACT, "scope": "auto"})
    with pytest.raises(ValidationError, match="auto is the project of the folder"):
        work.at.where({"scope": ["auto"]})


# --- on the command line -----------------------------------------------------------------------


@pytest.fixture
def command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    config = tmp_path / "vestig.yaml"
    store = tmp_path / "store"
    config.write_text(
        f"embedding: {{provider: hashing, dimension: 64}}\nstore: {{path: {store}}}\n"
    )

    def line(*words: str) -> Answer:
        capfd.readouterr()
        code = run([*words, "--config", str(config)])
        out, err = capfd.readouterr()
        assert code == 0, err
        return Answer(code, out, err)

    return line


def contents(found: Answer) -> set[str]:
    return {one["content"] for one in found.document["memories"]}


AUTO = ("--scope", "auto")


def test_commands_write_and_read_where_hooks_do(work: Work, command: Any) -> None:
    assert f"(in {work.project})" in command("add", PLAIN, *AUTO).out
    command("add", "The pool holds ten connections", "--key", "pool", "--anchor", FILE, *AUTO)
    branch(work.folder)
    told = command("add", FACT, "--key", "pool", "--anchor", FILE, *AUTO)
    assert f"(in {work.scope('pool')})" in told.out
    command("add", "The pool of others is small", "--scope", "project:other")
    everything = {PLAIN, "The pool holds ten connections", FACT}
    assert contents(command("list", *AUTO, "--json")) == everything
    assert command("count", *AUTO).out == "3\n"
    recalled = command("recall", "the pool", "--all", *AUTO, "--json").document["results"]
    assert {one["content"] for one in recalled} == everything
    both = contents(command("list", "--scope", "project:other", *AUTO, "--json"))
    assert both == everything | {"The pool of others is small"}
    assert FACT in command("get", "pool", *AUTO).out
    assert FACT in command("history", "pool", *AUTO).out
    git(work.folder, "checkout", "-q", "main")
    assert contents(command("list", *AUTO, "--json")) == everything - {FACT}
    assert "ten connections" in command("get", "pool", *AUTO).out
    git(work.folder, "merge", "-q", "pool")
    command("branch", "merge")
    assert FACT in command("get", "pool", *AUTO).out
    # the branch itself has no memory, which is as it should be
    assert "scope" not in command("list", *AUTO, "--tags", "none").err


def test_commands_say_what_can_be_done_about_a_branch_that_is_gone(
    work: Work, command: Any
) -> None:
    branch(work.folder)
    command("add", FACT, "--anchor", FILE, *AUTO)
    hint = "`vestig branch drop NAME` ends it"
    assert hint not in command("branch", "list").out
    git(work.folder, "checkout", "-q", "main")
    git(work.folder, "branch", "-q", "-D", "pool")
    assert "@pool" not in command("list", *AUTO).err
    assert hint in command("branch", "list").out
    assert "`vestig branch merge NAME` moves those of one" in command("branch", "merge").out
    assert "1 memory moved" in command("branch", "merge", "pool").out


def test_commands_that_take_one_scope_take_the_projects(
    work: Work, command: Any, tmp_path: Path
) -> None:
    branch(work.folder)
    command("rule", "add", "Never push by hand", "--when", 'command ~ "git push*"', *AUTO)
    rules = command("rule", "list", "--scope", work.project, "--json").document["rules"]
    assert [one["scope"] for one in rules] == [work.project]
    assert "Never push" in command("rule", "test", "--command", "git push", *AUTO).out
    command("item", "put", "theme", '"dark"', *AUTO)
    assert "dark" in command("item", "get", "theme", "--scope", work.project).out
    lines = tmp_path / "lines.jsonl"
    lines.write_text(f'{{"content": "{PLAIN}"}}\n')
    command("import", str(lines), *AUTO)
    assert contents(command("list", "--scope", work.project, "--json")) >= {PLAIN}
    made = command("add", "The moon is far", "--json").document["memory_id"]
    command("memory", "update", made, *AUTO)
    assert "The moon is far" in contents(command("list", "--scope", work.project, "--json"))
    # a rule ends by a call that names it
    assert "is the text of a rule, which stays" in command("forget", *AUTO, "--yes").err
    assert contents(command("list", "--scope", work.project, "--json")) == {"Never push by hand"}
    assert "Never push" in command("rule", "test", "--command", "git push", *AUTO).out


def test_help_says_what_the_word_means(command: Any) -> None:
    for words in (("add",), ("recall",), ("item", "put")):
        said = " ".join(command(*words, "--help").out.split())
        assert "auto: the project of the folder." in said, words


def test_the_folder_of_the_editor_is_the_projects(
    work: Work, command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(work.folder))
    other = tmp_path / "elsewhere"
    other.mkdir()
    os.chdir(other)
    assert f"(in {work.project})" in command("add", PLAIN, *AUTO).out
