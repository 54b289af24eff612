"""Word pieces by the package `tokenizers`, which made the model's own training texts into ids."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

import vestig
from vestig import _core
from vestig.embedders.builtin import VOCABULARY_SHA256

VOCABULARY = Path(vestig.__file__).parent / "data" / "vocab.txt"
SURROGATES = range(0xD800, 0xE000)
# Characters that normal forms, cases and categories treat in their own ways.
_POOLS = (
    [chr(n) for n in range(0x20, 0x7F)],
    [chr(n) for n in range(0x300)],
    [*"aeiou", *map(chr, range(0x300, 0x370))],
    [chr(n) for n in range(0x1E00, 0x2100)],
    [chr(n) for n in range(0x2000, 0x3100)],
    [chr(n) for n in (*range(0x1100, 0x1200), *range(0xAC00, 0xAD00))],
    [chr(n) for n in range(0xF900, 0x10000)],
    [chr(n) for n in range(0x1D100, 0x1D200)],
    [chr(n) for n in range(0x1E000, 0x1E960)],
    [
        "##",
        "[CLS]",
        "[SEP]",
        "[UNK]",
        *"\u200b\u00ad\u0345\u302e\u302f\ud7b0 \u3000\x1c\x85\xdf\u017f\u212a\u212b\u0130",
    ],
    [chr(n) for n in range(0x11_0000) if n % 97 == 0 and n not in SURROGATES],
)


def word_pieces() -> _core.WordPieces:
    """Those of the core."""
    return _core.WordPieces(VOCABULARY, bytes.fromhex(VOCABULARY_SHA256))


def reference() -> Tokenizer:
    """BERT word pieces, lower-cased, accents stripped, at most 256 with [CLS] and [SEP]."""
    lines = VOCABULARY.read_text("utf-8").removesuffix("\n").split("\n")
    numbers = {line: number for number, line in enumerate(lines)}
    made = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True
    )
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[(mark, numbers[mark]) for mark in ("[CLS]", "[SEP]")],
    )
    made.no_padding()
    made.enable_truncation(max_length=256)
    return made


def hostile_texts(count: int, seed: int) -> Iterator[str]:
    """Texts of one to three of the pools, from empty ones to those that are cut."""
    chance = random.Random(seed)
    for _ in range(count):
        pools = chance.sample(_POOLS, chance.randint(1, 3))
        length = chance.choice((0, 1, 3, 10, 40, 40, 150, 400))
        gaps = chance.random() / 2
        yield "".join(
            chance.choice(chance.choice(pools)) + (" " if chance.random() < gaps else "")
            for _ in range(length)
        )
