"""The committed dashboard as a Grafana would use it: the values of its variables, its queries with them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.service import ROOT
from tests.system.prometheus_process import Prometheus

DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "tokenwire.json").read_text())
QUERIES = {
    f"{panel['title']} {query['refId']}": str(query["expr"])
    for panel in DASHBOARD["panels"]
    for query in panel.get("targets", ())
}
"""Every query by the title of its panel and its letter there."""


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


def substituted(
    expression: str, values: Mapping[str, list[str]], rate_interval: str = "1m", span: str = "1h"
) -> str:
    """An expression as Grafana sends it: its own variables replaced, and those of the dashboard by all their values."""
    for name, chosen in values.items():
        any_of_them = "|".join(re.escape(value).replace("\\", "\\\\") for value in chosen)
        expression = expression.replace(f"${name}", any_of_them)
    expression = expression.replace("$__rate_interval", rate_interval).replace("$__range", span)
    assert "$" not in expression, expression
    return expression
