"""Command lines that a newcomer tries before reading, and what the answer names."""

from __future__ import annotations

from typing import Final

# Command lines that are no commands, or that a command does not take → what the answer names;
# `"…"` is there as it is printed, ID is a memory, and "" is no hint.
LINES: Final = {
    "rule remove": "rule delete X;rule rm X;rule erase X;rule drop X;rule forget X",
    "rule edit": "rule update X;rule modify X;rule change X",
    "rule list": "rule ls;rule all;list rules",
    "rule show": "rule cat X;rule get X;rule view X",
    "rule add": "rule create no;rule new no;rule set no",
    "--command": "rule test --cmd ls;rule check 'git push';rule test 'git push'",
    "branch drop": "branch delete b;branch remove b;branch rm b;branch del b",
    "branch list": "branch ls;list branches",
    "branch show": "branch get b;branch view b",
    "document forget": "document delete X;document remove X;document rm X",
    "document list": "sources;document ls;list documents",
    "document add": "document create x;document put x;document new x",
    "import": "document import x;document load x;document ingest x",
    "entity purge": "entity delete X;entity remove X;entity rm X",
    "entity show": "entity get X;entity view X",
    "edge link": "edge add A B;edge create A B;edge connect A B",
    "edge unlink": "edge delete X;edge remove X;edge rm X",
    "edge show": "edge get X",
    "item get": "item show k;item read k;item fetch k",
    "item put": "item set k 1;item add k 1;item save k 1;item update k 1"
    ";item store k 1;item edit k",
    "item delete": "item rm k;item remove k;item erase k;item drop k;item forget k",
    "item list": "item ls;item all",
    "anchor refresh": "anchor update X;anchor edit X",
    "anchor stale|vestig stale": "anchor list;anchor ls;anchor check;anchor status;anchor verify",
    "--anchor": "anchor add;anchor create;anchor set",
    "tenant create": "tenant add acme;tenant new acme",
    "tenant drop": "tenant delete acme;tenant rm acme",
    "tenant token revoke": "tenant token delete a;tenant token rm a",
    "tenant token add": "tenant token create a;tenant token new a",
    "fleet doctor": "fleet check;fleet health",
    "config show": "config ls;config view;config print;config list;cfg;conf",
    "config explain": "config get recall.limit",
    "graph neighbourhood": "graph related X;graph neighbors X",
    "entity list": "entities;graph entities;graph nodes;list entities;list people",
    "edge list": "graph edges;graph links;list edges",
    "graph search": "graph query x;graph find x",
    "housekeeping compact": "housekeeping vacuum;vacuum;compact",
    "vestig add": "remember;note;save;store",
    "vestig item put K VALUE --scope S": "put bob city Berlin",
    'item put bob "city Berlin"': "item put bob city Berlin",
    "got 3: it takes one a call; `vestig import FILE`": "add 'A cat' 'A dog' 'A cow'",
    "got 2: it takes one a call.": "recall 'where is it' 'and when'",
    "t-valid, with a date such as": "add x --date yesterday;add x --at '2 weeks ago'",
    "In Vestig it is --t-valid.": "add x --at 2026-03-01",
    "--t-invalid TIME marks it as ended": "add x --expires-in 30d;add x --ttl 3600"
    ";update ID --expires 2027-01-01",
    "--anchor FILE": "add x --file app.py",
    "reads chats, and memories as JSON lines": "add --jsonl f;add --batch f;add --messages f",
    "`vestig export -` writes to standard output": "export",
    'add "…"` again': "undelete ID;undeprecate ID",
    "shows the tags of each": "tags;tag list",
    "`vestig show ID`": "inspect ID",
    "--key maria.city": "supersede maria.city 'Maria lives in Porto'",
    "`vestig search` finds ids": "forget 'maria lives';forget maria",
    "`vestig forget --scope S`": "delete-all --user ana;flushall;reset",
    "`vestig backup d`": "backup create d;backup new d",
    "recall --expect ID": "why-not x ID",
    "and `--expect ID` for why": "explain x --id ID;why ID",
    "gets no further anchor": "anchor add ID app.py",
    "vestig anchor show ID": "anchor list",
    "`vestig diff --from TIME` shows": "watch",
    "diff --from": "tail",
    "events ID": "blame ID",
    "update ID --t-invalid TIME": "end ID;expire ID",
    "which lists them; `--namespace NS`": "namespace delete work",
    "It changes nothing; `vestig rebuild`": "doctor --fix",
    "add -`": "add --stdin",
    "--agent.": "add x --agent-id a",
    "--session-id.": "add x --run-id r",
    "--tags A,B takes labels": "add x -l a=b",
    "--tags A,B sets all": "update ID --add-tag a",
    "--context --budget": "recall x --max-tokens 9",
    "ilters have options": "search x --where a;search x --filter a=b",
    "a value is set in": "config recall.limit 5;config set recall.limit 5",
    "vestig config show`": "config path",
    "--do.": "rule add --deny x",
    "branches are those of git": "branch create b;branch checkout b;checkout b;switch b;checkout",
    "on the branch that changed it": "add x --branch b",
    "stores a turn": "session start;sessions;chat add x;turn add x",
    "--format mem0": "import --from mem0 f",
    "vestig list": "ls",
    "vestig show": "describe ID;cat ID",
    "--json prints": "list --format csv;list -v",
    "vestig stats": "list users;du;status;info;users;scopes;namespaces;projects;namespace list",
    "vestig cognify": "summarize",
    "vestig diff": "timeline",
    "vestig recall": "query;ask;find;lookup;context",
    "vestig search": "grep",
    "vestig backup": "snapshot;copy",
    "vestig import --mirror": "sync;watch;mirror",
    "vestig inspect": "ui;web",
    "vestig mcp": "mcp-server",
    "vestig --help": "completion bash;man",
    "branch merge": "merge",
    "housekeeping gc": "gc",
    "vestig rebuild|": "embed",
    "in quotes": "add one two;recall lab partner",
    "--supersedes": "supersede ID 'a new text'",
    "vestig rebuild": "reindex;housekeeping rebuild;housekeeping reindex",
    "vestig doctor": "housekeeping doctor;housekeeping check;test;check;fsck",
    "memory forget": "memory rm X;memory delete X;memory remove X",
    "memory add": "memory save x;memory store x;memory create x",
    "memory list": "memory ls;memory all",
    "vestig export": "memory export x;memory dump x",
    "vestig forget": "rm ID;del KEY;purge;trash X;delete X",
    "vestig recall --explain": "explain x;explain ID;why x",
    "--as-of": "time-travel;as-of",
    "history|diff": "log",
    "deprecate": "rollback;revert ID;undo;undo ID",
    "vestig list --tags": "tag list;tag ls;list tags;tags",
    "vestig update": "tag ID infra;tag add ID infra;edit ID;correct ID x",
    "vestig keys": "key list;list keys",
    "--key": "set k v;put k v;update ID --key k",
    "vestig serve": "daemon;server;start",
    "install claude --remove": "uninstall claude",
    "install cursor --remove": "uninstall cursor",
    "install EDITOR --remove": "uninstall",
    "install claude": "claude;claude install",
    "vestig install": "mcp install;mcp setup;hooks;hooks install;hooks list;install --list"
    ";install --all;install --status",
    "--remove": "install claude --uninstall;install claude --delete",
    "recall.min_score": "recall x --threshold 0.5;recall x --min-score 0.9"
    ";search x --min-score 0.5;recall x --score-threshold 0.5;search x --cutoff 0.3",
    "--json": "list --format json;list -o json;stats --format json"
    ";search x -o json;count --output json;list --output=json;show ID --format json"
    ";doctor --format json;list -ojson;recall x --output json",
    "export FILE": "export --output f;export --out f;export -o f;export --file f;export --path f"
    ";export --dir f",
    "--format md": "export --markdown d;export d --md;export markdown d;export md d"
    ";list --format md",
    "import FILE": "import --file f;import --path f;import -f f;import --input f;import --dir f"
    ";add --file f;add --from-file f;add -f f;add --input f",
    "--format": "import markdown notes;import jsonl notes;import csv rows.csv",
    "vestig destroy": "reset;wipe;clear;forget --all;forget --yes",
    "backup DEST": "backup --output d;backup --to d;backup --dest d;backup -o d;backup --path d",
    "./": "backup list;backup ls",
    "vestig --store DEST restore": "restore b --to d;restore b d;restore --force b"
    ";restore b --target d;restore b --output d;restore b --dest d",
    '--content "…"': "update ID 'a new text'",
    "--content": "update ID --text x;update ID --body x;update ID --message x",
    'add "…"': "add --content x;add --text x;add --message x;add --fact x",
    'recall "…"': "recall --query x;recall -q x;recall --question x",
    'search "…"': "search --query x;list --grep x;list --contains x;list --search x;list --query x"
    ";count --grep x",
    "show ID": "show --id X",
    "forget ID": "forget --id X;forget --memory-id X",
    "update ID": "update --id X",
    "--port": "serve -p 80;inspect -p 80",
    "--host": "serve --bind 0.0.0.0;serve --address 0.0.0.0",
    "--from": "diff A B;diff A;diff --since A",
    "--prefix": "keys list;keys vpn.;keys --key-prefix vpn",
    "--recursive": "import d --recurse;import d -R",
    "--scope": "add x -u ana;add x --user ana;list --user-id ana;import --user ana"
    ";list --owner ana;count --user ana;forget --user ana;export f --user ana",
    "--dry-run": "forget X --dry;forget X --simulate;forget X --preview",
    "--all-namespaces": "list --all-namespaces;recall x --all-namespaces;count --all-namespaces",
    "ithout --scope": "recall x --all-scopes;list --all-scopes;list --all-users",
    "--include-archived": "list --archived",
    "--retention-until TIME": "add x --ttl 30d;add x --expires 2027-01-01",
    "--when": "rule add no --condition a;rule add no --if a",
    "--do": "rule add no --action deny",
    "--limit": "recall x --n-results 3;recall -k 1;recall x --top-k 1",
    "--explain": "recall -v;search x --debug",
    "--yes": "forget ID -y;forget ID --no-confirm",
    "--keys": "forget --key k",
    "--statuses": "list --status superseded",
    "--since": "list --after 2026;list --from 2026",
    "--until": "list --before 2026;recall x --before 2026",
    "--authors": "list --author ana",
    "--namespace": "list --project p;-n work add x;add x --collection c",
    "--valid-at": "get k --at 2026;recall x --at 2026",
    "--mirror": "import --watch",
    "--version": "-V",
    "--include-expired": "list --all;list -a;list --include-superseded;list --expired"
    ";list --include-deprecated",
    "vestig config show": "recall x --model m;add x --embedder e",
    "--ascending": "list --reverse;list --asc;list --oldest-first",
    "--order-by": "list --sort date;list --sort-by date",
    "--offset": "list --page 2;list --skip 5",
    "": "entity add Ada;document edit X;item rename k;rule run"
    ";edge edit X;item search x;anchor delete X;rule enable X;tenant rename x;dedupe;duplicates"
    ";whoami;login;repl;recall x --quiet;recall x --pretty"
    ";list -q;list --oneline;add x --priority 3;add x --importance 5"
    ";stats --all;doctor --quick;export f --compress;backup d --incremental;list --color"
    ";serve --workers 4;serve --reload;import f --batch 3;recall x --rerank;logs"
    ";add -m x;mv;redo;about;ps;stop;auth;upgrade"
    ";-q;--verbose"
    ";debug;schema;stats now;item diff;rule export;branch history;item keys",
}

# Words that are neither commands nor options, nor what others call those.
NO_COMMANDS: Final = (
    "plumber saxophone granary tulip carpet barley pigeon cellar sandal mustard trumpet canyon"
    " needlework pepper submarine cottage elephant teapot sparrow volcano biscuit curtain rowing"
    " marigold thimble oyster cactus blizzard pancake gondola chimney porcupine velocity orbit"
    " nutmeg haystack lighthouse peacock raspberry scarecrow tambourine waterfall yoghurt zeppelin"
    " acorn beetle corridor dungeon ferry gravel hedgehog igloo jasmine knapsack lobster mosaic"
    " nightfall octopus parsley quarry rhubarb"
)
