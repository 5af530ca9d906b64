"""The deployment's views of a real service: every panel of the dashboard and every recording rule has data."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from tests.service import ROOT, running_service
from tests.system.mixed_load import MESSAGES, TOKENIZERS, mixed_load
from tests.system.prometheus_process import JOB, Prometheus, once_there, prometheus

RULES = sorted((ROOT / "deploy" / "prometheus").glob("*.rules.yaml"))
DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "tokenwire.json").read_text())

AWAITED = (
    "tokenwire_script_tokens_total",
    "tokenwire_unknown_tokens_total",
    "tokenwire_byte_fallback_tokens_total",
    "tokenwire_tenant_tokens_total",
    "tokenwire_shed_total",
)
"""Metrics that the service does not have yet. What asks for them has no data."""


def is_awaited(expression: str) -> bool:
    """Whether an expression asks for an awaited metric, or for a rule made of it."""
    return any(metric.removesuffix("_total") in expression for metric in AWAITED)


def offered(server: Prometheus) -> dict[str, list[str]]:
    """The values that Grafana would offer for each variable of the dashboard, all of those before it chosen."""
    values: dict[str, list[str]] = {}
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            values[variable["name"]] = offered_for(server, variable, values)
    return values


def offered_for(
    server: Prometheus, variable: Mapping[str, Any], values: Mapping[str, list[str]]
) -> list[str]:
    """The values of one variable, by the two kinds of query that the dashboard has for them."""
    query = substituted(variable["query"], values)
    if match := re.fullmatch(r"label_values\((.+), (\w+)\)", query):
        return [str(value) for value in server.ask(f"label/{match[2]}/values", **{"match[]": match[1]})]
    match = re.fullmatch(r"query_result\((.+)\)", query)
    assert match, query
    shown = [
        ",".join(f'{name}="{value}"' for name, value in series["metric"].items())
        for series in server.query(match[1])
    ]
    pattern = re.compile(variable["regex"].strip("/"))
    return sorted(found[1] for found in map(pattern.search, shown) if found)


def substituted(expression: str, values: Mapping[str, list[str]]) -> str:
    """An expression as Grafana sends it: its own variables replaced, and those of the dashboard by all their values."""
    for name, chosen in values.items():
        any_of_them = "|".join(re.escape(value).replace("\\", "\\\\") for value in chosen)
        expression = expression.replace(f"${name}", any_of_them)
    expression = expression.replace("$__rate_interval", "1m").replace("$__range", "1h")
    assert "$" not in expression, expression
    return expression


def has_data(server: Prometheus, expression: str) -> bool:
    """Whether an expression gives series, all of them numbers."""
    values = [float(series["value"][1]) for series in server.query(expression)]
    return bool(values) and all(map(math.isfinite, values))


def without_data(server: Prometheus, expressions: Mapping[str, str]) -> list[str]:
    return [name for name, expression in expressions.items() if not has_data(server, expression)]


def test_every_panel_and_rule_has_data() -> None:
    """Under a small load in many languages each query of the dashboard and each recording rule gives numbers."""
    panels = {
        f"{panel['title']} {query['refId']}": query["expr"]
        for panel in DASHBOARD["panels"]
        for query in panel.get("targets", ())
    }
    with (
        running_service() as service,
        mixed_load(service.address),
        prometheus(service.http_address, RULES) as server,
    ):
        names = once_there(lambda: server.ask("label/__name__/values", **{"match[]": f'{{job="{JOB}"}}'}))
        assert set(names).isdisjoint(AWAITED), "take these from AWAITED"
        once_there(lambda: set(MESSAGES) <= set(offered(server)["language"]))
        values = offered(server)
        assert values["job"] == [JOB]
        assert values["instance"] == [service.http_address]
        assert values["tokenizer"] == sorted(TOKENIZERS)
        assert set(MESSAGES) <= set(values["language"])

        shown = {name: substituted(query, values) for name, query in panels.items() if not is_awaited(query)}
        once_there(lambda: not without_data(server, shown))
        assert without_data(server, shown) == []

        rules = [rule for group in server.ask("rules")["groups"] for rule in group["rules"]]
        recorded = {
            rule["name"]: rule["name"]
            for rule in rules
            if rule["type"] == "recording" and not is_awaited(rule["query"])
        }
        once_there(lambda: not without_data(server, recorded))
        assert without_data(server, recorded) == []
        assert {rule["health"] for rule in rules} == {"ok"}
