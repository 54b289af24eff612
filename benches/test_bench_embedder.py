"""The built-in embedder on one query of 13 word pieces, warm, one thread.

Napkin: 22.7 M parameters × 2 × 13 pieces = 0.6 GFLOP, 4–8 ms in float32 on one core.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from conftest import median_ms, report
from vestig.config.schema import EmbeddingSettings
from vestig.registry import make_embedder

QUERY = "when did we move the build to the new server?"
BAR_OVER_BARE = 1.25


def test_query_embedding(benchmark: Any) -> None:
    embedder = make_embedder(EmbeddingSettings())
    embedder.embed([QUERY])
    inner: Any = embedder.inner  # type: ignore[attr-defined]
    ids = np.array([inner._load_tokenizer().encode(QUERY).ids], dtype=np.int64)
    assert ids.shape == (1, 13)
    feed = {
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "token_type_ids": np.zeros_like(ids),
    }
    session = inner._load_session()
    benchmark.pedantic(lambda: embedder.embed([QUERY]), rounds=60, warmup_rounds=5)
    bare = median_ms(lambda: session.run(None, feed))
    report(
        "query embedding, built-in",
        benchmark,
        yardstick=bare,
        bar=bare * BAR_OVER_BARE,
        note="yardstick: bare onnxruntime",
    )
