"""A small load in many languages on a running service, for those who look at its metrics."""

from __future__ import annotations

import contextlib
import itertools
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

import tokenwire

TOKENIZERS = ("o200k_base", "cl100k_base")

MESSAGES = MappingProxyType(tomllib.loads(Path(__file__).with_name("messages.toml").read_text()))
"""One message by the tags of the languages it is written in, so that what it costs in each can be compared."""

SHARES = MappingProxyType({"en": 16, "es": 6, "de": 4, "fr": 4, "hi": 4, "ja": 4, "zh": 4, "ru": 3, "ar": 3})
"""How often a language comes in a round of all; 1 where nothing is said."""


def send(client: tokenwire.Client, tokenizer: str, language: str, n_copies: int) -> None:
    """One request of each operation on a message and its copies."""
    texts: list[str | bytes] = [MESSAGES[language]] * n_copies
    client.count(tokenizer, texts, language=language)
    encoding = client.encode(tokenizer, MESSAGES[language], language=language)
    client.decode(tokenizer, encoding.ids, language=language)
    client.truncate(tokenizer, MESSAGES[language], 10, language=language)


def keep_sending(address: str, stop: threading.Event, pause_s: float) -> None:
    """Requests in the languages of `MESSAGES` by their shares, a pause after each round, until `stop` is set."""
    languages = [language for language in MESSAGES for _ in range(SHARES.get(language, 1))]
    # So that languages take turns instead of coming in blocks; 7 has no common factor with their number.
    languages = [languages[7 * place % len(languages)] for place in range(len(languages))]
    with tokenwire.Client(address) as client:
        client.list_tokenizers()
        client.get_artifact(TOKENIZERS[0])
        for number, language in enumerate(itertools.cycle(languages)):
            if stop.is_set():
                break
            for tokenizer in TOKENIZERS:
                send(client, tokenizer, language, 1 + number % 20)
            if number % 5 == 0:
                with contextlib.suppress(tokenwire.ControlTokenError):
                    client.count(TOKENIZERS[0], "<|endoftext|>", special="reject")
            stop.wait(pause_s)


@contextlib.contextmanager
def mixed_load(address: str, pause_s: float = 0.02) -> Iterator[None]:
    """`keep_sending` beside what is done meanwhile. What goes wrong there is raised at the end."""
    stop = threading.Event()
    failures: list[Exception] = []

    def run() -> None:
        try:
            keep_sending(address, stop, pause_s)
        except Exception as failure:  # noqa: BLE001  it is raised where it is seen
            failures.append(failure)

    thread = threading.Thread(target=run, name="load")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    if failures:
        raise failures[0]
