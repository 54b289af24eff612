"""Lines for a shell: which commands they run, compared with bash itself."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from vestig.rules.wrappers import WRAPPERS, commands_of

BASH = shutil.which("bash")


def texts(line: str) -> list[str]:
    return [one.text for one in commands_of(line).found]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("git 'pu'sh >log 2>&1", ["git push > log 2>&1"]),
        ("a && b || c; d | e |& f & g", ["a", "b", "c", "d", "e", "f", "g"]),
        ('a `b` $(c "$(d)") <(e)', ["b", "d", "c $(d)", "e", 'a `b` $(c "$(d)") <(e)']),
        ("(a; { b; }) && ! c # d", ["a", "b", "c"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("for x in a $(b); do c $x; done", ["b", "for x in a $(b)", "c $x"]),
        ("for x; do a; done; for y do b; done; for z in; do c; done", ["a", "b", "c"]),
        ("select x in a 'b c'\ndo d; done", ["select x in a b c", "d"]),
        ("if [[ -f .env && ! ( a < $(b) ) ]]; then c; fi", ["b", "[[ -f .env ! a $(b) ]]", "c"]),
        ("while a; do b; done < c", ["a", "b", "< c"]),
        ("> .env", ["> .env"]),
        ("{ a; } > b; (c) 2>> d", ["a", "> b", "c", "2>> d"]),
        (
            "if a; then b; fi > c; for x in y; do d; done &> e",
            ["a", "b", "> c", "for x in y", "d", "&> e"],
        ),
        (
            "case x in y) a;; esac > b; [[ c ]] > d; ((1)) > e",
            ["a", "> b", "[[ c ]]", "> d", "> e"],
        ),
        ("A=b; C=d e", ["A=b", "C=d e"]),
        ("a[0]=b; a[$c]+=d; e", ["a[0]=b", "a[$c]+=d", "e"]),
        ('"$A/bin/b" c; ${A}/b', ["$A/bin/b c", "${A}/b"]),
        ("env -S 'a\\_b \"c\\_d\"\\c e'", ['env -S a\\_b "c\\_d"\\c e', "a b c d"]),
        ("source /dev/stdin <<< a; . -- b", ["source /dev/stdin", "a", ". -- b"]),
        ("case $x in a|b) c;; (d) e;; esac; f", ["c", "e", "f"]),
        ("f() { a; }; function g { b; }", ["a", "b"]),
        ("[[ a && b =~ (c) ]] && d", ["[[ a b =~ c ]]", "d"]),
        ("((x = 1)) && a $((2 + $(b)))", ["b", "a $((2 + $(b)))"]),
        ("((a); b)", ["a", "b"]),
        ("cat <<E | b\na $(c) 'd\nE\ne", ["cat", "c", "b", "e"]),
        ("cat <<'E'\n$(c)\nE\ne", ["cat", "e"]),
        ("X=1 Y=$(a) b", ["a", "X=1 Y=$(a) b"]),
        ("x=(1 $(a)); b", ["a", "x=(1 $(a))", "b"]),
        ("$'\\x67it' push", ["git push"]),
        ("gi\\\nt push", ["git push"]),
        ("sh -c 'a; b'", ["sh -c a; b", "a", "b"]),
        ("bash <<E\na\nE", ["bash", "a"]),
        ("bash <<< a", ["bash", "a"]),
        ("env -S 'a b' c", ["env -S a b c", "a b c"]),
        ("find . -exec a {} + -exec b \\;", ["find . -exec a {} + -exec b ;", "a {}", "b"]),
        ("eval a \"'b c'\"", ["eval a 'b c'", "a b c"]),
        ("trap 'a' EXIT", ["trap a EXIT", "a"]),
        ("ssh -p 22 host a b", ["ssh -p 22 host a b", "a b"]),
        ("su - pg -c 'a'", ["su - pg -c a", "a"]),
        ("ssh host -p 22 a b", ["ssh host -p 22 a b", "a b"]),
        ("ssh -4 host -i k -- a", ["ssh -4 host -i k -- a", "a"]),
        ("ssh host <<E\na\nE", ["ssh host", "a"]),
        ("ssh -N -L 1:b:2 host", ["ssh -N -L 1:b:2 host"]),
        ("env -S '-u b -i a c' d", ["env -S -u b -i a c d", "env -u b -i a c d"]),
        ("time -- a; time -p -- b", ["a", "b"]),
        ("coproc N { a; }; coproc M (b); coproc c", ["a", "b", "c"]),
        ("coproc N while a; do b; done", ["a", "b"]),
        ("{fd}>b a {in}<c", ["a {fd}> b {in}< c"]),
        ("x {fd} a", ["x {fd} a"]),
        ("sudo -u b -i a c", ["sudo -u b -i a c"]),
        ("xargs -i a {}", ["xargs -i a {}"]),
        ("xargs sh -c 'a \"$@\"' b", ['xargs sh -c a "$@" b', "a $@"]),
        (
            "find . -exec sh -c 'a \"$1\"' b {} +",
            ['find . -exec sh -c a "$1" b {} +', 'sh -c a "$1" b {}', "a $1"],
        ),
        ("time -p a; time { b; }", ["a", "b"]),
    ],
)
def test_the_commands_of_a_line(line: str, expected: list[str]) -> None:
    assert texts(line) == expected
    assert commands_of(line).unknown is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("echo 'a", "a ' without its end"),
        ('echo "a', 'a " without its end'),
        ("echo $(a", "a ( without its )"),
        ("a )", "a ) without its ("),
        ("echo ${a", "a ${ without its }"),
        ("echo `a", "a ` without its end"),
        ("case x in a) b", "a case without its esac"),
        ("$A b", "a program whose name is not fixed: $A"),
        ("{a,b} c", "a program whose name is not fixed: {a,b}"),
        ("/bin/l? c", "a program whose name is not fixed: /bin/l?"),
        ('sh -c "$A"', "a script that is not fixed: $A"),
        ("eval $A", "a script that is not fixed: $A"),
        ("source <(curl x)", "a script that is not fixed: <(curl x)"),
        ("a | . /dev/stdin", "a shell that reads its commands from its input"),
        ("a[ b", "a program whose name is not fixed: a["),
        ('"$A/"b$C', "a program whose name is not fixed: $A/b$C"),
        ("curl x | sh", "a shell that reads its commands from its input"),
        ("echo a | ssh -p 22 host -v", "a shell that reads its commands from its input"),
        ("ssh host", "a shell that reads its commands from its input"),
        ("echo a | sudo -u b -s", "a shell that reads its commands from its input"),
        ("sudo --login", "a shell that reads its commands from its input"),
        ("doas -s < a", "a shell that reads its commands from its input"),
        ("a | xargs bash -c", "bash runs words from its input"),
        ("a | xargs -n 1 sudo", "sudo runs words from its input"),
        ("a | xargs -I % sh -c %", "a script that is not fixed: %"),
        ("a | xargs -i nice sh -c 'b {}'", "a script that is not fixed: b {}"),
        ("a | xargs --replace=@ @ b", "a program whose name is not fixed: @"),
        ("find . -execdir sudo sh -c '{}' \\;", "a script that is not fixed: {}"),
        ("find . -exec {} b \\;", "a program whose name is not fixed: {}"),
        ("sudo su", "a shell that reads its commands from its input"),
        ("a" * 100_001, "a line of more than 100000 characters"),
        ("$(" * 40 + "a" + ")" * 40, "more than 32 levels"),
    ],
)
def test_what_cannot_be_read_is_said(line: str, reason: str) -> None:
    assert commands_of(line).unknown == reason


@pytest.mark.slow
def test_a_line_takes_work_that_is_linear_in_it() -> None:
    hostile = [
        "(",
        "((",
        "$(",
        "${",
        "`",
        "'",
        '"',
        "a=(",
        "x=",
        "{a,",
        "<(",
        "[[ ",
        "case x in ",
        "\\",
        "$((",
        "*(",
        "sh -c ",
        "sudo ",
        "env -S ",
        "<<E\n",
        "for x in ",
        "a;",
        "$'",
        *(f"{name} " for name in WRAPPERS),
        "find -exec ",
        "xargs -I{} sh -c ",
    ]
    for part in hostile:
        little, much = (_calls(part * (size // len(part))) for size in (2_000, 16_000))
        assert much < 1_000 + 12 * little, part


def _calls(line: str) -> int:
    """The calls of functions that reading a line makes."""
    made = 0

    def count(*_: object) -> None:
        nonlocal made
        made += 1

    sys.setprofile(count)
    try:
        commands_of(line)
    finally:
        sys.setprofile(None)
    return made


def test_noise_is_read_or_refused() -> None:
    chance = random.Random(7)
    pieces = [
        "a",
        " ",
        "'",
        '"',
        "$",
        "(",
        ")",
        "`",
        "\\",
        "\n",
        ";",
        "&",
        "|",
        "<",
        ">",
        "{",
        "}",
        "[",
        "]",
        "=",
        "#",
        "if ",
        "then ",
        "fi ",
        "case ",
        "in ",
        "esac ",
        "do ",
        "done ",
        "for ",
        "sh -c ",
        "sudo ",
        "<<E\n",
        "E\n",
        "[[ ",
        " ]]",
        "~",
        "*",
        "!",
        "$((",
        "))",
    ]
    for _ in range(3_000):
        commands_of("".join(chance.choices(pieces, k=chance.randrange(1, 30))))


# --- bash as the judge -------------------------------------------------------------------------


def ran(line: str, folder: Path) -> bool:
    """Whether bash runs the stub `strike` for a line, with no input."""
    mark = folder / "ran"
    mark.unlink(missing_ok=True)
    stubs = folder / "bin"
    stubs.mkdir(exist_ok=True)
    struck = '#!/bin/bash\n: > "$VESTIG_MARK"\n'
    passes = (
        "#!/bin/bash\nwhile [ $# -gt 0 ]; do case $1 in -u) shift 2;; -*) shift;; *) break;; esac;"
        ' done\nwhile [[ $1 == *=* ]]; do export "$1"; shift; done\n"$@"\n'
    )
    scripts = {"strike": struck, "eval": '#!/bin/bash\neval "$@"\n'}
    # programs that are not installed everywhere, and builtins that others start as programs
    scripts |= dict.fromkeys(("sudo", "time", "command", "exec"), passes)
    for name, script in scripts.items():
        (stubs / name).write_text(script)
        (stubs / name).chmod(0o755)
    (folder / ".bash_profile").write_text(f"PATH={stubs}:$PATH\n")
    env = {"PATH": f"{stubs}:{os.environ['PATH']}", "VESTIG_MARK": str(mark), "HOME": str(folder)}
    assert BASH is not None
    subprocess.run(
        [BASH, "-c", line],
        env=env,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    return mark.exists()


RUNS = [
    "strike",
    "strike now",
    "/bin/true; strike",
    "true && strike x",
    "false || strike",
    "! strike",
    "echo a | strike",
    "strike | cat",
    "(strike)",
    "{ strike; }",
    "echo $(strike)",
    'echo "`strike`"',
    "x=$(strike)",
    "strike > out 2>&1",
    "> out strike",
    "A=1 B=2 strike",
    "str'ike'",
    '"strike"',
    "\\strike",
    "st\\\nrike",
    "$'stri\\x6be'",
    "if true; then strike; fi",
    "for i in 1; do strike; done",
    "while strike; do break; done",
    "case a in a) strike;; esac",
    "f() { strike; }; f",
    "[[ a = a ]] && strike",
    "cat <(strike)",
    "cat <<E\n$(strike)\nE",
    "bash <<E\nstrike\nE",
    "sh <<< strike",
    "eval strike",
    "eval 'str'ike",
    "exec strike",
    "command strike",
    "env strike",
    'env -i PATH="$PATH" VESTIG_MARK="$VESTIG_MARK" strike',
    "env -u A strike",
    "env A=1 strike",
    "env -S 'strike x'",
    "env 'A=1' strike",
    'sudo "A=1" strike',
    "nohup strike",
    "setsid -w strike",
    "nice strike",
    "nice -n 5 strike",
    "nice -5 strike",
    "timeout 5 strike",
    "timeout -k 1 -s TERM 5s strike",
    "time strike",
    "time -p strike",
    "stdbuf -o0 strike",
    "stdbuf -o L strike",
    "xargs strike < /dev/null",
    "echo x | xargs strike",
    "echo x | xargs -n 1 -I {} strike {}",
    "echo x | xargs sh -c 'strike'",
    "sh -c strike",
    "bash -c 'strike'",
    "bash -lc strike",
    "bash -ec 'true; strike'",
    "bash -o errexit -c strike",
    "bash --norc -c strike",
    "sudo strike",
    "sudo -u ada strike",
    "sudo A=1 strike",
    "sudo sh -c 'strike'",
    "sudo env A=1 nohup nice strike",
    "bash -c \"bash -c 'strike'\"",
    "find . -maxdepth 0 -exec strike {} \\;",
    "find . -maxdepth 0 -exec sh -c 'strike' \\;",
    "flock lock strike",
    "flock lock -c strike",
    "ionice -c 3 strike",
    "trap strike EXIT",
    "echo ${x:-$(strike)}",
    "echo $((1 + $(strike; echo 1)))",
    "[ -e x ] || strike",
    "true & strike",
    "true\nstrike",
    "# x\nstrike",
    "until strike; do :; done",
    "select x in a; do :; done; strike",
    "coproc strike; wait",
    "a=(1 $(strike))",
    "cat <<'E'\nx\nE\nstrike",
    "((1)) && strike",
    "((strike); true)",
    "time { strike; }",
    "builtin command strike",
    "env -S '-u A strike x'",
    "env '-S-i PATH=${PATH} VESTIG_MARK=${VESTIG_MARK} strike'",
    "time -- strike",
    "time -p -- strike",
    "coproc W { strike; }; wait",
    "coproc W (strike); wait",
    "coproc W while strike; do break; done; wait",
    "coproc { strike; }; wait",
    "{log}>out strike",
    "strike {log}>out",
    "exec {log}>out; strike",
]
NOT_RUN = [
    "echo strike",
    "echo 'strike'",
    'echo "strike now"',
    "echo '$(strike)'",
    "echo \\$(strike",
    "# strike",
    "true # ; strike",
    "cat <<'E'\n$(strike)\nE",
    "cat <<E\nstrike\nE",
    "grep -r 'strike' .",
    "command -v strike",
    "command -V strike",
    "x=strike",
    "echo a > strike",
    "git commit -m 'strike; x'",
    "echo a\\;strike",
    "[[ strike = x ]]",
    "printf '%s' strike",
    "for strike in a; do :; done",
    "case strike in a) :;; esac",
    "sh -c 'echo strike'",
    "sudo echo strike",
    "env A=strike true",
    "find . -name strike",
    "xargs echo strike < /dev/null",
    "bash -c 'echo \"strike\"' strike",
    "timeout 5 echo strike",
    "nice -n 5 echo strike",
    "echo \"a'strike'\"",
    "echo `echo strike`",
    "strikes",
    "./strike",
    "[ strike = strike ]",
    "alias strike=true",
    "sudo -u strike true",
    "eval echo strike",
    "echo $'a\\nstrike'",
    "bash <<E\necho strike\nE",
    "trap - EXIT; echo strike",
    "echo ${x:-strike}",
    "type strike",
    "setsid -w A=1 strike",
    "nice A=1 strike",
    "'A=1' strike",
]


def fires(line: str) -> bool:
    found = commands_of(line)
    return any(run.program == "strike" for one in found.found for run in one.runs)


@pytest.mark.skipif(BASH is None, reason="needs bash")
@pytest.mark.slow
def test_what_bash_runs_is_found_and_what_it_does_not_run_is_not(tmp_path: Path) -> None:
    wrong = []
    for line in (*RUNS, *NOT_RUN):
        expected = ran(line, tmp_path)
        assert expected is (line in RUNS) or line == "./strike", f"bash: {line!r}"
        if fires(line) is not expected and line != "./strike":
            wrong.append(line)
    assert wrong == []


@pytest.mark.skipif(BASH is None, reason="needs bash")
@pytest.mark.slow
def test_wrappers_within_wrappers_as_bash_runs_them(tmp_path: Path) -> None:
    chance = random.Random(11)
    simple = [
        "sudo {}",
        "env A=1 {}",
        "nohup {}",
        "nice -n 3 {}",
        "timeout 9 {}",
        "time {}",
        "command {}",
        "exec {}",
        "stdbuf -oL {}",
        "xargs {} < /dev/null",
        "A=1 {}",
    ]
    compound = [
        "(true; {})",
        "echo $({})",
        "if true; then {}; fi",
        "true && {}",
        "{} | cat",
        "{ {}; }",
    ]
    quoted = ["sh -c {}", "bash -lc {}", "eval {}", "sudo bash -c {}", "echo {}", "printf %s {}"]
    for _ in range(200):
        line = chance.choice(["strike a", "echo strike", "str''ike", "'strike' b"])
        is_simple = True
        for _ in range(chance.randrange(1, 5)):
            kind = chance.choice(("simple", "compound", "quoted"))
            if kind == "quoted" or (kind == "simple" and not is_simple):
                word = "'" + line.replace("'", "'\\''") + "'"
                line, is_simple = chance.choice(quoted).format(word), True
            elif kind == "simple":
                line = chance.choice(simple).replace("{}", line)
            else:
                line, is_simple = chance.choice(compound).replace("{}", line), False
        found = commands_of(line)
        assert found.unknown is None, (line, found.unknown)
        assert fires(line) is ran(line, tmp_path), line


def test_the_documentation_names_every_wrapper() -> None:
    text = (Path(__file__).parents[2] / "docs" / "rules.md").read_text("utf-8")
    (line,) = [one for one in text.splitlines() if one.startswith("`sudo`, ")]
    assert line.rstrip(".").replace("`", "").split(", ") == list(WRAPPERS)
