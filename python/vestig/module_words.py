"""Words that other programs, and people, have for names of the package and of its modules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from vestig.other_words import (
    NO_CALL,
    OPEN_ASYNC,
    STORE,
    clause_of,
    meaning_in,
    meaning_of_word,
    missing_attribute,
    nearest,
)

_ASYNC: Final = "aopen open_async async_open aconnect"
# A name of the module → the words that others have for it.
_MODULE: Final[Mapping[str, str]] = {
    "vestig.open(path)": "Store MemoryStore VestigStore Client VestigClient MemoryClient Database"
    " MemoryDB VectorStore Vault Engine Mem Brain LongTermMemory Session Connection connect create"
    " init new start client from_path open_store PersistentClient PersistentStore MemoryLayer"
    " MemoryManager Collection SQLiteStore SqliteStore LocalStore FileStore KnowledgeBase get_store"
    " create_store load_store open_memory open_db from_env from_url from_uri from_dsn",
    "vestig.open(path) for a store, and its import_(file) for an export": "load",
    f"{NO_CALL}a store is a folder, and vestig.open(path) opens it": "list_stores stores",
    "vestig.errors": "exceptions",
    "the command vestig destroy PATH": "destroy delete_store",
    "vestig.open(path, read_only=True), which raises NotFoundError where no store is; and of a"
    " memory, key in store": "exists",
    "the command vestig destroy PATH for a store, and vestig.open(path).forget for memories": (
        "delete remove"
    ),
    'vestig.open(":memory:")': "EphemeralClient InMemoryStore",
    "the command vestig serve": "serve server",
    "the command vestig mcp": "mcp",
    "vestig.open(path, config=…)": "Config Settings configure config settings from_config",
    OPEN_ASYNC: f"AsyncVestig AsyncMemory AsyncClient AsyncStore {_ASYNC}",
    "vestig.VestigError": "Error VestigException",
    "vestig.NotFoundError": "NotFound MemoryNotFound",
    "vestig.ValidationError": "InvalidArgument",
    "vestig.RecallResult": "Result Results",
    "vestig.RecallHit": "Hit",
    "vestig.CommitOutcome": "Outcome",
    "vestig.Filter": "Where MemoryFilter",
    "import vestig.integrations.langchain": "langchain VestigRetriever",
    "import vestig.integrations.langgraph": "langgraph",
    "import vestig.integrations.openai_agents": "openai_agents openai",
    "import vestig.integrations.anthropic_memory": "anthropic_memory anthropic",
    "vestig.ports.Embedder": "Embedder",
    "vestig.ports.Reranker": "Reranker",
    "vestig.ports.LanguageModel": "LanguageModel",
    "vestig.__version__": "version VERSION",
    "help(vestig.Vestig), which has every call": "help docs documentation",
}
_ADAPTER: Final = "vestig.integrations"
# A module, or a package with its modules → a name of it, or what does the same → words for that.
_NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "vestig.testing": {
        "vestig.testing.ScriptedModel": "ScriptedModel FakeLLM FakeModel MockLLM MockModel"
        " StubLLM DummyLLM"
        " TestModel ScriptedLLM FakeLanguageModel MockLanguageModel FakeListLLM FakeChatModel",
        "vestig.testing.HashingEmbedder": "HashingEmbedder FakeEmbedder MockEmbedder"
        " StubEmbedder DummyEmbedder"
        " TestEmbedder RandomEmbedder DeterministicEmbedder FakeEmbeddings FakeEmbedding",
        "vestig.testing.FailingEmbedder": "BrokenEmbedder FaultyEmbedder ErrorEmbedder",
        "vestig.testing.WordReranker": "FakeReranker MockReranker StubReranker DummyReranker",
        "vestig.testing.FrozenClock": "FrozenClock FakeClock MockClock FixedClock ManualClock"
        " TestClock Clock"
        " FrozenTime freeze_time",
        'vestig.open(":memory:", embedder=vestig.testing.HashingEmbedder())': "FakeStore MockStore"
        " TestStore InMemoryStore MemoryStore FakeVestig MockVestig temporary_store temp_store",
    },
    _ADAPTER: {
        f"{_ADAPTER}.langgraph.VestigStore": "VestigStore VestigBaseStore LangGraphStore Store",
        f"{_ADAPTER}.langchain.VestigRetriever": "VestigRetriever VestigVectorStore"
        " VestigVectorStoreRetriever LangChainRetriever Retriever VectorStore",
        f"{_ADAPTER}.openai_agents.VestigSession": "VestigSession Session AgentSession",
        f"{_ADAPTER}.anthropic_memory.MemoryTool": "MemoryTool VestigMemoryTool",
        "there is none: a checkpointer of LangGraph's own, such as InMemorySaver of"
        f" langgraph.checkpoint.memory, keeps the state of runs, and {_ADAPTER}.langgraph."
        "VestigStore what lasts beyond them": "VestigSaver VestigCheckpointer VestigCheckpoint"
        " VestigCheckpointSaver Checkpointer CheckpointSaver",
        "there is none: store.commit(text, role=…, session_id=…) stores a message, and"
        ' store.list(where={"session_ids": …}, descending=False) reads a conversation': (
            "VestigChatMessageHistory VestigChatHistory VestigMessageHistory VestigMemory"
            " ChatMessageHistory VestigChatMemory"
        ),
    },
}


def name_of_module(name: str, names: Iterable[str]) -> str:
    """The name or call that does what an unknown name of the package is thought to do; "" = none.

    Example:
        >>> name_of_module("Client", []), name_of_module("remember", [])
        ('vestig.open(path)', 'vestig.open(path).commit')
    """
    if (found := meaning_in(name, _MODULE)) is not None:
        return found
    own = (ours for ours in STORE if ours.rpartition(".")[2] == name)
    found = meaning_of_word(name) or next(own, "")
    # what is to be deleted may be the store itself
    if found.startswith("store.") and not found.startswith("store.forget"):
        return f"vestig.open(path).{found.removeprefix('store.')}"
    near = nearest(name, names)
    return f"vestig.{near}" if near else ""


def missing_name(name: str, module: Mapping[str, Any]) -> AttributeError | ImportError:
    """The error of a name that a module does not have, for its `__getattr__`, with what does what
    was meant.

    A line that imports the name drops the text of an `AttributeError`, so that it gets an
    `ImportError`.

    Args:
        module: the names of the module.
    """
    import sys
    from opcode import opmap

    owner = module["__name__"]
    meant = "" if name.startswith("_") else _meant(name, owner, module)
    caller = sys._getframe(2)
    if meant and caller.f_code.co_code[caller.f_lasti] == opmap["IMPORT_FROM"]:
        text = f"cannot import name {name!r} from {owner!r}{clause_of(meant)}"
        return ImportError(text, name=owner, path=module["__file__"])
    return missing_attribute(name, f"module {owner!r}", meant)


def _meant(name: str, owner: str, module: Mapping[str, Any]) -> str:
    package = ".".join(owner.split(".")[:2])
    if found := meaning_in(name, _NAMES.get(package, {})):
        return found
    own = module.get("__all__")
    if own is None:
        own = [one for one, value in module.items() if getattr(value, "__module__", "") == owner]
    if owner == "vestig":
        everywhere = (meaning_in(name, names) for names in _NAMES.values())
        return name_of_module(name, own) or next(filter(None, everywhere), "")
    # a class is no slip for a function
    near = nearest(name, [one for one in own if one[0].isupper() == name[0].isupper()])
    if near:
        return f"{owner}.{near}"
    return "" if package == _ADAPTER else name_of_module(name, ())
