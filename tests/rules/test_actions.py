"""Sixty rules against six hundred lines, labelled by what bash starts."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

import vestig
from vestig.testing import HashingEmbedder

BASH = shutil.which("bash")
PROGRAMS = ("git", "kubectl", "terraform", "psql", "aws", "npm", "docker", "rails", "make", "helm")
WORDS = ("push", "delete", "apply", "drop", "deploy", "publish")
LINES = 600
# It notes what it was started with; its arguments may not hold the marks of a line's end.
STUB = '#!/bin/bash\nprintf "%s\\n" "$(basename "$0")" "$@" "--end--" >> "$VESTIG_LOG"\n'
PASSES = (
    "#!/bin/bash\nwhile [ $# -gt 0 ]; do case $1 in -u) shift 2;; -*) shift;; *) break;; esac;"
    ' done\n"$@"\n'
)
SUDO = PASSES.replace('"$@"', 'while [[ $1 == *=* ]]; do export "$1"; shift; done\n"$@"')
# Templates that take a line of one command; these leave one command.
SIMPLE = (
    "sudo {}",
    "sudo -u deploy {}",
    "env STAGE=prod {}",
    "nohup {}",
    "nice -n 5 {}",
    "timeout 30 {}",
    "stdbuf -oL {}",
    "STAGE=prod {}",
    "sudo env A=1 {}",
    "setsid -w {}",
    "command {}",
    "time {}",
)
COMPOUND = (
    "cd . && {}",
    "{} || true",
    "({})",
    "{{ {}; }}",
    "out=$({})",
    'echo "result: $({})"',
    "{} | cat",
    "if true; then {}; fi",
    "for i in 1; do {}; done",
    "{} > log 2>&1",
    "true; {}",
    "! {}",
    "case x in x) {} ;; esac",
    "cat <(\n{})",
    "{} &\nwait",
    "f() {{ {}; }}; f",
)
QUOTED = (
    "sh -c {}",
    "bash -lc {}",
    "bash -ec {}",
    "eval {}",
    "sudo sh -c {}",
    "nohup bash -c {}",
    "echo x | xargs -I@ sh -c {}",
    "find . -maxdepth 0 -exec sh -c {} \\;",
    "sh <<< {}",
)
# What only speaks of a command.
SPOKEN = (
    "echo {}",
    "printf '%s' {}",
    "grep -r {} . || true",
    "MESSAGE={} true",
    ": {}",
    "test -n {}",
)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def a_command(chance: random.Random) -> str:
    """A command, some of its words quoted otherwise than they need to be."""
    words = [chance.choice(PROGRAMS), chance.choice((*WORDS, "status", "list"))]
    words += chance.choices(("origin", "--force", "-n", "prod", "'a b'", "x=1", '"$HOME"'), k=2)
    at = chance.randrange(2)
    how = chance.randrange(4)
    word = words[at]
    words[at] = (word, f"'{word}'", f"{word[:2]}''{word[2:]}", f'{word[:1]}"{word[1:]}"')[how]
    return " ".join(words)


def a_line(chance: random.Random) -> str:
    line, is_simple = a_command(chance), True
    for _ in range(chance.randrange(4)):
        kind = chance.random()
        if kind < 0.3 or (kind < 0.6 and not is_simple):
            line, is_simple = chance.choice(QUOTED).format(quoted(line)), True
        elif kind < 0.6:
            line = chance.choice(SIMPLE).format(line)
        elif kind < 0.75:
            line, is_simple = chance.choice(SPOKEN).format(quoted(line)), False
        else:
            line, is_simple = chance.choice(COMPOUND).format(line), False
    return line


def started(line: str, folder: Path) -> list[list[str]]:
    """The words of each stub that bash starts for a line."""
    log = folder / "log-of-stubs"
    log.unlink(missing_ok=True)
    env = {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "HOME": str(folder),
        "VESTIG_LOG": str(log),
    }
    assert BASH is not None
    subprocess.run(
        [BASH, "-c", line],
        env=env,
        cwd=folder / "work",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=False,
    )
    calls: list[list[str]] = [[]]
    for word in log.read_text().splitlines() if log.exists() else ():
        if word == "--end--":
            calls.append([])
        else:
            calls[-1].append(word)
    return calls[:-1]


@pytest.mark.skipif(BASH is None, reason="needs bash")
@pytest.mark.slow
def test_no_rule_is_missed_and_none_fires_that_should_not(tmp_path: Path) -> None:
    stubs = tmp_path / "bin"
    stubs.mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / ".bash_profile").write_text(f"PATH={stubs}:$PATH\n")
    scripts = dict.fromkeys(PROGRAMS, STUB) | dict.fromkeys(("time", "command"), PASSES)
    for name, script in (scripts | {"sudo": SUDO, "eval": '#!/bin/bash\neval "$@"\n'}).items():
        (stubs / name).write_text(script)
        (stubs / name).chmod(0o755)
    # a sh that reads what bash reads
    (stubs / "sh").symlink_to(BASH or "")
    chance = random.Random(46)
    pairs = [(program, word) for program in PROGRAMS for word in WORDS]
    missed, false, fired = list[tuple[str, str]](), list[tuple[str, str]](), 0
    with vestig.open(":memory:", embedder=HashingEmbedder(8)) as store:
        made = {
            pair: store.rules.add(
                f"Nobody runs {' '.join(pair)} alone", f"command = '{' '.join(pair)}'", "deny"
            ).id
            for pair in pairs
        }
        for _ in range(LINES):
            line = a_line(chance)
            calls = started(line, tmp_path)
            found = store.rules.test(tool="Bash", command=line)
            # a script within one is read by the xargs that replaces in it
            nested = line.count("-I@") > 1
            assert found.unread is None or nested, (line, found.unread)
            denied = {one.id for one in found.fired if one.do == "deny"}
            for pair, id in made.items():
                runs = any(call[:2] == list(pair) for call in calls)
                fired += runs
                if runs and id not in denied:
                    missed.append((line, " ".join(pair)))
                if id in denied and not runs:
                    false.append((line, " ".join(pair)))
    assert fired > LINES / 4
    assert (missed, false) == ([], []), json.dumps([missed, false], indent=1)
