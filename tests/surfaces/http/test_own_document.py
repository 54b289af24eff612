"""The document of the API: what it says of every answer, and requests made from it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from served import Site, serving
from vestig.calls.filter import FIELDS
from vestig.testing import ScriptedModel

FOLDER = Path(__file__).parent / "own_document"
RUN = "from schemathesis.cli import schemathesis; schemathesis()"


@pytest.fixture(scope="module")
def document(site: Site) -> Any:
    return site.get("/openapi.json").document


def test_every_route_is_described(document: Any) -> None:
    assert {path.removeprefix("/api/memory/") for path in document["paths"]} >= {
        "commit",
        "recall",
        "search",
        "show/{id}",
        "list",
        "count",
        "deprecate",
        "supersede",
        "forget",
        "health",
        "import",
        "metrics",
    }


def test_every_refusal_is_a_problem(document: Any) -> None:
    for path, methods in document["paths"].items():
        for operation in methods.values():
            answers = operation["responses"]
            assert {
                "401",
                "403",
                "404",
                "405",
                "413",
                "415",
                "422",
                "429",
                "500",
                "503",
                "507",
            } <= set(answers), path
            for status, answer in answers.items():
                if int(status) >= 400:
                    assert list(answer["content"]) == ["application/problem+json"], (path, status)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("authors", "x" * 5_000),
        ("exclude_authors", ["x" * 5_000]),
        ("tags", ["infra"] * 1_001),
        ("keys", "home/" + "x" * 5_000),
        ("roles", ["user"] * 1_001),
        ("exclude_ids", ["mem_95b524a4a4"] * 1_001),
    ],
)
def test_the_texts_of_a_filter_have_no_bound_that_is_not_checked(field: str, value: Any) -> None:
    FIELDS[field].check(field, value)
    jsonschema.validate(value, FIELDS[field].schema())


def test_where_says_what_a_field_may_be_there(document: Any) -> None:
    reference = "#/components/schemas/Where"
    for path, name in (
        ("recall", "RecallWhere"),
        ("search", "RecallWhere"),
        ("graph/search", "SearchWhere"),
        ("forget", "Selection"),
    ):
        body = document["paths"][f"/api/memory/{path}"]["post"]["requestBody"]["content"]
        where = body["application/json"]["schema"]["properties"]["where"]
        assert where["anyOf"][0] == {"$ref": f"#/components/schemas/{name}"}
    schemas = document["components"]["schemas"]
    assert "min_similarity" not in schemas["Where"]["properties"]
    assert "Absent" not in json.dumps(schemas["Selection"])
    for path in ("list", "count"):
        rows = document["paths"][f"/api/memory/{path}"]["get"]["parameters"]
        [where] = [row for row in rows if row.get("name") == "where"]
        assert where["content"]["application/json"]["schema"] == {"$ref": reference}


def test_scores_are_described_as_probabilities(document: Any) -> None:
    for path in ("recall", "search"):
        text = document["paths"][f"/api/memory/{path}"]["post"]["description"]
        assert "`score`, the probability that this memory is part of the answer" in text


def findings(folder: Path, *words: str) -> str:
    """What requests that are made from the document find; "" where each was answered as it says."""
    model = ScriptedModel(lambda _: "{}")  # cognify is refused without one
    # branches are those of a repository that the server may look at
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    environ = {"VESTIG_ANCHORS__FOLDER": str(folder)}
    limits = {"max_concurrent": 4, "max_waiting": 100, "max_wait_ms": 20_000}
    with serving(None, environ, llm=model, **limits) as site:
        site.commit("Deploys run on Fridays at noon", author="Omar")
        command = [sys.executable, "-c", RUN, "--config-file", str(FOLDER / "schemathesis.toml")]
        command += ["run", f"http://127.0.0.1:{site.port}/openapi.json", "--continue-on-failure"]
        command += ["--generation-database", "none", *words]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(FOLDER), "PYTHONDONTWRITEBYTECODE": "1"},
        )
        said = done.stdout + done.stderr
        assert f"Tested: {len(site.get('/openapi.json').document['paths'])}" in said, said[-3_000:]
        return said[-6_000:] if done.returncode else ""


@pytest.mark.slow
def test_requests_made_from_the_document_are_answered_as_it_says(tmp_path: Path) -> None:
    assert findings(tmp_path, "--phases", "fuzzing", "--max-examples", "1", "--seed", "17") == ""


@pytest.mark.torture
def test_every_phase_of_requests_made_from_the_document(tmp_path: Path) -> None:
    assert findings(tmp_path, "--max-examples", "100", "--seed", "17") == ""
