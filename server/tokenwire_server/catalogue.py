"""The catalogue: from the name in a request to the one encoder that answers, or to why none does.

Each configured tokenizer is LOADING, READY or FAILED. Loading runs in a thread of its own, so that calls
and health checks are answered meanwhile; it is tried once, and a failure is remembered until the process
ends. One that fails takes no other down, and no name is ever answered by another tokenizer than its own.
"""

from __future__ import annotations

import difflib
import enum
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tokenwire_core import Encoder
from tokenwire_core.describe import Description, describe

from tokenwire_server import embedded, logs, models
from tokenwire_server.artifacts import ProofError
from tokenwire_server.errors import Fault, shorten
from tokenwire_server.manifest import TokenizerConfig


class State(enum.Enum):
    """Whether a configured tokenizer can answer. The names are those of the contract's `TokenizerState`."""

    LOADING = "LOADING"
    READY = "READY"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class Entry:
    """One configured tokenizer.

    `encoder` and `description`, its stages in words, are there when READY; `failure` (reason and message) when FAILED.
    """

    config: TokenizerConfig
    state: State = State.LOADING
    encoder: Encoder | None = None
    description: Description | None = None
    failure: str = ""


class Catalogue:
    """The configured tokenizers by name. Entries are replaced whole, so readers need no lock."""

    def __init__(
        self, configs: Sequence[TokenizerConfig], prove: Callable[[TokenizerConfig], Encoder]
    ) -> None:
        """`prove` gives the encoder of a configuration or raises `ProofError`."""
        self._prove = prove
        self._entries = {config.name: Entry(config) for config in configs}
        self._names = models.Names(
            {
                name: config.name
                for config in configs
                for name in (config.name, *config.aliases, *config.models)
            },
            {prefix: config.name for config in configs for prefix in config.model_prefixes},
        )
        known_models = (
            name for name, needed in models.KNOWN_MODELS.items() if self._holder(needed) is not None
        )
        prefixes = (f"{prefix}..." for prefix in self._names.prefixes)
        self._suggested = tuple(dict.fromkeys((*self._names.exact, *prefixes, *known_models)))
        self._regex_names: set[str] = set()
        self._listeners: list[Callable[[], None]] = []
        self.settled = threading.Event()
        """Set once no tokenizer is LOADING any more."""

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each change of a state, from the thread that loads."""
        self._listeners.append(listener)

    def start_loading(self) -> None:
        """Load all tokenizers in a thread of its own, in the order of the manifest."""
        threading.Thread(target=self.load, name="load-tokenizers", daemon=True).start()

    def load(self) -> None:
        """Load all tokenizers, here and now. Never raises for a tokenizer that cannot be proven."""
        for name, entry in self._entries.items():
            started_s = time.monotonic()
            self._entries[name] = loaded = self._loaded(entry)
            duration_s = round(time.monotonic() - started_s, 3)
            if loaded.encoder is not None:
                if loaded.encoder.splitter == "regex":
                    self._regex_names.add(name)
                logs.info(
                    "tokenizer_ready", tokenizer=name, digest=loaded.encoder.digest, duration_s=duration_s
                )
            else:
                logs.error("tokenizer_failed", tokenizer=name, failure=loaded.failure, duration_s=duration_s)
            self._notify()
        self.settled.set()
        self._notify()

    def _notify(self) -> None:
        for listener in self._listeners:
            listener()

    def _loaded(self, entry: Entry) -> Entry:
        try:
            encoder = self._prove(entry.config)
            encoder.tally("")  # Its tables are made here, not under the first request.
            return replace(entry, state=State.READY, encoder=encoder, description=describe(encoder.spec))
        except ProofError as error:
            return replace(entry, state=State.FAILED, failure=f"{error.reason}: {error}")
        except Exception as error:  # noqa: BLE001  a defect in one loader must not take the others down
            logs.error("loader_broke", exception=error, tokenizer=entry.config.name)
            return replace(entry, state=State.FAILED, failure=f"INTERNAL: {type(error).__name__}")

    def entries(self) -> list[Entry]:
        """All entries in the order of the manifest."""
        return list(self._entries.values())

    def all_ready(self) -> bool:
        """Whether every configured tokenizer is proven."""
        return all(entry.state is State.READY for entry in self._entries.values())

    def entry(self, name: str) -> Entry:
        """The entry for the name of a tokenizer, an alias, or a model.

        Raises the faults INVALID_REQUEST (no name), TOKENIZER_NOT_LOADED and UNKNOWN_TOKENIZER.
        """
        known = self._served_name(name)
        if known is None:
            raise self._unknown(name)
        return self._entries[known]

    def has_regex(self) -> bool:
        """Whether a tokenizer is served whose pattern runs on the regex engine."""
        return bool(self._regex_names)

    def is_regex(self, name: str) -> bool:
        """Whether `name`, as in a request, is served by a tokenizer whose pattern runs on the regex engine."""
        return self._served_name(name) in self._regex_names

    def find(self, name: str, expect_digest: str = "") -> tuple[str, Encoder]:
        """The configured name and the encoder for `name`, with `expect_digest` checked where it is not empty.

        Raises the faults of `entry`, TOKENIZER_NOT_READY and DIGEST_MISMATCH.
        """
        entry = self.entry(name)
        if entry.encoder is None:
            tokenizer = entry.config.name
            if entry.state is State.LOADING:
                message = f"the tokenizer {tokenizer} is still being loaded; try again shortly"
            else:
                reason = entry.failure.partition(":")[0]
                message = f"the tokenizer {tokenizer} could not be proven and is not served ({reason})"
            raise Fault("TOKENIZER_NOT_READY", message, {"tokenizer": tokenizer})
        if expect_digest and expect_digest != entry.encoder.digest:
            raise Fault(
                "DIGEST_MISMATCH",
                f"the tokenizer {entry.config.name} has digest {entry.encoder.digest}, not the one expected; "
                "if the change is meant, update expect_digest, else ask a service that has the tokenizer you mean",
                {"digest": entry.encoder.digest},
            )
        return entry.config.name, entry.encoder

    def _holder(self, tokenizer: str) -> str | None:
        """The configured tokenizer that is the public one of this name."""
        held = (self._names.exact.get(name) for name in models.names_of(tokenizer))
        return next((name for name in held if name is not None), None)

    def _served_name(self, name: str) -> str | None:
        """The configured tokenizer `name` stands for.

        Exact names come before prefixes, a longer prefix before a shorter one; where the configuration and the
        table of models know a name equally well, the configuration decides. What a name is known to mean is
        answered by that tokenizer or not at all.
        """
        if (own := self._names.exact.get(name)) is not None:
            return own
        known = models.match(name)
        prefix = self._names.longest_prefix(name)
        if prefix is not None and (
            known is None or (known.n_prefix is not None and len(prefix) >= known.n_prefix)
        ):
            return self._names.prefixes[prefix]
        return None if known is None else self._holder(known.tokenizer)

    def _unknown(self, name: str) -> Fault:
        if not name:
            return Fault(
                "INVALID_REQUEST", "no tokenizer is named; set `tokenizer` to a name ListTokenizers gives"
            )
        shown = shorten(name, 64)
        needed = models.tokenizer_of(name)
        if needed is not None:
            what = f"the tokenizer {' or '.join(sorted(models.names_of(needed)))}"
            if name != needed:
                what = f"the model {shown} needs {what}, which"
            remedy = (
                f'embedded = ["{needed}"]'
                if needed in embedded.NAMES
                else "a [[tokenizer]] with this name or alias"
            )
            return Fault(
                "TOKENIZER_NOT_LOADED",
                f"{what} is not configured here; add it to the configuration: {remedy}",
                {"needs": needed},
            )
        near = (
            difflib.get_close_matches(name[:64], self._suggested)
            or difflib.get_close_matches(models.without_gateway(name)[:64], self._suggested)
            or list(self._entries)[:8]
        )
        listed = ", ".join(near)
        if models.is_unpublished(name):
            what = f"no tokenizer of the model {shown} is published, so only its provider can count for it"
        else:
            what = f"no tokenizer or model {shown} is known"
        return Fault("UNKNOWN_TOKENIZER", f"{what}; nearest: {listed}", {"known": listed})
