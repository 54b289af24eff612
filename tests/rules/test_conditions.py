"""The language of conditions: what it takes, what it refuses, and what it decides."""

from __future__ import annotations

import random
from typing import Any

import pytest

from vestig.calls.condition import parse_condition
from vestig.errors import ValidationError
from vestig.rules import matcher, wrappers
from vestig.rules.matcher import NO, PERHAPS, YES, Action, CompiledRule, Decision, RuleSet, glob


def decided(when: str, action: Action, unless: str | None = None) -> Decision:
    excepted = None if unless is None else parse_condition("unless", unless)
    return CompiledRule(parse_condition("when", when), excepted).decide(action)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "when: expected one of tool, path, command, url, text at character 1, got the end"),
        ("file = a", "expected one of tool, path, command, url, text at character 1, got 'file'"),
        ("tool", "expected =, ~ or in behind tool at character 5"),
        ("tool =", "expected a value, in quotes"),
        ("tool = and", "expected a value, in quotes"),
        ('tool = " "', "expected a value that is not blank"),
        ('tool = "a', "expected a quote at the end of a text too"),
        ("tool = a)", "expected and, or, or the end at character 9, got ')'"),
        ("(tool = a", "expected and, or, or ) at character 10, got the end"),
        ("tool in a", "expected ( behind in"),
        ("tool in (a, b", "expected a comma or )"),
        ("comand = ls", "command is meant?"),
        ("not " * 40 + "tool = a", "at most 32 levels"),
        ("tool = " + "a" * 2_000, "expected at most 2000 characters"),
    ],
)
def test_what_cannot_be_read_says_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(ValidationError) as raised:
        parse_condition("when", text)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("when", "fires"),
    [
        ("tool = Bash", True),
        ("tool = bash", False),
        ("tool in (Edit, Bash)", True),
        ("tool ~ B*h", True),
        ("not tool = Bash", False),
        ("tool = Edit or tool = Bash", True),
        ("tool = Edit or tool = Bash and path = x", False),
        ("(tool = Edit or tool = Bash) and path = src/db.py", True),
        ('tool=Bash path~"src/*"', True),
        ("path = db.py", True),
        ("path = b.py", False),
        ("path = /src/db.py", False),
        ("path = /srv/ada/app/src/db.py", True),
        ("path in (a, src/db.py)", True),
        ("path ~ src/*.py", True),
        ("path ~ /src/*", False),
        ('url ~ "https://*.example.com/*"', True),
        ("url ~ example.com", False),
        ("text ~ password", True),
        ("text = password", False),
        ("TOOL = Bash", None),
        ("NOT tool = Bash AND url ~ x", False),
    ],
)
def test_tests_of_fields(when: str, fires: bool | None) -> None:
    action = Action(
        tool="Bash",
        paths=["/srv/ada/app/lib/../src//db.py"],
        url="https://db.example.com/x",
        text="the password is new",
    )
    if fires is None:
        with pytest.raises(ValidationError):
            parse_condition("when", when)
        return
    assert decided(when, action).fires == (YES if fires else NO)


@pytest.mark.parametrize("text", ["20 tyres of Reifen VOGT", "reifen vogt", "Reifen Vogt"])
def test_case_says_nothing_in_a_text_and_counts_elsewhere(text: str) -> None:
    def fires(when: str, **action: Any) -> list[str]:
        rules = [("rule", CompiledRule(parse_condition("when", when), None))]
        return [name for name, one in RuleSet(rules).decide(Action(**action)) if one.fires == YES]

    assert fires('text ~ "*Reifen V?gt*"', text=text)
    assert fires('text in ("x", "REIFEN VOGT", "20 tyres of reifen vogt")', text=text)
    assert decided("text ~ tyre", Action(text="A TYRE"), "text ~ a").gave_way
    for field in ("tool", "command", "path"):
        action: dict[str, Any] = {"paths": ["vogt"]} if field == "path" else {field: "vogt"}
        assert not fires(f"{field} = Vogt", **action)
        assert not fires(f"{field} ~ V*t", **action)


def test_a_field_that_an_action_lacks_is_none_of_its_values() -> None:
    assert decided("path = a", Action(tool="Bash")).fires == NO
    assert decided("not path = a", Action(tool="Bash")).fires == YES
    assert decided('command ~ "*"', Action(tool="Edit")).fires == NO


def test_each_command_of_a_line_is_decided_alone() -> None:
    when, line = 'command ~ "apply" and not command ~ "--dry-run"', "tf plan --dry-run; tf apply"
    found = decided(when, Action(command=line))
    assert (found.fires, found.command) == (YES, "tf apply")
    assert (
        decided('command ~ "git" and command ~ "push"', Action(command="git st; x push")).fires
        == NO
    )
    both = "git push --dry-run && git push"
    assert decided("command = 'git push'", Action(command=both), "command ~ --dry-run").fires == YES
    alone = decided(
        "command = 'git push'", Action(command="git push --dry-run"), "command ~ --dry-run"
    )
    assert alone == Decision(NO, gave_way=True)


@pytest.mark.parametrize(
    "path", ["box/../../etc/passwd", "box/../etc", "/srv/box/../etc", "//etc/passwd", "etc/./../x"]
)
def test_a_path_is_what_it_leads_to(path: str) -> None:
    action = Action("Write", [path])
    assert decided("tool = Write", action, 'path ~ "box/*"').fires == YES
    assert decided('not path ~ "box/*"', action).fires == YES
    assert decided('path ~ "/etc/*"', Action("Write", ["//etc/passwd"])).fires == YES
    assert decided("path = //etc/passwd", Action("Write", ["/etc/passwd"])).fires == YES


def test_each_file_is_decided_alone() -> None:
    for paths in ([".env", ".env.example"], [".env.example", ".env"]):
        assert decided('path ~ ".env*"', Action("Edit", paths), "path = .env.example").fires == YES
    assert decided('not path ~ "src/*"', Action("Edit", ["src/a", "/etc/b"])).fires == YES
    both = Action("Edit", [".env.example", "a/.env.example"])
    assert decided('path ~ ".env*"', both, "path = .env.example") == Decision(NO, gave_way=True)


@pytest.mark.parametrize(
    "line",
    [
        "DRY=--dry-run git push",
        "sudo -p --dry-run git push",
        "git push > --dry-run",
        "xargs -a --dry-run git push",
    ],
)
def test_words_around_a_command_excuse_nothing(line: str) -> None:
    action = Action("Bash", command=line)
    assert decided("command = 'git push'", action, "command ~ --dry-run").fires != NO
    assert decided("command = 'git push' and not command ~ --dry-run", action).fires != NO
    excused = Action("Bash", command="sudo git push --dry-run")
    assert decided("command = 'git push'", excused, "command ~ --dry-run").gave_way


@pytest.mark.parametrize("url", ["HTTPS://A.Example.com/X", " https://a.example.com/X"])
def test_a_host_is_the_same_in_capitals(url: str) -> None:
    for when in ('url ~ "https://*.EXAMPLE.com/*"', 'url = "Https://a.example.com/X"'):
        assert decided(when, Action("Fetch", url=url)).fires == YES
    assert decided('url ~ "*/x"', Action("Fetch", url=url)).fires == NO, "paths differ in case"


def test_wrappers_within_wrappers_are_read_so_far() -> None:
    """The work is bounded; what was read is decided, and the rest may be anything."""
    line = "git push; " + "env -S " * 10_000
    finder = wrappers._Finder()
    finder.line(line, 0)
    assert finder.read_again < 200_000 + len(line)
    action = Action("Bash", command=line)
    assert decided("command = 'git push'", action).fires == YES
    assert decided("command = 'git pull'", action).fires == PERHAPS
    assert action.commands.unknown == "more commands within commands than are read"


def test_words_begin_a_command_and_a_glob_is_anywhere_in_it() -> None:
    for line, fires in (
        ("git push origin", YES), ("/usr/bin/git push", YES), ("git  'push'", YES),
        ("git pushy", NO), ("echo git push", NO), ("git -C x push", NO),
    ):  # fmt: skip
        assert decided("command = 'git push'", Action(command=line)).fires == fires, line
    assert decided("command ~ 'git push'", Action(command="echo git push")).fires == YES
    assert decided("command ~ 'prod*migrate'", Action(command="migrate prod")).fires == NO


@pytest.mark.parametrize(
    ("line", "fires", "unread"),
    [
        ("git $X", PERHAPS, "a word that is not fixed: $X"),
        ('git "$X" origin', PERHAPS, "a word that is not fixed: $X"),
        ("git pu{sh,}", PERHAPS, "a word that is not fixed: pu{sh,}"),
        ("git `x`", PERHAPS, "a word that is not fixed: `x`"),
        ("git pu*", PERHAPS, "a word that is not fixed: pu*"),
        ("git p[u]sh", PERHAPS, "a word that is not fixed: p[u]sh"),
        ("sudo sh -c 'git $X'", PERHAPS, "a word that is not fixed: $X"),
        ("git push $X", YES, None),
        ("git *.py", NO, None),
        ("git --git-dir=$X push", NO, None),
        ('git "x$X"', NO, None),
        ("git {a,b}", PERHAPS, "a word that is not fixed: {a,b}"),
        ("git x{a,b}", NO, None),
        ("ls $X", NO, None),
        ("git stash $X", NO, None),
        ('"$A/bin/git" push', YES, None),
        ("$A/bin/git $B", PERHAPS, "a word that is not fixed: $B"),
        ('"$A/bin/pip" push', NO, None),
        ('"$A/bin/env" git push', YES, None),
        ("a[0]=x; ls", NO, None),
        ("echo push | xargs -I{} git {}", PERHAPS, "words from its input"),
        ("echo push | xargs -i git {}", PERHAPS, "words from its input"),
        ("echo push | xargs -I@ timeout 5 git @", PERHAPS, "words from its input"),
        ("echo push | xargs -I@ git p@", PERHAPS, "words from its input"),
        ("echo push | xargs -I@ git x@", NO, None),
        ("echo push | xargs -I@ git add @", NO, None),
        ("echo push | xargs git", PERHAPS, "words from its input"),
        ("env -S 'git\\_push'", YES, None),
        ("find . -name x -exec git {} \\;", NO, None),
    ],
)
def test_words_that_are_not_fixed(line: str, fires: int, unread: str | None) -> None:
    found = decided("command = 'git push'", Action(command=line))
    assert (found.fires, found.unread) == (fires, unread)


def test_a_glob_sees_what_comes_from_the_input() -> None:
    line = "cat names | xargs -I% kubectl --context % delete"
    for when, fires in (
        ("command ~ 'kubectl*prod*delete'", PERHAPS),
        ("command ~ 'kubectl*delete'", YES),
        ("command ~ 'helm*prod*delete'", NO),
    ):
        assert decided(when, Action(command=line)).fires == fires, when
    assert decided("command ~ 'find*prod'", Action(command="find . -exec rm {} ;")).fires == NO


@pytest.mark.parametrize(
    "line",
    ["> .env", "{ echo a; } > .env", "(echo a) >> .env", "for x in 1; do a; done > app/.env",
     "if a; then b; fi > .env", "while a; do b; done 2> .env", "sh -c '> .env'"],
)  # fmt: skip
def test_each_redirection_is_seen(line: str) -> None:
    assert decided("command ~ '> *.env'", Action(command=line)).fires == YES
    assert decided("command = echo and not command ~ a", Action(command=line)).fires == NO


def test_settings_alone_are_seen() -> None:
    action = Action(command="AWS_PROFILE=prod; aws s3 ls")
    assert decided("command ~ 'AWS_PROFILE=prod'", action).fires == YES
    assert decided("command = aws", action).fires == YES


def test_what_is_not_known_is_perhaps() -> None:
    unknown = Action(tool="Bash", command='"$TOOL" push')
    assert decided("command = 'git push'", unknown).fires == PERHAPS
    assert decided("tool = Bash", unknown).fires == YES
    assert decided("tool = Edit and command = 'git push'", unknown).fires == NO
    assert decided("tool = Bash or command = 'git push'", unknown).fires == YES
    excepted = decided("tool = Bash", unknown, "command ~ '--dry-run'")
    assert excepted.fires == YES


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("a", "a", True), ("a", "ab", False), ("*", "", True), ("a*", "abc", True),
        ("*c", "abc", True), ("a*c", "ac", True), ("a*b*c", "a-b-c", True), ("ab*ba", "aba", False),
        ("a?c", "abc", True), ("a?c", "ac", False), ("*b?d*", "xabcdx", True), ("**", "x", True),
        (r"a\*", "a*", True), (r"a\*", "ab", False), (r"\?", "?", True), ("[a]", "a", False),
        ("*aab", "aaaab", True), ("?", "", False), ("a*?", "a", False), ("a*?", "ab", True),
    ],
)  # fmt: skip
def test_globs(pattern: str, text: str, matches: bool) -> None:
    assert glob(pattern)(text) is matches


def test_globs_are_decided_as_their_definition_says() -> None:
    def matches(pattern: str, text: str) -> bool:
        ends = {0}
        for char in pattern:
            if char == "*":
                ends = set(range(min(ends, default=len(text) + 1), len(text) + 1))
            else:
                ends = {at + 1 for at in ends if at < len(text) and char in ("?", text[at])}
        return len(text) in ends

    chance = random.Random(3)
    for _ in range(4_000):
        pattern = "".join(chance.choices("ab?*", k=chance.randrange(9)))
        text = "".join(chance.choices("ab", k=chance.randrange(12)))
        assert glob(pattern)(text) is matches(pattern, text), (pattern, text)


@pytest.mark.parametrize("pattern", ["?" + "a" * 1_900 + "b", "a?" * 900 + "b", "*a?b" * 400])
def test_a_glob_reads_each_character_once(pattern: str) -> None:
    """Lookups of characters grow with the text and not with the pattern."""

    class Counted(dict[str, int]):
        reads = 0

        def get(self, *given: Any) -> Any:
            Counted.reads += 1
            return super().get(*given)

    parts = matcher._parts(f"*{pattern}*")
    for part in parts:
        part._masks = Counted(part._masks)
    text, at = "a" * 20_000, 0
    for part in parts:
        if at >= 0:
            at = part.find(text, at)
    assert Counted.reads <= len(text) * 2


def test_a_set_of_rules_decides_as_each_of_them_does() -> None:
    """That some rules are not looked at changes nothing."""
    chance = random.Random(46)
    values = ("git", "'git push'", "'git p'", "'git*push'", "'*push *prod'", "ls", "/bin/ls",
              "'X=1'",
              "'p?sh'", "prod", "'> *x'", "'git push --dry'")  # fmt: skip
    lines = ("git push", "git $X", "git push $X prod", "xargs git", "xargs -I{} git {} prod", "ls",
             "/bin/ls git push", "X=1; ls", "curl x | sh", "$T push", "git p{a,b} > x", "echo 'a",
             "sudo git p*", "git", "x=git push prod", "sh -c 'git $X' > x", "git push && curl | sh",
             "find . -exec git {} prod ;", '"$V/ls" push', "git pusH")  # fmt: skip

    def a_test() -> str:
        field = chance.choice(("command",) * 5 + ("path", "text", "tool"))
        value = chance.choice(values)
        return f"{field} {chance.choice('=~')} {value}"

    whens = [
        chance.choice(("{}", "{} and {}", "{} or {}", "{} and not {}", "not {}")).format(
            a_test(), a_test()
        )
        for _ in range(300)
    ]
    rules = [CompiledRule(parse_condition("when", one), None) for one in whens]
    asked = RuleSet(enumerate(rules))
    for line in lines:
        for paths in ((), ("prod",), ("prod", "x/ls")):
            action = Action("git", paths, line, text="git push")
            found = [(at, rule.decide(action)) for at, rule in enumerate(rules)]
            expected = [one for one in found if one[1].fires != NO or one[1].gave_way]
            got = asked.decide(action)
            assert [(at, one.fires) for at, one in got] == [
                (at, one.fires) for at, one in expected
            ], line
