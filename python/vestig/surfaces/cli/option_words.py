"""Options of other tools, and words that options take, and what does the same here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from typing import Final

from vestig.lazy_pattern import lazy_pattern
from vestig.other_words import nearest

QUESTIONS: Final = (
    'a file of JSON lines such as {"text": "where is the pump?", "relevant": ["ID"]}'
    " (docs/evaluation.md)"
)
# An option → what others call it. Which of several a command has decides.
_OPTIONS: Final[Mapping[str, str]] = {
    "--agent": "--agent-id",
    "--key": "--id --name",
    "--limit": "-k -l -L --top --top-k --count --max --max-results --num --size --first"
    " --n-results",
    "--max-facts": "-k -n --limit --top-k",
    "--tags": "-l --label --labels --category --categories",
    "--t-valid": "--date --when --timestamp --created-at --time --valid-from --on --at"
    " --from --since --start",
    "--t-invalid": "--valid-to --valid-until --until --to --end --ends",
    "--artifact-ref": "--url --uri --link --source-url",
    "--pin": "--pinned --important --star",
    "--author": "--by --speaker --sender --authors",
    "--authors": "--by --speaker --sender --author",
    "--session-id": "--session --conversation --thread --chat --session-ids --run-id --thread-id",
    "--session-ids": "--session --conversation --thread --chat --session-id --run-id --thread-id",
    "--from": "--since --after --start",
    "--since": "--after --from --start --last --days --today",
    "--as-of": "--at --asof",
    "--valid-at": "--at --date --on --current --now --as-of",
    "--entities": "--entity --mentions --about --person --people",
    "--order-by": "--sort --sort-by --order",
    "--mirror": "--watch --sync",
    "--until": "--before --to",
    "--scope": "-u --user --user-id --channel --customer --owner --collection --project",
    "--metadata": "--meta --set --annotation",
    "--yes": "-y --confirm --no-confirm --assume-yes -f --force",
    "--dry-run": "-n --plan --dry --simulate --preview",
    "--explain": "--why --reason --reasons -v --verbose --debug",
    "--format": "--layout",
    "--version": "-V -v",
    "--namespace": "--tenant --collection",
    "--store": "-s --db --path --dir --directory --data-dir",
    "--config": "-c --config-file",
    "--json": "-j --as-json",
    "--content": "--text --body --message --fact",
    "--ids": "--id --memory-id",
    "--include-expired": "--expired --include-superseded --include-deprecated --history"
    " --include-history --deprecated --superseded",
    "--ascending": "-r --reverse --asc --oldest-first",
    "--offset": "--skip --page --start",
    "--recursive": "--recurse -R --subfolders",
    "--remove": "--uninstall --delete",
    "--port": "-p",
    "--prefix": "--key-prefix",
    "--include-archived": "--archived",
    "--retention-until": "--keep-until",
    "--when": "--condition --if",
    "--do": "--action --effect --then",
    "--command": "--cmd",
    "--host": "--bind --address --listen",
}
_NUMBER: Final = lazy_pattern(r"-0*[1-9]\d*")
# A field, and a value without a sign that a shell reads.
_FIELD_IS: Final = lazy_pattern(
    r"(\w+) *(?:==?|:) *(?:([^\s\"'$`\\;&|<>()]+)|\"([^\"$`\\]+)\"|'([^'\"$`\\]+)')"
)
_PATTERN: Final = lazy_pattern(r"[*%]")
# Fields of memories → the option that filters by it; those of the second no metadata has.
_FILTERS_BY_FIELD: Final[Mapping[str, str]] = {
    **dict.fromkeys(("tag", "tags", "label"), "--tags"),
    **dict.fromkeys(("author", "authors", "by", "speaker"), "--authors"),
    **dict.fromkeys(("scope", "user", "user_id"), "--scope"),
    **dict.fromkeys(("key", "keys"), "--keys"),
    **dict.fromkeys(("entity", "entities", "person"), "--entities"),
    **dict.fromkeys(("source", "sources"), "--sources"),
    **dict.fromkeys(("session", "session_id"), "--session-ids"),
    **dict.fromkeys(("kind", "kinds"), "--kinds"),
    **dict.fromkeys(("status", "statuses"), "--statuses"),
    **dict.fromkeys(("role", "roles"), "--roles"),
    "since": "--since",
    "until": "--until",
}
_NO_METADATA: Final = (
    "id text content title date time t_valid t_invalid created_at pinned confirmed archived score"
    " query json help limit"
)
_DATE: Final = "2026-03-18"
_FILE: Final = (
    "--file --path --input --output --out --dir --directory --folder --dest --destination -f -i -o"
)
# What stands without an option → options that others have for it.
_PLACES: Final[Mapping[str, str]] = {
    "CONTENT": "--content --text --body --message --fact -m",
    "TEXT": "--text --content --body --message",
    "QUERY": "--query --question --text",
    "ID": "--id --memory-id",
    "IDS": "--id --ids --memory-id",
    "KEY": "--key --id --name",
    "NAME": "--name --id",
    "FILE": _FILE,
    "DEST": f"{_FILE} --to --target",
    "BACKUP": "--from --backup --input --file --path -i",
}
BACKUP: Final = "`vestig backup DEST`"
# Words that are typed for no value, in small letters.
NOTHING: Final = ("", "none", "null", "nil", "never")
_EMPTIES: Final = lazy_pattern(r"--(?:no|clear|unset|remove|delete|empty|reset)-([a-z-]+)")
RESTORE: Final = "restore into another place with `vestig --store DEST restore BACKUP`"
_LISTINGS: Final = "list, count"
_HIDDEN: Final = "--include-expired and --include-archived bring what is hidden"
_READS: Final = f"{_LISTINGS}, recall, search"
_IDS_ALONE: Final = (
    "--json prints every field; `vestig list --json | jq -r '.memories[].id'` prints the ids alone"
)
_QUIET: Final = "messages go to standard error, which 2>/dev/null leaves out"
_SILENT: Final = "`>/dev/null` behind the line leaves out what it prints, but for errors"
_AGES: Final = (
    "--created-until TIME takes what was stored before then, --until TIME what began to hold before"
    " then; --created-since and --since likewise after it; 30d is thirty days ago"
)
_TEXTS_ALONE: Final = (
    "`vestig recall \"…\" --json | jq -r '.results[].content'` prints the texts alone"
)
_TEXT_ALONE: Final = "`vestig get KEY --json | jq -r .content` prints the text alone"
AS_IT_IS: Final = "`VESTIG_FIREWALL__SECRETS=off vestig add …` stores a secret as it is"
TAGS_OF_ALL: Final = (
    "`vestig export - | jq -r 'select(.status == \"active\") | .metadata.tags[]?' | sort | uniq -c`"
    " lists the tags of all, and how often each is there"
)
_FILTERS: Final = (
    "--tag --tags --scope --scopes --key --keys --entity --entities --author --authors --since"
    " --until --before --after --source --kind --kinds --query --where --all"
)
_EACH: Final = (
    "it takes one ID; `vestig list {} --limit 1000 --json | jq -r '.memories[].id' | xargs -n 1"
    " vestig {}` does it to all that a filter selects, here a tag"
)
_VERSIONS: Final = (
    "`vestig history KEY` shows all values of a key, each with its times, `vestig get KEY"
    " --valid-at TIME` the one of a time"
)
# More to say about an option that another word was meant as.
_MORE: Final[Mapping[str, str]] = {
    "--order-by": ", such as --order-by created_at or t_valid, the newest first; --ascending turns"
    " that round",
}
# Commands divided by commas, options of others → what does it in another way.
_OTHERWISE: Final[tuple[tuple[str, str, str], ...]] = (
    (
        "",
        "--install-completion --show-completion --completion",
        "`vestig --help` has the line by which your shell completes commands",
    ),
    ("", "-d --data", "--store PATH names the folder of the store"),
    (
        "serve",
        "--token --auth-token --api-key --api-token --bearer --auth --secret --password",
        "`VESTIG_SERVE__TOKEN_ENV=SERVE_TOKEN SERVE_TOKEN=… vestig serve` asks each request for the"
        " token that the variable SERVE_TOKEN holds",
    ),
    (
        "add",
        "--file --from-file --source-file --input -f",
        "`vestig add - < FILE` reads one text, `vestig import FILE` documents and JSON lines;"
        " --anchor FILE names what a text speaks of",
    ),
    (
        "add, update",
        "--ttl --expires --expires-at --expires-in --expires-after --expiry",
        "--t-invalid TIME marks it as ended from then on, and --retention-until TIME has the next"
        ' `vestig prune` after it delete it; `vestig item put K VALUE --text "…" --expires TIME`'
        " hides it from then on; TIME is a date such as 2027-01-31",
    ),
    (
        "add, update, import",
        "--no-mask --unmasked --no-masking --no-redact --no-firewall --allow-secrets --keep-secrets"
        " --raw --plain --verbatim",
        AS_IT_IS,
    ),
    *(
        (command, _FILTERS, _EACH.format("--tags A", command))
        for command in ("archive", "pin", "unpin")
    ),
    ("confirm", _FILTERS, _EACH.format("--tags A", "confirm --by NAME")),
    ("unarchive", _FILTERS, _EACH.format("--tags A --statuses ARCHIVED", "unarchive")),
    ("stats", "--by --group-by --group --tag --tags", TAGS_OF_ALL),
    ("add", "--stdin", "`vestig add -` reads standard input"),
    (
        "add, update",
        "--remind --reminder --remind-at --due --notify --alarm",
        "nothing calls at a time; a text with its date in words is found by the day:"
        ' `vestig recall "what is on 5 December?"`',
    ),
    (
        "add",
        "--jsonl --batch --messages",
        "`vestig import FILE` reads chats, and memories as JSON lines",
    ),
    (
        "add, update",
        "-l --type --kind",
        "--tags A,B takes labels, and --metadata NAME=VALUE values by name",
    ),
    ("update", "--add-tag --add-tags --remove-tag", "--tags A,B sets all of its tags"),
    (
        "add",
        "--importance --priority --weight --confidence",
        "--metadata NAME=VALUE keeps it; nothing ranks by it",
    ),
    (
        "add",
        "--overwrite --replace --upsert --force --update",
        "--key K ends the value that the key has, and --supersedes ID ends a memory",
    ),
    (
        "get",
        "--short --quiet --value --raw --plain --text --text-only --content --brief",
        _TEXT_ALONE,
    ),
    ("get", "--history --versions --version --all -a --previous --old", _VERSIONS),
    (
        "history",
        "--as-of --valid-at --at --limit -n -k --last --since --until --from --to --version",
        _VERSIONS,
    ),
    (
        "show",
        "--field --fields --columns --select --only --short --quiet",
        "`vestig show ID --json` prints every field, and `jq .metadata.tags` behind it one alone",
    ),
    (
        "deprecate",
        "--at --on --date --when --end --ends --valid-until --valid-to --expires",
        "`vestig update ID --t-invalid TIME` ends a fact, also at a time that is to come; here"
        " --t-invalid TIME says when it ended",
    ),
    ("update", "--unscoped", "--clear scope leaves it without one"),
    (
        "recall, search",
        "--with-scores --scores --show-scores --score",
        "--json has the scores, and --explain says what they are made of",
    ),
    (
        "recall, search",
        "--sort --sort-by --order-by",
        "what is recalled is ranked; `vestig list --order-by` sorts",
    ),
    (
        "forget",
        "--query --search --text --like --contains --match --grep --about --where",
        '`vestig search "…"` finds the ids of memories',
    ),
    (
        "list, count",
        "--by --group-by --group",
        "`vestig stats` counts by scope, kind and status; --authors NAME selects what one author"
        " said",
    ),
    (
        "prune, housekeeping prune",
        "--before --older-than --after --days --age --max-age --created-before",
        "it deletes what is past its retention, or was replaced long ago; `vestig forget"
        " --created-until TIME` with a scope, a tag or another filter deletes what was stored"
        " before a time",
    ),
    (
        "recall, search",
        "--exact --literal --regex --regexp --substring --phrase --fuzzy --keyword",
        "it finds by words and meaning; `vestig export - | grep -i TEXT` finds to the letter",
    ),
    (
        "recall, search",
        "--raw --plain --text-only --content-only --bare --no-scores --no-score --texts --short"
        " --brief",
        _TEXTS_ALONE,
    ),
    ("list", "--ids-only --id-only --quiet --only-ids", _IDS_ALONE),
    (
        "recall, search",
        "--ids-only --id-only --only-ids --ids",
        "`vestig recall \"…\" --json | jq -r '.results[].id'` prints the ids alone",
    ),
    ("keys", "-n --limit --max --first --head", "all are listed; `| head -n N` takes the first"),
    (
        "entity show",
        "--expand --memories --full",
        "the memories come with it, the newest first; --limit N says how many",
    ),
    ("export", "--pretty --indent", "`vestig export - | jq .` prints them indented"),
    (
        "import",
        "--lines --line --by-line --per-line --split --jsonl",
        "`jq -cR '{content: .}' FILE | vestig import --format memories -` makes each line a memory",
    ),
    ("list", "--columns --fields --select --cols", _IDS_ALONE),
    (
        "list",
        "--wide --no-trunc --no-truncate -w --full-text --short --brief --compact",
        "--snippet-len N says how much of each text is shown",
    ),
    (
        "recall, search",
        "--quiet --silent",
        f"{_QUIET}; {_TEXTS_ALONE}",
    ),
    (_READS, "--quiet --silent", _QUIET),
    (
        f"{_READS}, export, forget",
        "--older-than --newer-than --age --max-age --min-age --created-before --created-after"
        " --stored-before --stored-after",
        _AGES,
    ),
    ("forget", "--before --after", _AGES),
    (
        "diff",
        "-n --limit --max --first --head -l --lines",
        "it shows all of the time; `| head -n N` behind the line takes the first lines, and --to"
        " TIME ends the time earlier",
    ),
    ("keys", "--all -a", "all that have a value are listed"),
    ("backup", "--list --show --all", f"there is no list: each lies where {BACKUP} put it"),
    (
        "backup",
        "--force --overwrite -f",
        "a backup goes into a directory that is not there yet, `vestig backup DEST`",
    ),
    (
        "import",
        "--text-column --content-column --column --content --text --field",
        "a column named text, content, memory or fact holds the text of its row: `sed"
        " '1s/NAME/text/' FILE.csv > NEW.csv` calls one so; without such a column the whole row is"
        " the text",
    ),
    (
        "import",
        "--encoding --charset --codec --latin1 --utf8 --utf-8",
        "files are read as UTF-8: `iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW` writes one so",
    ),
    (
        "import",
        "--dayfirst --day-first --monthfirst --month-first --date-format --dateformat --locale",
        "write dates as 2026-04-03, or with points, which are D.M.YYYY; where they have slashes,"
        " one day above 12 tells the order of all of a column",
    ),
    (
        "import",
        "--exclude --ignore --skip --include --only --glob --pattern --ext --extension",
        "name what is read, `vestig import 'FOLDER/*.md' 'FOLDER/**/*.md'`; what no format reads is"
        " passed over",
    ),
    (
        "import",
        "--undo --rollback --revert --remove --delete",
        "`vestig forget --sources NAME` deletes what came in with `--source NAME`, `vestig forget"
        " --sources import --created-since TIME` what came in since then, and `--dry-run` shows it;"
        " `vestig document forget ID` deletes a document",
    ),
    (
        "import",
        "--key --keys",
        'lines of JSON name their keys, {"content": "…", "key": "…"}; `vestig add "…" --key K`'
        " gives one to a text",
    ),
    (
        "import",
        "--time-column --date-column --timestamp-column --time --date",
        'a column of dates is the time of the rows where it is named "date" in the header',
    ),
    ("list", "--count", "`vestig count` counts them, and --limit N lists at most N"),
    (
        "forget",
        "--soft --hide --archive",
        "`vestig archive ID` hides, `vestig unarchive` undoes it",
    ),
    ("export", "--stdout", "`vestig export -` writes to standard output"),
    ("export", "--all", "all of one namespace are; --all-namespaces takes those of every one"),
    ("restore", "--list --latest --last", f"name the one that {BACKUP} made; none are listed"),
    ("config", "--list --show --get --global --file -l", "`vestig config show` lists what is set"),
    ("list, show, recall, search", "-o --output", "--json prints every field"),
    (
        "add",
        "--branch",
        "--scope auto keeps a text with --anchor FILE on the branch that changed it",
    ),
    (
        _READS,
        "--where --filter",
        "filters have options of their own, such as --tags and --metadata",
    ),
    ("recall, search", "--max-tokens --token-budget --tokens", "--context --budget N"),
    ("doctor", "--fix --repair", "it changes nothing; `vestig rebuild` makes the projection again"),
    (
        "recall, search",
        "--threshold --min-score --score-threshold --cutoff --min-relevance",
        "set recall.min_score in the file of --config, or VESTIG_RECALL__MIN_SCORE",
    ),
    (_LISTINGS, "--grep --contains --query --search --match", '`vestig search "…"` finds words'),
    (
        _READS,
        "--all-namespaces -A",
        "--namespace NS reads one at a time; `vestig export FILE --all-namespaces` takes all",
    ),
    (
        f"{_READS}, export, forget",
        "--archived --only-archived --superseded --only-superseded",
        "--statuses ARCHIVED, or SUPERSEDED, takes those alone; --include-archived, or"
        " --include-expired, brings them beside the others",
    ),
    (
        f"{_READS}, export, forget",
        "--deleted --forgotten --trashed --trash --removed",
        "what was forgotten is gone; `vestig diff --from TIME` tells the id of each, and"
        " --include-expired brings what was replaced or withdrawn",
    ),
    (_READS, "--all-scopes --all-users", "without --scope every scope is read"),
    ("list", "--all -a --everything", f"--limit N lists up to N of them; {_HIDDEN}"),
    ("count", "--all -a --everything", _HIDDEN),
    ("list", "-v --verbose --long --full", "--json prints every field"),
    (
        "list",
        "--format --markdown --md",
        "--json prints another form, `vestig export FOLDER --format md` writes Markdown",
    ),
    (
        "rule add",
        "--deny --ask --remind --block --forbid --command --cmd --pattern",
        "`vestig rule add TEXT --when 'command ~ \"git push*\"' --do deny` is a whole line",
    ),
    ("update", "--key", '`vestig add "…" --key K` gives a key to a text'),
    (
        "restore",
        "--to --target --dest --destination --output --out -o --into --force --yes -y --in-place"
        " --replace --overwrite",
        f"no store is written over; {RESTORE}",
    ),
    (
        f"{_READS}, add, import",
        "--model --llm --embedder --embedding-model",
        "models are configured; `vestig config show` lists what is set",
    ),
    ("install", "--list --status --all", "`vestig install` says how each editor stands"),
)
# Commands that lack a word → what stands in its place.
LACKING: Final[Mapping[str, str]] = {
    "export": "`vestig export -` writes to standard output.",
    "events": "`vestig diff --from TIME` shows what was recorded of all memories.",
    "history": "`vestig keys` lists the keys that have one.",
    "get": "`vestig keys` lists the keys that have a value.",
    "eval": f"It is {QUESTIONS}.",
}
# A command and the word that its --format was meant to have → the line that has both.
WHOLE_LINES: Final[Mapping[str, str]] = {"export md": "It is `vestig export FOLDER --format md`."}


def instead_of_option(
    typed: str,
    value: str,
    command: str,
    options: Collection[str],
    places: Mapping[str, str],
    formats: Collection[str] = (),
    *,
    times: Set[str] = frozenset(),
) -> str:
    """Return what to type instead of an option that a command does not have, as a sentence; "" =
    nothing is known.

    Args:
        value: what follows it.
        command: what is typed for the command, without `vestig`.
        options: those that it has.
        places: the names of what it takes without an option → how they are typed.
        formats: what its --format takes.
        times: those of its options that take a time.

    Example:
        >>> instead_of_option("--date", "", "add", ["--tags", "--t-valid"], {})
        'In Vestig it is --t-valid.'
        >>> instead_of_option("--output", "f", "export", ["--format"], {"FILE": "FILE"})
        'It is typed without an option: `vestig export FILE`.'
    """
    if _NUMBER.fullmatch(typed) and "--limit" in options:
        return f"In Vestig it is -n {int(typed[1:])}."
    if typed == "-q":
        asks = "QUERY" in places or command == "forget"
        typed = "--query" if asks and value and not value.startswith("-") else "--quiet"
    if "--clear" in options and (field := _emptied(typed, value)):
        return f"In Vestig it is --clear {field}."
    if value.lower() == "json" and typed in ("-o", "--output", "--out", "-f", "--format"):
        return "In Vestig it is --json."
    if typed == "--from" and (named := format_of(value, formats)):
        return f"In Vestig it is --format {named}."
    if typed == "-n" and not command:
        return "In Vestig it is --namespace."
    if typed in ("--where", "--filter") and (named := _filter_of(value, options)):
        return f"In Vestig it is `{named}`."
    for commands, others, does in _OTHERWISE:
        if command in commands.split(", ") and typed in others.split():
            return sentence(does)
    if named := format_of(typed.lstrip("-"), formats):
        return f"In Vestig it is --format {named}."
    if typed == "--key" and "--key-prefix" in options and value.endswith(("*", "%")):
        return f"In Vestig it is `--key-prefix {value.rstrip('*%')}`."
    for place, shown in places.items():
        if typed in _PLACES.get(place, "").split():
            return f"It is typed without an option: `vestig {command} {shown}`."
    ours = [
        ours for ours, others in _OPTIONS.items() if ours in options and typed in others.split()
    ]
    if ours:
        dated = f", with a date such as {_DATE}" if times & {*ours} and "-" not in value else ""
        return f"In Vestig it is {' or '.join(ours)}{dated or _MORE.get(ours[0], '')}."
    if command and typed in ("--quiet", "--silent"):
        return sentence(_SILENT)
    # a name that is merely a little alike misleads
    near = nearest(typed, options)
    return f"Did you mean {near}?" if near else ""


def _filter_of(condition: str, options: Collection[str]) -> str:
    """The option of a filter that a condition on one field is typed as; "" = none is known."""
    found = _FIELD_IS.fullmatch(condition.strip())
    if found is None or found[1].lower() in _NO_METADATA.split():
        return ""
    name, value = found[1].lower(), found[2] or found[3] or found[4]
    if _PATTERN.search(value):
        beginning = value.rstrip("*%")
        option = "--key-prefix" if name == "key" else ""
        value = "" if _PATTERN.search(beginning) else beginning
    elif name in _FILTERS_BY_FIELD:
        option = _FILTERS_BY_FIELD[name]
    else:
        option, value = "--metadata", f"{found[1]}={value}"
    quoted = f'"{value}"' if " " in value else value
    return f"{option} {quoted}" if option in options and value else ""


def _emptied(typed: str, value: str) -> str:
    """The field that an option would empty; "" = none that can be."""
    # imported here: a command line that is right needs none of it
    from vestig.calls.commit import CLEARABLE

    named = _EMPTIES.fullmatch(typed)
    by_value = value if typed in ("--unset", "--remove", "--empty", "--reset", "--delete") else ""
    field = (named[1] if named else by_value).replace("-", "_")
    return field if field in CLEARABLE else ""


def near_choice(typed: str, words: Mapping[str, str]) -> str:
    """The word of a closed list that was meant by another one; "" = none, or it is one of them.

    Args:
        words: each in small letters → as it is.

    Example:
        >>> near_choice("claude-code", {"claude": "claude", "codex": "codex"})
        'claude'
    """
    if typed in words:
        return ""
    if named := format_of(typed, words):
        return named
    # a word that begins with one of them and a divider is a longer name of the same
    return words.get(typed.partition("-")[0], "") or words.get(nearest(typed, words), "")


# A word of a closed list → words that are none of it, "" = all others → what does it.
_NOT_CHOSEN: Final[tuple[tuple[str, str, str], ...]] = (
    (
        "chatgpt",
        "obsidian vault logseq joplin bear roam zettlr foam folder notes",
        "A folder of notes is read as it is: `vestig import -r FOLDER`.",
    ),
    (
        "chatgpt",
        "notion confluence",
        "An export as Markdown and CSV is read as it is: `vestig import EXPORT.zip`.",
    ),
    (
        "chatgpt",
        "mbox eml mail email gmail outlook thunderbird",
        "Mail is known by the ending .mbox or .eml, without --format: `vestig import FILE.mbox`.",
    ),
    (
        "chatgpt",
        "langchain langgraph llamaindex llama-index crewai autogen",
        "`jq -c '.[] | {role: .type, content: .data.content}' FILE | vestig import --format"
        " openai-chat -` reads messages of LangChain; others have role and content, and need no"
        " --format.",
    ),
    (
        "chatgpt",
        "letta memgpt",
        "Its messages are read without --format, its blocks by `jq -c '.memory.blocks[] | {content:"
        " .value, tags: [.label]}' FILE | vestig import --format memories -`.",
    ),
    (
        "chatgpt",
        "zep graphiti json jsonl ndjson auto-detect",
        "The format is known by the keys of the records: leave --format out, and what no format"
        " knows names the line that brings it in.",
    ),
    (
        "chatgpt",
        "text txt plain plaintext pdf docx word html rst",
        "It is --format document; without it the ending of the file tells.",
    ),
    (
        "chatgpt",
        "ics ical icalendar calendar vcf vcard contacts",
        "Calendars and address books are not read: write what is to be kept as lines such as"
        ' {"content": "…"}, with --format memories.',
    ),
    (
        "chatgpt",
        "whatsapp signal telegram slack discord teams imessage messenger sms irc matrix gemini",
        'A chat of another program is read as lines of JSON such as {"speaker": "Ann", "text": "…",'
        ' "timestamp": "2026-01-05T10:00:00"}, with --format messages.',
    ),
    (
        "created_at",
        "oldest old asc ascending first",
        "--ascending lists from the smallest: --order-by created_at --ascending, the oldest first.",
    ),
    (
        "created_at",
        "newest new desc descending latest recent last date time",
        "The newest come first: --order-by created_at, or t_valid for when a fact began.",
    ),
    (
        "reinforce",
        "replace update overwrite supersede merge",
        "--supersedes ID ends the memory that a new one replaces, --key K the value that the key"
        " has.",
    ),
    (
        "jsonl",
        "csv tsv xlsx excel sqlite sql parquet yaml txt text html pdf",
        'Lines of JSON become a table by `vestig export - | jq -r \'select(.status == "active") |'
        " [.id, .t_valid, .content] | @csv'`.",
    ),
    (
        "cursor",
        "",
        "Any other editor starts `vestig mcp`, a server of the Model Context Protocol"
        " (docs/mcp.md).",
    ),
)


def none_of_choice(typed: str, words: Collection[str]) -> str:
    """Return what does what a word means that is none of a closed list, as a sentence; "" =
    nothing is known.

    Example:
        >>> none_of_choice("vscode", ["claude", "codex", "cursor"])[:35]
        'Any other editor starts `vestig mcp'
    """
    for has, others, does in _NOT_CHOSEN:
        if has in words and (not others or typed in others.split()):
            return does
    return ""


def format_of(word: str, formats: Collection[str]) -> str:
    """The format that a word names; a folder of ordinary Markdown is documents to an import."""
    if word in ("markdown", "md"):
        return next((one for one in ("document", "md") if one in formats), "")
    return word if word in formats else ""


def value_of_option(option: str, words: Sequence[str]) -> str:
    """The word that follows an option on a line, or is joined to it; "" = none."""
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if word == option:
            return after
        if word.startswith(option):
            return word.removeprefix(option).removeprefix("=")
    return ""


def sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""
