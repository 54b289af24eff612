"""The commands of a line with those that other commands run: `sudo`, `env`, `sh -c` and the rest of
a closed list, each in the other, however deep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from vestig.rules.shell import LEVELS_MAX, SimpleCommand, simple_commands
from vestig.rules.words import Word, filled

LINE_CHARS_MAX: Final = 100_000
_COMMANDS_MAX: Final = 1_000
# Characters that are read again, as wrappers within wrappers make necessary, and words.
_READ_AGAIN_MAX: Final = 200_000
_FROM_INPUT: Final = "a shell that reads its commands from its input"


class Run(NamedTuple):
    """The words of a command without assignments. `loose`: the place of the first one behind the
    program that is not fixed; `pattern`: a glob of what may stand there."""

    words: tuple[str, ...]
    program: str
    loose: int | None = None
    pattern: str = ""


class Command(NamedTuple):
    """A command that a line runs, or settings and redirections that stand for one.

    Attributes:
        text: all of it with single spaces, and its redirections behind.
        runs: its words, and those of each command that stands within them, as of `git` in
            `sudo git`.
        before: the part of its text behind which words come from its input; None: none come.
        unread: why its words may be others; None: they are not.
    """

    text: str
    runs: tuple[Run, ...]
    before: str | None = None
    unread: str | None = None


class Commands(NamedTuple):
    """The commands of a line, and why it may run others; None: it does not."""

    found: tuple[Command, ...]
    unknown: str | None


def commands_of(line: str) -> Commands:
    """The commands that a line for a shell runs, those that its wrappers run too.

    Example:
        >>> found, unknown = commands_of("X=1 sudo -u ada sh -c 'git push' | tee log")
        >>> [one.text for one in found], unknown
        (['X=1 sudo -u ada sh -c git push', 'git push', 'tee log'], None)
        >>> commands_of("$TOOL push").unknown
        'a program whose name is not fixed: $TOOL'
    """
    finder = _Finder()
    if len(line) > LINE_CHARS_MAX:
        finder.unknown = f"a line of more than {LINE_CHARS_MAX} characters"
    else:
        finder.line(line, 0)
    return Commands(tuple(dict.fromkeys(finder.found)), finder.unknown)


class _Finder:
    """Gathers commands."""

    def __init__(self) -> None:
        self.found: list[Command] = []
        self.unknown: str | None = None
        self.read_again = 0

    def line(self, text: str, level: int) -> None:
        """All commands of a line."""
        self.read_again += len(text) if level else 0
        if (
            level > LEVELS_MAX
            or len(self.found) > _COMMANDS_MAX
            or self.read_again > _READ_AGAIN_MAX
        ):
            self.say("more commands within commands than are read")
            return
        commands, unread = simple_commands(text, level)
        for command in commands:
            self.command(command.words, command, level)
        if unread is not None:
            self.say(unread)

    def say(self, reason: str) -> None:
        """Notes that the line may run other commands; the first reason is kept."""
        self.unknown = self.unknown or reason

    def command(
        self, words: Sequence[Word], whole: SimpleCommand, level: int, *, open: bool = False
    ) -> None:
        """One command, and those that it runs. `whole`: the one in which it stands; `open`: words
        come behind it."""
        shown = " ".join((*[one.text for one in words], *whole.redirections))
        runs = list[Run]()
        place = len(self.found)
        replaced = None
        words = words[next((at for at, one in enumerate(words) if not one.assigns), len(words)) :]
        while words:
            runs.append(_run(words))
            if not (words[0].fixed or words[0].name):
                self.say(f"a program whose name is not fixed: {words[0].text[:80]}")
                break
            wrapper = WRAPPERS.get(words[0].program)
            if wrapper is None:
                break
            self.read_again += len(words)
            if len(runs) > LEVELS_MAX or self.read_again > _READ_AGAIN_MAX:
                self.say("more commands within commands than are read")
                break
            inner = wrapper(words)
            open = open or inner.appended
            if not inner.further:
                replaced = replaced or inner.replaced
            for script in inner.scripts:
                self.script(script, level + 1)
            if inner.reads_input:
                self.fed(whole, level + 1)
            for further in inner.further:
                self.command(further, whole, level + 1, open=True)
                self.filled(further, inner)
            self.filled(inner.words, inner)
            if inner.unknown is not None:
                self.say(inner.unknown)
            words = inner.words
        if shown:
            before = shown if open else None
            if before is None and replaced is not None and replaced in shown:
                before = shown[: shown.rindex(replaced)]
            unread = "words from its input" if before is not None else None
            loose = next((one for one in runs if one.loose is not None), None)
            if unread is None and loose is not None and loose.loose is not None:
                unread = f"a word that is not fixed: {loose.words[loose.loose][:80]}"
            self.found.insert(place, Command(shown, tuple(runs), before, unread))

    def filled(self, words: Sequence[Word], outer: Inner) -> None:
        """Notes why a command may run what does not stand in it: the wrapper around it puts words
        of its input in it."""
        steps = 0
        while words and (outer.replaced or outer.appended):
            if outer.replaced and outer.replaced in words[0].text:
                self.say(f"a program whose name is not fixed: {words[0].text[:80]}")
            wrapper = WRAPPERS.get(words[0].program)
            if wrapper is None:
                return
            self.read_again += len(words)
            steps += 1
            if steps > LEVELS_MAX or self.read_again > _READ_AGAIN_MAX:
                self.say("more commands within commands than are read")
                return
            inner = wrapper(words)
            for script in inner.scripts:
                if outer.replaced and any(outer.replaced in one.text for one in script):
                    self.say(f"a script that is not fixed: {script[0].text[:80]}")
            if outer.appended and not (inner.words or inner.scripts or inner.further):
                self.say(f"{words[0].text[:80]} runs words from its input")
            words = inner.words

    def script(self, script: Sequence[Word], level: int) -> None:
        """Words that a shell reads as a line."""
        if len(script) == 1 and not script[0].fixed and script[0].text.startswith(("$", "`")):
            self.say(f"a script that is not fixed: {script[0].text[:80]}")
        self.line(" ".join(one.text for one in script), level)

    def fed(self, whole: SimpleCommand, level: int) -> None:
        """The lines that a shell reads from its input."""
        if whole.fed is None:
            self.say(_FROM_INPUT)
        else:
            self.line(whole.fed, level)


def _run(words: Sequence[Word]) -> Run:
    said = tuple([one.text for one in words])
    for at, word in enumerate(words):
        if not word.fixed and (at or not word.name):
            return Run(said, words[0].program, at, word.pattern)
    return Run(said, words[0].program)


def _behind_settings(words: Sequence[Word]) -> Sequence[Word]:
    """Words behind those that set variables, quoted ones too."""
    start = next((at for at, one in enumerate(words) if "=" not in one.text[1:]), len(words))
    return words[start:]


class Inner(NamedTuple):
    """The commands that a wrapper runs.

    Attributes:
        words: of the command behind it; empty: none.
        scripts: words that a shell reads as a line each time.
        further: other commands, behind whose words come others.
        replaced: a text in the words of its commands for which its input stands.
        appended: words from its input come behind the words of its command.
        reads_input: a shell that reads its input as lines.
        unknown: why it may run something else.
    """

    words: Sequence[Word] = ()
    scripts: Sequence[Sequence[Word]] = ()
    further: Sequence[Sequence[Word]] = ()
    replaced: str | None = None
    appended: bool = False
    reads_input: bool = False
    unknown: str | None = None


class _Options(NamedTuple):
    """Options of a wrapper that take the next word, short ones and long ones, and the operands that
    stand before the command."""

    short: str = ""
    long: tuple[str, ...] = ()
    operands: int = 0


def _after_options(words: Sequence[Word], options: _Options) -> int:
    """The place of the first word behind the name, its options and their values."""
    at = 1
    while at < len(words):
        text = words[at].text
        if text == "--":
            return at + 1
        if not text.startswith("-") or text == "-":
            return at
        at += 1
        if text.startswith("--"):
            at += text in options.long
        else:
            valued = next((i for i, letter in enumerate(text) if letter in options.short), -1)
            at += valued == len(text) - 1
    return at


def _plain(options: _Options, words: Sequence[Word]) -> Inner:
    """A wrapper whose command stands behind its options and operands."""
    return Inner(words[_after_options(words, options) + options.operands :])


def _as_user(options: _Options, letters: str, words: Sequence[Word]) -> Inner:
    """`sudo` and its like: with one of these letters a shell, which reads its input where no
    command follows."""
    at = _after_options(words, options)
    rest = _behind_settings(words[at:])
    shell = _has_letter(words, at, letters, options.short) or any(
        one.text in ("--shell", "--login") for one in words[1:at]
    )
    return Inner(rest, reads_input=shell and not rest)


def _has_letter(words: Sequence[Word], end: int, letters: str, valued: str = "") -> bool:
    """Return whether one of these short options stands among the first words."""
    for word in words[1:end]:
        if word.text.startswith("-") and not word.text.startswith("--"):
            for letter in word.text[1:]:
                if letter in letters:
                    return True
                if letter in valued:
                    break
    return False


def _command(words: Sequence[Word]) -> Inner:
    at = _after_options(words, _Options())
    return Inner() if _has_letter(words, at, "vV") else Inner(words[at:])


def _env(words: Sequence[Word]) -> Inner:
    """`env`: with -S a text is split as a shell does, before what follows."""
    options, at = _Options("uCa", ("--unset", "--chdir", "--argv0")), 1
    while at < len(words) and words[at].text.startswith("-") and words[at].text != "--":
        text = words[at].text
        letters = "" if text.startswith("--") else text[1:]
        place = next((i for i, letter in enumerate(letters) if letter in "SuCa"), len(letters))
        if letters[place : place + 1] == "S":
            return _split_env(words, at, letters[place + 1 :])
        if text.partition("=")[0] == "--split-string":
            return _split_env(words, at, text.partition("=")[2])
        at += (
            _after_options([words[0], words[at], Word("")], options) - 1
            if letters or text[1:]
            else 1
        )
    at += at < len(words) and words[at].text == "--"
    return Inner(_behind_settings(words[at:]))


def _split_env(words: Sequence[Word], at: int, said: str) -> Inner:
    """`said`: the text that stands in the same word as -S; "" = the next word has it."""
    rest = words[at + 1 :]
    if not said:
        said, rest = (rest[0].text if rest else ""), rest[1:]
    said = _unescaped(said)
    if said.lstrip().startswith("-"):
        said = f"env {said}"
    return Inner(scripts=([Word(said), *(Word(_quoted(one.text)) for one in rest)],))


def _unescaped(text: str) -> str:
    """A text of `env -S` as a shell reads it: there \\_ is a space, and other escapes stand for
    white space or an end."""
    said, at, quote = list[str](), 0, ""
    while at < len(text):
        char = text[at]
        following = text[at + 1 : at + 2]
        if char == "\\" and quote != "'" and following:
            at += 2
            if following == "c" and not quote:
                break
            said.append(" " if following in _SPACES_OF_ENV else char + following)
            continue
        if char in "'\"" and quote in ("", char):
            quote = "" if quote else char
        said.append(char)
        at += 1
    return "".join(said)


def _quoted(text: str) -> str:
    """A text as one word of a line."""
    return "'" + text.replace("'", "'\\''") + "'"


def _shell(words: Sequence[Word]) -> Inner:
    """A shell: the text behind -c, else what stands in its input where no file is named."""
    at, script, from_input = 1, False, False
    while at < len(words):
        text = words[at].text
        if text in ("--rcfile", "--init-file"):
            at += 2
            continue
        if text in ("--", "-"):
            at += 1
            break
        if len(text) < 2 or text[0] not in "-+":
            break
        at += 1
        if text.startswith("--"):
            continue
        letters = text[1:]
        script = script or (text[0] == "-" and "c" in letters)
        from_input = from_input or "s" in letters
        at += letters.count("o") + letters.count("O")
    rest = words[at:]
    if script:
        return Inner(scripts=(rest[:1],)) if rest else Inner()
    if from_input or not rest:
        informs = any(one.text in ("--version", "--help") for one in words[1:])
        return Inner() if informs else Inner(reads_input=True)
    return _script_file(rest)


def _source(words: Sequence[Word]) -> Inner:
    """A script that this shell reads: one that stands in the line, or in its input."""
    rest = words[1:]
    if rest[:1] and rest[0].text == "--":
        rest = rest[1:]
    return _script_file(rest)


def _script_file(rest: Sequence[Word]) -> Inner:
    """A shell that reads the file which the first word names; what stands in a file is not seen."""
    if not rest:
        return Inner()
    if not rest[0].fixed and rest[0].text.startswith(("<(", "$(", "`")):
        return Inner(unknown=f"a script that is not fixed: {rest[0].text[:80]}")
    return Inner(reads_input=rest[0].text in _INPUTS)


def _eval(words: Sequence[Word]) -> Inner:
    rest = _plain(_Options(), words).words
    unfixed = next((one for one in rest if not one.fixed and one.text.startswith(("$", "`"))), None)
    unknown = None if unfixed is None else f"a script that is not fixed: {unfixed.text[:80]}"
    return Inner(scripts=(rest,) if rest else (), unknown=unknown)


def _ssh(words: Sequence[Word]) -> Inner:
    """`ssh`: options stand before and behind the host; without a command a shell reads the input of
    that one."""
    at = _after_options(words, _SSH)
    behind = words[at + 1 :]
    rest = behind[_after_options([words[0], *behind], _SSH) - 1 :]
    if rest:
        return Inner(scripts=(rest,))
    without = at >= len(words) or any(
        _has_letter([words[0], *part], len(part) + 1, "NVGQO", _SSH.short)
        for part in (words[1:at], behind)
    )
    return Inner(reads_input=not without)


def _joined(options: _Options, words: Sequence[Word]) -> Inner:
    """A wrapper that hands its words, joined, to a shell."""
    rest = _plain(options, words).words
    return Inner(scripts=(rest,)) if rest else Inner()


def _watch(words: Sequence[Word]) -> Inner:
    options = _Options("nq", ("--interval", "--equexit"))
    at = _after_options(words, options)
    executes = _has_letter(words, at, "x", "nq") or any(one.text == "--exec" for one in words[1:at])
    return Inner(words[at:]) if executes else _joined(options, words)


def _su(words: Sequence[Word]) -> Inner:
    """`su`: the text behind -c, wherever it stands."""
    scripts = []
    for at, word in enumerate(words[1:], 1):
        text = word.text
        if text in ("-c", "--command", "--session-command") or (
            text.startswith("-") and not text.startswith("--") and text.endswith("c")
        ):
            scripts.append(words[at + 1 : at + 2])
        elif text.startswith(("--command=", "--session-command=")):
            scripts.append([word._replace(text=text.partition("=")[2])])
    if scripts:
        return Inner(scripts=[one for one in scripts if one])
    return Inner(reads_input=True)


def _find(words: Sequence[Word]) -> Inner:
    """`find`: what stands behind -exec and its like, up to ; or +."""
    further, at = list[Sequence[Word]](), 1
    while at < len(words):
        if words[at].text in ("-exec", "-execdir", "-ok", "-okdir"):
            start = at = at + 1
            while (
                at < len(words)
                and words[at].text != ";"
                and not (words[at].text == "+" and words[at - 1].text == "{}")
            ):
                at += 1
            further.append(words[start:at])
        at += 1
    return Inner(further=further, replaced="{}")


def _xargs(words: Sequence[Word]) -> Inner:
    at = _after_options(words, _XARGS)
    replaced = _replaced(words[1:at])
    if replaced is None:
        return Inner(words[at:], appended=True)
    return Inner([filled(one, replaced) for one in words[at:]], replaced=replaced)


def _replaced(options: Sequence[Word]) -> str | None:
    """Return what `xargs` replaces by a word of its input; None: it appends the words."""
    texts = [one.text for one in options]
    for at, text in enumerate(texts):
        if text == "--replace" or text.startswith("--replace="):
            return text.partition("=")[2] or "{}"
        if text.startswith("-") and not text.startswith("--"):
            for place, letter in enumerate(text[1:], 1):
                if letter == "i":
                    return text[place + 1 :] or "{}"
                if letter in "IJ":
                    return text[place + 1 :] or "".join(texts[at + 1 : at + 2]) or None
                if letter in _XARGS.short:
                    break
    return None


def _flock(words: Sequence[Word]) -> Inner:
    at = _after_options(words, _Options("wE", ("--timeout", "--wait", "--conflict-exit-code"))) + 1
    rest = words[at:]
    if rest and rest[0].text in ("-c", "--command"):
        return Inner(scripts=(rest[1:2],)) if rest[1:] else Inner()
    return Inner(rest)


def _trap(words: Sequence[Word]) -> Inner:
    rest = _plain(_Options(), words).words
    runs = len(rest) > 1 and rest[0].text not in ("", "-")
    return Inner(scripts=(rest[:1],)) if runs else Inner()


_SUDO: Final = _Options(
    "aCcDghpRrTtUu",
    ("--user", "--group", "--host", "--prompt", "--close-from", "--chdir", "--chroot", "--role",
     "--type", "--command-timeout", "--other-user", "--login-class", "--auth-type"),
)  # fmt: skip
_DOAS: Final = _Options("aCu")
_XARGS: Final = _Options(
    "aEdIJLnPs",
    ("--arg-file", "--delimiter", "--max-args", "--max-procs", "--max-chars",
     "--process-slot-var"),
)  # fmt: skip
_INPUTS: Final = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
_SPACES_OF_ENV: Final = ("_", "f", "n", "r", "t", "v")
_SSH: Final = _Options("bcDEeFIiJLlmOopPQRSWwB")
_SHELLS: Final = ("sh", "bash", "dash", "zsh", "ksh", "ash")

# Every wrapper by its name: what it runs.
WRAPPERS: Final[Mapping[str, Callable[[Sequence[Word]], Inner]]] = {
    "sudo": partial(_as_user, _SUDO, "si"),
    "doas": partial(_as_user, _DOAS, "s"),
    "su": _su,
    "env": _env,
    **dict.fromkeys(_SHELLS, _shell),
    "eval": _eval,
    **dict.fromkeys(("source", "."), _source),
    "exec": partial(_plain, _Options("a")),
    "command": _command,
    "builtin": partial(_plain, _Options()),
    "nohup": partial(_plain, _Options()),
    "setsid": partial(_plain, _Options()),
    "nice": partial(_plain, _Options("n", ("--adjustment",))),
    "ionice": partial(_plain, _Options("cn", ("--class", "--classdata"))),
    "time": partial(_plain, _Options("fo", ("--format", "--output"))),
    "timeout": partial(_plain, _Options("ks", ("--kill-after", "--signal"), operands=1)),
    "stdbuf": partial(_plain, _Options("ioe", ("--input", "--output", "--error"))),
    "xargs": _xargs,
    "find": _find,
    "watch": _watch,
    "flock": _flock,
    "busybox": partial(_plain, _Options()),
    "ssh": _ssh,
    "trap": _trap,
}
