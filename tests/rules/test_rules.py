"""Rules as memories: kept, counted, changed, ended, exported and forgotten."""

from __future__ import annotations

import ast
import io
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import vestig
from vestig.errors import ConflictError, HygieneError, NotFoundError, ValidationError
from vestig.rules.suggest import proposal
from vestig.testing import FrozenClock, HashingEmbedder

TEXT = "Never push to the lighthouse by hand"
WHEN = "command = 'git push'"


@pytest.fixture
def store() -> Iterator[vestig.Vestig]:
    with vestig.open(":memory:", embedder=HashingEmbedder(32), clock=FrozenClock()) as opened:
        yield opened


def sound(store: vestig.Vestig) -> None:
    assert store._session.ledger.verify_all() == []
    assert not [one for one in store.admin.doctor().findings if one.level == "damage"]


def test_a_rule_is_a_memory_and_the_same_again_changes_nothing(store: vestig.Vestig) -> None:
    rule = store.rules.add(TEXT, WHEN, "deny", scope="p")
    seq = store.admin.stats().seq
    assert store.rules.add(TEXT, WHEN, "deny", scope="p") == rule
    assert store.admin.stats().seq == seq
    memory = store.get(rule.id)
    assert memory is not None
    assert (memory.content, memory.scope) == (TEXT, "p")
    assert store.recall("who pushes to the lighthouse?")[0].memory.id == rule.id
    with pytest.raises(ConflictError, match="edit that one"):
        store.rules.add(TEXT, "tool = Bash", "deny", scope="p")
    assert store.rules.add(TEXT, WHEN, "deny").id != rule.id
    sound(store)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"text": TEXT, "when": "file = x"}, ValidationError),
        ({"text": TEXT, "when": WHEN, "unless": "x"}, ValidationError),
        ({"text": TEXT, "when": WHEN, "do": "block"}, ValidationError),
        ({"text": "", "when": WHEN}, HygieneError),
        ({"text": TEXT, "when": "text ~ 'password: hunter2XYZ!'"}, ValidationError),
    ],
)
def test_what_is_no_rule_is_refused_and_nothing_stored(
    store: vestig.Vestig, given: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        store.rules.add(**given)
    assert store.count() == 0


def test_the_strongest_decision_counts_and_each_rule_is_counted(store: vestig.Vestig) -> None:
    remind = store.rules.add(f"{TEXT} today", "tool = Bash").id
    deny = store.rules.add(TEXT, WHEN, "deny", unless="command ~ --dry-run").id
    found = store.rules.check(tool="Bash", command="sudo git push")
    assert (found.decision, [one.id for one in found.fired]) == ("deny", [remind, deny])
    assert store.rules.test(tool="Bash", command="git push").decision == "deny"
    assert store.rules.check(tool="Bash", command="git push --dry-run").gave_way == (deny,)
    perhaps = store.rules.check(command="$TOOL push")
    assert (perhaps.decision, perhaps.fired[0].certain) == ("ask", False)
    assert perhaps.unread == "a program whose name is not fixed: $TOOL"
    shown = store.rules.show(deny)
    assert (shown.fired, shown.gave_way, shown.denied) == (2, 1, 1)
    assert shown.last_fired_at is not None
    assert [one.fired for one in store.rules.list()] == [2, 2]
    with pytest.raises(ValidationError, match="any of tool, path, command, url, text"):
        store.rules.check(scope="p")


def test_a_scope_has_its_rules_and_those_of_all(store: vestig.Vestig) -> None:
    for name, scope in (("here", "p"), ("there", "q"), ("everywhere", None)):
        store.rules.add(f"{TEXT} {name}", WHEN, scope=scope)
    texts = [one.text.split()[-1] for one in store.rules.check(command="git push", scope="p").fired]
    assert texts == ["here", "everywhere"]
    assert len(store.rules.check(command="git push").fired) == 3
    assert [one.text.split()[-1] for one in store.rules.list(scope="q")] == ["there", "everywhere"]


def test_it_binds_while_its_memory_is_active(store: vestig.Vestig) -> None:
    for end in ("deprecate", "archive", "forget"):
        id = store.rules.add(f"{TEXT} {end}", WHEN, "deny").id
        assert store.rules.test(command="git push").decision == "deny"
        getattr(store, end)(id)
        assert store.rules.test(command="git push").decision is None, end
    store.unarchive(store.rules.list(ended=True)[-1].id)
    assert store.rules.test(command="git push").decision == "deny"
    sound(store)


def test_an_edit_keeps_the_counts_and_the_words_of_before(store: vestig.Vestig) -> None:
    rule = store.rules.add(TEXT, WHEN, "ask", unless="tool = Test")
    store.rules.check(command="git push")
    same = store.rules.edit(rule.id, do="deny", unless="")
    assert (same.id, same.do, same.unless, same.fired) == (rule.id, "deny", None, 1)
    other = store.rules.edit(rule.id, text="Nobody pushes to the lighthouse", when="tool = Git")
    assert other.id != rule.id
    assert (other.when, other.do, other.fired) == ("tool = Git", "deny", 1)
    assert store.show(rule.id).memory.superseded_by == other.id
    assert [one.id for one in store.rules.list()] == [other.id]
    assert [one.id for one in store.rules.list(ended=True)] == [rule.id, other.id]
    with pytest.raises(ConflictError, match="binds nothing"):
        store.rules.edit(rule.id, do="ask")
    with pytest.raises(ValidationError, match="text, when, do or unless"):
        store.rules.edit(other.id)
    store.rules.remove(other.id)
    assert len(store.rules.list()) == 0
    with pytest.raises(ConflictError):
        store.rules.remove(other.id)
    plain = store.commit("The boiler is drained on Mondays").memory_id
    assert plain is not None
    for call in (store.rules.show, store.rules.remove):
        with pytest.raises(NotFoundError, match="binds nothing"):
            call(plain)
    sound(store)


def test_an_edit_that_was_interrupted_is_done_again(
    store: vestig.Vestig, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vestig.memories import states

    rule = store.rules.add(TEXT, WHEN, "deny")
    with monkeypatch.context() as patch:
        patch.setattr(states, "supersede", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            store.rules.edit(rule.id, text="Nobody pushes to the lighthouse")
    assert len(store.rules.test(command="git push").fired) == 2  # at no moment it binds nothing
    store.rules.edit(rule.id, text="Nobody pushes to the lighthouse")
    assert len(store.rules.test(command="git push").fired) == 1


def test_rules_travel_and_a_condition_that_cannot_be_read_does_not(tmp_path: Path) -> None:
    with vestig.open(tmp_path / "a", embedder=HashingEmbedder(16)) as store:
        rule = store.rules.add(TEXT, WHEN, "deny", unless="command ~ --dry-run", scope="p")
        store.export(tmp_path / "all.jsonl")
    with vestig.open(tmp_path / "b", embedder=HashingEmbedder(16)) as store:
        store.import_(tmp_path / "all.jsonl")
        found = store.rules.show(rule.id)
        assert (found.when, found.do, found.unless) == (rule.when, "deny", rule.unless)
        assert store.rules.test(command="git push", scope="p").decision == "deny"
        sound(store)
    lines = (tmp_path / "all.jsonl").read_text().replace("command = 'git push'", "file = x")
    with (
        vestig.open(tmp_path / "c", embedder=HashingEmbedder(16)) as store,
        pytest.raises(ValidationError, match="a condition of a rule"),
    ):
        store.import_(io.StringIO(lines), format="export")


def test_no_byte_of_a_forgotten_rule_stays(tmp_path: Path) -> None:
    when = 'text ~ "the seventh lantern of the harbour"'
    with vestig.open(tmp_path / "a", embedder=HashingEmbedder(16)) as store:
        ids = [store.rules.add(f"{TEXT} {n}", when).id for n in ("one", "two")]
        store.rules.check(text="the seventh lantern of the harbour is hidden")
        assert store.forget(ids[0]).residues == 0
        assert store.rules.show(ids[1]).fired == 1
        assert store.forget(ids[1]).residues == 0
    held = b"".join(path.read_bytes() for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert b"seventh lantern" not in held


def test_a_read_only_store_decides_and_counts_nothing(tmp_path: Path) -> None:
    with vestig.open(tmp_path / "a", embedder=HashingEmbedder(16)) as store:
        id = store.rules.add(TEXT, WHEN, "deny").id
    with vestig.open(tmp_path / "a", embedder=HashingEmbedder(16), read_only=True) as store:
        assert store.rules.check(command="git push").decision == "deny"
        assert store.rules.show(id).fired == 0


def test_what_cannot_be_counted_holds_nothing_up(
    store: vestig.Vestig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*_: object) -> None:
        raise vestig.StoreLockedError("locked")

    store.rules.add(TEXT, WHEN, "deny")
    monkeypatch.setattr(store._session.ledger, "touch", locked)
    found = store.rules.check(command="git push")
    assert (found.decision, found.degraded[0].code) == ("deny", "rules_not_counted")


def test_suggestions_are_of_texts_that_bind_nothing_yet(store: vestig.Vestig) -> None:
    store.rules.add(TEXT, WHEN)
    store.commit("Never edit docs/deploy.md by hand")
    store.commit("Never migrate production by hand")
    store.commit("The boiler is drained on Mondays")
    found, unclear = store.rules.suggest()
    assert (found.when, found.do, found.why) == ('path ~ "docs/deploy.md"', "ask", None)
    assert (unclear.when, unclear.text) == (None, "Never migrate production by hand")
    assert unclear.why == "it names no command in backquotes, no path and no program"
    assert found.when is not None
    assert len(store.rules.list()) == 1
    store.rules.add(found.text, found.when, found.do)
    assert [one.when for one in store.rules.suggest()] == [None]


@pytest.mark.parametrize(
    ("text", "when", "do"),
    [
        ("Never run `terraform apply` alone", 'command ~ "terraform apply"', "ask"),
        ("You must not touch `src/db.py`", 'path ~ "src/db.py"', "ask"),
        ("Do not edit what is in `vendor/` by hand", 'path ~ "vendor/*"', "ask"),
        ("In `vendor/`, do not edit by hand", 'path ~ "vendor/*"', "ask"),
        ("Never store keys in a .env file", 'path ~ ".env"', "ask"),
        ("Don't use yarn, this repo has pnpm", "command = yarn", "ask"),
        (
            "You must never svn commit --force-log to trunk",
            'command ~ "svn*commit*--force-log"',
            "ask",
        ),
        ("Run `make deploy` only after `make test`", 'command ~ "make deploy"', "ask"),
        ("Never git push before pytest is green", 'command ~ "git*push"', "ask"),
        ("Never deploy without `make test`", None, "ask"),
        ("After `make test` you must never idle", None, "ask"),
        ("Always run pytest before a merge", None, "remind"),
        ("Always run pytest before you git push", 'command ~ "git*push"', "remind"),
        ("Before `git push`, always run pytest", 'command ~ "git push"', "remind"),
        ("After a change of docs/x.md, always run `make`", 'path ~ "docs/x.md"', "remind"),
        ("Always use --dry-run with terraform", "command = terraform", "remind"),
        ("Always read docs/deploy.md before a release", None, "remind"),
        ("Do not migrate production by hand", None, "ask"),
        ("Deploys happen only after the review", None, "ask"),
        ("The customer must pay within 30 days", None, "remind"),
        ("Always call me Ada", None, "remind"),
        ("Never write outside of src/", None, "ask"),
    ],
)
def test_proposals(text: str, when: str | None, do: str) -> None:
    found = proposal(text)
    assert found is not None
    assert (found.when, found.do, found.why is None) == (when, do, when is not None)


@pytest.mark.parametrize("text", ["The mustard is in the cellar", "Nevertheless", ""])
def test_other_texts_propose_nothing(text: str) -> None:
    assert proposal(text) is None


def test_json_of_a_check(store: vestig.Vestig) -> None:
    store.rules.add(TEXT, WHEN, "deny")
    shown = json.loads(json.dumps(store.rules.test(command="git push").to_dict()))
    assert shown["fired"][0]["do"] == "deny"


@pytest.mark.parametrize(
    ("when", "unless", "never"),
    [
        ("tool = Bash and tool = Read", None, True),
        ("tool = Bash tool in (Read, Write)", None, True),
        ("(url = a and (url = b)) or (text = a and text = b)", None, True),
        ("url ~ 'a*' and not url ~ 'a*'", None, True),
        ("tool = Bash", "tool = Bash", True),
        ("tool = Bash or tool = Read", None, False),
        ("tool in (Bash, Read) and tool = Read", None, False),
        ("tool = Bash and path ~ src/*", None, False),
        ("command = git and command = push", None, False),
        ("path = a and path = b", None, False),
        ("command = sudo and not command = sudo", None, False),
        ("command = git", "command = git", False),
        ("path ~ src/", None, True),
        ("tool = Edit and path ~ 'a//b'", None, True),
        ("path ~ ././x or path ~ 'a/./b'", None, True),
        ("path ~ ./src/* or path ~ */ or path ~ ../x", None, False),
    ],
)
def test_a_rule_that_can_never_fire_says_so(
    store: vestig.Vestig, when: str, unless: str | None, never: bool
) -> None:
    made = store.rules.add(TEXT, when, unless=unless)
    assert any("can never fire" in one for one in made.warnings) is never
    assert store.rules.show(made.id).warnings == made.warnings
    for tool in ("Bash", "Read", "Write") if never else ():
        for value in ("a", "b", "ab"):
            path = [f"src/{value}", "src/", f"a//{value}", f"../x/{value}", "a/./b", "../x"]
            assert not store.rules.test(
                tool=tool, url=value, text=value, command=value, path=path
            ).fired


@pytest.mark.parametrize(
    ("when", "warning"),
    [
        ("tool = bash", "tool = bash: editors call it Bash"),
        (
            "tool in (Edit, webfetch) and url ~ 'https://x'",
            "tool = webfetch: editors call it WebFetch",
        ),
        ("path = app/.env", '… or command ~ "*.env*"'),
        ("path ~ 'src/*'", '… or command ~ "*src*"'),
        ("path = .env or command ~ '*.env*'", None),
        ("tool = Write and path = .env", None),
        ("tool = Bash and command = git", None),
        ("tool = mcp__files__write", None),
        ("command = 'ls | grep'", "with | in quotes alone"),
        ("command in ('cd x; rm')", "with ; in quotes alone"),
        ("command ~ 'a && b'", "with && in quotes alone"),
        ("command ~ 'curl*|*sh'", "with | in quotes alone"),
        ("not command ~ 'a && b' and tool = Bash", None),
        ("command ~ 'find*-exec rm*;' or command ~ 'a|b' or command ~ 'x?a&b;c'", None),
        ("command = 'X=1 make'", "without X=1, which command ~ sees"),
        ("command = 'a=b'", "without a=b, which command ~ sees"),
        ("command = 'echo x >> .env'", "without >>, which command ~ sees"),
        ("command ~ 'X=1 make' or command ~ 'echo >> .env'", None),
        ("tool = Bash and path = x", "editors tell no path of Bash"),
        ("path = x and (tool in (Read, Grep) and text ~ x)", "tell no text of Read, Grep"),
        ("tool in (Bash, Read) and path = x", None),
        (
            "command = 'rake a' and command = 'rake b'",
            'begins with "rake a" and "rake b": each command of a line is decided alone',
        ),
        ("command = a and command = b", "each command of a line is decided alone"),
        ("command = sudo and command = a and command = 'x/a b'", None),
        ("url ~ '*x?a=1' or url = 'https://x?a=1' or text = 'why?'", None),
        ("path ~ '*.sql'", '… or command ~ "*.sql*"'),
        ("command = 'git push'", 'command = git and command ~ "* push*" sees'),
        ("tool = Bash and command = 'aws s3 rm'", 'command = aws and command ~ "* s3* rm*" sees'),
        ("command = 'npm run' or tool = Read", 'command = npm and command ~ "* run*" sees'),
        ("command = 'git push' or command = git and command ~ '* push*'", None),
        ("command = 'git push' or command ~ 'git*push'", None),
        ("command = 'git --version' or command = git", None),
        ("tool = Bash and not command = 'git status'", None),
    ],
)
def test_what_is_hardly_meant_is_told(store: vestig.Vestig, when: str, warning: str | None) -> None:
    told = store.rules.add(TEXT, when).warnings
    assert [one for one in told if warning is None or not one.endswith(warning)] == []
    assert len(told) == (warning is not None)


def test_a_rule_on_a_path_and_a_command_sees_the_shell(store: vestig.Vestig) -> None:
    store.rules.add(TEXT, "path = .env or command ~ '*.env*'", "ask")
    for action in ({"path": "app/.env"}, {"command": "cat .env"}, {"command": "echo A=1 >> .env"}):
        assert store.rules.test(**action).decision == "ask"
    for line in ("if [[ -f .env ]]; then a; fi", "for f in b .env; do cat $f; done"):
        assert store.rules.test(command=line).decision == "ask"
    store.rules.add("Nobody forces", "command = 'git push' and command ~ '*--force*'", "deny")
    spoken = "git commit -m 'never git push --force again'"
    assert store.rules.test(command=spoken).decision is None
    assert store.rules.test(command="git push origin --force").decision == "deny"


def test_a_value_of_several_words_is_told_to_be_quoted(store: vestig.Vestig) -> None:
    with pytest.raises(vestig.ValidationError, match='in quotes: command = "'):
        store.rules.add(TEXT, "command = git push")
    with pytest.raises(vestig.ValidationError, match="tool is meant"):
        store.rules.add(TEXT, "command = git toool = Bash")


def test_an_edited_rule_names_its_successor(store: vestig.Vestig) -> None:
    old = store.rules.add(TEXT, WHEN)
    new = store.rules.edit(old.id, text="Never push to main without a review")
    assert new.id != old.id
    with pytest.raises(vestig.ConflictError, match=f"{new.id} took its place"):
        store.rules.edit(old.id, do="deny")


@pytest.mark.parametrize("edited", [False, True], ids=["add", "edit"])
@pytest.mark.parametrize("do", ["deny", "ask"])
def test_what_is_added_in_place_of_an_archived_rule_says_what_binds(
    store: vestig.Vestig, do: str, edited: bool
) -> None:
    old, other = store.rules.add(TEXT, WHEN, "deny"), store.rules.add("Nobody sails", "tool = Sail")
    with pytest.warns(UserWarning, match="the text of a rule"):
        store.archive(old.id)
    with pytest.raises(ConflictError, match="binds nothing; add the rule again"):
        store.rules.edit(old.id, do=do)
    assert store.rules.test(command="git push").decision is None
    again = (
        store.rules.edit(other.id, text=TEXT, when=WHEN, do=do)
        if edited
        else store.rules.add(TEXT, WHEN, do)
    )
    assert (again.id, again.do, again.status) == (old.id, do, "ACTIVE")
    assert store.rules.test(command="git push").decision == do
    # a rule that binds is another matter: it is refused, and stays as it was
    with pytest.raises(ConflictError, match="edit that one"):
        store.rules.add(TEXT, WHEN, "remind")
    assert store.rules.test(command="git push").decision == do
    sound(store)


def test_who_ends_the_memory_of_a_rule_is_told(store: vestig.Vestig) -> None:
    ids = [store.rules.add(f"{TEXT} {at}", WHEN).id for at in range(5)]
    other = str(store.commit("Pushes are free from May on").memory_id)
    with pytest.warns(UserWarning, match=r"archive: .*rules\.add\(text, when, do\)"):
        assert "is the text of a rule" in store.archive(ids[0]).warnings[0]
    with pytest.warns(UserWarning, match="deprecate: .*is the text of a rule"):
        assert "is the text of a rule" in store.deprecate(ids[1]).warnings[0]
    assert "is the text of a rule" in store.supersede(ids[2], other).warnings[-1]
    assert (
        "is the text of a rule" in store.commit("Pushes rest now", supersedes=[ids[3]]).warnings[-1]
    )
    with pytest.warns(UserWarning, match="update: .*is the text of a rule, which ended"):
        assert store.update(ids[4], content="Pushes rest on Fridays").warnings
    assert store.rules.check(command="git push").fired == ()
    assert store.unarchive(ids[0]).warnings == ()
    assert store.rules.remove(ids[0]).warnings == ()
    assert store.archive(other).warnings == ()


def test_a_filter_ends_a_rule_only_by_its_id() -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder(32)) as store:
        rule = store.rules.add(TEXT, WHEN, "deny", scope="team")
        other = store.commit("The team meets on Monday", scope="team").memory_id
        store.supersede(store.commit("Push by hand", scope="old").memory_id or "", rule.id)
        for dry_run in (True, False):
            done = store.deprecate(where={"scope": "team"}, dry_run=dry_run)
            assert (done.memory_ids, done.had_superseded) == ((other,), ())
            (said,) = done.warnings
            assert said.startswith(f"{rule.id} is the text of a rule, which stays")
        assert store.rules.test(command="git push", scope="team").decision == "deny"
        assert store.deprecate(where={"ids": [rule.id[:14]]}).memory_ids == (rule.id,)
        assert store.rules.test(command="git push", scope="team").decision != "deny"


def test_rules_that_name_whom_a_filter_forgets_are_told_with_the_call(store: vestig.Vestig) -> None:
    ids = [
        store.rules.add(f"Never call {who} before nine", WHEN).id
        for who in ("Petra Lindqvist", "Petra")
    ]
    store.commit("Petra Lindqvist is the producer of the play.")
    where: Any = {"entities": ["Petra Lindqvist"]}
    for dry_run in (True, False):
        with pytest.warns(
            UserWarning,
            match="2 memories are texts of rules, which stay: .* deletes texts and rules",
        ):
            done = store.forget(where=where, dry_run=dry_run)
        assert len(done.memory_ids) == 1
        (said,) = [one for one in done.warnings if "texts of rules" in one]
        assert all(id in said for id in ids)
    # what is printed does what it says
    listed = said[said.index("[") : said.index("]") + 1]
    store.forget(ast.literal_eval(listed))
    assert not store.rules.list(ended=True)
    assert store.forget(where=where, dry_run=True).also_named == ()


def test_a_filter_forgets_a_rule_only_by_its_id() -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder(32)) as store:
        rule = store.rules.add(TEXT, WHEN, "deny", scope="team")
        over = store.rules.add("Never push on Fridays", "tool = Bash", "deny", scope="team")
        store.rules.remove(over.id)
        other = store.commit("The team meets on Monday", scope="team").memory_id
        for dry_run in (True, False):
            with pytest.warns(UserWarning, match="which stays"):
                done = store.forget(where={"scope": "team"}, dry_run=dry_run)
            # a rule that has ended goes like any memory
            assert set(done.memory_ids) == {over.id, other}
            (said,) = done.warnings
            assert said.startswith(f"{rule.id} is the text of a rule, which stays")
            assert f'forget("{rule.id}")' in said
        assert store.rules.test(command="git push", scope="team").decision == "deny"
        done = store.forget(where={"ids": [rule.id[:14]]})
        assert (done.memory_ids, done.warnings) == ((rule.id,), ())
        again = store.rules.add(TEXT, WHEN, "deny")
        assert store.forget(again.id).warnings == ()
        assert not store.rules.list(ended=True)
        sound(store)


def test_a_prune_that_ends_a_rule_says_so() -> None:
    clock = FrozenClock()
    with vestig.open(":memory:", embedder=HashingEmbedder(32), clock=clock) as store:
        rule = store.rules.add(TEXT, WHEN, "deny")
        over = store.rules.add("Never push on Fridays", "tool = Bash", "deny")
        note = str(store.commit("The team meets on Monday").memory_id)
        for id in (rule.id, over.id, note):
            store.update(id, retention_until=clock() + timedelta(days=1))
        store.rules.remove(over.id)
        clock.move(days=2)
        for dry_run in (True, False):
            with pytest.warns(UserWarning, match=f"{rule.id} is the text of a rule"):
                report = store.admin.prune(dry_run=dry_run)
            assert set(report.memory_ids) == {rule.id, over.id, note}
            assert len(report.warnings) == 1
        assert store.admin.prune().warnings == ()
        sound(store)


@pytest.mark.parametrize("text", [TEXT, f"{TEXT}!"], ids=["exact", "near"])
@pytest.mark.parametrize("role", [None, "assistant"])
def test_a_repeat_of_its_text_ends_no_rule(text: str, role: str | None) -> None:
    clock = FrozenClock()
    with vestig.open(":memory:", embedder=HashingEmbedder(32), clock=clock) as store:
        rule = store.rules.add(TEXT, WHEN, "deny")
        end = clock() + timedelta(seconds=1)
        said = store.commit(text, role=role, t_invalid=end, retention_until="2001-01-01")
        assert said.memory_id == rule.id
        assert [one.split(",")[0].partition("already: ")[2] for one in said.warnings][:2] == [
            "retention_until stays absent",
            "t_invalid stays open",
        ]
        assert store.show(rule.id).memory.reinforce_count == 1
        clock.move(days=1)
        assert store.admin.prune().removed == 0
        assert store.rules.test(command="git push").decision == "deny"
        # who names it ends it, and a repeat from then on changes nothing before
        store.update(rule.id, t_invalid=clock() + timedelta(days=1))
        later = store.commit(text, t_valid=clock() + timedelta(days=2))
        assert later.memory_id == rule.id
        assert "it ends when it did" in " ".join(later.warnings)
        assert store.rules.test(command="git push").decision == "deny"
        sound(store)


@pytest.mark.parametrize("text", [TEXT, f"{TEXT}!"], ids=["exact", "near"])
@pytest.mark.parametrize("role", [None, "user", "assistant", "tool"])
def test_a_repeat_by_a_model_begins_no_archived_rule(text: str, role: str | None) -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder(32)) as store:
        rule = store.rules.add(TEXT, WHEN, "deny")
        note = str(store.commit("The boat lies at the pier").memory_id)
        with pytest.warns(UserWarning, match="the text of a rule"):
            store.archive(rule.id)
        store.archive(note)
        said = store.commit(text, role=role)
        told = [one for one in said.warnings if "archived" in one]
        assert said.superseded == ()
        by_model = role in ("assistant", "tool")
        assert (said.memory_id, len(told)) == (rule.id, 1)
        assert ("it stays archived" in told[0], "a rule again" in told[0]) == (
            by_model,
            not by_model,
        )
        assert store.rules.test(command="git push").decision == (None if by_model else "deny")
        # what is no rule comes back as ever, and a rule that binds is repeated without a word
        other = store.commit("The boat lies at the pier", role=role)
        assert not any("archived" in one for one in other.warnings)
        assert store.show(note).memory.status == "ACTIVE"
        store.unarchive(rule.id)
        assert store.rules.test(command="git push").decision == "deny"
        assert not any("rule" in one for one in store.commit(text, role=role).warnings)
        sound(store)


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_rule_that_stays_archived_takes_no_place(store: vestig.Vestig, role: str) -> None:
    rule = store.rules.add(TEXT, WHEN, "deny")
    with pytest.warns(UserWarning, match="the text of a rule"):
        store.archive(rule.id)
    holds = str(store.commit("Pushes are free on Sundays").memory_id)
    said = store.commit(TEXT, role=role, supersedes=[holds])
    by_model = role == "assistant"
    assert said.superseded == (() if by_model else (holds,))
    assert ("nothing is superseded" in " ".join(said.warnings)) == by_model
    assert store.show(holds).memory.status == ("ACTIVE" if by_model else "SUPERSEDED")
    sound(store)


def test_the_list_shows_what_binds_as_active_alone() -> None:
    clock = FrozenClock()
    with vestig.open(":memory:", embedder=HashingEmbedder(32), clock=clock) as store:
        rule = store.rules.add(TEXT, WHEN, "deny")
        store.update(rule.id, t_invalid=clock() + timedelta(days=1))
        (shown,) = store.rules.list()
        assert (shown.status, shown.warnings[0][:22]) == ("ACTIVE", "the rule binds until 2")
        clock.move(days=2)
        assert store.rules.test(command="git push").decision is None
        assert len(store.rules.list()) == 0
        assert store.rules.list(ended=True)[0].status == store.rules.show(rule.id).status == "ENDED"
        with pytest.raises(ConflictError, match="ENDED, so that it binds nothing"):
            store.rules.edit(rule.id, do="ask")
        again = store.rules.add(TEXT, WHEN, "deny")
        assert (again.id != rule.id, again.status) == (True, "ACTIVE")
        assert store.rules.test(command="git push").decision == "deny"
        store.update(again.id, t_valid=clock() + timedelta(days=1))
        assert store.rules.test(command="git push").decision is None
        assert store.rules.show(again.id).status == store.rules.list()[0].status == "ANNOUNCED"
        sound(store)


def test_a_rule_on_a_text_that_ends_says_until_when(store: vestig.Vestig) -> None:
    store.commit(TEXT, t_invalid="2099-01-01", retention_until="2098-01-01")
    told = store.rules.add(TEXT, WHEN).warnings
    assert [one.partition(" 20")[0] for one in told][:2] == [
        "the rule binds until",
        "a prune may delete the rule from",
    ]


def test_the_form_that_a_warning_names_sees_options_before_the_word(store: vestig.Vestig) -> None:
    (told,) = store.rules.add(TEXT, WHEN, "deny").warnings
    line, safer = told.removeprefix('command = "git push" does not see ')[:-5].split(", which ")
    assert store.rules.test(command=line).decision is None
    assert store.rules.add("Nobody pushes", safer, "deny").warnings == ()
    for command in (line, "git push", "git push origin"):
        assert store.rules.test(command=command).decision == "deny"
    assert store.rules.test(command="git status").decision is None


@pytest.mark.parametrize(
    ("when", "meant", "action", "other"),
    [
        ('tool = "mcp__*"', 'tool ~ "mcp__*"', {"tool": "mcp__a"}, {"tool": "Bash"}),
        ('tool ~ "mcp__.*"', 'tool ~ "mcp__*"', {"tool": "mcp__a"}, {"tool": "Bash"}),
        (
            "tool = '^(Edit|mcp__.*)$'",
            '(tool = "Edit" or tool ~ "mcp__*")',
            {"tool": "Edit"},
            {"tool": "Bash"},
        ),
        ('path = "db/*"', 'path ~ "db/*"', {"path": "/a/db/x.sql"}, {"path": "db"}),
        ("path = 'a?\"*'", 'path ~ "a?\\"*"', {"path": 'x/ab"c'}, {"path": "ab"}),
        (
            'path in ("*.sql", "?.env", a)',
            '(path ~ "*.sql" or path ~ "?.env" or path = "a")',
            {"path": "x/y.env"},
            {"path": "x/yz.env"},
        ),
        (
            'url = "https://*.prod.example/*"',
            'url ~ "https://*.prod.example/*"',
            {"url": "https://a.prod.example/b"},
            {"url": "https://a.example/b"},
        ),
        (
            "url in (prod.example)",
            'url ~ "*://prod.example*"',
            {"url": "https://prod.example/b"},
            {"url": "https://example/b"},
        ),
        ('text = "*TODO*"', 'text ~ "*TODO*"', {"text": "a todo b"}, {"text": "do"}),
        ('command = "rm*"', 'command = "rm"', {"command": "rm -r a"}, {"command": "npm run form"}),
        ('command = "git *"', 'command = "git"', {"command": "git push"}, {"command": "ls git"}),
        (
            "command in ('git push*', ls) and tool = Bash",
            '(command = "git" and command ~ "* push*" or command = "ls")',
            {"command": "cd a && git -C b push c"},
            {"command": "git status"},
        ),
        (
            "not (tool = Read or not command = 'rake db:*')",
            '(command = "rake" and command ~ "* db:*")',
            {"command": "rake db:drop"},
            {"command": "rake test"},
        ),
        (
            'command = "*migrate*"',
            'command ~ "*migrate*"',
            {"command": "a migrate"},
            {"command": "a"},
        ),
        ('command = "/opt/*"', 'command ~ "/opt/*"', {"command": "/opt/a b"}, {"command": "a"}),
    ],
)
def test_a_pattern_that_is_compared_as_it_stands_names_the_form_that_works(
    store: vestig.Vestig, when: str, meant: str, action: dict[str, str], other: dict[str, str]
) -> None:
    made = store.rules.add(TEXT, when, "deny")
    (told,) = [one for one in made.warnings if one.endswith(meant)]
    assert "as it stands" in told or "compared whole" in told
    again = store.rules.add("Nobody does it", meant, "deny")
    assert not [one for one in again.warnings if "as it stands" in one or "compared whole" in one]
    assert {one.id for one in store.rules.test(**action).fired} - {made.id} == {again.id}
    assert again.id not in {one.id for one in store.rules.test(**other).fired}


def test_a_check_is_false_where_no_rule_fires(store: vestig.Vestig) -> None:
    store.rules.add(TEXT, WHEN)
    assert store.rules.check(command="git push origin")
    assert not store.rules.check(command="git pull")


def test_a_rule_holds_in_either_unicode_form(store: vestig.Vestig) -> None:
    for name, other in (("café", "cafe\u0301"), ("nai\u0308ve", "naïve")):
        for field, value in (("text", name), ("path", f"{name}/**"), ("command", f"rm {name}")):
            store.rules.add(
                f"Never with {name} as {field}.", when=f'{field} ~ "{value}"', do="deny"
            )
        assert store.rules.check(text=f"about the {other} here").decision == "deny"
        assert store.rules.check(path=f"{other}/menu.md").decision == "deny"
        assert store.rules.check(command=f"rm {other}").decision == "deny"
