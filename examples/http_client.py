"""A server and a client of it in any language: JSON over HTTP. Needs the extra `server`."""

import json
import subprocess
import sys
import tempfile
import urllib.request
from typing import Any


def ask(address: str, operation: str, **arguments: Any) -> Any:
    """One request; GET without arguments, else POST."""
    request = urllib.request.Request(
        f"{address}/api/memory/{operation}",
        data=json.dumps(arguments).encode() if arguments else None,
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


with tempfile.TemporaryDirectory() as home:
    command = [sys.executable, "-m", "vestig", "serve", "--port", "0", "--store", f"{home}/store"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            # the server says where it listens
            address = server.stdout.readline().split()[-1]
            print("health:", ask(address, "health")["status"])
            stored = ask(address, "commit", content="Deploys run on Fridays.", key="deploys")
            print("commit:", stored["outcome"])
            found = ask(address, "recall", query="when do deploys run?", limit=1)
            print("recall:", found["results"][0]["content"])
            print("keys:", ask(address, "keys")["keys"])
        finally:
            server.terminate()
