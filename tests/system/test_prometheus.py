"""A real Prometheus scrapes a running service and has the counts of what was asked."""

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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tokenwire

from tests.service import running_service

PATIENCE_S = 60.0


def ask(address: str, path: str) -> str:
    with urllib.request.urlopen(f"http://{address}{path}", timeout=5) as answer:
        return str(answer.read().decode())


@contextmanager
def prometheus(target: str) -> Iterator[str]:
    """Prometheus scraping the target each second; gives its address once its API answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    with tempfile.TemporaryDirectory() as folder:
        configuration = Path(folder) / "prometheus.yml"
        configuration.write_text(
            json.dumps(
                {
                    "global": {"scrape_interval": "1s"},
                    "scrape_configs": [{"job_name": "tokenwire", "static_configs": [{"targets": [target]}]}],
                }
            )
        )
        command = ["prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={folder}/data"]
        command += [f"--web.listen-address={address}"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                yield address
            finally:
                process.terminate()


def value_once_it_is(address: str, expression: str, expected: float) -> float | None:
    """The value of an expression once it is `expected`, or the last one seen when patience ends."""
    path = "/api/v1/query?" + urllib.parse.urlencode({"query": expression})
    deadline = time.monotonic() + PATIENCE_S
    value: float | None = None
    while value != expected and time.monotonic() < deadline:
        try:
            result = json.loads(ask(address, path))["data"]["result"]
        except (urllib.error.URLError, ConnectionError):
            result = []  # Prometheus is still starting
        value = float(result[0]["value"][1]) if result else value
        # What is waited for happens in a process that tells nobody, so it is asked again.
        threading.Event().wait(0.1)
    return value


def test_prometheus_sees_tokens_by_language() -> None:
    """After a mixed request the scraped counters hold its tokens under the languages of its inputs."""
    texts = {"ko": "짧은 한국어 글입니다.", "el": "Ένα σύντομο ελληνικό κείμενο.", "und": "A short text."}
    with running_service() as service, tokenwire.Client(service.address) as client:
        n_tokens = [client.count("o200k_base", text) for text in texts.values()]
        with prometheus(service.http_address) as address:
            assert value_once_it_is(address, 'up{job="tokenwire"}', 1.0) == 1.0
            for language, expected in zip(texts, n_tokens, strict=True):
                labels = f'tokenizer="o200k_base",operation="count",language="{language}"'
                expression = f"tokenwire_tokens_total{{{labels}}}"
                assert value_once_it_is(address, expression, float(expected)) == expected
