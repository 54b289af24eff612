"""Branches: which memories are kept with one, where they are read, and what becomes of them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from branch_work import FACT, FILE, OTHER, Work, branch, change, merged, scopes

import vestig
from repositories import git, repository, write
from vestig.branches.plan import Project
from vestig.branches.stored import _Changes, _written
from vestig.calls.anchors import parse_anchor
from vestig.commit.branches import placed
from vestig.errors import ConflictError, NotFoundError
from vestig.repository.branches import branch_part, branch_scope, checked_out, scopes_of_branches
from vestig.surfaces.mcp import answers

# --- where a memory is kept --------------------------------------------------------------------


def test_what_speaks_of_a_changed_file_is_kept_with_the_branch(work: Work) -> None:
    branch(work.folder)
    kept = work.remember(FACT, f"{FILE}:21")
    assert kept.scope == work.scope("pool")
    plain = {
        "no file": work.remember("The team meets on Mondays in the kitchen"),
        "a file that is as it was": work.remember("The web part listens on port 80", OTHER),
        "an address": work.remember("The standard was revised twice", "https://a.example/x 1"),
        "another memory": work.remember("Forty is the limit of the provider", kept.id),
    }
    assert {name: one.scope for name, one in plain.items()} == dict.fromkeys(plain, work.project)
    assert FACT in work.seen()
    assert len(work.seen()) == 5
    git(work.folder, "checkout", "-q", "main")
    assert work.seen() == {one.content for one in plain.values()}
    git(work.folder, "checkout", "-q", "-b", "third")
    assert FACT not in work.seen()


@pytest.mark.parametrize("place", ["folder", "index", "commit", "new file", "new file in index"])
def test_a_change_counts_wherever_it_is(work: Work, place: str) -> None:
    git(work.folder, "checkout", "-q", "-b", "pool")
    file = "src/new.py" if "new" in place else FILE
    change(work.folder, "forty", file, commit=place == "commit")
    if "index" in place:
        git(work.folder, "add", "-A")
    kept = work.remember(FACT, file)
    assert kept.scope == work.scope("pool")
    (row,) = work.store.branches.show("pool")
    assert row.stays == "not merged"


def test_a_file_that_git_ignores_is_of_no_branch(work: Work) -> None:
    git(work.folder, "checkout", "-q", "-b", "pool")
    write(work.folder, {"build/out.py": "made\n"})
    assert work.remember(FACT, "build/out.py").scope == work.project


def test_a_branch_that_is_only_behind_changed_nothing(work: Work) -> None:
    git(work.folder, "branch", "pool")
    change(work.folder, "forty")
    git(work.folder, "checkout", "-q", "pool")
    assert work.remember(FACT, FILE).scope == work.project


def test_a_change_that_the_default_branch_has_too_is_no_branchs(work: Work) -> None:
    git(work.folder, "branch", "pool")
    change(work.folder, "forty")
    git(work.folder, "checkout", "-q", "pool")
    change(work.folder, "forty", commit=False)
    git(work.folder, "commit", "-q", "-a", "-m", "adds the same, as another commit")
    assert work.remember(FACT, FILE).scope == work.project
    assert work.remember("The pool is checked hourly", f"{FILE}:3").scope == work.project


def test_a_file_of_another_project_is_of_no_branch(work: Work) -> None:
    branch(work.folder)
    (place,) = placed(work.store._session, "project:other", [[parse_anchor("anchor", FILE)]])
    assert place.scope == "project:other"
    assert [one.committed for one in place.anchors] == [None]


def test_a_scope_that_is_named_stays(work: Work) -> None:
    branch(work.folder)
    assert work.remember(FACT, FILE, scope="crew").scope == "crew"
    assert work.remember(f"{FACT} now", FILE, scope=work.project).scope == work.project
    named = answers.OpenStore(store=work.store, session=work.store._session, scope=work.project)
    answers.remember(named, {"text": "The pool was larger before", "anchor": FILE})
    assert {one.scope for one in work.store.list()} == {"crew", work.project}
    assert named.where(None).scope == (work.project,)
    work.store.commit("The pool is shared by all", anchor=FILE, scope=work.project)
    assert list(work.store.branches.list()) == []


def test_what_replaces_a_memory_of_the_project_is_the_projects(work: Work) -> None:
    old = work.remember("The pool holds ten connections", FILE)
    branch(work.folder)
    assert work.remember(FACT, FILE, supersedes=[old.id]).scope == work.project
    own = work.remember("The pool waits for ten seconds", FILE)
    assert own.scope == work.scope("pool")
    newer = work.remember("The pool waits for twenty seconds", FILE, supersedes=[own.id])
    assert newer.scope == work.scope("pool")


# --- names -------------------------------------------------------------------------------------

NAMES = (
    "pool", "fix/pool", "fix/pool/2", "pool@2", "@x", "a@b/c", "größe", "gro\u0308ße", "x" * 240,
    "x" * 239 + "y", "a'b\"c", "a;b&c|d", "-".join(["long"] * 40), "日本/語", "a%2Fb", "\u200bx",
)  # fmt: skip


def test_each_name_has_a_scope_of_its_own() -> None:
    project = "project:github.com/acme/rocket"
    found = {branch_scope(project, name) for name in (*NAMES, "\udcff", "\udcfe")}
    assert len(found) == len(NAMES) + 2
    first, end = scopes_of_branches(project)
    for scope in found:
        assert len(scope) <= 200
        assert scope.isprintable()
        assert branch_part(project, scope) is not None
        assert first <= scope < end
        assert branch_part("project:github.com/acme/rock", scope) is None
    longest = "project:" + "h" * 170
    assert {len(branch_scope(longest, "n" * 250)), len(branch_scope(longest, "n"))} == {200, 180}
    assert branch_part(project, project) is None
    assert branch_part(project, f"{project}/docs@x") is None
    assert not first <= f"{project}/docs@x" < end
    # no branch is called as a shortened name is written
    shortened = branch_part(project, branch_scope(project, "x" * 240))
    assert shortened is not None
    ended = subprocess.run(["git", "check-ref-format", "--branch", shortened], check=False,
                           capture_output=True)  # fmt: skip
    assert ended.returncode != 0


@pytest.mark.slow
@pytest.mark.parametrize("name", [one for one in NAMES if "\u200b" not in one])
def test_a_branch_of_any_name_is_kept_read_and_merged(work: Work, name: str) -> None:
    branch(work.folder, name)
    assert checked_out(work.folder) == name
    kept = work.remember(FACT, FILE)
    assert kept.scope == branch_scope(work.project, name) != work.project
    assert work.seen() == {FACT}
    (found,) = work.store.branches.list()
    assert (found.name, found.current) == (name, True)
    git(work.folder, "checkout", "-q", "main")
    assert work.seen() == set()
    git(work.folder, "merge", "-q", "--no-ff", name)
    assert work.moved() == {FACT} == work.seen()


def test_the_project_is_read_without_its_branches(work: Work) -> None:
    branch(work.folder)
    work.remember(FACT, FILE)
    store, project = work.store, work.project
    assert list(store.list(scope=project)) == []
    assert list(store.list({"scope_prefix": project})) == []
    assert len(store.list(scope=work.scope("pool"))) == 1
    assert scopes(work) == (project, work.scope("pool"))


# --- merges ------------------------------------------------------------------------------------


def squashed(folder: Path) -> None:
    git(folder, "checkout", "-q", "main")
    git(folder, "merge", "-q", "--squash", "pool")
    git(folder, "commit", "-q", "-m", "pool as one")


def rebased(folder: Path) -> None:
    """The branch stays where it was; its commits come into the default branch as new ones."""
    git(folder, "checkout", "-q", "-b", "copy", "pool")
    git(folder, "rebase", "-q", "main")
    git(folder, "checkout", "-q", "main")
    git(folder, "merge", "-q", "copy")
    git(folder, "branch", "-q", "-D", "copy")


def rebased_itself(folder: Path) -> None:
    git(folder, "rebase", "-q", "main", "pool")
    merged(folder)


def picked(folder: Path) -> None:
    git(folder, "checkout", "-q", "main")
    git(folder, "cherry-pick", "main..pool")


MERGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "fast-forward": (merged, "history"),
    "commit": (lambda folder: merged(folder, "--no-ff"), "history"),
    "squash": (squashed, "patch"),
    "rebase": (rebased, "patch"),
    "rebase of itself": (rebased_itself, "history"),
    "cherry-pick of all": (picked, "patch"),
}


@pytest.mark.slow
@pytest.mark.parametrize("gone", [False, True])
@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("name", MERGES)
def test_what_belongs_to_a_merged_branch_becomes_the_projects(
    work: Work, name: str, ahead: bool, gone: bool
) -> None:
    merge, how = MERGES[name]
    folder = work.folder
    branch(folder)
    change(folder, "fifty", OTHER)
    kept = work.remember(FACT, f"{FILE}:21", f"{OTHER}:21")
    git(folder, "checkout", "-q", "main")
    if ahead:
        change(folder, "other", "README.md")
    assert work.moved() == set() == work.seen()
    assert work.states() == {"pool": ("open", None, 0)}
    merge(folder)
    if gone:
        git(folder, "branch", "-q", "-D", "pool")
    ((state, said, moves),) = work.states().values()
    assert (state, moves) == ("gone" if gone else "merged", 1)
    if not ahead and name in ("rebase", "cherry-pick of all"):
        how = said or ""  # the new commits may be the same ones
    assert said == how
    assert work.moved() == {FACT} == work.seen()
    now = work.memory(kept.id)
    assert (now.scope, now.status, now.version) == (work.project, kept.status, kept.version + 1)
    event = work.store.events(kept.id)[-1]
    assert event.event_type == "UPDATE"
    assert event.payload["old"] == {"scope": work.scope("pool")}
    assert event.payload["new"] == {"scope": work.project}
    assert event.payload["branch"]["name"] == "pool"
    assert event.payload["branch"]["how"] == how
    assert (event.payload["branch"]["head"] is None) == gone
    assert list(work.store.branches.list()) == [] == list(work.store.branches.merge())
    work.sound()


def test_a_commit_that_was_picked_merges_no_branch(work: Work) -> None:
    branch(work.folder)
    kept = work.remember(FACT, FILE)
    change(work.folder, "fifty")
    git(work.folder, "checkout", "-q", "main")
    change(work.folder, "other", "README.md")
    git(work.folder, "cherry-pick", "pool~1")
    assert work.moved() == set() == work.seen()
    assert work.memory(kept.id).scope == work.scope("pool")


def test_what_only_a_merge_into_the_branch_has_is_not_guessed(work: Work) -> None:
    branch(work.folder)
    git(work.folder, "checkout", "-q", "main")
    change(work.folder, "other", "README.md")
    git(work.folder, "checkout", "-q", "pool")
    git(work.folder, "merge", "-q", "--no-commit", "--no-ff", "main")
    change(work.folder, "resolved", OTHER)
    work.remember(FACT, OTHER)
    git(work.folder, "checkout", "-q", "main")
    git(work.folder, "cherry-pick", "pool^1")
    assert git(work.folder, "cherry", "main", "pool").startswith("- ")
    assert work.states() == {"pool": ("open", None, 0)}


def test_a_squash_that_says_something_else_is_not_guessed(work: Work) -> None:
    branch(work.folder)
    work.remember(FACT, FILE)
    git(work.folder, "checkout", "-q", "main")
    git(work.folder, "merge", "-q", "--squash", "pool")
    change(work.folder, "fifty", OTHER)
    assert work.moved() == set()
    assert work.states() == {"pool": ("open", None, 0)}
    (change_,) = work.store.branches.merge("pool")
    assert len(change_.moved) == 1
    assert work.seen() == {FACT}


@pytest.mark.parametrize("size", [200, 100])
def test_a_patch_of_a_binary_file_as_one_with_others_is_not_guessed(work: Work, size: int) -> None:
    branch(work.folder)
    (work.folder / "logo.png").write_bytes(b"\x89PNG\0" + bytes(range(200)))
    git(work.folder, "add", "-A")
    git(work.folder, "commit", "-q", "-m", "logo")
    work.remember(FACT, FILE)
    git(work.folder, "checkout", "-q", "main")
    git(work.folder, "merge", "-q", "--squash", "pool")
    (work.folder / "logo.png").write_bytes(b"\x89PNG\0" + bytes(range(size)))
    git(work.folder, "add", "-A")
    git(work.folder, "commit", "-q", "-m", "pool as one")
    assert work.moved() == set()


def test_a_branch_without_commits_of_its_own_was_not_merged(work: Work) -> None:
    branch(work.folder, commit=False)
    kept = work.remember(FACT, FILE)
    assert kept.scope == work.scope("pool")
    git(work.folder, "stash", "-q")
    git(work.folder, "checkout", "-q", "main")
    change(work.folder, "other", "README.md")
    # its head is one of the default branch, as it was from the start
    assert work.moved() == set() == work.seen()
    git(work.folder, "checkout", "-q", "pool")
    git(work.folder, "merge", "-q", "--ff-only", "main")
    assert work.moved() == set()
    git(work.folder, "reset", "-q", "--hard", "main~1")
    assert work.moved() == set()
    git(work.folder, "stash", "pop", "-q")
    git(work.folder, "commit", "-q", "-a", "-m", "forty")
    merged(work.folder, "--no-ff")
    assert work.moved() == {FACT} == work.seen()


def test_commits_that_were_taken_back_merge_no_branch(work: Work) -> None:
    branch(work.folder)
    work.remember(FACT, FILE)
    git(work.folder, "reset", "-q", "--hard", "main")
    assert work.states() == {"pool": ("open", None, 0)}


def test_commits_that_a_rebase_left_out_merge_no_branch(work: Work) -> None:
    branch(work.folder)
    work.remember(FACT, FILE)
    git(work.folder, "checkout", "-q", "main")
    change(work.folder, "other", "README.md")
    git(work.folder, "cherry-pick", "pool")
    git(work.folder, "rebase", "-q", "main", "pool")
    assert git(work.folder, "rev-list", "main..pool") == ""
    assert work.states() == {"pool": ("open", None, 0)}


def test_work_that_goes_on_behind_a_merge_stays_with_the_branch(work: Work) -> None:
    branch(work.folder)
    merged(work.folder, "--no-ff")
    git(work.folder, "checkout", "-q", "pool")
    change(work.folder, "sixty", commit=False)
    kept = work.remember("The pool holds sixty connections", f"{FILE}:22")
    assert kept.scope == work.scope("pool")
    assert work.moved() == set()
    (row,) = work.store.branches.show("pool")
    assert row.stays == "nothing says that what it speaks of was merged"
    git(work.folder, "commit", "-q", "-a", "-m", "sixty")
    merged(work.folder, "--no-ff")
    assert work.moved() == {kept.content}


def test_a_memory_of_an_earlier_branch_of_that_name_is_not_merged_with_it(work: Work) -> None:
    branch(work.folder)
    old = work.remember(FACT, f"{FILE}:21")
    git(work.folder, "checkout", "-q", "main")
    git(work.folder, "branch", "-q", "-D", "pool")
    assert work.states() == {"pool": ("gone", None, 0)}
    git(work.folder, "checkout", "-q", "-b", "pool")
    change(work.folder, "sixty")
    new = work.remember("The pool holds sixty connections", f"{FILE}:21")
    merged(work.folder)
    assert work.moved() == {new.content}
    assert work.memory(old.id).scope == work.scope("pool")


def test_a_deleted_branch_keeps_its_memories(work: Work) -> None:
    branch(work.folder)
    kept = work.remember(FACT, FILE)
    git(work.folder, "checkout", "-q", "main")
    git(work.folder, "branch", "-q", "-D", "pool")
    assert work.moved() == set()
    (found,) = work.store.branches.list()
    assert (found.name, found.state, found.memories, found.moves) == ("pool", "gone", 1, 0)
    assert work.memory(kept.id).status == "ACTIVE"
    (dropped,) = work.store.branches.drop("pool")
    assert dropped.ended == (kept.id,)
    assert dropped.to is None
    assert work.memory(kept.id).status == "DEPRECATED"
    assert work.store.events(kept.id)[-1].payload["reason"] == "the branch pool was dropped"
    assert list(work.store.branches.list()) == []
    work.sound()


def test_a_renamed_branch_takes_its_memories_along(work: Work) -> None:
    branch(work.folder)
    kept = work.remember(FACT, FILE)
    git(work.folder, "branch", "-m", "pool", "wide")
    git(work.folder, "branch", "-m", "wide", "fix/pool")
    assert work.states() == {"pool": ("renamed", "fix/pool", 1)}
    assert work.moved() == {FACT} == work.seen()
    assert work.memory(kept.id).scope == work.scope("fix/pool")
    assert work.store.events(kept.id)[-1].payload["branch"]["how"] == "fix/pool"
    merged_name = work.store.branches.list()[0]
    assert (merged_name.name, merged_name.current) == ("fix/pool", True)
    git(work.folder, "checkout", "-q", "main")
    git(work.folder, "merge", "-q", "fix/pool")
    assert work.moved() == {FACT} == work.seen()


def test_a_name_that_two_branches_had_is_not_guessed(work: Work) -> None:
    branch(work.folder)
    work.remember(FACT, FILE)
    git(work.folder, "branch", "-m", "pool", "one")
    git(work.folder, "checkout", "-q", "-b", "pool")
    git(work.folder, "branch", "-m", "pool", "two")
    assert work.moved() == set()
    assert work.states() == {"pool": ("gone", None, 0)}


# --- keys and texts that are there already ------------------------------------------------------


def on_branch(work: Work, text: str, file: str = FILE, **more: object) -> str:
    """Id of a memory of a file that the branch changed."""
    (place,) = placed(work.store._session, work.project, [[parse_anchor("anchor", file)]])
    assert place.scope != work.project
    made = work.store.commit(text, scope=place.scope, anchor=place.anchors, **more).memory_id  # type: ignore[arg-type]
    assert made is not None
    return made


def test_a_newer_value_of_a_key_takes_the_projects_place(work: Work) -> None:
    old = work.store.commit(
        "The pool holds ten connections", scope=work.project, key="pool.size"
    ).memory_id
    branch(work.folder)
    new = on_branch(work, FACT, key="pool.size")
    assert work.store.show(old).memory.status == "ACTIVE"
    merged(work.folder)
    (found,) = work.store.branches.merge()
    assert (found.moved, found.replaced, found.stayed) == ((new,), (old,), ())
    was = work.store.show(old).memory
    assert (was.status, was.superseded_by) == ("SUPERSEDED", new)
    assert work.seen() == {FACT}
    work.sound()


KEPT = {
    "newer": ({"t_valid": "2999-01-01"}, {}, "is newer"),
    "pinned": ({"pinned": True}, {}, "is pinned"),
    "a user's": ({"role": "user"}, {"role": "assistant"}, "a statement of a model"),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_key_that_the_project_keeps(work: Work, name: str) -> None:
    theirs, ours, why = KEPT[name]
    text = "The pool holds ten connections"
    old = work.store.commit(text, scope=work.project, key="pool.size", **theirs).memory_id
    branch(work.folder)
    new = on_branch(work, FACT, key="pool.size", **ours)
    merged(work.folder)
    (found,) = work.store.branches.merge()
    assert (found.moved, found.replaced, found.ended) == ((), (), ())
    (stayed,) = found.stayed
    assert stayed.id == new
    assert why in (stayed.stays or "")
    assert str(old) in (stayed.stays or "")
    assert work.memory(new).scope == work.scope("pool")
    assert work.memory(new).status == work.memory(str(old)).status == "ACTIVE"


def test_a_text_that_the_project_has_is_one_memory(work: Work) -> None:
    branch(work.folder)
    ours = on_branch(work, FACT)
    theirs = work.store.commit(FACT, scope=work.project).memory_id
    merged(work.folder)
    (found,) = work.store.branches.merge()
    assert (found.moved, found.ended) == ((), (ours,))
    was = work.memory(ours)
    assert (was.status, was.superseded_by) == ("SUPERSEDED", theirs)
    assert work.seen() == {FACT}
    work.sound()


def test_two_branches_with_one_key_come_one_after_the_other(work: Work) -> None:
    branch(work.folder)
    first = on_branch(work, FACT, key="pool.size")
    git(work.folder, "checkout", "-q", "-b", "web", "main")
    change(work.folder, "fifty", OTHER)
    second = work.remember("The pool holds sixty connections", OTHER)
    work.store.update(second.id, content=second.content)
    again = work.store.commit(
        "The pool holds seventy connections", key="pool.size", scope=work.scope("web")
    ).memory_id
    git(work.folder, "checkout", "-q", "main")
    merged(work.folder)
    work.store.branches.merge()
    (found,) = work.store.branches.merge("web")
    assert set(found.moved) == {second.id, again}
    assert found.replaced == (first,)
    work.sound()


def test_of_two_that_take_one_key_at_once_the_second_waits(work: Work) -> None:
    branch(work.folder)
    first = on_branch(work, FACT, key="pool.size")
    git(work.folder, "checkout", "-q", "-b", "wide", "main")
    change(work.folder, "wide", OTHER)
    second = on_branch(work, "The pool holds sixty connections", OTHER, key="pool.size")
    git(work.folder, "checkout", "-q", "main")
    git(work.folder, "merge", "-q", "--no-ff", "pool")
    git(work.folder, "merge", "-q", "--no-ff", "wide")
    one, other = work.store.branches.merge()
    assert (one.moved, other.moved) == ((first,), ())
    assert [stayed.id for stayed in other.stayed] == [second]
    (again,) = work.store.branches.merge()
    assert (again.moved, again.replaced) == ((second,), (first,))
    work.sound()


def test_a_pinned_memory_is_not_ended_for_an_equal_text(work: Work) -> None:
    branch(work.folder)
    ours = on_branch(work, FACT, pinned=True)
    theirs = work.store.commit(FACT, scope=work.project).memory_id
    merged(work.folder)
    (found,) = work.store.branches.merge()
    assert (found.moved, found.ended) == ((), ())
    assert [one.stays for one in found.stayed] == [f"{theirs} has the same text there"]
    assert work.memory(ours).status == "ACTIVE"


def test_what_changed_since_git_was_asked_is_left_alone(work: Work) -> None:
    branch(work.folder)
    kept = [on_branch(work, f"{FACT} in {place}") for place in ("Oslo", "Bergen", "Vardø")]
    merged(work.folder)
    session = work.store._session
    with session.ledger.read() as view:
        plans = list(Project(session, "default").plans(view))
    work.store.deprecate(kept[0])
    work.store.update(kept[1], scope="elsewhere")
    (found,) = _written(session, "default", plans, _Changes.move)
    assert found.moved == (kept[2],)
    assert work.memory(kept[1]).scope == "elsewhere"


def test_what_is_archived_or_pinned_moves_as_it_is(work: Work) -> None:
    branch(work.folder)
    archived = work.remember(FACT, FILE).id
    pinned = work.remember("The pool waits for ten seconds", FILE).id
    work.store.archive(archived)
    work.store.pin(pinned)
    merged(work.folder)
    (found,) = work.store.branches.merge()
    assert set(found.moved) == {archived, pinned}
    assert work.memory(archived).status == "ARCHIVED"
    assert work.memory(pinned).pinned
    assert {work.memory(id).scope for id in (archived, pinned)} == {work.project}


def test_what_was_put_there_by_hand_stays_until_it_is_named(work: Work) -> None:
    branch(work.folder)
    bare = work.store.commit("The branch is Ada's", scope=work.scope("pool")).memory_id
    anchored = work.store.commit(FACT, scope=work.scope("pool"), anchor=FILE).memory_id
    item = work.store.items.put(
        "note", {"a": 1}, text="The pool is measured daily", scope=work.scope("pool")
    )
    merged(work.folder)
    assert work.moved() == set()
    (found,) = work.store.branches.merge("pool")
    assert set(found.moved) == {bare, anchored}
    (stayed,) = found.stayed
    assert stayed.stays == "it is the text of an item"
    assert item.key == "note"


def test_a_refreshed_anchor_moves_with_its_branch(work: Work) -> None:
    branch(work.folder, commit=False)
    kept = work.remember(FACT, f"{FILE}:21")
    git(work.folder, "commit", "-q", "-a", "-m", "forty")
    work.store.anchors.refresh(kept.id)
    change(work.folder, "sixty", FILE)
    lines = (work.folder / FILE).read_text().replace("forty", "fifty")
    write(work.folder, {FILE: lines})
    git(work.folder, "commit", "-q", "-a", "-m", "fifty")
    merged(work.folder)
    # the branch's last version has other lines there, but the commit with these is its own
    assert work.moved() == {FACT}


# --- sources that changed -----------------------------------------------------------------------


def stale(work: Work, **more: bool) -> dict[str, tuple[bool, str | None]]:
    """Text of each stale memory → whether it was ended, and why it is not."""
    found = work.store.anchors.stale(**more)
    return {one.text: (one.deprecated, one.stays) for one in found}


@pytest.mark.parametrize("place", ["main", "third", "detached"])
def test_a_memory_of_another_branch_is_not_judged_here(work: Work, place: str) -> None:
    branch(work.folder)
    kept = work.remember(FACT, f"{FILE}:21")
    made = work.store.commit("Forty are enough", scope=work.scope("pool"), anchor=kept.id).memory_id
    git(work.folder, "checkout", "-q", "main")
    if place != "main":
        how = ["--detach"] if place == "detached" else ["-b", place]
        git(work.folder, "checkout", "-q", *how)
    found = work.store.anchors.stale(deprecate=True)
    assert (list(found), found.unknown, found.looked_at) == ([], 1, 2)
    (hit,) = [one for one in work.store.recall(FACT, all=True) if one.id == kept.id]
    (one,) = hit.anchors
    assert (one.state, one.why) == ("unknown", "of another branch than the one checked out")
    with pytest.raises(ConflictError, match="of another branch"):
        work.store.anchors.refresh(kept.id)
    assert work.memory(str(made)).status == work.memory(kept.id).status == "ACTIVE"
    git(work.folder, "checkout", "-q", "pool")
    assert stale(work) == {}
    write(work.folder, {FILE: "other\n"})
    assert stale(work, deprecate=True) == {FACT: (True, None)}


@pytest.mark.parametrize("place", ["branch", "file gone", "detached"])
def test_what_the_default_branch_has_is_not_ended_elsewhere(work: Work, place: str) -> None:
    text = "The pool holds ten connections"
    work.remember(text, f"{FILE}:10")
    if place == "detached":
        git(work.folder, "checkout", "-q", "--detach")
    else:
        git(work.folder, "checkout", "-q", "-b", "pool")
    if place == "file gone":
        (work.folder / FILE).unlink()
    else:
        write(work.folder, {FILE: "other\n"})
    git(work.folder, "commit", "-q", "-a", "-m", "other")
    assert stale(work, deprecate=True) == {text: (False, "main has its lines")}
    git(work.folder, "checkout", "-q", "-B", "main")
    assert stale(work, deprecate=True) == {text: (True, None)}


# --- calls -------------------------------------------------------------------------------------


def test_a_branch_without_memories_is_not_found(work: Work) -> None:
    for call in (work.store.branches.show, work.store.branches.merge, work.store.branches.drop):
        with pytest.raises(NotFoundError, match="Branch not found: main"):
            call("main")


def test_a_view_of_one_scope_knows_no_branches(work: Work) -> None:
    branch(work.folder)
    work.remember(FACT, FILE)
    view = work.store.scoped("user/ada").branches
    for call in (view.list, view.merge, lambda: view.show("pool"), lambda: view.drop("pool")):
        with pytest.raises(ConflictError, match=r"branches\.\w+ acts on all scopes"):
            call()


def test_branches_of_another_project_are_not_listed(work: Work, tmp_path: Path) -> None:
    branch(work.folder)
    work.remember(FACT, FILE)
    other = Work(repository(tmp_path / "more", {FILE: "one\n"}), work.store)
    assert list(other.store.branches.list()) == []
    assert other.store.branches.list().project == other.project != work.project


def test_a_merge_survives_an_export(work: Work, tmp_path: Path) -> None:
    branch(work.folder)
    kept = work.remember(FACT, FILE)
    work.store.export(tmp_path / "out.jsonl")
    with vestig.open(":memory:", embedder=work.store._session.embedder) as again:
        again.import_(tmp_path / "out.jsonl")
        there = Work(work.folder, again)
        merged(work.folder)
        assert there.moved() == {FACT}
        assert there.memory(kept.id).scope == work.project
        there.sound()


def test_a_rule_is_not_ended_for_an_equal_text_that_is_none(work: Work) -> None:
    branch(work.folder)
    rule = work.store.rules.add(FACT, "command = deploy", "deny", scope=work.scope("pool"))
    theirs = work.store.commit(FACT, scope=work.project).memory_id
    merged(work.folder)
    (found,) = work.store.branches.merge("pool")
    assert work.store.rules.test(command="deploy").decision == "deny"
    stayed = [(one.id, one.stays) for one in found.stayed]
    assert stayed == [(rule.id, f"{theirs} has the same text there")]


def test_a_branch_that_is_dropped_leaves_its_rules(work: Work) -> None:
    branch(work.folder)
    kept = work.remember(FACT, FILE)
    rule = work.store.rules.add("Nobody deploys", "command = deploy", scope=work.scope("pool"))
    (found,) = work.store.branches.drop("pool")
    assert found.ended == (kept.id,)
    assert [(one.id, "rule remove" in str(one.stays)) for one in found.stayed] == [(rule.id, True)]
    assert work.store.rules.test(command="deploy").decision == "remind"
    work.store.rules.remove(rule.id)
    assert not work.store.branches.list()
    work.sound()
