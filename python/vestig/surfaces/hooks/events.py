"""The hooks of an editor: what Vestig answers to an event of a session.

An editor starts a process for each event and waits for it, so nothing here may fail, print beside
its answer, or take long: whatever goes wrong is a line of the log, and the answer is none.
"""

from __future__ import annotations

import json
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from vestig.config.environment import project_folder
from vestig.errors import NotFoundError, ValidationError, VestigError
from vestig.language.follow_ups import only_goes_on, says_nothing
from vestig.recall.silence import SILENCE
from vestig.repository.branches import read_scopes
from vestig.repository.project import project_scope
from vestig.surfaces.cli.opening import configuration, open_store
from vestig.surfaces.hooks.client import (
    CODEX,
    CURSOR,
    INPUT_BYTES_MAX,
    REFUSAL,
    STRICT,
    LateError,
    process_age_s,
    time_limit_s,
)
from vestig.surfaces.hooks.hooks_file import hook_options
from vestig.surfaces.hooks.sessions import Journal, fault

if TYPE_CHECKING:
    from vestig.answers import RecallResult
    from vestig.api.store import Vestig
    from vestig.calls.filter import FilterFields
    from vestig.config import Config

# Who answered, in the log: this process, or a server that was there.
BY_PROCESS: Final = "process"
BY_SERVER: Final = "server"
# How the log begins to tell of a hook that gave up.
LATE: Final = "no answer within"
_PROMPT_CHARS: Final = 2_000
_PROMPT_CHARS_MIN: Final = 8
_RECALLED_MAX: Final = 5
_PINNED_MAX: Final = 10
_PINNED_BUDGET: Final = 300
_FAILED: Final = (
    "Vestig: {count} calls of its hooks failed since this was last told, so that memories may be"
    " missing here or were not kept. Tell the user; `vestig install EDITOR --check` says why."
)
_LEFT_BEHIND: Final = "Vestig: {line} Tell the user, who decides."

# Said where nothing happens without a store.
_NO_STORE: Final = (
    "Vestig was installed with --strict, and expected its rules in the store {store}, which is not"
    " there: move it back, add a rule with `vestig rule add`, or run `vestig install` again with"
    " the right --store, or without --strict"
)


class Place(NamedTuple):
    """Where the program of a hook runs: its working folder and the variables that name a project;
    None where that is this process."""

    folder: str | None = None
    variables: Mapping[str, str] | None = None


_HERE: Final = Place()


class Event:
    """An event as the editor told it.

    Attributes:
        name: of the event, as Claude Code and Codex call it.
        session: the id of the session, None where it has none.
        transcript: the file of the session, None where it has none or is one of Cursor, which is
            not read.
        scope: that of the project.

    Args:
        place: where the editor is at work.
    """

    def __init__(self, name: str, told: Mapping[str, Any], place: Place = _HERE) -> None:
        self.given = name
        self.name = _NAMES.get(name, name)
        self.told = told
        self.session = _text(told, "session_id") or _text(told, "conversation_id")
        self.transcript = None if name in _NAMES else _text(told, "transcript_path")
        self.source = _text(told, "source")
        self._folder = _text(told, "cwd")
        roots = told.get("workspace_roots")
        if self._folder is None and isinstance(roots, list) and roots and isinstance(roots[0], str):
            self._folder = roots[0]
        self._place = place

    @cached_property
    def scope(self) -> str:
        """The scope of the project that the session works on."""
        return project_scope(self.project)

    @cached_property
    def scopes(self) -> tuple[str, ...]:
        """The scope of the project, and that of the branch that is checked out."""
        return read_scopes(self.scope, self.project)

    @cached_property
    def project(self) -> Path:
        """The folder of the project."""
        folder = self._folder or self._place.folder
        return project_folder(self._place.variables, working=folder)

    def answer(self, block: str) -> dict[str, Any]:
        """The block in the form of the editor that told this event."""
        if self.given in _NAMES:
            answer: dict[str, Any] = {"additional_context": block}
            return answer if self.name == "SessionStart" else {"continue": True, **answer}
        return {"hookSpecificOutput": {"hookEventName": self.name, "additionalContext": block}}


# What Cursor calls the events, and what hooks are called that know the editor by it.
_NAMES: Final = {
    "beforeSubmitPrompt": "UserPromptSubmit",
    "sessionStart": "SessionStart",
    "preCompact": "PreCompact",
    "sessionEnd": "SessionEnd",
    STRICT: "PreToolUse",
    CODEX: "PreToolUse",
    **dict.fromkeys(CURSOR, "PreToolUse"),
}


_TYPED: Final = (
    "vestig hook: nothing was done. An editor calls it at an event, which it sends as JSON on"
    " standard input; `vestig install EDITOR` sets that up.\n"
)


def answer_event(name: str | None, options: Mapping[str, Any]) -> dict[str, Any] | None:
    """The answer to an event that stands as JSON on standard input; None for none.

    Whatever fails is written to the log, but for a call that sends nothing, which is no editor's:
    standard error says what the command is for. After the time limit the process ends with exit 0.

    Args:
        name: of the event; None: as the input names it.
        options: of the command line: store, config, namespace, profile.
    """
    hook = Hook(options, name=name, limit_s=time_limit_s(name))
    if sys.stdin.isatty():
        sys.stderr.write(_TYPED)
        return hook.without_answer()
    watch = threading.Timer(max(0.0, hook.limit_s - process_age_s()), hook.end_late)
    watch.daemon = True
    watch.start()
    try:
        data = sys.stdin.buffer.read(INPUT_BYTES_MAX)
        if not data:
            sys.stderr.write(_TYPED)
            return hook.without_answer()
        return hook.answer(hook.know(name, read_input(data)))
    except Exception as error:  # an editor must not be held up
        hook.find_store()
        hook.fail(fault(error), without_store=isinstance(error, NotFoundError))
        return hook.without_answer()
    finally:
        watch.cancel()


def tell_late() -> None:
    """Writes to the log that a server gave no answer in time to the event that stands on standard
    input; the words of the command say of which store."""
    found = hook_options(sys.argv[1:])
    if found is None:
        return
    name, options = found
    hook = Hook(options, by=BY_SERVER, limit_s=time_limit_s(name))
    with suppress(ValidationError):
        hook.know(name, read_input(sys.stdin.buffer.read(INPUT_BYTES_MAX)))
    hook.find_store()
    hook.fail(f"{LATE} {hook.limit_s} s")


def print_answer(answer: dict[str, Any] | None) -> None:
    """Writes an answer as one line, and nothing for none. An editor that is gone reads none."""
    with suppress(OSError):
        if answer is not None:
            sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()
    with suppress(OSError):
        sys.stderr.flush()


class Hook:
    """One event that is being answered.

    Args:
        options: of the command line: store, config, namespace, profile.
        place: where the editor is at work.
        name: of the event, as far as the command says it; `know` reads it too.
        by: who answers, in the log.
        limit_s: seconds that the answer may take, for the log.
        end: when the time is over, of the monotonic clock; what is shown then reaches nobody.
        store: what is open already; None: it is opened for the event.
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        *,
        place: Place = _HERE,
        name: str | None = None,
        by: str = BY_PROCESS,
        limit_s: float = math.inf,
        end: float = math.inf,
        store: Vestig | None = None,
    ) -> None:
        self._options = options
        self._place = place
        self._by = by
        self.limit_s = limit_s
        self._end = end
        self._open = store
        self._store: str | None = options.get("store")
        self._name = name or "hook"
        self._session: str | None = None

    def know(self, name: str | None, told: Mapping[str, Any]) -> Event:
        """The event, of which the log tells from here on.

        Args:
            name: of the event; None: as the input names it.
        """
        self._name = name or _text(told, "hook_event_name") or ""
        event = Event(self._name, told, self._place)
        self._session = event.session
        return event

    def answer(self, event: Event) -> dict[str, Any] | None:
        """The answer to an event; None for none."""
        do = _DO.get(event.name)
        if do is None:
            raise ValidationError("event", self._name, f"one of {', '.join((*_DO, *_NAMES))}")
        return do(self, event)

    def recall(self, event: Event) -> dict[str, Any] | None:
        """Quotes the memories about a prompt that were not shown yet."""
        prompt = (_text(event.told, "prompt") or "").strip()[:_PROMPT_CHARS]
        if len(prompt) < _PROMPT_CHARS_MIN or prompt.startswith("/"):
            return None
        if says_nothing(prompt) or only_goes_on(prompt):
            return None
        config = self.configuration
        journal = self._journal()
        where, shown = _where(event), frozenset[str]()
        if event.session is not None:
            where["exclude_session_ids"] = [event.session]
            shown = frozenset(journal.shown(event.session))
        silence = config.settings.recall.silence or SILENCE
        with self._opened(config) as store:
            ask = partial(
                store.recall,
                prompt,
                limit=_RECALLED_MAX,
                context=True,
                budget=config.settings.hooks.budget,
            )
            found = ask(where=where, silence=silence)
            # beside what was shown: the next best, where the best is known, would pass for it
            fresh = [hit.id for hit in found if hit.id not in shown]
            if fresh and len(fresh) < len(found):
                found = ask(where={"ids": fresh}, all=True)
        if not fresh:
            return None
        block = self._shown(event, journal, found)
        return event.answer(block) if block else None

    def start(self, event: Event) -> dict[str, Any] | None:
        """Quotes the pinned memories, reads the transcripts of this project that grew, and merges
        what belongs to merged branches."""
        config = self.configuration
        journal = self._journal()
        # first of all: that the session began is known whatever follows
        journal.add(
            event.name, session=event.session, source=event.source,
            transcript=event.transcript, scope=event.scope, by=self._by,
        )  # fmt: skip
        self._read_transcripts(event, grown=True)
        blocks = list[str]()
        try:
            with self._opened(config) as store:
                blocks += self._pinned(event, store, journal)
                blocks += self._earlier(event, store)
        except LateError:
            raise
        except Exception as error:  # that it failed is told all the same
            self.fail(fault(error), without_store=isinstance(error, NotFoundError))
        failed = journal.untold()
        if failed:
            self._check_time()
            journal.add(event.name, session=event.session, told=failed)
            blocks.append(_FAILED.format(count=failed))
        return event.answer("\n\n".join(blocks)) if blocks else None

    def _pinned(self, event: Event, store: Vestig, journal: Journal) -> list[str]:
        """The block of the pinned memories, where there are some."""
        pinned = store.list({**_where(event), "pinned": True}, limit=_PINNED_MAX)
        if not len(pinned):
            return []
        found = store.recall(
            event.scope,
            where={"ids": [one.id for one in pinned]},
            limit=_PINNED_MAX,
            all=True,
            context=True,
            budget=_PINNED_BUDGET,
        )
        block = self._shown(event, journal, found)
        return [block] if block else []

    def _earlier(self, event: Event, store: Vestig) -> list[str]:
        """Lines about memories of the folder that its scope leaves out."""
        from vestig.surfaces.earlier_scope import left_behind

        found = left_behind(store, event.project, self._options)
        return [_LEFT_BEHIND.format(line=line) for line in found]

    def read(self, event: Event) -> None:
        """Reads the transcript of this session, in a process that the editor does not wait for."""
        if event.transcript is None:
            raise ValidationError("transcript_path", None, "the path of the session's transcript")
        self._read_transcripts(event)

    def check(self, event: Event) -> dict[str, Any] | None:
        """Says what the rules of the project say of the call of a tool."""
        from vestig.surfaces.hooks.actions import action_of, answer_of, count_later, refused

        action = action_of(event.given, event.told)
        if action is None:
            return None
        try:
            with self._opened(self.configuration) as store:
                found = store.rules.test(**action, scope=event.scope)
        except NotFoundError as error:
            # nothing is stored, and so no rule: or what was stored is elsewhere
            if event.given != STRICT:
                return None
            self.fail(fault(error), without_store=True)
            return refused(_NO_STORE.format(store=self._store))
        if found.fired or found.gave_way:
            self._check_time()
            count_later(self._options, found, self._place.folder)
        return answer_of(event.given, found)

    def without_answer(self) -> dict[str, Any] | None:
        """The answer where none could be found: the action is refused where that was asked for."""
        refusal: dict[str, Any] | None = json.loads(REFUSAL) if self._name == STRICT else None
        return refusal

    def fail(self, error: str, *, without_store: bool = False) -> None:
        """Writes what went wrong; where no log can be written, to standard error.

        Args:
            without_store: nothing was stored yet, which is no failure to tell of.
        """
        facts = {
            "session": self._session,
            "error": error,
            "by": self._by,
            "without_store": without_store or None,
        }
        try:
            self._journal().add(self._name, **facts)
        except (OSError, VestigError, ValueError) as unwritten:
            sys.stderr.write(f"vestig hook: {error}; no log: {type(unwritten).__name__}\n")

    def end_late(self) -> None:
        """The time is over: the action goes on, or is refused where that was asked for."""
        self.fail(f"{LATE} {self.limit_s} s")
        print_answer(self.without_answer())
        os._exit(0)

    @cached_property
    def configuration(self) -> Config:
        """The configuration of the store."""
        folder = None if self._place.folder is None else Path(self._place.folder)
        config = configuration(self._options, folder)
        self._store = config.settings.store.path
        return config

    def find_store(self) -> None:
        """Reads the configuration, as far as it can be read, for the log is beside the store."""
        with suppress(VestigError, OSError):
            _ = self.configuration

    def _journal(self) -> Journal:
        return Journal(self._store)

    def _opened(self, config: Config) -> AbstractContextManager[Vestig]:
        if self._open is not None:
            return nullcontext(self._open)
        return open_store(config, read_only=True)

    def _shown(self, event: Event, journal: Journal, found: RecallResult) -> str:
        """The block of what was found, which is noted as shown; "" for none."""
        block = found.context
        if not found.results or block is None or not block.text:
            return ""
        ids = [*block.ids, *block.neighbours, *block.associated, *block.folded]
        self._check_time()
        journal.add(event.name, session=event.session, shown=ids, by=self._by)
        return block.text

    def _check_time(self) -> None:
        if time.monotonic() > self._end:
            raise LateError

    def _read_transcripts(self, event: Event, *, grown: bool = False) -> None:
        import subprocess

        asked = {
            "options": dict(self._options),
            "event": event.name,
            "session": event.session,
            "transcript": event.transcript,
            "scope": event.scope,
            "folder": str(event.project),
            "grown": grown,
        }
        # nothing of the editor's stays open in it, and no signal to the editor's group ends it
        subprocess.Popen(
            [sys.executable, "-m", "vestig.surfaces.hooks.sessions", json.dumps(asked)],
            cwd=self._place.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


_DO: Final[Mapping[str, Callable[[Hook, Event], dict[str, Any] | None]]] = {
    "UserPromptSubmit": Hook.recall,
    "SessionStart": Hook.start,
    "PreCompact": Hook.read,
    "SessionEnd": Hook.read,
    "PreToolUse": Hook.check,
}


def _where(event: Event) -> FilterFields:
    """Selects the memories of the project, of its branch, and those that hold everywhere."""
    return {"scope": event.scopes, "unscoped": True}


def _text(told: Mapping[str, Any], name: str) -> str | None:
    value = told.get(name)
    return value if isinstance(value, str) and value else None


def read_input(data: bytes) -> Mapping[str, Any]:
    """The event that an editor sends.

    Raises:
        ValidationError: no JSON object.
    """
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise ValidationError(
            "input", f"{len(data)} bytes", "one JSON object on standard input, as an editor sends"
        )
    return told
