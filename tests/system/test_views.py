"""The deployment's views of a real service: every panel of the dashboard and every recording rule has data."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tests.service import ROOT, running_service
from tests.system.dashboard import QUERIES, offered, substituted
from tests.system.mixed_load import MESSAGES, TOKENIZERS, mixed_load
from tests.system.prometheus_process import JOB, Prometheus, once_there, prometheus

RULES = sorted((ROOT / "deploy" / "prometheus").glob("*.rules.yaml"))


def has_data(server: Prometheus, expression: str) -> bool:
    """Whether an expression gives series, all of them numbers."""
    values = [float(series["value"][1]) for series in server.query(expression)]
    return bool(values) and all(map(math.isfinite, values))


def without_data(server: Prometheus, expressions: Mapping[str, str]) -> list[str]:
    return [name for name, expression in expressions.items() if not has_data(server, expression)]


def test_every_panel_and_rule_has_data() -> None:
    """Under a small load in many languages each query of the dashboard and each recording rule gives numbers."""
    with (
        running_service() as service,
        mixed_load(service.address),
        prometheus(service.http_address, RULES) as server,
    ):
        once_there(lambda: server.query("tokenwire_build_info"))
        names = server.ask("label/__name__/values", **{"match[]": f'{{job="{JOB}"}}'})
        assert "tokenwire_build_info" in names
        once_there(lambda: set(MESSAGES) <= set(offered(server)["language"]))
        values = offered(server)
        assert values["job"] == [JOB]
        assert values["instance"] == [service.http_address]
        assert values["tokenizer"] == sorted(TOKENIZERS)
        assert set(MESSAGES) <= set(values["language"])

        shown = {name: substituted(query, values) for name, query in QUERIES.items()}
        once_there(lambda: not without_data(server, shown))
        assert without_data(server, shown) == []

        rules = [rule for group in server.ask("rules")["groups"] for rule in group["rules"]]
        recorded = {rule["name"]: rule["name"] for rule in rules if rule["type"] == "recording"}
        once_there(lambda: not without_data(server, recorded))
        assert without_data(server, recorded) == []
        assert {rule["health"] for rule in rules} == {"ok"}
