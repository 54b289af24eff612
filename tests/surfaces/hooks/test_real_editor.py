"""Claude Code itself, with the plugin, against a model that is a script on this machine.

The editor comes with the package `claude-agent-sdk`; without it these tests are skipped.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from editor import SCOPE, Editor

from repositories import git, text_of, write

PORT = "The staging database of the lighthouse listens on port 6543."
QUESTION = "Which port does the staging database listen on?"
ANSWER = "I see."
_TRIES = 5


def editor_program() -> Path | None:
    found = find_spec("claude_agent_sdk")
    if found is None or found.origin is None:
        return None
    program = Path(found.origin).parent / "_bundled" / "claude"
    return program if program.exists() else None


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        editor_program() is None, reason="needs the editor: pip install claude-agent-sdk"
    ),
]


Block = dict[str, Any]
"""A part of a model's answer: words, or the use of a tool."""


class Model:
    """A model that answers with the same words each time, and keeps what it was asked. Of `uses`
    it uses one tool an answer first, where tools are offered. While `free` is not set it answers
    nothing."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.words = ANSWER
        self.uses: list[Block] = []
        self.free = threading.Event()
        self.free.set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if not self.path.startswith("/v1/messages?") and self.path != "/v1/messages":
                    self.answer(b"{}", "application/json")
                    return
                outer.requests.append(asked)
                outer.free.wait(120)
                block = outer.next_block(asked)
                if asked.get("stream"):
                    self.answer(events(asked["model"], block), "text/event-stream")
                else:
                    told = message(asked["model"], block)
                    self.answer(json.dumps(told).encode(), "application/json")

            def do_GET(self) -> None:
                self.answer(b"{}", "application/json")

            do_HEAD = do_GET

            def answer(self, body: bytes, kind: str) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def next_block(self, asked: dict[str, Any]) -> Block:
        offered = {tool["name"] for tool in asked.get("tools", [])}
        if self.uses and self.uses[0]["name"] in offered:
            return self.uses.pop(0)
        return {"type": "text", "text": self.words}

    def results(self) -> list[str]:
        """What came of the tools that were used, as the model read it."""
        turns = self.requests[-1]["messages"]
        return [
            json.dumps(block["content"])
            for turn in turns
            if isinstance(turn["content"], list)
            for block in turn["content"]
            if block["type"] == "tool_result"
        ]


def use(tool: str, **told: Any) -> Block:
    number = f"toolu_{abs(hash(json.dumps(told, sort_keys=True)))}"
    return {"type": "tool_use", "id": number, "name": tool, "input": told}


def message(model: str, block: Block) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [block],
        "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def events(model: str, block: Block) -> bytes:
    told = message(model, block)
    begun: Block
    if block["type"] == "tool_use":
        begun = block | {"input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    else:
        begun = block | {"text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    steps: list[dict[str, Any]] = [
        {"type": "message_start", "message": told | {"content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": begun},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": told["stop_reason"], "stop_sequence": None},
            "usage": {"output_tokens": 1},
        },
        {"type": "message_stop"},
    ]
    return b"".join(
        f"event: {step['type']}\ndata: {json.dumps(step)}\n\n".encode() for step in steps
    )


class Claude(Editor):
    """Claude Code with the plugin of this installation."""

    def __init__(self, folder: Path, model: Model) -> None:
        super().__init__(folder)
        program = editor_program()
        assert program is not None
        bin = folder / "bin"
        bin.mkdir()
        (bin / "claude").symlink_to(program)
        self.model = model

    def environment(self) -> dict[str, str]:
        added = {
            "PATH": f"{self.folder}/bin:{Path(sys.executable).parent}:/usr/bin:/bin",
            "XDG_DATA_HOME": str(self.folder / "data"),
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        return super().environment() | added

    def claude(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["claude", *words],
            cwd=self.project,
            env=self.environment(),
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=240,
            check=False,
        )

    def prompt(self, text: str, *words: str) -> str:
        """What the model was sent for a prompt."""
        self.model.requests.clear()
        ended = self.claude("-p", text, *words)
        assert self.model.words in ended.stdout, ended.stdout + ended.stderr
        return json.dumps(self.model.requests, ensure_ascii=False)

    def reminded(self, text: str, of: str) -> str:
        """What the model was sent for a prompt, once it is reminded of something: a busy machine
        may be too late a few times."""
        sent = ""
        for _ in range(_TRIES):
            sent = self.prompt(text)
            if of in sent:
                break
        return sent


@pytest.fixture
def claude(tmp_path: Path) -> Iterator[Claude]:
    model = Model()
    made = Claude(tmp_path, model)
    installed = made.run("", "install", "claude")
    assert installed.returncode == 0, installed.stderr
    yield made
    model.server.shutdown()
    model.server.server_close()


def test_the_plugin_is_valid(claude: Claude) -> None:
    folder = claude.folder / "data" / "vestig-claude-plugin"
    for words in (("--profile", "directory", str(folder / "vestig")), (str(folder),)):
        checked = claude.claude("plugin", "validate", "--strict", *words)
        assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_session_knows_what_the_one_before_it_was_told(claude: Claude) -> None:
    sent = claude.prompt(PORT)
    assert "Quoted data" not in sent
    claude.wait_for(lambda: len(claude.readings()) > 0)
    assert claude.memories()[PORT] == SCOPE
    sent = claude.reminded(QUESTION, PORT)
    assert PORT in sent
    assert "Quoted data" in sent


def test_a_second_install_changes_nothing_and_remove_takes_all(claude: Claude) -> None:
    settings = claude.folder / ".claude" / "settings.json"
    before = settings.read_bytes()
    again = claude.run("", "install", "claude")
    assert "claude plugin" not in again.stdout
    assert settings.read_bytes() == before
    assert claude.run("", "install", "claude", "--remove").returncode == 0
    listed = claude.claude("plugin", "list", "--json")
    assert "vestig" not in listed.stdout
    assert not (claude.folder / "data" / "vestig-claude-plugin").exists()


def test_hooks_of_others_survive(claude: Claude) -> None:
    settings = claude.folder / ".claude" / "settings.json"
    claude.run("", "install", "claude", "--remove")
    entry = {"hooks": [{"type": "command", "command": "true"}]}
    foreign = {event: [entry] for event in ("SessionStart", "UserPromptSubmit", "SessionEnd")}
    found = json.loads(settings.read_text()) if settings.exists() else {}
    settings.write_text(json.dumps(found | {"hooks": foreign}))
    for words in ((), ("--remove",)):
        assert claude.run("", "install", "claude", *words).returncode == 0
        assert json.loads(settings.read_text())["hooks"] == foreign


def test_a_compaction_keeps_the_turns_and_not_its_summary(claude: Claude) -> None:
    told = json.loads(claude.claude("-p", PORT, "--output-format", "json").stdout)
    claude.wait_for(lambda: len(claude.readings()) == 1)
    claude.model.words = "A summary of all turns: the harbour radio listens on channel sixteen."
    compacted = claude.claude("-p", "/compact", "--resume", told["session_id"])
    assert compacted.returncode == 0, compacted.stdout + compacted.stderr
    assert any("summary" in json.dumps(one).lower() for one in claude.model.requests[1:])
    # before the compaction, and at the end of the session
    claude.wait_for(lambda: len(claude.readings()) == 3)
    # the answer, "I see.", says nothing that is worth keeping
    assert {*claude.memories()} == {PORT}


def test_what_a_killed_editor_was_told_is_kept(claude: Claude) -> None:
    """Its prompt stands in the transcript; no event came at its end, so the next session reads."""
    claude.model.free.clear()
    told = subprocess.Popen(
        ["claude", "-p", PORT],
        cwd=claude.project,
        env=claude.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    transcripts = claude.folder / ".claude" / "projects"
    claude.wait_for(
        lambda: any(PORT in one.read_text("utf-8") for one in transcripts.rglob("*.jsonl")), 120
    )
    told.kill()
    told.wait()
    claude.model.free.set()
    assert claude.readings() == []
    claude.prompt("How is the weather at the lighthouse of the northern cape?")
    claude.wait_for(lambda: len(claude.readings()) >= 2)
    assert claude.memories()[PORT] == SCOPE


RULE = "Never touch the stable by hand"


@pytest.mark.parametrize(
    ("do", "runs", "told"),
    [("deny", False, RULE), ("ask", False, RULE), ("remind", True, RULE)],
)
def test_a_rule_binds_the_editor(claude: Claude, do: str, runs: bool, told: str) -> None:
    """`--allowedTools` lets every command through but for the rule; nobody is there to be asked."""
    added = claude.run("", "rule", "add", RULE, "--when", 'command ~ "touch *stable*"', "--do", do)
    assert added.returncode == 0, added.stderr
    claude.model.uses = [
        use("Bash", command="sh -c 'touch stable'", description="Touch"),
        use("Bash", command="touch meadow", description="Touch another"),
    ]
    sent = claude.prompt("Make both places", "--allowedTools", "Bash")
    bound, free = claude.model.results()
    assert (claude.project / "stable").exists() is runs
    assert (claude.project / "meadow").exists()
    assert told in (sent if runs else bound)
    assert RULE not in free

    def fired() -> int:
        (rule,) = json.loads(claude.run("", "rule", "list", "--json").stdout)["rules"]
        return int(rule["fired"])

    # a process that the editor does not wait for counts
    claude.wait_for(fired)
    assert fired() == 1


def test_what_is_learnt_on_a_branch_stays_there_until_it_is_merged(claude: Claude) -> None:
    """The editor reads and edits a file, and the model says what the edit brings."""
    told, project = "The pool of this service now holds forty connections", claude.project
    git(project, "init", "-q", "-b", "main")
    write(project, {"src/db.py": "pool = 10\n" + text_of(1, 20)})
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "first")
    git(project, "checkout", "-q", "-b", "pool")

    file = str(project / "src/db.py")
    claude.model.words = told
    claude.model.uses = [
        use("Read", file_path=file),
        use("Edit", file_path=file, old_string="pool = 10", new_string="pool = 40"),
    ]
    claude.prompt("Make the pool larger than it is", "--allowedTools", "Read,Edit")
    assert "pool = 40" in (project / "src/db.py").read_text()
    claude.wait_for(lambda: told in claude.memories())
    assert claude.memories()[told] == f"{SCOPE}@pool"

    claude.model.words = ANSWER
    question = "How many connections does the pool of this service hold now?"
    git(project, "commit", "-q", "-a", "-m", "a larger pool")
    assert told in claude.reminded(question, told)
    git(project, "checkout", "-q", "main")
    assert told not in claude.prompt(question)
    git(project, "merge", "-q", "--no-ff", "-m", "merge", "pool")
    assert told in claude.reminded(question, told)
    assert claude.memories()[told] == SCOPE
