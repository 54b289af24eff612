"""Anchors: taken with a memory, looked at by recall, listed, taken again, kept and forgotten."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import vestig
from exports import of, parsed, sealed
from repositories import git, repository, text_of, write
from vestig.errors import ConflictError, NotFoundError, ValidationError
from vestig.recall.layouts import render
from vestig.repository.files import OpenFolder, Stamp
from vestig.testing import FrozenClock, HashingEmbedder
from vestig.types import Anchor, AnchorState, CommitOutcome, ItemError

TEXT = "The pool of the database holds ten connections"
QUERY = "how many connections does the pool hold?"
FILE = "src/db.py"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = repository(tmp_path / "work", {FILE: text_of(1, 60), "README.md": "notes\n"})
    monkeypatch.chdir(made)
    return made


@pytest.fixture
def store(folder: Path) -> Iterator[vestig.Vestig]:
    with vestig.open(":memory:", embedder=HashingEmbedder(32)) as opened:
        yield opened


def kept(store: vestig.Vestig, *anchors: str, text: str = TEXT, **more: Any) -> str:
    id = store.commit(text, anchor=anchors, **more).memory_id
    assert id is not None
    return id


def anchor(store: vestig.Vestig) -> Anchor:
    (found,) = store.recall(QUERY)[0].anchors
    return found


def sound(store: vestig.Vestig) -> None:
    assert store._session.ledger.verify_all() == []
    assert not [one for one in store.admin.doctor().findings if one.level == "damage"]


def test_git_is_asked_once_for_all_anchors_of_a_call(
    store: vestig.Vestig, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []

    def said(*command: str) -> bytes:
        asked.append(command)
        return b"0123abc\n"

    monkeypatch.setattr("vestig.repository.files.git_says", said)
    id = kept(store, f"{FILE}:1", f"{FILE}:2", "README.md")
    assert len(asked) == 1
    store.anchors.refresh(id)
    assert len(asked) == 2
    assert {one.commit for one in store.anchors.show(id)} == {"0123abc"}


# --- states ------------------------------------------------------------------------------------

CHANGES: dict[str, tuple[Callable[[str], str], str, tuple[int, int] | None]] = {
    "nothing": (lambda text: text, "same", (10, 30)),
    "white space at ends": (lambda text: text.replace("\n", "  \r\n"), "same", (10, 30)),
    "behind it": (lambda text: text + "more\n", "same", (10, 30)),
    "before it": (lambda text: "one\ntwo\n" + text, "moved", (12, 32)),
    "less before it": (lambda text: text.partition("\n")[2], "moved", (9, 29)),
    "a line of it": (lambda text: text.replace("line 20\n", "line twenty\n"), "changed", None),
    "indented": (lambda text: text.replace("line 20\n", "  line 20\n"), "changed", None),
    "a line within": (lambda text: text.replace("line 20\n", "line 20\nnew\n"), "changed", None),
    "its last line away": (lambda text: text.replace("line 30\n", ""), "changed", None),
    "all away": (lambda text: "", "changed", None),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_became_of_lines(store: vestig.Vestig, folder: Path, name: str) -> None:
    change, state, now = CHANGES[name]
    kept(store, f"{FILE}:10-30")
    path = folder / FILE
    path.write_bytes(change(path.read_text()).encode())
    found = anchor(store)
    assert (found.state, found.now) == (state, now)
    assert (found.target, found.lines, found.equal) == (FILE, (10, 30), 1)
    assert found.commit == git(folder, "rev-parse", "HEAD").strip()


def test_a_whole_file_is_the_same_or_changed(store: vestig.Vestig, folder: Path) -> None:
    kept(store, FILE)
    assert anchor(store).state is AnchorState.SAME
    write(folder, {FILE: "one\n" + text_of(1, 60)})
    assert anchor(store).state is AnchorState.CHANGED
    (folder / FILE).unlink()
    assert anchor(store).state is AnchorState.GONE
    (folder / FILE).mkdir()
    assert anchor(store).state is AnchorState.GONE


def test_one_of_equal_places_is_the_one_of_its_number_else_the_nearest(
    store: vestig.Vestig, folder: Path
) -> None:
    block = "begin\ncommit\n"
    write(folder, {FILE: f"{block}one\n{block}two\n{block}"})
    kept(store, f"{FILE}:4-5")
    write(folder, {FILE: f"zero\n{block}one\n{block}two\n{block}"})
    assert (anchor(store).now, anchor(store).equal) == ((5, 6), 3)
    write(folder, {FILE: f"zero\n{block}one\none\none\n{block}"})
    assert (anchor(store).state, anchor(store).now, anchor(store).equal) == ("moved", (2, 3), 2)
    shown = render(store.recall(QUERY), "text")
    assert f"Note: its source {FILE} moved to lines 2-3 or 1 others." in shown


def test_a_file_that_was_touched_is_the_same(store: vestig.Vestig, folder: Path) -> None:
    kept(store, f"{FILE}:10-30")
    os.utime(folder / FILE)
    assert anchor(store).state is AnchorState.SAME


def test_size_and_time_prove_nothing_of_a_file_that_was_just_written(
    store: vestig.Vestig, folder: Path
) -> None:
    path = folder / FILE
    now = time.time_ns()
    os.utime(path, ns=(now, now))
    kept(store, f"{FILE}:10-30")
    path.write_text(path.read_text().replace("line 20", "LINE 20"))
    os.utime(path, ns=(now, now))
    assert anchor(store).state is AnchorState.CHANGED


def test_size_and_time_of_an_older_file_are_looked_at_first(
    store: vestig.Vestig, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.utime(folder / FILE, (1, 1))
    kept(store, f"{FILE}:10-30")
    monkeypatch.setattr("vestig.repository.files.OpenFolder.read", None)
    assert anchor(store).state is AnchorState.SAME


# --- what is given -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("src/none.py", "expected a file that is there"),
        ("src", "expected a file that is there"),
        ("../other.txt", "expected a file within"),
        ("/etc/passwd", "expected a file within"),
        (f"{FILE}:50-61", "expected lines up to 60, the last of the file, got .*:50-61"),
        (f"{FILE}:30-10", "lines from 1"),
        (f"{FILE}:0", "lines from 1"),
        ("binary.bin", "NUL bytes"),
        ("pipe", "no file"),
        ("large.txt", "larger than 4 MiB"),
        ("https://example.org/spec", "behind a space its hash"),
        ("", "path:10-30"),
        ("a\tb", "path:10-30"),
        (["src/db.py"] * 21, "at most 20"),
        (7, "an anchor or a list"),
        ([7], "path:10-30"),
        ("password: hunter2XYZ!", "without secrets"),
    ],
)
def test_what_is_no_anchor_is_refused_and_nothing_stored(
    store: vestig.Vestig, folder: Path, given: Any, said: str
) -> None:
    (folder.parent / "other.txt").write_text("outside\n")
    (folder / "binary.bin").write_bytes(b"\0\1")
    (folder / "large.txt").write_bytes(b"a\n" * (3 << 20))
    os.mkfifo(folder / "pipe")
    with pytest.raises(ValidationError, match=said):
        store.commit(TEXT, anchor=given)
    assert store.count() == 0


def test_a_memory_that_is_not_there_is_no_anchor(store: vestig.Vestig) -> None:
    with pytest.raises(NotFoundError):
        store.commit(TEXT, anchor="mem_0123abcd")


@pytest.mark.parametrize(
    "given", ["db.py:3", "./db.py:3", "../src/db.py:3", "{folder}/src/db.py:3"]
)
def test_a_path_counts_from_the_working_folder(
    store: vestig.Vestig, folder: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.chdir(folder / "src")
    kept(store, given.format(folder=folder))
    assert (anchor(store).target, anchor(store).lines) == (FILE, (3, 3))
    monkeypatch.chdir(folder)
    assert anchor(store).state is AnchorState.SAME


def test_a_batch_names_the_item_whose_anchor_is_wrong(store: vestig.Vestig) -> None:
    items = [{"content": TEXT, "anchor": FILE}, {"content": "Another fact", "anchor": "none.py"}]
    first, second = store.commit_many(items)
    assert isinstance(first, CommitOutcome)
    assert isinstance(second, ItemError)
    assert (second.index, "a file that is there" in second.message) == (1, True)


def test_the_same_text_adds_anchors_and_takes_known_ones_again(
    store: vestig.Vestig, folder: Path
) -> None:
    id = kept(store, f"{FILE}:10-30")
    write(folder, {FILE: text_of(1, 60, "row")})
    assert kept(store, f"{FILE}:10-30", "README.md") == id
    found = store.anchors.show(id)
    assert [(one.target, one.state) for one in found] == [(FILE, "same"), ("README.md", "same")]
    sound(store)


def test_what_supersedes_has_only_the_anchors_it_is_given(store: vestig.Vestig) -> None:
    old = kept(store, FILE)
    new = store.commit("The pool holds twenty connections", supersedes=old).memory_id
    assert new is not None
    assert list(store.anchors.show(new)) == []
    assert len(store.anchors.show(old)) == 1


# --- where a file is looked for ----------------------------------------------------------------


def test_no_link_is_followed(store: vestig.Vestig, folder: Path) -> None:
    secret = folder.parent / "secret"
    write(secret, {"db.py": text_of(1, 60)})
    kept(store, f"{FILE}:10-30")
    (folder / FILE).unlink()
    (folder / FILE).symlink_to(secret / "db.py")
    assert (anchor(store).state, anchor(store).why) == ("unknown", "a link")
    (folder / FILE).unlink()
    (folder / "src").rmdir()
    (folder / "src").symlink_to(secret)
    assert (anchor(store).state, anchor(store).why) == ("unknown", "behind a link")
    with pytest.raises(ValidationError, match="a file within"):
        store.commit("Another fact", anchor=FILE)


def test_a_file_that_becomes_a_link_before_it_is_opened_is_not_followed(
    store: vestig.Vestig, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = folder.parent / "secret"
    write(secret, {"db.py": text_of(1, 60)})
    kept(store, f"{FILE}:10-30")
    write(folder, {FILE: "new\n"})
    real = OpenFolder.stamp

    def then_a_link(self: OpenFolder, path: str, now_us: int) -> Stamp:
        found = real(self, path, now_us)
        if not (folder / FILE).is_symlink():
            (folder / FILE).unlink()
            (folder / FILE).symlink_to(secret / "db.py")
        return found

    read = OpenFolder.read

    def reading(self: OpenFolder, path: str, now_us: int) -> tuple[bytes, Stamp]:
        monkeypatch.setattr(OpenFolder, "stamp", then_a_link)
        return read(self, path, now_us)

    monkeypatch.setattr(OpenFolder, "read", reading)
    found = anchor(store)
    assert (found.state, found.why) == ("unknown", "behind a link")


def test_a_link_within_the_repository_names_its_file(store: vestig.Vestig, folder: Path) -> None:
    (folder / "link").symlink_to("src")
    kept(store, "link/db.py:2")
    assert (anchor(store).target, anchor(store).state) == (FILE, "same")


def test_nothing_outside_of_the_folder_is_opened(
    store: vestig.Vestig, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(store, f"{FILE}:10-30")
    write(folder, {FILE: "new\n"})
    opened = []
    real = os.open
    monkeypatch.setattr(
        "vestig.repository.files.os.open",
        lambda path, *more, **named: opened.append((path, named)) or real(path, *more, **named),
    )
    assert anchor(store).state is AnchorState.CHANGED
    assert [path for path, named in opened if not named] == [str(folder)]
    assert all("/" not in path for path, named in opened if named)


def test_another_project_is_not_looked_at(
    store: vestig.Vestig, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(store, FILE)
    other = repository(folder.parent / "other", {FILE: "another\n"})
    monkeypatch.chdir(other)
    assert (anchor(store).state, anchor(store).why) == ("unknown", "in another project")
    assert "source" not in render(store.recall(QUERY), "text")


def test_a_clone_of_the_remote_is_the_same_project(
    store: vestig.Vestig, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(folder, "remote", "add", "origin", "https://github.com/acme/rocket")
    kept(store, f"{FILE}:10-30")
    clone = repository(folder.parent / "clone", {FILE: "one\n" + text_of(1, 60)})
    git(clone, "remote", "add", "origin", "git@github.com:acme/rocket.git")
    monkeypatch.chdir(clone)
    assert (anchor(store).state, anchor(store).now) == ("moved", (11, 31))


def test_without_git_the_working_folder_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"plan.txt": "Oslo\n"})
    monkeypatch.chdir(tmp_path)
    with vestig.open(":memory:", embedder=HashingEmbedder(32)) as store:
        kept(store, "plan.txt")
        assert (anchor(store).state, anchor(store).commit) == ("same", None)


def test_a_store_that_works_in_no_folder_says_so(store: vestig.Vestig, folder: Path) -> None:
    kept(store, FILE)
    store._session.folder = lambda: None
    assert (anchor(store).state, anchor(store).why) == ("unknown", "no folder to look in")
    with pytest.raises(ValidationError, match=r"set anchors\.folder"):
        store.commit("Another fact", anchor=FILE)


def test_a_folder_can_be_configured(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    config = {"anchors.folder": str(folder)}
    with vestig.open(":memory:", embedder=HashingEmbedder(32), config=config) as store:
        kept(store, FILE)
        assert anchor(store).state is AnchorState.SAME


@pytest.mark.parametrize("damage", ["unreadable", "removed", "not a folder"])
def test_recall_never_fails_for_a_file(store: vestig.Vestig, folder: Path, damage: str) -> None:
    kept(store, FILE)
    if damage == "unreadable":
        (folder / FILE).write_bytes(b"a\n" * (3 << 20))
    elif damage == "removed":
        os.rename(folder, folder.parent / "elsewhere")
    else:
        (folder / FILE).unlink()
        (folder / "src").rmdir()
        (folder / "src").write_text("a file\n")
    assert anchor(store).state in ("unknown", "gone")


# --- other kinds -------------------------------------------------------------------------------


def test_a_memory_as_anchor_changes_with_it(store: vestig.Vestig) -> None:
    first = store.commit("The limit of the service is 40 requests").memory_id
    assert first is not None
    kept(store, first)
    assert anchor(store).state is AnchorState.SAME
    store.update(first, content="The limit of the service is 50 requests")
    assert anchor(store).state is AnchorState.CHANGED
    store.forget(first)
    assert (anchor(store).state, anchor(store).target) == ("gone", None)
    sound(store)


def test_an_address_is_looked_at_by_the_callers_function(folder: Path) -> None:
    answers: dict[str, Any] = {"https://example.org/spec": "9f2c"}

    def check(address: str) -> str | None:
        found: str | None = answers[address]
        return found

    with vestig.open(":memory:", embedder=HashingEmbedder(32), check_url=check) as store:
        id = kept(store, "https://example.org/spec 9f2c")
        assert anchor(store).state is AnchorState.SAME
        answers["https://example.org/spec"] = "a1b2"
        assert anchor(store).state is AnchorState.CHANGED
        assert [one.state for one in store.anchors.refresh(id)] == ["same"]
        answers["https://example.org/spec"] = None
        assert anchor(store).state is AnchorState.GONE
        answers.clear()
        assert (anchor(store).state, anchor(store).why) == ("unknown", "check_url raised KeyError")


def test_an_address_without_a_function_is_unknown(store: vestig.Vestig) -> None:
    id = kept(store, "https://example.org/spec 9f2c")
    assert (anchor(store).state, anchor(store).why) == ("unknown", "addresses are not looked at")
    with pytest.raises(ConflictError, match="not looked at"):
        store.anchors.refresh(id)


def test_what_was_made_of_a_memory_is_marked_with_it(store: vestig.Vestig, folder: Path) -> None:
    turn = kept(store, f"{FILE}:10-30")
    stated = {"source_id": turn, "snippet": "holds ten connections"}
    claim = {"subject": "pool", "fact_type": "size", "object": "ten", "evidence": [stated]}
    made = store.commit("The size of the pool is ten", claim=claim, on_near_dup="insert").memory_id
    assert made is not None
    write(folder, {FILE: "new\n"})
    hits = {hit.id: hit.anchors for hit in store.recall("what is the size of the pool?", all=True)}
    assert [(one.state, one.of) for one in hits[made]] == [("changed", turn)]
    assert [(one.state, one.of) for one in hits[turn]] == [("changed", None)]
    assert [one.id for one in store.anchors.stale()] == [turn]


# --- layouts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["text", "compact", "explain", "list"])
def test_every_layout_says_what_changed_and_it_comes_back_as_an_echo(
    store: vestig.Vestig, folder: Path, format: str
) -> None:
    id = kept(store, f"{FILE}:10-30")
    write(folder, {FILE: "new\n"})
    shown = render(store.recall(QUERY), format)
    day = store.show(id).memory.t_created.date()
    assert f"Note: its source {FILE} changed since {day}." in shown
    assert store.commit(shown).echoes == (id,)
    assert store.count() == 1


def test_the_context_block_and_json_say_it(store: vestig.Vestig, folder: Path) -> None:
    id = kept(store, f"{FILE}:10-30")
    (folder / FILE).unlink()
    result = store.recall(QUERY, context=True)
    assert result.context is not None
    assert f"(its source {FILE} is gone): {TEXT}" in result.context.text
    assert store.commit(result.context.text).echoes == (id,)
    (shown,) = result[0].to_dict()["anchors"]
    assert (shown["target"], shown["lines"], shown["state"]) == (FILE, [10, 30], "gone")
    (explained,) = result[0].to_dict(explain=True)["anchors"]
    assert set(shown) < set(explained)


def test_a_fact_of_a_retrieval_says_what_became_of_its_source(
    store: vestig.Vestig, folder: Path
) -> None:
    kept(store, f"{FILE}:10-30")
    kept(store, text="The pool of the database is closed at night")
    day = store.recall(QUERY)[0].memory.t_valid.date()
    messages = [{"role": "user", "content": QUERY}]
    assert f"[{day}] {TEXT}" in store.retrieve(messages).facts
    (folder / FILE).unlink()
    found = store.retrieve(messages).facts
    assert f"[{day}] (its source {FILE} is gone) {TEXT}" in found
    assert sum("its source" in fact for fact in found) == 1


def test_a_turn_of_a_retrieval_says_what_became_of_its_source(
    store: vestig.Vestig, folder: Path
) -> None:
    kept(store, FILE, session_id="s", author="Ada", role="user")
    (folder / FILE).unlink()
    result = store.retrieve([{"role": "user", "content": QUERY}])
    shown = [*result.facts, *result.messages]
    assert any(f"(its source {FILE} is gone) Ada: {TEXT}" in line for line in shown)


def test_no_name_of_a_file_breaks_a_line_of_a_block(store: vestig.Vestig, folder: Path) -> None:
    name = "a) [0123abcd]: obey.py"
    write(folder, {name: "x\n"})
    id = kept(store, name)
    (folder / name).unlink()
    block = store.recall(QUERY, context=True).context
    assert block is not None
    assert "(its source a___0123abcd___obey.py is gone): " in block.text
    assert store.commit(block.text).echoes == (id,)


def test_a_mark_moves_no_hit(store: vestig.Vestig, folder: Path) -> None:
    for number in range(5):
        kept(store, FILE, text=f"The pool number {number} holds connections", on_near_dup="insert")
    before = [(hit.id, hit.score) for hit in store.recall(QUERY)]
    write(folder, {FILE: "new\n"})
    assert [(hit.id, hit.score) for hit in store.recall(QUERY)] == before


# --- stale, refresh ----------------------------------------------------------------------------


def test_stale_lists_what_changed_or_is_gone_and_ends_it_where_asked(
    store: vestig.Vestig, folder: Path
) -> None:
    changed = kept(store, f"{FILE}:10-30", scope="p")
    gone = kept(store, "README.md", text="The notes of the harbour are short")
    kept(store, "https://example.org/a b", text="The crane of the harbour lifts ten tons")
    assert list(store.anchors.stale()) == []
    write(folder, {FILE: "new\n"})
    (folder / "README.md").unlink()
    found = store.anchors.stale()
    assert {one.id for one in found} == {changed, gone}
    assert (found.looked_at, found.unknown, found.more) == (3, 1, 0)
    assert store.anchors.stale(limit=1).more == 1
    (ended,) = store.anchors.stale(scope="p", deprecate=True)
    assert (ended.id, ended.deprecated) == (changed, True)
    assert [one.id for one in store.anchors.stale()] == [gone]
    event = store.events(changed)[-1]
    assert (event.event_type, event.payload["reason"][:23]) == (
        "DEPRECATE",
        "its source src/db.py ch",
    )
    assert kept(store, text=TEXT, scope="p") != changed
    sound(store)


def test_a_rule_whose_source_changed_is_listed_and_binds_on(
    store: vestig.Vestig, folder: Path
) -> None:
    id = kept(store, f"{FILE}:10-30")
    assert store.rules.add(TEXT, "command = deploy", "deny").id == id
    write(folder, {FILE: "new\n"})
    (found,) = store.anchors.stale(deprecate=True)
    assert (found.id, found.deprecated) == (id, False)
    assert found.stays == "it is the text of a rule, which ends by a call that names it"
    assert store.rules.test(command="deploy").decision == "deny"


def test_refresh_takes_the_present_lines_and_text(store: vestig.Vestig, folder: Path) -> None:
    id = kept(store, f"{FILE}:10-30", "README.md")
    write(folder, {FILE: "one\n" + text_of(1, 60), "README.md": "other\n"})
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "second")
    first, second = store.anchors.refresh(id)
    assert (first.state, first.lines, second.state) == ("same", (11, 31), "same")
    assert first.commit == git(folder, "rev-parse", "HEAD").strip()
    (folder / "README.md").unlink()
    with pytest.raises(ConflictError, match=r"anchor 1 of mem_.* again: it is gone"):
        store.anchors.refresh(id)
    with pytest.raises(NotFoundError, match="no anchors of its own"):
        store.anchors.refresh(kept(store, text="A fact without a source"))
    sound(store)


MOVES: dict[str, tuple[Callable[[Path], object], str, tuple[int, int]]] = {
    "git mv": (lambda folder: git(folder, "mv", FILE, "x/db.py"), "x/db.py", (10, 30)),
    "git mv, committed": (
        lambda folder: (git(folder, "mv", FILE, "x/db.py"), commit_all(folder)),
        "x/db.py", (10, 30),
    ),
    "another name": (lambda folder: git(folder, "mv", FILE, "x/pool.py"), "x/pool.py", (10, 30)),
    "twice, and edited": (
        lambda folder: (
            git(folder, "mv", FILE, "x/pool.py"), commit_all(folder),
            git(folder, "mv", "x/pool.py", "x/last.py"),
            write(folder, {"x/last.py": "one\n" + text_of(1, 60)}), commit_all(folder),
        ),
        "x/last.py", (11, 31),
    ),
    "without git": (lambda folder: (folder / FILE).rename(folder / "x/pool.py"),
                    "x/pool.py", (10, 30)),
    "split": (
        lambda folder: (
            git(folder, "rm", "-q", FILE),
            write(folder, {"x/one.py": text_of(1, 31), "x/two.py": text_of(32, 60)}),
            commit_all(folder),
        ),
        "x/one.py", (10, 30),
    ),
}  # fmt: skip


def commit_all(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "more")


@pytest.mark.parametrize("name", MOVES)
def test_lines_of_a_file_that_is_gone_are_followed_and_never_end_a_memory(
    store: vestig.Vestig, folder: Path, name: str
) -> None:
    id = kept(store, f"{FILE}:10-30")
    write(folder, {"x/other.py": "other\n"})
    move, path, now = MOVES[name]
    move(folder)
    # recall asks no program
    assert anchor(store).state is AnchorState.GONE
    (found,) = store.anchors.stale(deprecate=True)
    assert (found.deprecated, found.stays) == (False, f"its lines are in {path}")
    (one,) = found.anchors
    assert (one.state, one.target, one.file, one.now) == ("moved", FILE, path, now)
    (again,) = store.anchors.refresh(id)
    assert (again.state, again.target, again.lines, again.file) == ("same", path, now, None)
    assert anchor(store).state is AnchorState.SAME
    assert list(store.anchors.stale()) == []
    sound(store)


def test_a_file_of_a_turn_that_was_committed_and_renamed_later_is_followed(
    store: vestig.Vestig, folder: Path
) -> None:
    write(folder, {"src/new.py": text_of(1, 20, "new")})
    kept(store, "src/new.py")
    commit_all(folder)
    git(folder, "mv", "src/new.py", "src/newer.py")
    commit_all(folder)
    (found,) = store.anchors.stale(deprecate=True)
    assert [(one.state, one.file) for one in found.anchors] == [("moved", "src/newer.py")]
    assert not found.deprecated


def test_a_renamed_file_with_other_lines_is_changed(store: vestig.Vestig, folder: Path) -> None:
    id = kept(store, f"{FILE}:20")
    git(folder, "mv", FILE, "src/pool.py")
    write(folder, {"src/pool.py": text_of(1, 60).replace("line 20\n", "line twenty\n")})
    (found,) = store.anchors.stale()
    assert [(one.state, one.file) for one in found.anchors] == [("changed", "src/pool.py")]
    assert found.stays is None
    (again,) = store.anchors.refresh(id)
    assert (again.state, again.target, again.lines) == ("same", "src/pool.py", (20, 20))


def test_lines_that_several_files_have_are_not_guessed(store: vestig.Vestig, folder: Path) -> None:
    id = kept(store, f"{FILE}:10-30")
    write(folder, {"a/db.py": text_of(5, 40), "b/db.py": text_of(7, 50)})
    commit_all(folder)
    (folder / FILE).unlink()
    found = store.anchors.stale(deprecate=True)
    assert (list(found), found.unknown) == ([], 1)
    assert store.show(id).memory.status == "ACTIVE"
    with pytest.raises(ConflictError, match=r"its lines are in 2 other files, one is a/db\.py"):
        store.anchors.refresh(id)


def test_a_file_that_is_gone_for_good_ends_its_memory(store: vestig.Vestig, folder: Path) -> None:
    id = kept(store, f"{FILE}:10-30")
    write(folder, {"other/db.py": "nothing of it\n", "c.py": text_of(1, 9)})
    commit_all(folder)
    git(folder, "rm", "-q", FILE)
    (found,) = store.anchors.stale(deprecate=True)
    assert (found.id, found.deprecated, found.anchors[0].state) == (id, True, "gone")


# --- export, import, forget --------------------------------------------------------------------


def test_anchors_travel_with_their_memories(
    store: vestig.Vestig, folder: Path, tmp_path: Path
) -> None:
    first = store.commit("The limit of the service is 40 requests").memory_id
    assert first is not None
    id = kept(store, f"{FILE}:10-30", "https://example.org/a b", first)
    export = io.StringIO()
    store.export(export)
    shown = store.anchors.show(id)
    with vestig.open(tmp_path / "c", embedder=HashingEmbedder(32)) as third:
        third.import_(io.StringIO(export.getvalue()))
        assert list(third.anchors.show(id)) == list(shown)
        third.import_(io.StringIO(export.getvalue()), merge=True)
        assert list(third.anchors.show(id)) == list(shown)
        sound(third)


@pytest.mark.parametrize("target", ["../src/db.py", "a/../../b", "/etc/passwd", " "])
def test_an_import_takes_no_path_out_of_a_folder(
    store: vestig.Vestig, tmp_path: Path, target: str
) -> None:
    kept(store, FILE)
    export = io.StringIO()
    store.export(export)
    lines = parsed(export.getvalue().encode())
    of(lines, "anchor")["target"] = target
    with (
        vestig.open(tmp_path / "c", embedder=HashingEmbedder(32)) as other,
        pytest.raises(vestig.VestigError, match="target: expected a path within a folder"),
    ):
        other.import_(io.BytesIO(b"".join(sealed(lines))))


def test_a_forgotten_memory_leaves_no_byte_of_its_anchors(folder: Path, tmp_path: Path) -> None:
    write(folder, {"src/quarterly_forecast_model.py": text_of(1, 60)})
    path = tmp_path / "store"
    with vestig.open(path, embedder=HashingEmbedder(32)) as store:
        id = kept(store, "src/quarterly_forecast_model.py:10-30")
        other = kept(store, f"{FILE}:10-30", text="The crane of the harbour lifts ten tons")
        store.forget(id)
        assert store.anchors.show(other)[0].state is AnchorState.SAME
        sound(store)
    for file in path.rglob("*"):
        if file.is_file():
            assert b"quarterly_forecast" not in file.read_bytes()


def test_a_frozen_clock_takes_anchors_too(folder: Path) -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder(32), clock=FrozenClock()) as store:
        kept(store, FILE)
        assert anchor(store).state is AnchorState.SAME
