"""A real Prometheus in a process of its own, for tests that look at the service through it."""

from __future__ import annotations

import json
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

PATIENCE_S = 60.0
JOB = "tokenwire"

FoundT = TypeVar("FoundT")


def once_there(look: Callable[[], FoundT], patience_s: float = PATIENCE_S) -> FoundT:
    """What `look` gives as soon as it is true, or what it gave last when patience ends.

    What is waited for happens in a process that tells nobody, so it is asked again.
    """
    deadline_s = time.monotonic() + patience_s
    while not (found := look()) and time.monotonic() < deadline_s:
        threading.Event().wait(0.1)
    return found


@dataclass(frozen=True, slots=True)
class Prometheus:
    """Where a Prometheus listens, as host:port, and its API."""

    address: str

    def ask(self, path: str, **parameters: str) -> Any:
        """The `data` of an answer of the API under /api/v1/. Raises `AssertionError` with what it says is wrong."""
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as refusal:
            raise AssertionError(f"{parameters}: {refusal.read().decode()}") from None

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series of an instant vector, each with `metric` and `value`."""
        result: list[dict[str, Any]] = self.ask("query", query=expression)["result"]
        return result

    def is_ready(self) -> bool:
        """Whether it answers yet."""
        try:
            with urllib.request.urlopen(f"http://{self.address}/-/ready", timeout=5):
                return True
        except OSError:  # it refuses the connection or answers 503
            return False


@contextmanager
def prometheus(target: str, rules: Sequence[Path] = ()) -> Iterator[Prometheus]:
    """Prometheus that scrapes `target` and evaluates `rules` each second; given once it is ready."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found = Prometheus(f"127.0.0.1:{probe.getsockname()[1]}")
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("w+") as log:
        configuration = Path(folder) / "prometheus.yml"
        configuration.write_text(
            json.dumps(
                {
                    "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                    "rule_files": [str(path) for path in rules],
                    "scrape_configs": [{"job_name": JOB, "static_configs": [{"targets": [target]}]}],
                }
            )
        )
        command = ["prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={folder}/data"]
        command += [f"--web.listen-address={found.address}"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log) as process:
            try:
                if (
                    not once_there(lambda: found.is_ready() or process.poll() is not None)
                    or process.returncode
                ):
                    log.seek(0)
                    raise AssertionError(f"Prometheus did not start: {log.read()[-2000:]}")
                yield found
            finally:
                process.terminate()
