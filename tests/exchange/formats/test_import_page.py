"""The page on imports: its samples are what it says, and it lists every format."""

from __future__ import annotations

import io
import re
from pathlib import Path

from chats import store_of
from tables import each
from vestig.calls.files import FORMAT_SIGNS

PAGE = (Path(__file__).parents[3] / "docs" / "import.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([a-z0-9-]+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
SAMPLES = {
    name: re.findall(r"^```(json|jsonl|csv|markdown)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    for name, text in SECTIONS.items()
}
# What a program exports is given as it comes: nobody writes it by hand.
AS_EXPORTED = {"chatgpt", "claude", "claude-code", "codex", "export"}


def test_every_format_has_a_section_with_a_command_and_a_sample_where_one_is_written() -> None:
    assert set(SECTIONS) == {form.value for form in FORMAT_SIGNS}
    for name, text in SECTIONS.items():
        assert "vestig import" in text, name
        assert bool(SAMPLES[name]) == (name not in AS_EXPORTED), name


@each("name", [name for name in SAMPLES if name not in AS_EXPORTED])
def test_the_samples_come_in_as_the_page_says(name: str) -> None:
    for _, sample in SAMPLES[name]:
        data = sample.encode()
        file = io.BytesIO(data)
        # a document is recognised by the name of its file
        store, report = store_of(file, format="document" if name == "document" else "auto")
        assert (report.format, report.failed) == (name, 0), report.errors
        assert report.imported > 0
        counted = re.search(rf"^{report.imported} (?:turns?|notes?|records?|documents?)\b.*$",
                            SECTIONS[name], re.MULTILINE)  # fmt: skip
        assert counted, f"{name}: the page does not say that {report.imported} come in"
        for kind, count in report.left_out.items():
            assert f"{count} {kind}" in counted.group(), (kind, count)
        assert store.import_(io.BytesIO(data), format=name).imported == 0
