"""Documents as the corpus of a benchmark: each of their passages is a unit, and a quotation names
those that answer a question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from vestig.errors import ValidationError
from vestig.exchange.blocks import Markup
from vestig.exchange.front_matter import FrontMatter, front_matter
from vestig.exchange.passages import cut_document

# The folder of a benchmark in which its documents lie.
DOCUMENTS: Final = "documents"


def document_files(folder: Path) -> list[Path]:
    """The files below a folder, by path."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def passages(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(document, passage) of every document below a folder, as import cuts it. A passage has the
    keys of an imported transcript, `id` is the document's path in the folder, `#` and its number.

    Raises:
        ValidationError: a file is no UTF-8 text.
    """
    for path in document_files(folder):
        name = path.relative_to(folder).as_posix()
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ValidationError(
                "benchmark", name, "documents of UTF-8 text", "this file is none"
            ) from None
        markup = Markup.RST if path.suffix == ".rst" else Markup.MARKDOWN
        matter = front_matter(text) if markup is Markup.MARKDOWN else FrontMatter()
        cut = cut_document(text[matter.body :], title=matter.title, name=path.stem, markup=markup)
        for passage in cut.passages:
            row = {
                "id": f"{name}#{passage.number}",
                "text": passage.content,
                "title": passage.title,
            }
            yield name, row


def quoted(row: Mapping[str, Any], where: str, texts: Sequence[tuple[str, str]]) -> list[str]:
    """Ids of the passages that hold the quotation of a question; white space is all one. Of one
    that was cut in two, the passage that holds more of it.

    Args:
        row: `document`, a path in the folder of documents, and `quote`, a text in it.
        texts: (id, text) of the passages, in order.

    Raises:
        ValidationError: one of the two is missing, or the document does not hold the quotation.
    """
    document, quote = row.get("document"), row.get("quote")
    if not isinstance(document, str) or not isinstance(quote, str) or not quote.strip():
        raise ValidationError("benchmark", where, "a document and a quote out of it")
    own = [(id, " ".join(text.split())) for id, text in texts if id.rpartition("#")[0] == document]
    words = quote.split()
    found = [id for id, text in own if " ".join(words) in text] or _cut_in_two(words, own)
    if not found:
        raise ValidationError(
            "benchmark", where, f"a quote that stands in {document}", "it does not"
        )
    return found


def _cut_in_two(words: Sequence[str], texts: Sequence[tuple[str, str]]) -> list[str]:
    for (id, text), (next_id, following) in pairwise(texts):
        for length in range(1, len(words)):
            head, tail = " ".join(words[:length]), " ".join(words[length:])
            if text.endswith(head) and tail in following:
                return [id if len(head) >= len(tail) else next_id]
    return []
