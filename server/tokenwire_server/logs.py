"""Logs: JSON lines on stderr with named events, and never a text, an id or a secret.

Our own lines are an event name and fields chosen by the code that writes them. Lines of libraries lose
their message, because an exception's message may quote what it failed on: their logger, level, exception
type and place stay. Nothing is logged for a request that was refused in an orderly way; the metrics count
those.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from pathlib import Path

_LOGGER = logging.getLogger("tokenwire")
_FIELDS = "tokenwire_fields"


class JsonFormatter(logging.Formatter):
    """One record as one JSON object on one line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
        }
        fields = getattr(record, _FIELDS, None)
        if fields is None:
            line["event"] = "library"
            line["logger"] = record.name
            line["place"] = f"{Path(record.pathname).name}:{record.lineno}"
        else:
            line["event"] = record.msg
            line.update(fields)
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
            line["trace"] = [
                f"{Path(frame.filename).name}:{frame.lineno}"
                for frame in traceback.extract_tb(record.exc_info[2])
            ]
        return json.dumps(line, ensure_ascii=True, default=str)


def set_up(level: int = logging.INFO) -> None:
    """Send the log of this process to stderr as JSON lines, replacing whatever handlers there were."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level, handlers=[handler], force=True)


def info(event: str, **fields: object) -> None:
    """Write the event with its fields: names, numbers and reasons only."""
    _LOGGER.info(event, extra={_FIELDS: fields})


def error(event: str, *, exception: BaseException | None = None, **fields: object) -> None:
    """Write the event as an error, with the type and the places of `exception` but not its message."""
    _LOGGER.error(event, exc_info=exception, extra={_FIELDS: fields})
