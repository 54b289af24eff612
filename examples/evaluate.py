"""How good recall is on questions of your own, and what a change of the configuration does."""

import json
import tempfile
from pathlib import Path

import vestig

# what is stored, and questions with the places of what answers them; [] = nothing does
TEXTS = [
    "The red key opens the shed.",
    "Tomatoes need water every second evening.",
    "The gardener comes on Thursdays.",
]
QUESTIONS = [
    ("which key is for the shed?", [0]),
    ("how often do I water the tomatoes?", [1]),
    ("when does the gardener come?", [2]),
    ("who painted the ceiling of the chapel?", []),
]

with tempfile.TemporaryDirectory() as home:
    units = [{"id": str(at), "text": text} for at, text in enumerate(TEXTS)]
    asked = [{"text": text, "relevant": [str(at) for at in found]} for text, found in QUESTIONS]
    Path(home, "corpus.jsonl").write_text("\n".join(map(json.dumps, units)))
    Path(home, "queries.jsonl").write_text("\n".join(map(json.dumps, asked)))

    report = vestig.evaluate(home, switches=[{"recall.profile": "baseline"}])
    for row in report.rows:
        print(row.name, "hit@1", row.metrics["hit@1"].mean)
