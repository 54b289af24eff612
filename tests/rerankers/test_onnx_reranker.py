"""A cross-encoder from a folder. The model is a few bytes that the test writes."""

from __future__ import annotations

import math
import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vestig import registry
from vestig.errors import ConfigError, ProviderError
from vestig.hints import install_line
from vestig.rerankers.checked import checked_scores
from vestig.rerankers.onnx import OnnxReranker
from vestig.testing import RerankerContract, WordReranker

INT64, FLOAT = 7, 1


# --- the wire format of ONNX, as far as a model of two nodes needs it -----------------------------


def field(number: int, value: int | bytes | str) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def varint(value: int) -> bytes:
    made = b""
    while value > 0x7F:
        made += bytes([value & 0x7F | 0x80])
        value >>= 7
    return made + bytes([value])


def tensor_type(name: str, kind: int, names: Sequence[str]) -> bytes:
    shape = b"".join(field(1, field(2, one)) for one in names)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def node(kind: str, source: str, target: str, *attributes: bytes) -> bytes:
    parts = field(1, source) + field(2, target) + field(4, kind)
    return parts + b"".join(field(5, one) for one in attributes)


def integer(name: str, value: int) -> bytes:
    return field(1, name) + field(3, value) + field(20, 2)


def integers(name: str, *values: int) -> bytes:
    return field(1, name) + b"".join(field(8, one) for one in values) + field(20, 7)


def model(*, whole: bool) -> bytes:
    """logit = mean of the types of pieces (`whole`), else of each place: not a logit."""
    nodes = [node("Cast", "token_type_ids", "types", integer("to", FLOAT))]
    if whole:
        axes = integers("axes", 1)
        nodes.append(node("ReduceMean", "types", "logits", axes, integer("keepdims", 1)))
    else:
        nodes.append(node("Identity", "types", "logits"))
    graph = b"".join(field(1, one) for one in nodes) + field(2, "graph")
    for name in ("input_ids", "attention_mask", "token_type_ids"):
        graph += field(11, tensor_type(name, INT64, ["batch", "pieces"]))
    graph += field(12, tensor_type("logits", FLOAT, ["batch", "any"]))
    return field(1, 8) + field(7, graph) + field(8, field(2, 13))


def write_tokenizer(path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    numbers = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2}
    made = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    made.save(str(path))


def folder(path: Path, *, whole: bool = True) -> Path:
    path.mkdir()
    (path / "model.onnx").write_bytes(model(whole=whole))
    write_tokenizer(path / "tokenizer.json")
    return path


def settings(path: Path | None) -> Any:
    return SimpleNamespace(provider="onnx", model=None if path is None else str(path))


@pytest.fixture
def encoder(tmp_path: Path) -> OnnxReranker:
    return OnnxReranker(settings(folder(tmp_path / "my-encoder")))


def test_a_score_is_the_logistic_of_the_logit(encoder: OnnxReranker) -> None:
    """The mean type of [CLS] a b [SEP] x [SEP] is 2/6, of more words of the text more."""
    found = checked_scores(encoder, "a b", ["x", "x y z", ""])
    wanted = [1 / (1 + math.exp(-share)) for share in (2 / 6, 4 / 8, 1 / 5)]
    assert found == pytest.approx(wanted, abs=1e-6)


def test_the_name_comes_from_the_folder(encoder: OnnxReranker) -> None:
    assert encoder.model == "my-encoder"
    assert encoder.score("a", []) == b""


def test_what_is_no_logit_is_refused(tmp_path: Path) -> None:
    made = OnnxReranker(settings(folder(tmp_path / "other", whole=False)))
    with pytest.raises(ProviderError, match="one logit or two"):
        checked_scores(made, "a b", ["x"])


def test_two_classes_are_the_share_of_the_last(encoder: OnnxReranker) -> None:
    class Two:
        def run(self, *_: Any) -> list[list[list[float]]]:
            return [[[0.5, 2.0]]]

    tokenizer, _, inputs = encoder._load()
    encoder._loaded = (tokenizer, Two(), inputs)
    wanted = math.exp(2.0) / (math.exp(0.5) + math.exp(2.0))
    assert checked_scores(encoder, "a", ["x"]) == pytest.approx([wanted], abs=1e-6)


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_a_missing_extra_names_the_line_that_installs_it(
    package: str, encoder: OnnxReranker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    message = f'"onnx" needs the package {package}, which is not installed; run: '
    with pytest.raises(ConfigError, match=re.escape(f"{message}{install_line('onnx')}")):
        encoder.score("a", ["x"])


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_a_folder_without_its_files_is_an_error(tmp_path: Path, missing: str) -> None:
    path = folder(tmp_path / "half")
    (path / missing).unlink()
    with pytest.raises(ConfigError, match=missing):
        registry.make_reranker(settings(path))
    with pytest.raises(ConfigError, match=r"reranker\.model"):
        registry.make_reranker(settings(None))


def test_a_damaged_model_fails_at_the_first_score(tmp_path: Path) -> None:
    path = folder(tmp_path / "damaged")
    (path / "model.onnx").write_bytes(b"no model")
    made = registry.make_reranker(settings(path))
    assert made is not None
    with pytest.raises(ProviderError, match="damaged"):
        checked_scores(made, "a", ["x"])


def test_shipped_rerankers_equal_the_entry_points() -> None:
    project = Path(__file__).parents[2] / "pyproject.toml"
    points = tomllib.loads(project.read_text())["project"]["entry-points"][registry.RERANKERS]
    assert points == dict(registry.SHIPPED_RERANKERS)


class TestOnnx(RerankerContract):
    @pytest.fixture(autouse=True)
    def _made(self, tmp_path: Path) -> None:
        self.folder = folder(tmp_path / "contract")

    def reranker(self) -> OnnxReranker:
        return OnnxReranker(settings(self.folder))


class TestWords(RerankerContract):
    def reranker(self) -> WordReranker:
        return WordReranker()
