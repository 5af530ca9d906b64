"""The detector in a running service: used where it is on, named in the ready line, absent where it is off."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tokenwire.v1 import tokenizer_pb2 as pb

from tests.contract.process import PATIENCE_S, serving

TEXTS = {
    "de": "Die Katze sitzt am Fenster und schaut den Vögeln zu, die im Garten nach Futter suchen.",
    "zxx": '{"name": "Anna", "tags": ["new", "paid"], "age": 41}',
    "el": "Η γάτα κάθεται στο παράθυρο",
}


@pytest.mark.parametrize("setting", ["on", "off"])
def test_the_detector_labels_what_scripts_cannot(setting: str) -> None:
    """With a detector German counts as German, without as `und`; what script and signs decide is the same."""
    inputs = [pb.Input(text=text) for text in TEXTS.values()]
    with serving("--embedded", "cl100k_base", "--language-detector", setting) as service:
        request = pb.CountRequest(tokenizer="cl100k_base", inputs=inputs)
        results = service.call("Count", request, pb.CountResponse).results
        metrics = service.metrics()
        ready = service.ready["language_detector"]
    expected = {name: result.count.n_tokens for name, result in zip(TEXTS, results, strict=True)}
    if setting == "off":
        expected["und"] = expected.pop("de")
    counted = {
        dict(labels)["language"]: n
        for (name, labels), n in metrics.items()
        if name == "tokenwire_tokens_total" and n
    }
    assert counted == expected
    assert (ready == "off") == (setting == "off")


def test_the_check_names_what_decides() -> None:
    """`serve --check` says in its report and in the log whether there is a detector."""
    command = [sys.executable, "-m", "tokenwire_server.cli", "serve", "--check", "--language-detector", "off"]
    done = subprocess.run(
        [*command, "--embedded", "cl100k_base"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert json.loads(done.stdout)["language_detector"] == "off"
    assert '"event": "language_detector", "state": "off"' in done.stderr
