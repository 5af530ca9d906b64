"""A real service in a process of its own, for tests that look at it from outside."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
START_S = 60.0
STOP_S = 60.0

IMPORT_PATH = os.pathsep.join(str(ROOT / folder) for folder in ("fastcore", "server", "clients/python"))
COMMAND = (sys.executable, "-m", "tokenwire_server.cli")
"""The `tokenwire` command of this very tree."""


def environment(**more: str) -> dict[str, str]:
    """This process's environment with the tree's import roots, without settings that a developer may have."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TOKENWIRE_")}
    return {**kept, "PYTHONPATH": IMPORT_PATH, **more}


@dataclass(frozen=True, slots=True)
class Service:
    """A running service: its process, and the JSON line that it printed when it was ready."""

    process: subprocess.Popen[bytes]
    ready: dict[str, Any]

    @property
    def address(self) -> str:
        """Where gRPC is served, as host:port."""
        return str(self.ready["addresses"]["tcp"])

    @property
    def http_address(self) -> str:
        """Where metrics and health pages are served, as host:port."""
        return str(self.ready["addresses"]["http"])


@contextlib.contextmanager
def running_service(*arguments: str) -> Iterator[Service]:
    """`tokenwire serve` on free ports with further arguments; stopped by SIGTERM, after which it must exit with 0."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [*COMMAND, "serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", *arguments],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=log,
        )
        assert process.stdout is not None
        try:
            readable, _, _ = select.select([process.stdout], [], [], START_S)
            line = process.stdout.readline() if readable else b""
            if not line:
                log.seek(0)
                raise AssertionError(f"the service did not start: {log.read().decode()[-2000:]}")
            yield Service(process, json.loads(line))
            process.send_signal(signal.SIGTERM)
            assert process.wait(STOP_S) == 0
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            process.stdout.close()
