"""Names and purposes of all operations, in the order of help texts.

A list of commands needs this and nothing of the operations themselves; `operations/` declares what
each takes and does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Outline(NamedTuple):
    """One operation in a list.

    Attributes:
        home: the module of `operations/` that declares it.
        help: what it does.
        short: another name of a command of a group, outside of it.
        frequent: whether help names it first.
    """

    home: str
    help: str
    short: str = ""
    frequent: bool = False


GROUPS: Final[Mapping[str, str]] = {
    "memory": "Store, find and change memories.",
    "item": "Values by key: any JSON, as it was given.",
    "rule": "Rules that bind actions: remind, ask or deny.",
    "anchor": "Sources that memories speak of, and how they stand.",
    "branch": "Memories that are kept with a branch of the repository.",
    "graph": "Memories and entities, and how they are linked.",
    "entity": "People, places and things that memories mention.",
    "edge": "Links between memories, and between entities.",
    "document": "Texts that are stored as passages.",
    "housekeeping": "Maintenance, at a time of your choice.",
    "config": "Configured values, where each was set, and what it means.",
    "tenant": "Stores in PostgreSQL that any number of machines serve.",
    "tenant token": "Tokens with which requests are let at a tenant (`vestig serve --fleet`).",
    "fleet": "The database of tenants.",
}

OUTLINES: Final[Mapping[str, Outline]] = {
    "memory add": Outline("memory", "Store one self-contained fact.", short="add", frequent=True),
    "memory add-structured": Outline(
        "memory", "Store a text that is made of topic, context, decisions and rationale."
    ),
    "memory recall": Outline(
        "memory",
        "Memories that answer a question, as blocks for a prompt.",
        short="recall",
        frequent=True,
    ),
    "memory show": Outline(
        "memory",
        "One memory with its sources and replacements.",
        short="show",
        frequent=True,
    ),
    "memory get": Outline(
        "memory", "The current memory of a key, as `show` prints it.", short="get"
    ),
    "memory list": Outline("memory", "Memories page by page.", short="list", frequent=True),
    "count": Outline(
        "memory", "How many memories a listing with the same filter has.", frequent=True
    ),
    "diff": Outline(
        "memory",
        "What was recorded between two times: learnt, changed, withdrawn, ended, forgotten.",
    ),
    "keys": Outline("memory", "The keys that have a value."),
    "memory history": Outline(
        "memory",
        "Every value of a key, or every version of a memory, oldest first.",
        short="history",
    ),
    "memory events": Outline("memory", "What happened to a memory, oldest first.", short="events"),
    "memory deprecate": Outline(
        "memory",
        "Withdraw a memory that is wrong, or record when its fact ended.",
        short="deprecate",
    ),
    "memory supersede": Outline(
        "memory",
        "Replace a memory by a newer one; its history stays.",
        short="supersede",
        frequent=True,
    ),
    "memory pin": Outline("memory", "Protect a memory from decay and pruning.", short="pin"),
    "memory unpin": Outline("memory", "End the protection of a memory.", short="unpin"),
    "memory confirm": Outline(
        "memory", "Stand for a statement of an assistant or a tool.", short="confirm"
    ),
    "memory archive": Outline("memory", "Hide a memory from ordinary reads.", short="archive"),
    "memory unarchive": Outline("memory", "Show an archived memory again.", short="unarchive"),
    "memory update": Outline(
        "memory",
        "Change what is known about a memory. A new text becomes its successor.",
        short="update",
    ),
    "memory forget": Outline(
        "memory",
        "Delete memories for good: no byte of them stays in any file of the store. Prints "
        "what would be deleted and asks first. Memories are named by id or selected by "
        "filters. Backups and exports are other files and stay.",
        short="forget",
        frequent=True,
    ),
    "item put": Outline(
        "item",
        "Keep a value under a key, in the place of the one before it. What reads as JSON is that"
        " value, else it is text.",
    ),
    "item put-many": Outline("item", "Keep several values in one transaction."),
    "item get": Outline("item", "The value of a key, as JSON."),
    "item delete": Outline(
        "item",
        "Delete items for good, each with every version of its text. Prints what would be deleted"
        " and asks first.",
    ),
    "item list": Outline("item", "Items page by page, by scope and key."),
    "item scopes": Outline("item", "Scopes that hold items."),
    "rule add": Outline(
        "rule",
        "Keep a rule: a memory that reminds, asks or denies before an action that meets its"
        " condition.",
    ),
    "rule list": Outline("rule", "Rules with how often each fired, gave way and denied."),
    "rule show": Outline("rule", "One rule with its counts."),
    "rule edit": Outline("rule", "Change the words, condition, decision or exception of a rule."),
    "rule remove": Outline("rule", "End a rule; its memory is withdrawn, its history stays."),
    "rule check": Outline(
        "rule", "What the rules say of an action that is about to happen; counts it."
    ),
    "rule test": Outline("rule", "Which rules an action would fire; counts nothing."),
    "rule suggest": Outline(
        "rule", "Stored texts that sound like rules, each with a condition; activates nothing."
    ),
    "anchor show": Outline("anchor", "The anchors of a memory as they stand."),
    "anchor refresh": Outline(
        "anchor", "Take the anchors of a memory again: it speaks of what its sources hold."
    ),
    "anchor stale": Outline("anchor", "Memories whose sources changed or are gone.", short="stale"),
    "branch list": Outline("branch", "Branches with memories, and which of them were merged."),
    "branch show": Outline("branch", "The memories of a branch, and why they stay with it."),
    "branch merge": Outline("branch", "Move the memories of branches that were merged."),
    "branch drop": Outline("branch", "End all memories of a branch but its rules."),
    "replay": Outline(
        "evaluate",
        "Run recorded requests of retrieve under two configurations and compare what they find.",
    ),
    "search": Outline("memory", "Memories that answer a question, as a plain list."),
    "graph search": Outline(
        "graph",
        "Explore memories and entities by meaning or by links: what there is about a subject,"
        " and what is connected with what. For the memories that answer a question use "
        "`search` or `recall`, which weigh time, words and use as well and say how sure they are.",
    ),
    "graph neighbourhood": Outline(
        "graph",
        "Memories and entities that are nearest by links to some, and the links between them all.",
    ),
    "retrieve": Outline(
        "memory",
        "What an agent needs to know to answer the end of a conversation: facts and turns, "
        "from several rounds of searches. For one question use `recall`.",
    ),
    "entity list": Outline(
        "graph", "People, places and things that memories mention, the most mentioned first."
    ),
    "entity show": Outline("graph", "One entity, and the memories that mention it."),
    "entity extract": Outline("graph", "Find entities in memories that have none yet."),
    "entity merge": Outline("graph", "Merge one entity into another; its name becomes an alias."),
    "entity expire": Outline(
        "graph", "Hide an entity and its edges; time travel still shows them."
    ),
    "entity purge": Outline(
        "graph",
        "Remove expired and merged entities for good. Prints what would be removed and asks first.",
    ),
    "edge list": Outline("graph", "Edges, newest first."),
    "edge show": Outline("graph", "One edge with all its fields."),
    "edge link": Outline(
        "graph", "Link two memories (RELATED, SUMMARIZES) or two entities (RELATION)."
    ),
    "edge unlink": Outline("graph", "End an edge; time travel still shows it."),
    "edge rebuild": Outline(
        "graph",
        "Compute edges again, as commits would have made them. An interrupted run is safe to "
        "repeat.",
    ),
    "document add": Outline(
        "document", "Store a whole text as passages; `import` reads files and folders."
    ),
    "document list": Outline("document", "Documents with their passages, the newest first."),
    "document forget": Outline(
        "document", "Delete a document for good: all passages of all its versions, and prove it."
    ),
    "housekeeping gc": Outline(
        "store", "Remove sources that produced nothing, and links without ends."
    ),
    "housekeeping secrets": Outline(
        "store",
        "Secrets in memories and items that are stored: ids or keys, rules, no text. With --fix the"
        " masked text of each takes over, and no byte of the secret stays. An interrupted"
        " run is safe to repeat.",
    ),
    "housekeeping prune": Outline(
        "store",
        "Delete for good what is past its retention_until, or was superseded long ago. Nothing is"
        " removed without this command; --dry-run says what would be.",
        short="prune",
    ),
    "housekeeping enrich": Outline(
        "store", "Run the jobs of the queue: missing vectors, and what a language model adds."
    ),
    "cognify": Outline(
        "store",
        "Let a language model read the turns and passages that none has read: entities, claims with"
        " their evidence, relations. --dry-run says what it would cost. An interrupted run is safe"
        " to repeat.",
    ),
    "housekeeping compact": Outline(
        "store", "Merge all segments of the projection into one, while others read and write."
    ),
    "export": Outline(
        "store", "Write records as JSON lines, complete with vectors: all, or those of a filter."
    ),
    "import": Outline(
        "store",
        "Read chats and memories of other programs, transcripts, or an export. What is there "
        "already is skipped, of an export with --merge, so an interrupted import goes on.",
    ),
    "backup": Outline("store", "Make a consistent copy of the store while it is in use."),
    "restore": Outline(
        "store",
        "Bring a backup to the place of the store, which must hold none. Every row is checked"
        " before anything is written.",
    ),
    "rebuild": Outline("store", "Make the projection again from the ledger."),
    "stats": Outline(
        "store",
        "What the store holds: memories by kind and status, entities, edges, events, jobs, "
        "and its size.",
        frequent=True,
    ),
    "doctor": Outline(
        "store",
        "Check the store; changes nothing unless told to. Exit 0 clean, 1 findings, 3 damage.",
    ),
    "destroy": Outline(
        "store", "Remove a whole store for good; files of others in its folder stay."
    ),
    "demo": Outline("store", "A tour on a temporary store, offline and without a key."),
    "config show": Outline(
        "store", "The effective values that most people set, and what set each."
    ),
    "config explain": Outline(
        "store", "Meaning, default, range and effective value of a key or a section, or of all."
    ),
    "tenant list": Outline("tenant", "Every tenant, for a user who owns the tables."),
    "tenant show": Outline("tenant", "One tenant, and the machines with a copy of it."),
    "tenant create": Outline("tenant", "Make an empty tenant."),
    "tenant up": Outline(
        "tenant", "Make a tenant with what the store in a folder holds; the folder stays."
    ),
    "tenant down": Outline(
        "tenant", "Make a plain store of a tenant in a folder; the tenant stays."
    ),
    "tenant snapshot": Outline(
        "tenant", "Make the snapshot of a tenant anew, and drop the changes before it."
    ),
    "tenant move": Outline(
        "tenant",
        "Move a tenant to another database. It takes no writes meanwhile, and reads go on. An"
        " interrupted run goes on when it is repeated.",
    ),
    "tenant migrate": Outline(
        "tenant",
        "Bring the ledger of a tenant to the schema that this version writes. Workers of an"
        " earlier version are refused from then on.",
    ),
    "tenant drop": Outline(
        "tenant", "Remove a tenant for good. Prints what would be removed and asks first."
    ),
    "tenant token add": Outline(
        "tenant", "Make a token of a tenant. It is printed once: only its hash is stored."
    ),
    "tenant token list": Outline(
        "tenant", "The tokens of a tenant, without the tokens themselves."
    ),
    "tenant token revoke": Outline(
        "tenant", "Remove a token of a tenant. Servers refuse it within a minute."
    ),
    "fleet init": Outline("tenant", "Make the tables and the role of workers in a database."),
    "fleet doctor": Outline(
        "tenant",
        "Check the database of tenants, and write pages anew that held what was forgotten. Exit 1 "
        "with findings.",
    ),
    "housekeeping entity-backfill": Outline(
        "graph",
        "Add entities to memories that were stored without any: first the entities of all "
        "memories, then the links. An interrupted run is safe to repeat.",
    ),
    "eval": Outline(
        "evaluate",
        "Measure what recall finds on labelled questions, as it is configured and under switches."
        " The store in use is only read.",
    ),
    "serve": Outline(
        "serve", "Serve the store over HTTP, until interrupted. Needs the extra `server`."
    ),
    "inspect": Outline(
        "serve",
        "Show in a browser why a memory came back: a page on this machine alone, which changes"
        " nothing, until interrupted. Needs the extra `server`.",
    ),
    "mcp": Outline(
        "serve",
        "Serve this store to an agent by the Model Context Protocol, on standard input and "
        "output or over HTTP, until the client goes. Clients start it themselves. Needs the "
        "extra `mcp`.",
    ),
    "install": Outline(
        "editors",
        "Let an editor recall at each prompt and keep its sessions; hooks of others stay as they"
        " are. Without an editor: how each one stands.",
    ),
    "hook": Outline(
        "editors",
        "Answer an event of an editor, which starts this itself: the event as JSON on standard"
        " input, one JSON object or nothing on standard output, always exit 0. Errors go to"
        " hooks.log in the store's folder.",
    ),
}
