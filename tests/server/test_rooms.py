"""What the supervisor may import, and what the log may say."""

from __future__ import annotations

import json
import logging
import subprocess
import sys

from tokenwire_server import logs

SUPERVISOR = (
    "app", "artifacts", "catalogue", "cli", "config", "errors", "http", "language", "limits", "logs", "manifest",
    "meter", "models",
)  # fmt: skip


def test_the_supervisor_never_imports_grpc() -> None:
    """A process that has loaded every room of the supervisor has no grpc in it, so it can be forked."""
    imports = "; ".join(f"import tokenwire_server.{room}" for room in SUPERVISOR)
    code = f"import sys; {imports}; print([name for name in sys.modules if name.split('.')[0] == 'grpc'])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert done.stdout.strip() == "[]"


def formatted(record: logging.LogRecord) -> dict[str, object]:
    line = logs.JsonFormatter().format(record)
    assert "\n" not in line
    document: dict[str, object] = json.loads(line)
    return document


def test_a_line_of_a_library_loses_its_message() -> None:
    """What a library logs may quote a text, so only where it came from stays."""
    record = logging.LogRecord("grpc", logging.ERROR, "/x/y.py", 7, "failed on %r", ("secret",), None)
    document = formatted(record)
    assert "secret" not in json.dumps(document)
    assert (document["logger"], document["place"]) == ("grpc", "y.py:7")


def test_an_exception_is_logged_by_type_and_place_alone() -> None:
    """The exception's message never reaches the log."""
    try:
        raise ValueError("secret")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "/x/y.py", 7, "oh", (), sys.exc_info())
    document = formatted(record)
    assert document["exception"] == "ValueError"
    assert "secret" not in json.dumps(document)
    assert any("test_rooms.py" in place for place in list(document["trace"]))  # type: ignore[call-overload]
