"""The memory tool answers what the SDK's own tool for local files answers."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import vestig
from vestig.testing import HashingEmbedder

if find_spec("anthropic") is None:
    pytest.skip("the Anthropic SDK is not installed", allow_module_level=True)
OPERATIONS = 1_200
NAMES = ["a", "b.md", "c d", ".hidden", "d", "é"]
WORDS = ["", "one\ntwo\nthree\n", "Ada likes tea", "tea\ntea", "x\r\ny", "\n\n", "ok", "{}"]


@pytest.fixture
def store() -> Iterator[vestig.Vestig]:
    with vestig.open(":memory:", embedder=HashingEmbedder(16)) as opened:
        yield opened


# Loading the SDK takes seconds: where a test needs it, not where tests are collected.
def made_tool(store: vestig.Vestig, **options: Any) -> Any:
    from vestig.integrations.anthropic_memory import MemoryTool

    return MemoryTool(store, **options)


def local_tool(folder: Path) -> Any:
    """The SDK's own tool."""
    from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool

    return BetaLocalFilesystemMemoryTool(str(folder))


def refusal() -> type[Exception]:
    from anthropic.lib.tools import ToolError

    return ToolError


def path(rng: random.Random) -> str:
    if rng.random() < 0.05:
        odd = ["/memories", "/memories/", "/memories/../x", "/etc", "/memories/a/../b.md",
               "/memories//a/", "/memories/.."]  # fmt: skip
        return rng.choice(odd)
    return "/memories/" + "/".join(rng.choice(NAMES) for _ in range(rng.randint(1, 3)))


def command(rng: random.Random) -> dict[str, Any]:
    kind = rng.choice(["view", "view", "create", "create", "create", "str_replace", "insert",
                       "delete", "rename"])  # fmt: skip
    given: dict[str, Any] = {"command": kind}
    if kind == "rename":
        return given | {"old_path": path(rng), "new_path": path(rng)}
    given["path"] = path(rng)
    if kind == "view" and rng.random() < 0.3:
        given["view_range"] = rng.choice([[1, 2], [2, -1], [0, 1], [5, 9], [2, 1]])
    if kind == "create":
        given["file_text"] = rng.choice(WORDS)
    if kind == "str_replace":
        given |= {"old_str": rng.choice(["tea", "one", "none"]), "new_str": rng.choice(WORDS)}
    if kind == "insert":
        given |= {"insert_line": rng.choice([-1, 0, 1, 2, 9]), "insert_text": rng.choice(WORDS)}
    return given


def answer(tool: Any, given: dict[str, Any]) -> tuple[str, str]:
    """Whether it went well, and what it said."""
    try:
        return "done", str(tool.call(given))
    except refusal() as error:
        return "refused", str(error)
    except OSError:
        return "os error", ""


def without_folder_sizes(text: str) -> str:
    """A listing without the sizes of folders, which are those of a file system."""
    lines = text.split("\n")
    if not lines[0].startswith("Here're the files"):
        return text
    return "\n".join(
        [lines[0], re.sub(r"^\S+\t", "\t", lines[1])]
        + [re.sub(r"^\S+\t(.*/)$", r"\t\1", line) for line in lines[2:]]
    )


def folders_made(tool: Any, root: Path) -> set[str]:
    return {f"/memories/{one.relative_to(root)}" for one in root.rglob("*") if one.is_dir()}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_it_answers_like_the_tool_for_local_files(
    store: vestig.Vestig, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    theirs, mine = local_tool(tmp_path), made_tool(store)
    seen: set[str] = set()
    for number in range(OPERATIONS // 3):
        given = command(rng)
        before = folders_made(theirs, theirs.memory_root)
        wanted, got = answer(theirs, given), answer(mine, given)
        # empty folders that a command of theirs leaves though it failed
        if wanted[0] != "done":
            left = sorted(folders_made(theirs, theirs.memory_root) - before, reverse=True)
            for one in left:
                (tmp_path / one.lstrip("/")).rmdir()
        if wanted[0] == "os error":
            assert got[0] == "refused", (number, given, got)
            continue
        shown = [without_folder_sizes(one[1]) for one in (wanted, got)]
        assert (wanted[0], shown[0]) == (got[0], shown[1]), (number, given)
        seen.add(f"{wanted[0]} {given['command']}")
    assert {f"done {kind}" for kind in ("view", "create", "delete", "rename")} <= seen


def test_files_are_found_by_searches_and_deleted_for_good(store: vestig.Vestig) -> None:
    tool = made_tool(store, scope="user/ada")
    tool.call({"command": "create", "path": "/memories/x/a.md", "file_text": "Ada likes green tea"})
    (found,) = store.recall("what does Ada like?", scope="user/ada")
    assert (found.memory.key, found.content) == ("/memories/x/a.md", "Ada likes green tea")
    made_tool(store).call({"command": "create", "path": "/memories/x/a.md", "file_text": "other"})
    tool.clear_all_memory()
    assert [one.scope for one in store.items.list()] == ["memory-tool"] * 2
    assert store.count(where={"include_expired": True}) == 1


def test_of_two_writers_the_slower_is_told(store: vestig.Vestig) -> None:
    tool = made_tool(store)
    tool.call({"command": "create", "path": "/memories/a", "file_text": "one"})
    real = tool._items.get

    def get(*args: Any, **kwargs: Any) -> Any:
        found = real(*args, **kwargs)
        store.items.put("/memories/a", "between", scope="memory-tool")
        return found

    tool._items = type("Items", (), {"get": staticmethod(get), "put_many": store.items.put_many})
    with pytest.raises(refusal(), match="was changed meanwhile"):
        tool.call({"command": "insert", "path": "/memories/a", "insert_line": 0,
                   "insert_text": "x"})  # fmt: skip
    assert store.items.get("/memories/a", scope="memory-tool").value == "between"  # type: ignore[union-attr]


def test_the_model_and_the_log_are_told_of_masked_secrets(
    store: vestig.Vestig, caplog: pytest.LogCaptureFixture
) -> None:
    tool = made_tool(store)
    path = "/memories/a"
    told = tool.call({"command": "create", "path": path, "file_text": "password: Kx9!mmQ2\nred"})
    said = "Secrets are not kept: 1 in it became [secret:…]."
    assert told == f"File created successfully at: {path}\n{said}"
    told = tool.call({"command": "insert", "path": path, "insert_line": 2, "insert_text": "blue"})
    assert told == f"The file {path} has been edited."
    told = tool.call({"command": "str_replace", "path": path, "old_str": "red",
                      "new_str": "password: Zz7#mmQ2"})  # fmt: skip
    assert str(told).endswith(f"\n{said}")
    assert "[secret:password]\n" in str(tool.call({"command": "view", "path": path}))
    records = [one for one in caplog.records if one.message == "secrets_masked"]
    assert [getattr(one, "vestig") for one in records] == [{"count": 1}] * 2  # noqa: B009


def test_what_it_cannot_keep_files_in_is_refused_when_it_is_made(store: vestig.Vestig) -> None:
    for other, options, message in (
        ("memory", {}, r"^store: expected a store as vestig.open\(path\) gives it, got a str$"),
        (store, {"scope": 7}, r"^scope: expected text, got an int$"),
        (store.scoped("users/ada"), {}, r"; pass the store itself, and scope='users/ada'$"),
    ):
        with pytest.raises(vestig.ValidationError, match=message):
            made_tool(other, **options)  # type: ignore[arg-type]
    view = made_tool(store.scoped("users/ada"), scope="users/ada")
    view.call({"command": "create", "path": "/memories/a.md", "file_text": "Ada likes tea"})
    assert store.items.scopes() == ["users/ada"]
