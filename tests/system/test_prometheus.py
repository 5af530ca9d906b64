"""A real Prometheus scrapes a running service and has the counts of what was asked."""

from __future__ import annotations

import tokenwire

from tests.service import running_service
from tests.system.prometheus_process import JOB, Prometheus, once_there, prometheus


def value_once_it_is(server: Prometheus, expression: str, expected: float) -> list[float]:
    """The values of an expression once they are the one `expected`, or the last ones seen when patience ends."""

    def values() -> list[float]:
        return [float(series["value"][1]) for series in server.query(expression)]

    once_there(lambda: values() == [expected])
    return values()


def test_prometheus_sees_tokens_by_language() -> None:
    """After a mixed request the scraped counters hold its tokens under the languages of its inputs."""
    texts = {"ko": "짧은 한국어 글입니다.", "el": "Ένα σύντομο ελληνικό κείμενο.", "und": "A short text."}
    with running_service() as service, tokenwire.Client(service.address) as client:
        n_tokens = [client.count("o200k_base", text) for text in texts.values()]
        with prometheus(service.http_address) as server:
            assert value_once_it_is(server, f'up{{job="{JOB}"}}', 1.0) == [1.0]
            for language, expected in zip(texts, n_tokens, strict=True):
                labels = f'tokenizer="o200k_base",operation="count",language="{language}"'
                expression = f"tokenwire_tokens_total{{{labels}}}"
                assert value_once_it_is(server, expression, float(expected)) == [float(expected)]
