"""Splits a line for a POSIX shell (as bash reads it) into the commands that it runs.

Quotes, operators, substitutions, subshells, redirections, here-documents and compound commands are
read as the shell reads them, without expanding anything: a variable stands as it is written.
`wrappers` finds the commands that these run.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from vestig.rules.words import (
    CHARACTER,
    DIVIDES,
    ENDLESS,
    WITHIN,
    Word,
    WordParts,
    is_file_name,
    is_name,
)

LEVELS_MAX: Final = 32
_BLANK: Final = " \t\r"
_ENDS_WORD: Final = frozenset(" \t\r\n;&|<>()")
_PLAIN_STOPS: Final = frozenset(" \t\r\n;&|<>()\\'\"$`*?[{=,.+@!")
# Words of compound commands that are no part of the commands within.
_BEFORE_COMMAND: Final = frozenset(
    ("if", "then", "elif", "else", "while", "until", "do", "!", "{", "fi", "done", "}")
)


# Words that begin a compound command.
_COMPOUND: Final = frozenset(
    ("{", "if", "while", "until", "for", "select", "case", "[["),
)


class SimpleCommand:
    """A command as it is written: its words, its redirections in a normal form, and the text that
    a here-document or a here-string feeds it; None = nothing of this line does."""

    __slots__ = ("fed", "redirections", "words")

    def __init__(self) -> None:
        self.words: list[Word] = []
        self.redirections: list[str] = []
        self.fed: str | None = None


class _HereDocument(NamedTuple):
    """A here-document whose body begins at the next line."""

    end: str
    tabs: bool
    literal: bool
    command: SimpleCommand


class Unreadable(Exception):
    """The line is none that a shell takes, or one that is not read; says why."""


def simple_commands(line: str, level: int = 0) -> tuple[list[SimpleCommand], str | None]:
    """The commands of a line in the order in which they are read, those within substitutions too,
    and why the rest could not be read; None: all of it was.

    Example:
        >>> found, unread = simple_commands("cd a && git 'push' >log $(date)")
        >>> [[word.text for word in one.words] for one in found], unread
        ([['cd', 'a'], ['date'], ['git', 'push', '$(date)']], None)
        >>> simple_commands("echo 'a")[1]
        "a ' without its end"
    """
    reader = _Reader(line, level)
    try:
        reader.read()
    except Unreadable as error:
        return reader.found, str(error)
    return reader.found, None


class _Reader:
    """Reads one line; `found` has what was read so far."""

    def __init__(self, text: str, level: int) -> None:
        self.found: list[SimpleCommand] = []
        self._text = text
        self._end = len(text)
        self._at = 0
        self._level = level
        self._waiting: list[_HereDocument] = []

    def read(self) -> None:
        """Reads all of the line."""
        self._list("")

    def _deeper(self) -> None:
        self._level += 1
        if self._level > LEVELS_MAX:
            raise Unreadable(f"more than {LEVELS_MAX} levels")

    # --- lists of commands -----------------------------------------------------------------

    def _list(self, closer: str) -> None:
        """Commands up to `closer`: ")", "case" (the end of a branch), or "" for the whole line."""
        self._deeper()
        command = SimpleCommand()
        while self._at < self._end:
            char = self._text[self._at]
            if char in _BLANK:
                self._at += 1
            elif char == "\\" and self._text.startswith("\\\n", self._at):
                self._at += 2
            elif char == "&" and self._text.startswith(">", self._at + 1):
                self._redirection(command, "")
            elif char in "\n;&|":
                ended = self._operator(closer)
                command = self._done(command)
                if ended:
                    self._level -= 1
                    return
            elif char == "#":
                line_end = self._text.find("\n", self._at)
                self._at = self._end if line_end < 0 else line_end
            elif char == ")":
                self._done(command)
                if closer == ")":
                    self._at += 1
                    self._level -= 1
                    return
                raise Unreadable("a ) without its (")
            elif char == "(":
                command = self._parenthesis(command)
            elif self._redirects():
                self._redirection(command, "")
            elif self._next_word(command, closer):
                self._level -= 1
                return
        self._done(command)
        if closer == ")":
            raise Unreadable("a ( without its )")
        if closer == "case":
            raise Unreadable("a case without its esac")
        self._level -= 1

    def _done(self, command: SimpleCommand) -> SimpleCommand:
        """Keeps a command that has words, and begins the next one."""
        if command.words or command.redirections:
            self.found.append(command)
        return SimpleCommand()

    def _operator(self, closer: str) -> bool:
        """Reads an operator between commands; true where it ends a branch of a case."""
        text, at = self._text, self._at
        char = text[at]
        if char == "\n":
            self._at += 1
            self._here_documents()
            return False
        if char == ";" and text[at + 1 : at + 2] in (";", "&"):
            self._at += 3 if text.startswith(";;&", at) else 2
            if closer != "case":
                raise Unreadable("a ;; outside of a case")
            return True
        self._at += 2 if text[at : at + 2] in ("&&", "||", "|&") else 1
        return False

    def _parenthesis(self, command: SimpleCommand) -> SimpleCommand:
        """A subshell, an arithmetic command, or the () of a function."""
        if command.words:
            self._at += 1
            self._blanks()
            if not self._text.startswith(")", self._at):
                raise Unreadable("a ( within a command")
            self._at += 1
            return SimpleCommand()
        if self._is_arithmetic(self._at):
            self._at += 2
            self._arithmetic()
        else:
            self._at += 1
            self._list(")")
        return command

    def _next_word(self, command: SimpleCommand, closer: str) -> bool:
        """Reads a word into a command; true where it ends a branch of a case."""
        word = self._word()
        text = word.text
        if word.plain and (text.isdigit() or is_file_name(text)) and self._redirects():
            self._redirection(command, text)
            return False
        if command.words or not word.plain or not word.fixed:
            command.words.append(word)
        elif text == "esac" and closer == "case":
            self._at -= len(text)  # `_case` reads it
            return True
        elif text not in _BEFORE_COMMAND and not self._compound(text):
            command.words.append(word)
        return False

    def _compound(self, word: str) -> bool:
        """Reads what a word begins that stands for a command; false where it is none such."""
        if word == "case":
            self._case()
        elif word in ("for", "select"):
            self._for(word)
        elif word == "function":
            self._blanks()
            self._word()
            self._blanks()
            if self._text.startswith("()", self._at):
                self._at += 2
        elif word == "[[":
            self._test()
        elif word == "time":
            self._blanks()
            for option in ("-p", "--"):
                here = self._text[self._at : self._at + 3]
                if here.startswith(option) and here[2:] in ("", " ", "\t", "\n"):
                    self._at += 2
                    self._blanks()
        elif word == "coproc":
            self._name_of_coprocess()
        else:
            return False
        return True

    # --- compound commands -----------------------------------------------------------------

    def _name_of_coprocess(self) -> None:
        """The name before a compound command; a simple command has none."""
        self._blanks()
        start = end = self._at
        while end < self._end and (self._text[end].isalnum() or self._text[end] == "_"):
            end += 1
        if not self._text[start:end].isidentifier() or end >= self._end:
            return
        self._at = end
        self._blanks()
        stop = self._at
        while stop < self._end and self._text[stop] not in _ENDS_WORD:
            stop += 1
        begins = self._text[self._at : stop]
        if self._at == end or not (begins in _COMPOUND or self._text.startswith("(", self._at)):
            self._at = start

    def _for(self, begins: str) -> None:
        """The head of a loop, up to its `do` or its end; one with a list is a command."""
        self._blanks()
        if self._is_arithmetic(self._at):
            self._at += 2
            self._arithmetic()
            return
        head = SimpleCommand()
        head.words.append(Word(begins))
        while self._at < self._end:
            self._blanks()
            if self._at >= self._end or self._text[self._at] in "\n;":
                break
            if self._text[self._at] in "&|()" or self._redirects():
                raise Unreadable("a loop that is none")
            word = self._word()
            if len(head.words) == 2 and word.plain and word.text == "do":
                return
            head.words.append(word)
        if len(head.words) > 3:
            self._done(head)

    def _case(self) -> None:
        self._blanks()
        self._word()
        self._spaces()
        if self._word_or_none() != "in":
            raise Unreadable("a case without in")
        while True:
            self._spaces()
            if self._at >= self._end:
                raise Unreadable("a case without its esac")
            start = self._at
            if self._text[start] != "(" and self._word_or_none() == "esac":
                return
            self._at = start + (self._text[start] == "(")
            self._pattern()
            self._list("case")

    def _pattern(self) -> None:
        """The patterns of a branch, and the ) behind them."""
        while self._at < self._end:
            char = self._text[self._at]
            if char == ")":
                self._at += 1
                return
            if char in _BLANK or char in "|\n":
                self._at += 1
            elif char in _ENDS_WORD:
                break
            else:
                self._word()
        raise Unreadable("a case without its patterns")

    def _test(self) -> None:
        """The inside of [[ and ]], where operators of commands are none: a command of its words."""
        command = SimpleCommand()
        command.words.append(Word("[["))
        while self._at < self._end:
            char = self._text[self._at]
            if char in _ENDS_WORD:
                self._at += 1
                continue
            word = self._word()
            command.words.append(word)
            if word.plain and word.text == "]]":
                self._done(command)
                return
        raise Unreadable("a [[ without its ]]")

    def _word_or_none(self) -> str | None:
        """The text of a word where one stands."""
        if self._at >= self._end or self._text[self._at] in _ENDS_WORD:
            return None
        return self._word().text

    def _blanks(self) -> None:
        while self._at < self._end:
            if self._text[self._at] in _BLANK:
                self._at += 1
            elif self._text.startswith("\\\n", self._at):
                self._at += 2
            else:
                return

    def _spaces(self) -> None:
        """Blanks, ends of lines, comments and ends of branches."""
        while self._at < self._end:
            char = self._text[self._at]
            if char in _BLANK or char in "\n;":
                self._at += 1
            elif char == "#":
                line_end = self._text.find("\n", self._at)
                self._at = self._end if line_end < 0 else line_end
            else:
                return

    # --- redirections ----------------------------------------------------------------------

    def _redirects(self) -> bool:
        """Return whether a redirection stands here, and no substitution of a process."""
        here = self._text[self._at : self._at + 2]
        return here[:1] in ("<", ">") and here[1:] != "("

    def _redirection(self, command: SimpleCommand, number: str) -> None:
        """An operator with its target. `number`: of the file, as it was written before."""
        text = self._text
        for operator in _REDIRECTIONS:
            if text.startswith(operator, self._at):
                break
        else:
            raise Unreadable("an operator that is none")
        self._at += len(operator)
        self._blanks()
        if self._at >= self._end or (
            text[self._at] in _ENDS_WORD and not text.startswith(("<(", ">("), self._at)
        ):
            raise Unreadable(f"{operator} without what follows it")
        target = self._word()
        if operator in ("<<", "<<-"):
            here = _HereDocument(target.text, operator == "<<-", not target.plain, command)
            self._waiting.append(here)
        elif operator == "<<<":
            command.fed = target.text
        else:
            gap = "" if operator.endswith("&") else " "
            command.redirections.append(f"{number}{operator}{gap}{target.text}")

    def _here_documents(self) -> None:
        """The bodies of the documents that begin at this line."""
        waiting, self._waiting = self._waiting, []
        for here in waiting:
            lines: list[str] = []
            while self._at < self._end:
                stop = self._text.find("\n", self._at)
                stop = self._end if stop < 0 else stop
                line = self._text[self._at : stop]
                self._at = min(stop + 1, self._end)
                if here.tabs:
                    line = line.lstrip("\t")
                if line == here.end:
                    break
                lines.append(line)
            body = "\n".join(lines)
            here.command.fed = body
            if not here.literal:
                self._within(body)

    def _within(self, body: str) -> None:
        """Commands that are substituted in the body of a here-document."""
        inner = _Reader(body, self._level)
        inner.found = self.found
        while inner._at < inner._end:
            char = body[inner._at]
            if char == "\\":
                inner._at += 2
            elif char == "$":
                inner._dollar(WordParts(""), quoted=True)
            elif char == "`":
                inner._backquotes(quoted=True)
            else:
                inner._at += 1

    # --- words -----------------------------------------------------------------------------

    def _word(self) -> Word:
        text, end, at = self._text, self._end, self._at
        while at < end and text[at] not in _PLAIN_STOPS:
            at += 1
        first = text[self._at : at]
        if first and (at == end or (text[at] in _ENDS_WORD and text[at] not in "<>(")):
            self._at = at
            return Word(first)
        word = WordParts(first)
        self._at = at
        while self._at < end:
            char = text[self._at]
            if char in _ENDS_WORD:
                if not self._inner_list(word, char):
                    break
            elif char in "\\'\"$`":
                self._quoted_part(word, char)
            else:
                self._plain_part(word, char)
        self._at = min(self._at, end)
        return word.whole()

    def _inner_list(self, word: WordParts, char: str) -> bool:
        """A substitution of a process or an array, which begin as operators do; false where it is
        an operator."""
        start = self._at
        if char in "<>" and not self._redirects():
            self._at += 2
            self._list(")")
            word.add(self._text[start : self._at], WITHIN)
            return True
        if char == "(" and word.assigns and word.said[-1] == "=":
            word.add(self._array(), ENDLESS)
            return True
        return False

    def _quoted_part(self, word: WordParts, char: str) -> None:
        """A quotation or a substitution."""
        if char == "\\":
            if not self._text.startswith("\n", self._at + 1):
                word.add(self._text[self._at + 1 : self._at + 2] or "\\", plain=False)
            self._at += 2
        elif char == "'":
            word.add(self._single(), plain=False)
        elif char == '"':
            self._double(word)
        elif char == "$":
            self._dollar(word, quoted=False)
        else:
            word.add(self._backquotes(quoted=False), DIVIDES)

    def _plain_part(self, word: WordParts, char: str) -> None:
        """A character, or a pattern."""
        text, at = self._text, self._at
        if char in "?*+@!" and text.startswith("(", at + 1) and (word.said or char != "!"):
            word.add(self._extended_pattern(), ENDLESS)
            return
        loose = ""
        if char in "*?" and not word.assigns:
            loose = WITHIN if char == "*" else CHARACTER
        elif char == "[" and not word.assigns and not _is_bracket_command(text, at, word.said):
            word.indexed = word.indexed or (
                word.plain and word.fixed and is_name("".join(word.said))
            )
            loose = ENDLESS
        elif char == "=" and not word.equals:
            word.equals = True
            word.assigns = self._assigns(word)
        elif char == "{" and word.opened < 0:
            word.opened = len(word.said)
        elif char == "," or (char == "." and text.startswith(".", at + 1)):
            word.braces = word.braces or word.opened >= 0
        word.add(char, loose)
        self._at += 1

    def _assigns(self, word: WordParts) -> bool:
        """Return whether a word that goes on with = assigns: its name, and what stands in [ and ],
        are before it."""
        said = "".join(word.said)
        if word.indexed:
            return said.removesuffix("+").endswith("]")
        return word.plain and word.fixed and is_name(said)

    def _single(self) -> str:
        stop = self._text.find("'", self._at + 1)
        if stop < 0:
            raise Unreadable("a ' without its end")
        inner = self._text[self._at + 1 : stop]
        self._at = stop + 1
        return inner

    def _double(self, word: WordParts) -> None:
        """The text between double quotes, as parts of a word."""
        text = self._text
        self._at += 1
        while self._at < self._end:
            start = self._at
            while self._at < self._end and text[self._at] not in '"\\$`':
                self._at += 1
            word.add(text[start : self._at], plain=False)
            if self._at >= self._end:
                break
            char = text[self._at]
            if char == '"':
                self._at += 1
                return
            if char == "\\":
                following = text[self._at + 1 : self._at + 2]
                if following != "\n":
                    word.add(following if following in ('"', "\\", "$", "`") else char + following)
                self._at += 2
            elif char == "$":
                self._dollar(word, quoted=True)
            else:
                word.add(self._backquotes(quoted=True), WITHIN)
        raise Unreadable('a " without its end')

    def _dollar(self, word: WordParts, *, quoted: bool) -> None:
        """A substitution behind $, or a quotation, as a part of a word."""
        text, start = self._text, self._at
        following = text[start + 1 : start + 2]
        if following == "(":
            if self._is_arithmetic(start + 1):
                self._at += 3
                self._arithmetic()
            else:
                self._at += 2
                self._list(")")
        elif following == "{":
            self._at += 2
            self._parameter(quoted)
        elif following == "'" and not quoted:
            self._at += 2
            word.add(self._escapes(), plain=False)
            return
        elif following == '"' and not quoted:
            self._at += 1
            self._double(word)
            return
        elif following.isalpha() or following == "_":
            self._at += 2
            while self._at < self._end and (text[self._at].isalnum() or text[self._at] == "_"):
                self._at += 1
        elif following and (following.isdigit() or following in "@*#?-$!"):
            self._at += 2
        else:
            self._at += 1
            word.add("$")
            return
        said = text[start : self._at]
        divides = not quoted or said == "$@" or "[@]" in said
        word.add(said, DIVIDES if divides else WITHIN)

    def _parameter(self, quoted: bool) -> None:
        """The inside of ${ and }."""
        self._deeper()
        while self._at < self._end:
            char = self._text[self._at]
            if char == "}":
                self._at += 1
                self._level -= 1
                return
            if char == "\\":
                self._at += 2
            elif char == "'" and not quoted:
                self._single()
            elif char == '"':
                self._double(WordParts(""))
            elif char == "$":
                self._dollar(WordParts(""), quoted=quoted)
            elif char == "`":
                self._backquotes(quoted=quoted)
            else:
                self._at += 1
        raise Unreadable("a ${ without its }")

    def _backquotes(self, *, quoted: bool) -> str:
        """A substitution in backquotes, whose inside is a line of its own."""
        text, start, said = self._text, self._at, list[str]()
        self._at += 1
        while self._at < self._end:
            char = text[self._at]
            if char == "`":
                self._at += 1
                commands, unread = simple_commands("".join(said), self._level)
                self.found += commands
                if unread is not None:
                    raise Unreadable(unread)
                return text[start : self._at]
            if char == "\\" and text[self._at + 1 : self._at + 2] in (
                ("\\", "$", "`", '"') if quoted else ("\\", "$", "`")
            ):
                self._at += 1
                char = text[self._at]
            said.append(char)
            self._at += 1
        raise Unreadable("a ` without its end")

    def _escapes(self) -> str:
        """The text between $' and ', its escapes read."""
        text, said = self._text, list[str]()
        while self._at < self._end:
            char = text[self._at]
            if char == "'":
                self._at += 1
                return "".join(said)
            if char != "\\":
                said.append(char)
                self._at += 1
                continue
            following = text[self._at + 1 : self._at + 2]
            self._at += 2
            if following in _ESCAPES:
                said.append(_ESCAPES[following])
            elif following in _DIGITS_OF:
                base, most = _DIGITS_OF[following]
                said.append(self._coded(base, most, following))
            elif following in "01234567" and following:
                self._at -= 1
                said.append(self._coded(8, 3, following))
            else:
                said.append(f"\\{following}")
        raise Unreadable("a $' without its end")

    def _coded(self, base: int, most: int, letter: str) -> str:
        """The character whose number stands here."""
        digits = "0123456789abcdef"[:base]
        start = self._at
        while self._at < min(start + most, self._end) and self._text[self._at].lower() in digits:
            self._at += 1
        number = self._text[start : self._at]
        if not number:
            return f"\\{letter}"
        code = int(number, base)
        return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else ""

    def _array(self) -> str:
        """The words of an array that is assigned."""
        self._deeper()
        start = self._at
        self._at += 1
        while self._at < self._end:
            char = self._text[self._at]
            if char == ")":
                self._at += 1
                self._level -= 1
                return self._text[start : self._at]
            if char in _BLANK or char == "\n":
                self._at += 1
            elif char in _ENDS_WORD and not self._text.startswith(("<(", ">("), self._at):
                break
            else:
                self._word()
        raise Unreadable("an array without its )")

    def _extended_pattern(self) -> str:
        """A pattern such as @(a|b)."""
        start, depth = self._at, 0
        while self._at < self._end:
            char = self._text[self._at]
            if char == "\\":
                self._at += 2
                continue
            if char == "'":
                self._single()
                continue
            if char == '"':
                self._double(WordParts(""))
                continue
            if char == "$":
                self._dollar(WordParts(""), quoted=False)
                continue
            if char == "`":
                self._backquotes(quoted=False)
                continue
            depth += (char == "(") - (char == ")")
            self._at += 1
            if char == ")" and depth == 0:
                return self._text[start : self._at]
        raise Unreadable("a pattern without its )")

    # --- arithmetic ------------------------------------------------------------------------

    def _is_arithmetic(self, at: int) -> bool:
        """Return whether a (( ends with a )), so that it is no subshell in a subshell."""
        text = self._text
        if not text.startswith("((", at):
            return False
        depth = 0
        while at < self._end:
            char = text[at]
            if char == "\\":
                at += 1
            elif char in "'\"":
                stop = text.find(char, at + 1)
                if stop < 0:
                    return False
                at = stop
            elif char == "(":
                depth += 1
            elif char == ")":
                depth -= 1
                if depth == 1:
                    return text.startswith(")", at + 1)
            at += 1
        return False

    def _arithmetic(self) -> None:
        """The inside of (( and ))."""
        self._deeper()
        depth = 2
        while self._at < self._end:
            char = self._text[self._at]
            if char == "$":
                self._dollar(WordParts(""), quoted=False)
            elif char == "`":
                self._backquotes(quoted=False)
            else:
                depth += (char == "(") - (char == ")")
                self._at += 1
                if depth == 0:
                    self._level -= 1
                    return
        raise Unreadable("a (( without its ))")


_REDIRECTIONS: Final = (
    "&>>", "&>", "<<<", "<<-", "<<", "<&", "<>", ">>", ">&", ">|", "<", ">",
)  # fmt: skip
_ESCAPES: Final = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f",
    "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_DIGITS_OF: Final = {"x": (16, 2), "u": (16, 4), "U": (16, 8)}


def _is_bracket_command(text: str, at: int, said: list[str]) -> bool:
    """Return whether a [ is the command of that name, or belongs to a [[."""
    after = at + 1 + (not said and text.startswith("[", at + 1))
    begins = not said or said == ["["]
    return begins and (after >= len(text) or text[after] in _ENDS_WORD)
