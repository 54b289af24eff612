"""The tour: what Vestig does, on a temporary store, with the built-in embedder."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vestig.recall.layouts import first_line
from vestig.surfaces.cli.opening import open_store, plain_configuration
from vestig.types import CommitOutcomeKind

if TYPE_CHECKING:
    from vestig.answers import Reason
    from vestig.api.store import Vestig
    from vestig.types import CommitOutcome

Say = Callable[[str, str], None]

# (days before the end of the story, text, fields)
_LIFE: Final[tuple[tuple[float, str, dict[str, Any]], ...]] = (
    (30, "The staging database runs on port 5433", {"tags": ["infra"]}),
    (29, "Maria prefers short answers with a code example", {"tags": ["people"]}),
    (28, "Deploys to production happen on Tuesdays after the stand-up", {"tags": ["process"]}),
    (25, "The payment service retries failed charges three times", {"tags": ["infra"]}),
    (21, "Invoices are rendered with the wkhtml renderer", {"tags": ["billing"]}),
    (20, "Tests that touch the clock must use the frozen clock fixture", {"tags": ["process"]}),
    (14, "The build broke because the lock file was not committed",
     {"tags": ["incident"], "trigger": "problem-solution"}),
    (12, "Kofi owns the search cluster and is on call this month", {"tags": ["people"]}),
    (9, "The customer Northwind needs reports in Portuguese", {"tags": ["customers"]}),
    (7, "Feature flags live in the table app_flags", {"tags": ["infra"]}),
    (5, "The nightly backup writes to the bucket vault-eu", {"tags": ["infra"]}),
    (3, "Rate limits for partners are 600 requests per minute", {"tags": ["infra"]}),
)  # fmt: skip

# What the tour shows of a doctor without findings.
_SHOWN_CHECKS: Final = ("integrity", "durability")

# A process that stores one memory, says so, and dies at once without a chance to tidy up.
_KILLED: Final = """
import os, pathlib, signal, sys
from vestig.surfaces.cli.opening import open_store, plain_configuration
from vestig.testing import FrozenClock
folder, moment = pathlib.Path(sys.argv[1]), sys.argv[2]
store = open_store(plain_configuration(folder), clock=FrozenClock(moment))
print(store.commit("The incident channel is called red-phone").memory_id, flush=True)
os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
"""


class _Tour:
    """The steps in order; each prints what it does and what the store answers."""

    def __init__(self, folder: Path, say: Say) -> None:
        from vestig.session.session import system_clock
        from vestig.testing import FrozenClock

        # the story ends now
        self.end = system_clock()
        self.folder = folder
        self.say = say
        self.steps: list[dict[str, Any]] = []
        self.clock = FrozenClock(self.end.isoformat())
        self.at(_LIFE[0][0])
        self.store = self.open()

    def open(self) -> Vestig:
        return open_store(plain_configuration(self.folder), clock=self.clock)

    def title(self, text: str) -> None:
        self.steps.append({"step": text, "lines": []})
        self.say("", "")
        self.say(f"{len(self.steps)}. {text}", "bold cyan")

    def tell(self, line: str, style: str = "") -> None:
        self.steps[-1]["lines"].append(line)
        self.say(f"   {line}", style)

    def at(self, days_before_end: float) -> None:
        self.clock.set(self.end.isoformat())
        self.clock.move(days=-days_before_end)

    def commit(self, text: str, **fields: Any) -> CommitOutcome:
        result = self.store.commit(text, source="demo", **fields)
        self.tell(f"“{text}”")
        if result.memory_id is None:
            self.tell(f"  refused: {result.hygiene_reasons[0]}", "yellow")
        else:
            self.tell(f"  {self.done(result)}", "green")
        return result

    def done(self, result: CommitOutcome) -> str:
        """Return what became of a text, with other memories by their sentences."""
        if result.outcome is CommitOutcomeKind.EXACT_DUPE:
            return "known already: counted, not stored again"
        if result.outcome is CommitOutcomeKind.NEAR_DUPE and result.matched_memory_id is not None:
            return f"says the same as “{self.sentence(result.matched_memory_id)}”: counted"
        if result.superseded:
            replaced = ", ".join(f"“{self.sentence(id)}”" for id in result.superseded)
            return f"stored under {result.key}, in the place of {replaced}"
        if not result.similar:
            return "stored"
        known = result.possible_update_of or result.similar[0]
        says = f"similar ({known.score:.2f})"
        if known.differs:
            differs = ", ".join(map(str, known.differs))
            return f"stored; {says}: it may update “{known.beginning}”: {differs}"
        return f"stored; {says}: “{known.beginning}”"

    def sentence(self, id: str) -> str:
        return self.store.show(id).memory.content

    def ask(self, question: str, **fields: Any) -> None:
        # with the one that comes next, to show how far behind it is
        result = self.store.recall(question, limit=2, all=True, **fields)
        when = f" as of {fields['as_of']:%Y-%m-%d}" if "as_of" in fields else ""
        self.tell(f"? {question}{when}", "bold")
        self.tell(f"  {first_line(result)}", "green")
        for hit in result.results:
            self.tell(f"  {hit.score:.4f}  {hit.content}")
            self.tell(f"          {self.why(hit.reason)}", "dim")

    def why(self, reason: Reason) -> str:
        """The explanation of a hit, with texts in the place of ids."""
        told = str(reason.explanation)
        for id in (reason.in_place_of, reason.newer_than, reason.older_than):
            if isinstance(id, str):
                told = told.replace(id, f"“{self.sentence(id)}”")
        return told

    def life(self) -> str:
        self.title("A month in the life of an agent: twelve facts, as they came up")
        stored = []
        for days, text, fields in _LIFE:
            self.at(days)
            stored.append(self.store.commit(text, source="demo", **fields).memory_id)
            self.tell(f"{days:>4g} days ago  {text}")
        return str(stored[0])

    def gates(self) -> str:
        self.title("A repeated fact is counted, not stored again")
        self.at(2)
        self.commit("The staging database runs on port 5433")
        self.commit("Note that the staging database runs on port 5433.")
        self.title("Another number is another fact, however alike the words")
        changed = self.commit("The staging database runs on port 5434")
        self.title("Texts without content are refused, with the reason")
        self.commit("thanks")
        self.commit("ok")
        return str(changed.memory_id)

    def supersede(self, old: str, new: str) -> None:
        self.title("A newer fact takes the place of an older one; history stays")
        self.at(1)
        record = self.store.supersede(old, new, reason="the database moved")
        self.tell(f"“{self.sentence(old)}” → “{self.sentence(new)}”")
        self.tell(f"  because {record.reason}")

    def recalls(self) -> None:
        self.title("Ask, and see why each memory was returned")
        self.at(0)
        self.ask("Which port does the staging database use?")
        self.ask("which answers does Maria prefer?")
        self.ask("who is on call for the search cluster?", tags=["people"])
        self.title("Ask the past: what was believed ten days ago?")
        self.ask("Which port does the staging database use?", as_of=self.end - timedelta(days=10))

    def key(self) -> None:
        self.title("A fact with a key has one current value")
        self.commit("Kofi lives in Accra", key="kofi.city")
        self.commit("Kofi lives in Porto", key="kofi.city")
        self.tell(f"  kofi.city: “{self.store.get('kofi.city').content}”", "green")

    def secret(self) -> None:
        self.title("A secret is masked before anything else sees the text")
        stored = self.commit("The password of the guest network is Tulip-7742!x")
        self.tell(f"  kept as “{self.sentence(str(stored.memory_id))}”", "green")

    def killed(self) -> None:
        self.title("Kill the process right after a commit: what was confirmed is there")
        self.store.close()
        done = subprocess.run(
            [sys.executable, "-c", _KILLED, str(self.folder), self.end.isoformat()],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        confirmed = done.stdout.strip()
        self.store = self.open()
        found = self.store.show(confirmed).memory
        self.tell(f"killed with exit code {done.returncode}, after it had confirmed a memory")
        self.tell(f"  found after opening again: “{found.content}”", "green")

    def doctor(self) -> None:
        self.title("The doctor looks at everything and changes nothing")
        # what an editor's hooks did is of other stores
        findings = [one for one in self.store.admin.doctor().findings if one.check != "hooks"]
        fine = [one for one in findings if one.level == "ok"]
        self.tell(f"{len(fine)} of {len(findings)} checks are ok, among them", "green")
        for one in findings:
            if one.level != "ok":
                self.tell(f"{one.level}: {one.check}: {one.detail}", "yellow")
            elif one.check in _SHOWN_CHECKS:
                self.tell(f"  {one.check}: {one.detail}", "green")


def tour(say: Callable[..., None] | None, *, keep: bool = False) -> dict[str, Any]:
    """Runs the tour and returns its steps with the lines they printed.

    Args:
        say: prints a line in a style; None prints nothing.
        keep: leave the store in place; its folder is in the answer.
    """
    started = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="vestig-demo-"))
    # the nearest project file, so that none above the folder counts
    (folder / "vestig.yaml").touch()
    steps = _Tour(folder, say or (lambda _line, _style: None))
    try:
        old = steps.life()
        new = steps.gates()
        steps.supersede(old, new)
        steps.recalls()
        steps.key()
        steps.secret()
        steps.killed()
        steps.doctor()
    finally:
        steps.store.close()
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    return {
        "seconds": round(time.monotonic() - started, 3),
        "kept": str(folder / "store") if keep else None,
        "steps": steps.steps,
    }
