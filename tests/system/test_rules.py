"""The rules for Prometheus: promtool finds no fault, and none is without its test and its word on what to do."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.service import ROOT

FOLDER = ROOT / "deploy" / "prometheus"
RULES = sorted(FOLDER.glob("*.rules.yaml"))
TESTS = sorted((FOLDER / "tests").glob("*_test.yaml"))


def promtool(*arguments: str | Path) -> str:
    """What promtool prints; fails where it does."""
    run = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def names_of(kind: str, path: Path) -> list[str]:
    """The names of the rules of a kind, `record` or `alert`, in one file."""
    return re.findall(rf"^ +- {kind}: (\S+)$", path.read_text(), re.MULTILINE)


ALERTS = [name for path in RULES for name in names_of("alert", path)]
RECORDED = [name for path in RULES for name in names_of("record", path)]


def test_the_rules_are_well_formed() -> None:
    """promtool reads every rule, and the example of a configuration."""
    told = promtool("check", "rules", "--lint=all", "--lint-fatal", *RULES)
    found = sum(int(number) for number in re.findall(r"(\d+) rules found", told))
    assert found == len(ALERTS) + len(RECORDED) > 30
    promtool("check", "config", FOLDER / "prometheus.example.yaml")


def test_the_rules_do_what_their_tests_say() -> None:
    """promtool computes each rule on series made up for it."""
    promtool("test", "rules", *TESTS)


@pytest.mark.parametrize("name", ALERTS)
def test_each_alert_is_tested_silent_and_firing(name: str) -> None:
    """There is a time at which the alert must not fire, and one at which it must."""
    text = "".join(path.read_text() for path in TESTS)
    assert f"alertname: {name}, eval_time" in text
    assert re.search(rf"- alertname: {name}\n +eval_time: \w+\n +exp_alerts:\n +- exp_labels", text)


@pytest.mark.parametrize("name", RECORDED)
def test_each_recorded_series_is_tested(name: str) -> None:
    """There is a test that states a value of it."""
    assert any(name in path.read_text() for path in TESTS)


@pytest.mark.parametrize("name", ALERTS)
def test_each_alert_says_what_to_do(name: str) -> None:
    """An alert has a severity, says what is the case and what to do, and has its section in the handbook."""
    (rule,) = (
        rule
        for path in RULES
        for rule in re.split(r"^ +- alert: ", path.read_text(), flags=re.MULTILINE)[1:]
        if rule.startswith(f"{name}\n")
    )
    for entry in ("labels: {severity:", "summary:", "description:", "action:"):
        assert entry in rule
    assert f'runbook: "docs/operating.md#{name.lower()}"' in rule
    assert f"\n### {name}\n" in (ROOT / "docs" / "operating.md").read_text()
