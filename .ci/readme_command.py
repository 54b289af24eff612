"""Print the commands of a README block: the fenced code after `<!-- ci:NAME -->`."""

import re
import sys
from pathlib import Path


def command(readme: str, name: str) -> str:
    """The code of the block named `name`; SystemExit unless there is exactly one."""
    blocks = re.findall(rf"<!-- ci:{re.escape(name)} -->\n```sh\n(.*?)```", readme, re.DOTALL)
    if len(blocks) != 1:
        raise SystemExit(f"README.md: expected one block <!-- ci:{name} -->, got {len(blocks)}")
    return str(blocks[0])


if __name__ == "__main__":
    root = Path(__file__).resolve().parent.parent
    sys.stdout.write(command((root / "README.md").read_text("utf-8"), sys.argv[1]))
