"""The rules of ARCHITECTURE.md, checked; and every checker caught in the act on a bad snippet."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import documents
import house
from tables import each

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "vestig"
RUST = ROOT / "rust"

# Paths (below the repository) that may be longer than `house.FILE_LINES_MAX`, each with a reason.
LONG_FILES: dict[str, str] = {
    "python/vestig/api/store.py": "one cohesive class: every public call, documented",
}

Check = Callable[[str, str], list[str]]


def package_sources() -> dict[str, str]:
    paths = sorted(PACKAGE.rglob("*.py"))
    return {p.relative_to(PACKAGE).as_posix(): p.read_text("utf-8") for p in paths}


def rust_sources() -> dict[str, str]:
    paths = sorted(
        p for crate in ("vestig-core", "vestig-py") for p in (RUST / crate).rglob("*.rs")
    )
    return {p.relative_to(RUST).as_posix(): p.read_text("utf-8") for p in paths}


def tracked_files() -> list[str]:
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False, text=True
    )
    if listing.returncode != 0:
        pytest.skip("not a git checkout")
    return [name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_there_is_something_to_check() -> None:
    assert len(package_sources()) > 10
    assert len(rust_sources()) > 3


PACKAGE_CHECKS: tuple[Check, ...] = (
    house.floors,
    house.exclusive_imports,
    house.pure,
    house.environment,
    house.clock,
    house.prints,
    house.broad_excepts,
    house.compiled_at_import,
    house.table_names,
    house.first_words,
    house.lists_of_names,
    house.quoted_descriptions,
)


@pytest.fixture(scope="module")
def findings() -> dict[Check, list[str]]:
    """Those of every check, made file by file, so that each file is parsed once."""
    found: dict[Check, list[str]] = {check: [] for check in (*PACKAGE_CHECKS, house.lengths)}
    for path, source in package_sources().items():
        for check in PACKAGE_CHECKS:
            found[check] += check(path, source)
        found[house.lengths] += house.lengths(f"python/vestig/{path}", source)
    return found


@each("check", PACKAGE_CHECKS, ids=lambda check: check.__name__)
def test_python_package(check: Check, findings: dict[Check, list[str]]) -> None:
    assert not findings[check], "\n" + "\n".join(findings[check])


def test_lengths_of_the_package(findings: dict[Check, list[str]]) -> None:
    found = [line for line in findings[house.lengths] if line.split(":")[0] not in LONG_FILES]
    assert not found, "\n" + "\n".join(found)


def test_lengths_of_tests_benches_and_rust() -> None:
    paths = [p for d in ("tests", "benches") for p in (ROOT / d).rglob("*.py")]
    paths += [p for p in RUST.rglob("*.rs") if "target" not in p.parts]
    found = []
    for path in sorted(paths):
        name = path.relative_to(ROOT).as_posix()
        source = path.read_text("utf-8")
        if name.endswith(".rs"):
            source = source.partition("#[cfg(test)]")[0]
        lines = source.count("\n")
        if lines > house.FILE_LINES_MAX and name not in LONG_FILES:
            found.append(f"{name}: {lines} lines, at most {house.FILE_LINES_MAX}")
    assert not found, "\n" + "\n".join(found)


def test_long_files_are_still_long() -> None:
    for name in LONG_FILES:
        assert (ROOT / name).read_text("utf-8").count("\n") > house.FILE_LINES_MAX, name


def test_one_vendor_per_embedder() -> None:
    sources = {p: s for p, s in package_sources().items() if p.startswith("embedders/")}
    assert len(sources) >= 4
    assert house.vendors(sources) == []
    models = {p: s for p, s in package_sources().items() if p.startswith("llms/")}
    assert "llms/anthropic.py" in models
    assert house.vendors(models) == []


def test_tracked_files_know_no_machine_and_no_registry() -> None:
    found = []
    for name in tracked_files():
        if name == "Cargo.lock":  # cargo writes its index's name there
            continue
        try:
            text = (ROOT / name).read_text("utf-8")
        except UnicodeDecodeError:
            continue
        found += house.outside_words(name, text)
    assert not found, "\n" + "\n".join(found)


def test_pure_modules_exist() -> None:
    assert package_sources().keys() >= house.PURE


@pytest.mark.slow
def test_no_class_exists_only_as_the_base_of_one_other() -> None:
    sources = package_sources()
    assert house.lone_bases(sources) == []
    text = "\n".join(sources.values())
    assert [name for name in house.LONE_BASES if f"class {name}" not in text] == []


def test_modules_are_not_named_after_activities() -> None:
    modules = [name for name in tracked_files() if name.startswith(("python/", "rust/"))]
    assert [line for name in modules for line in house.gerund(name)] == []


def test_tracked_files_cite_no_codes_of_other_documents() -> None:
    places = ("python/", "tests/", "benches/", "rust/", "docs/")
    wholes = ("CHANGELOG.md", "Makefile", "pyproject.toml", *documents.OF_ROOT)
    found = []
    for name in tracked_files():
        # texts and word lists of data speak of what they like
        if name.startswith(("python/vestig/data/", "benches/shipped/")):
            continue
        if name.startswith(places) or name in wholes:
            try:
                found += house.document_codes(name, (ROOT / name).read_text("utf-8"))
            except UnicodeDecodeError:
                continue
    assert not found, "\n" + "\n".join(found)


def test_file_names_say_something() -> None:
    assert [line for name in tracked_files() for line in house.file_name(name)] == []


@pytest.mark.parametrize(
    "check",
    [house.rust_unsafe, house.rust_writes, house.rust_core_is_pure, house.rust_first_words],
    ids=lambda check: check.__name__,
)
def test_rust(check: Check) -> None:
    sources = {p: s for p, s in rust_sources().items() if "/src/" in p}
    manifest = "vestig-core/Cargo.toml"
    if check is house.rust_core_is_pure:
        sources[manifest] = (RUST / manifest).read_text("utf-8")
    found = [line for path, source in sources.items() for line in check(path, source)]
    assert not found, "\n" + "\n".join(found)


LONG = "def f():\n" + "    x = 1\n" * 60
BAD: list[tuple[Check, str, str]] = [
    (house.first_words, "commit/x.py", 'def a():\n    """Whether it is so."""\n'),
    (house.first_words, "commit/x.py", '"""What it is."""\n'),
    (house.first_words, "commit/x.py", 'class A:\n    """As `B`, but greater."""\n'),
    (house.rust_first_words, "vestig-core/src/a.rs", "/// Whether it is.\nfn a() {}\n"),
    (house.quoted_descriptions, "calls/x.py", 'raise ValidationError("a", f"{n} bytes", "b")'),
    (house.quoted_descriptions, "calls/x.py", "ValidationError(f, type(value).__name__, g)"),
    (house.lists_of_names, "commit/x.py", '__all__ = ["a"]\na = 1\n'),
    (house.floors, "commit/a.py", "from vestig import recall"),
    (house.floors, "commit/a.py", "from ..recall import x"),
    (house.floors, "commit/a.py", "def f():\n    import vestig.api"),
    (house.floors, "types.py", "from vestig.ports import Ledger"),
    (house.floors, "config/a.py", "from vestig.language import words"),
    (house.floors, "memories/a.py", "import vestig"),
    (house.floors, "store/ledger/a.py", "from vestig.store import doctor"),
    (house.floors, "store/projection/a.py", "from vestig.store.erasure import finish"),
    (house.floors, "store/doctor.py", "from vestig.surfaces.cli import main"),
    (house.floors, "attic/a.py", "x = 1"),
    (house.table_names, "store/ledger/a.py", 'sql = f"SELECT {x} FROM memories m"'),
    (house.table_names, "store/portable/a.py", "if table == 'claims': pass"),
    (house.table_names, "store/erasure.py", "sql = 'UPDATE \"edges\" SET x = 1'"),
    (house.exclusive_imports, "session/a.py", "import apsw.ext"),
    (house.exclusive_imports, "calls/argument.py", "from vestig import _core"),
    (house.exclusive_imports, "recall/a.py", "from vestig._core import dot"),
    (house.exclusive_imports, "store/a.py", "def f():\n    import sqlite3"),
    (house.exclusive_imports, "surfaces/a.py", "from vestig.store.records.rows import Job"),
    (house.exclusive_imports, "embedders/openai.py", "import onnxruntime as o"),
    (house.exclusive_imports, "embedders/a.py", "from anthropic import Anthropic"),
    (house.compiled_at_import, "a.py", "import re\n_A = re.compile('a')"),
    (house.compiled_at_import, "a.py", "import re\nclass A:\n    a = (re.compile('a').search,)"),
    (house.compiled_at_import, "a.py", "import re\ndef f(a=re.compile('a')): ..."),
    (house.pure, "commit/text.py", "from vestig.session.session import Session"),
    (house.pure, "commit/text.py", "def f():\n    from vestig import _core"),
    (house.pure, "recall/reason.py", "import vestig.store.projection.keeper"),
    (house.pure, "recall/context/block.py", "from vestig.recall.ranking import ranking_of"),
    (house.pure, "recall/reason.py", "from vestig.recall import ranking"),
    (house.pure, "commit/rows.py", "from . import pipeline"),
    (house.document_codes, "a.py", f'"""As {"R"}-12 says."""'),
    (house.document_codes, "a.md", f"see {'X'}-D02, and the rest"),
    (house.document_codes, "a.md", f"step {'I6'}-5"),
    (house.document_codes, "a.rs", f"// {'spec'} README, second table"),
    (house.document_codes, "a.py", f"def test_damage_never_raises_{'d10'}():"),
    (house.document_codes, "a.py", f"def test_orders_{'x_r07'}():"),
    (house.document_codes, "a.rs", f"fn {'x_c13'}_holds() {{}}"),
    (house.document_codes, "a.py", f"def test_blocks_{'i6_5'}():"),
    (house.environment, "session/a.py", "import os\nx = os.environ['A']"),
    (house.environment, "store/a.py", "from os import getenv"),
    (house.environment, "surfaces/cli/commands.py", "click.option('--x', envvar='X')"),
    (house.clock, "store/a.py", "t = datetime.now(UTC)"),
    (house.clock, "commit/a.py", "import time\nt = time.time()"),
    (house.clock, "commit/a.py", "t = datetime.datetime.utcnow()"),
    (house.prints, "session/a.py", "print('x')"),
    (house.prints, "exchange/a.py", "import sys\nsys.stderr.write('x')"),
    (house.broad_excepts, "a.py", "try:\n    f()\nexcept Exception:\n    pass"),
    (house.broad_excepts, "a.py", "try:\n    f()\nexcept:\n    pass"),
    (
        house.broad_excepts,
        "a.py",
        "try:\n    f()\nexcept (OSError, BaseException):  # noqa\n    x()",
    ),
    (house.lengths, "a.py", LONG),
    (house.lengths, "a.py", "x = 1\n" * 801),
    (house.lengths, "a.py", "def f(a, b, c, d, e, f, g): ..."),
    (house.outside_words, "a.md", "see /wor" + "k/main"),
    (house.outside_words, "a.md", "open('/ho" + "me/me/x')"),
    (house.outside_words, "a.toml", "index = 'https://py" + "pi.org/simple'"),
    (house.rust_unsafe, "vestig-core/src/recall.rs", "fn f() { unsafe { g() } }"),
    (house.rust_unsafe, "vestig-py/src/lib.rs", "unsafe fn f() {}"),
    (house.rust_writes, "vestig-core/src/segment/map.rs", "std::fs::rename(a, b)?;"),
    (house.rust_writes, "vestig-core/src/a.rs", "let f = File::create(p)?;"),
    (house.rust_core_is_pure, "vestig-core/src/a.rs", "use pyo3::prelude::*;"),
    (house.rust_core_is_pure, "vestig-core/Cargo.toml", 'pyo3 = "0.30"'),
    (house.rust_core_is_pure, "vestig-core/src/a.rs", "let t = SystemTime::now();"),
]


@each(("check", "path", "source"), BAD)
def test_each_checker_can_fail(check: Check, path: str, source: str) -> None:
    assert check(path, source), f"{check.__name__} overlooked {source!r}"


GOOD: list[tuple[Check, str, str]] = [
    (house.quoted_descriptions, "a.py", 'ValidationError("a", Description(f"{n} bytes"), "b")'),
    (house.floors, "commit/a.py", "from vestig.types import Memory\nfrom . import guard"),
    (house.floors, "commit/a.py", "from vestig.store import erasure\nimport vestig.ports"),
    (house.floors, "language/words.py", "from vestig import _core"),
    (house.floors, "surfaces/a.py", "import vestig\nfrom vestig.errors import ConfigError"),
    (house.exclusive_imports, "store/a.py", "import apsw"),
    (house.compiled_at_import, "a.py", "import re\ndef f():\n    return re.compile('a', re.I)"),
    (house.compiled_at_import, "a.py", "import re\n_A = lambda text: re.sub('a', 'b', text)"),
    (house.pure, "commit/rows.py", "from vestig.commit import text\nfrom .item import Item"),
    (house.pure, "commit/rows.py", "from vestig.language.words import terms"),
    (house.pure, "commit/pipeline.py", "from vestig.session.session import Session"),
    (
        house.pure,
        "commit/rows.py",
        "if TYPE_CHECKING:\n    from vestig.session.session import Session",
    ),
    (house.document_codes, "a.py", "UTF-8, SHA-256, C-contiguous, F-string, 2026-01-02T-03"),
    (house.document_codes, "a.rs", "fn dot_f32() {}\nfn detect_x86() {}\nlet x = 0.0_f64;"),
    (house.document_codes, "a.py", "def test_words_count_up_to_1200(): ..."),
    (house.environment, "config/a.py", "import os\nx = os.environ"),
    (house.clock, "recall/a.py", "import time\nt = time.monotonic()"),
    (house.clock, "session/a.py", "t = datetime.now(UTC)"),
    (house.broad_excepts, "a.py", "try:\n    f()\nexcept Exception:  # a hostile repr\n    pass"),
    (house.broad_excepts, "a.py", "try:\n    f()\nexcept BaseException:\n    g()\n    raise"),
    (house.lengths, "a.py", 'def f(self):\n    """' + "x\n" * 70 + '"""\n    return 1\n'),
    (house.rust_unsafe, "vestig-core/src/segment/map.rs", "unsafe { map() }"),
    (house.rust_unsafe, "vestig-core/src/a.rs", "// never unsafe here\n#![deny(unsafe_code)]"),
    (house.rust_writes, "vestig-core/src/a.rs", "#[cfg(test)]\nmod t { fs::write(a, b); }"),
]


@each(("check", "path", "source"), GOOD)
def test_no_checker_cries_wolf(check: Check, path: str, source: str) -> None:
    assert check(path, source) == []


def test_vendor_and_name_checkers_can_fail() -> None:
    assert house.vendors({"embedders/a.py": "import torch\nimport fastembed"})
    assert house.vendors({"embedders/a.py": "import torch", "embedders/b.py": "import torch"})
    for name in ("utils.py", "store/memory_manager.py", "format_v2.rs", "tests/helpers.py"):
        assert house.file_name(name), name
    assert house.file_name("kernels/dispatch.rs") == []


def test_lone_base_checker_can_fail() -> None:
    base = "class A:\n    pass\n"
    assert house.lone_bases({"a.py": base, "b.py": "class B(A): ..."})
    assert house.lone_bases({"a.py": "class A(Struct): ...\nclass B(a.A[int]): ...\nB()"})
    assert house.lone_bases({"a.py": base + "class B(A): ...\nclass C(A): ..."}) == []
    assert house.lone_bases({"a.py": base + "class B(A): ...", "c.py": "x = A()"}) == []
    assert house.lone_bases({"a.py": base + "class B(A): ...\nA.of(1)"}) == []
    assert house.lone_bases({"a.py": "class A(Protocol): ...\nclass B(A): ..."}) == []


def test_gerund_checker_can_fail() -> None:
    for name in ("engine/deciding.py", "graph/tag_matching.py", "src/moving.rs"):
        assert house.gerund(name), name
    for name in ("session/opening.py", "recall/ranking.rs", "string.py", "rolling_hash.rs"):
        assert house.gerund(name) == [], name
