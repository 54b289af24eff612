"""A cross-encoder from a folder of the user: `model.onnx` and `tokenizer.json`.

No such model comes with this package. Nothing heavy is imported, and the model is not read, before
the first texts are scored.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from vestig.config.environment import forbid_telemetry
from vestig.errors import ConfigError, ProviderError
from vestig.hints import missing_package
from vestig.ports import RerankerSettings

# Word pieces of query and text together; longer texts are cut.
_PIECES_MAX: Final = 512
_FILES: Final = ("model.onnx", "tokenizer.json")


class OnnxReranker:
    """Scores from 0 to 1: the logistic of a model's one logit, or its share of the last class.

    Each pair of query and text is one run, so that a score does not depend on the other texts.

    Args:
        settings: the `reranker` section; `model` is the folder.

    Raises:
        ConfigError: no folder, or one of both files is missing.
    """

    def __init__(self, settings: RerankerSettings) -> None:
        if settings.model is None:
            raise ConfigError(
                'reranker.model: expected a folder with model.onnx and tokenizer.json for "onnx",'
                " got null; name the folder of a cross-encoder"
            )
        self._folder = Path(settings.model).expanduser()
        for name in _FILES:
            if not (self._folder / name).is_file():
                raise ConfigError(
                    f"reranker.model: expected {name} in {self._folder}, there is none; name the"
                    " folder of a cross-encoder"
                )
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any, list[str]] | None = None

    @property
    def model(self) -> str:
        """Name of the folder."""
        return self._folder.resolve().name

    def score(self, query: str, texts: Sequence[str]) -> bytes:
        """One float32 little-endian number for each text; b"" for [].

        Raises:
            ProviderError: the model's answer is no logit or logits of classes.
        """
        import numpy as np

        tokenizer, session, inputs = self._load()
        scores = [self._one(tokenizer.encode(query, text), session, inputs) for text in texts]
        packed: bytes = np.array(scores, "<f4").tobytes()
        return packed

    def _one(self, encoded: Any, session: Any, inputs: list[str]) -> float:
        import numpy as np

        given = {
            "input_ids": encoded.ids,
            "attention_mask": encoded.attention_mask,
            "token_type_ids": encoded.type_ids,
        }
        feed = {name: np.array([given[name]], np.int64) for name in inputs}
        logits = np.asarray(session.run(None, feed)[0], np.float64).reshape(-1)
        if not 1 <= logits.size <= 2:
            raise ProviderError(
                f'reranker "{self.model}": expected one logit or two for a pair, got'
                f" {logits.size} values; name another cross-encoder"
            )
        # of two classes, the share of the last is the logistic of the difference
        logit = logits[0] if logits.size == 1 else logits[1] - logits[0]
        return float(1 / (1 + np.exp(-np.clip(logit, -80, 80))))

    def _load(self) -> tuple[Any, Any, list[str]]:
        with self._lock:
            if self._loaded is None:
                forbid_telemetry()
                try:
                    import onnxruntime
                    from tokenizers import Tokenizer
                except ImportError as error:
                    message = missing_package('reranker.provider: "onnx"', str(error.name), "onnx")
                    raise ConfigError(message) from None
                tokenizer = Tokenizer.from_file(str(self._folder / _FILES[1]))
                tokenizer.enable_truncation(_PIECES_MAX, strategy="longest_first")
                tokenizer.no_padding()
                session = onnxruntime.InferenceSession(
                    str(self._folder / _FILES[0]), providers=["CPUExecutionProvider"]
                )
                inputs = [one.name for one in session.get_inputs()]
                self._loaded = (tokenizer, session, inputs)
            return self._loaded
