"""Configuration: what to serve and where, from defaults, file, environment and flags.

A later source wins over an earlier one, key by key: built-in defaults, then the file (`--config`, or the
path in `TOKENWIRE_SERVE_CONFIG`), then variables `TOKENWIRE_SERVE_<KEY>` (`TOKENWIRE_SERVE_LISTEN`,
`TOKENWIRE_SERVE_TLS_CERT`, `TOKENWIRE_SERVE_LIMITS_TEXT_BYTES`), then flags. The tokenizers themselves are
listed in the file alone. Unknown keys are refused with the nearest known one. Other variables that begin
with `TOKENWIRE_` are left alone: Kubernetes makes such names for a service called tokenwire.

Paths in the file are relative to its folder. `manifest.py` reads the `[[tokenizer]]` tables.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokenwire_server import detector, embedded, known_rank_files, lockfile, manifest, models
from tokenwire_server.errors import ConfigError, shorten
from tokenwire_server.limits import Limits, limit_fields
from tokenwire_server.manifest import TokenizerConfig

DEFAULT_LISTEN = "127.0.0.1:50051"
DEFAULT_HTTP = "127.0.0.1:9464"
ENV_PREFIX = "TOKENWIRE_SERVE_"
_PATH_KEYS = ("unix", "tls.cert", "tls.key", "tls.client_ca")
OTHER_TENANT, NO_TENANT = "other", "none"
"""How the metrics name tenants that are not listed, and callers without an identity."""
MAX_TENANTS = 100
"""Each makes a series for every tokenizer and operation."""
_MAX_TENANT_CHARACTERS = 64  # What the common name of a certificate can have.
_UNITS = {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM files. With `client_ca` every client must show a certificate signed by it (mTLS)."""

    cert: Path
    key: Path
    client_ca: Path | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """Everything `serve` needs to know. Addresses are `host:port`; port 0 takes a free one; None is off.

    `tenants` are the identities that the metrics count by name.
    """

    listen: str | None = DEFAULT_LISTEN
    unix: Path | None = None
    http: str | None = DEFAULT_HTTP
    tls: Tls | None = None
    allow_plaintext: bool = False
    tenants: tuple[str, ...] = ()
    language_detector: str = detector.AUTO
    limits: Limits = field(default_factory=Limits)
    tokenizers: tuple[TokenizerConfig, ...] = ()


KEYS = (
    "listen",
    "unix",
    "http",
    "allow_plaintext",
    "embedded",
    "tenants",
    "language_detector",
    "tls.cert",
    "tls.key",
    "tls.client_ca",
    *(f"limits.{name}" for name in limit_fields()),
)
"""Every setting by its dotted name, in the order of the documentation."""


def load(flags: Mapping[str, object], environment: Mapping[str, str], *, to_serve: bool = True) -> Config:
    """The configuration in force.

    `flags` maps dotted names of `KEYS`, and `config` for the path of the file, to values; what is absent or
    None is not set. Without `to_serve` nothing is asked of the addresses: who only reads the tokenizers has not
    all the sources of the service that will. Raises `ConfigError` for anything unknown, ill-typed or unsafe. Opens
    the file alone.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    variables = _from_environment(environment)
    path = given.pop("config", variables.pop("config", None))
    settings: dict[str, object] = {}
    tokenizers: tuple[TokenizerConfig, ...] = ()
    if path is not None:
        settings, tokenizers = _from_file(Path(str(path)))
    settings.update(variables)
    for name in given:
        _known(name, KEYS, "setting")
    settings.update(given)
    built = _build(settings, tokenizers)
    if to_serve:
        _check(built)
    return built


def _from_environment(environment: Mapping[str, str]) -> dict[str, object]:
    names = {name.replace(".", "_").upper(): name for name in (*KEYS, "config")}
    found: dict[str, object] = {}
    for variable, value in environment.items():
        if variable.startswith(ENV_PREFIX):
            key = variable.removeprefix(ENV_PREFIX)
            _known(key, tuple(names), "environment variable", ENV_PREFIX)
            found[names[key]] = value
    return found


def _from_file(path: Path) -> tuple[dict[str, object], tuple[TokenizerConfig, ...]]:
    document = manifest.read_toml(path)
    tables = document.pop("tokenizer", [])
    settings: dict[str, object] = {}
    for name, value in document.items():
        if isinstance(value, dict) and name in ("tls", "limits"):
            settings.update({f"{name}.{inner}": inner_value for inner, inner_value in value.items()})
        else:
            settings[name] = value
    for name in settings:
        _known(name, (*KEYS, "tokenizer"), "key")
    for name in _PATH_KEYS:
        value = settings.get(name)
        if isinstance(value, str) and value:
            settings[name] = path.parent / value
    configs = manifest.parse_tokenizers(tables, path, KEYS)
    return settings, lockfile.apply(configs, lockfile.read(lockfile.path_of(path)))


def _build(settings: dict[str, object], tokenizers: tuple[TokenizerConfig, ...]) -> Config:
    default_embedded = () if tokenizers else embedded.NAMES
    chosen = embedded.embedded(embedded_names(settings.pop("embedded", default_embedded)))
    tokenizers = (*chosen, *tokenizers)
    check_names(tokenizers)
    if not tokenizers:
        raise ConfigError("no tokenizer to serve: name one under `embedded`, or add a [[tokenizer]] table")
    limits: dict[str, Any] = {
        name: _limit(name, settings[f"limits.{name}"], isinstance(item.default, int), item.metadata["most"])
        for name, item in limit_fields().items()
        if f"limits.{name}" in settings
    }
    return Config(
        listen=_address("listen", settings.get("listen", DEFAULT_LISTEN)),
        unix=_path("unix", settings.get("unix")),
        http=_address("http", settings.get("http", DEFAULT_HTTP)),
        tls=_tls(settings),
        allow_plaintext=_switch("allow_plaintext", settings.get("allow_plaintext", False)),
        tenants=_tenants(settings.get("tenants", ())),
        language_detector=_one_of(
            "language_detector", settings.get("language_detector", detector.AUTO), detector.SETTINGS
        ),
        limits=Limits(**limits),
        tokenizers=tokenizers,
    )


def check_names(tokenizers: Collection[TokenizerConfig]) -> None:
    """Raises `ConfigError` for a name of two tokenizers, and for one that is known to mean another tokenizer."""
    manifest.check_unique(tokenizers)
    _check_known_names(tokenizers)


def _check_known_names(tokenizers: Iterable[TokenizerConfig]) -> None:
    """Raises `ConfigError` where a name that is known to mean a public tokenizer is given to another.

    An embedded tokenizer is known by its digest, the published rank files by their sha256 and special tokens. Of any
    other this service knows the name alone, so a tokenizer is taken for it that answers to that name too: no second
    one can.
    """
    digests = {item.name: item.digest for item in embedded.embedded()}
    rank_files = known_rank_files.known()
    for item in tokenizers:
        own = (item.name, *item.aliases)
        for name in (*own, *item.models, *item.model_prefixes):
            meant = models.tokenizer_of(name)
            if meant is None:
                continue
            known = rank_files.get(meant)
            if meant in digests:
                is_it, remedy = item.known_digest == digests[meant], f'digest = "{digests[meant]}"'
            elif known is not None and item.format == "tiktoken" and not known.is_read_by(item):
                is_it, remedy = False, f'sha256 = "{known.sha256}" and all its special tokens'
            else:
                is_it, remedy = not models.names_of(meant).isdisjoint(own), f'aliases = ["{meant}"]'
            if not is_it:
                raise ConfigError(
                    f"the tokenizer {item.name!r} cannot answer to {shorten(name, 80)!r}: the name is known to mean "
                    f"{meant}; if it is that tokenizer, say so in its table with {remedy}; else choose another name"
                )


def _check(config: Config) -> None:
    if config.tenants and (config.tls is None or config.tls.client_ca is None):
        raise ConfigError(
            "`tenants` are told by their client certificates, and without tls.client_ca none is asked for; set it "
            "with tls.cert and tls.key, or leave `tenants` out"
        )
    if config.limits.queue_bytes < config.limits.message_bytes:
        raise ConfigError(
            "limit `queue_bytes` must be at least `message_bytes`: a message must fit into the queue"
        )
    if config.listen is None and config.unix is None:
        raise ConfigError("nothing to listen on: set `listen`, `unix` or both")
    if config.listen == config.http and config.http is not None and split_address(config.http)[1] != 0:
        raise ConfigError(f"`listen` and `http` are both {config.http}; give one of them another port")
    exposed = {"http": config.http}
    if config.tls is None:
        exposed["listen"] = config.listen
    for name, address in exposed.items():
        if address is not None and not config.allow_plaintext and not _is_loopback(split_address(address)[0]):
            remedy = "" if name == "http" else "set tls.cert and tls.key, or "
            raise ConfigError(
                f"`{name}` {address} would speak plain text beyond this machine; listen on 127.0.0.1, "
                f"{remedy}set allow_plaintext = true"
            )


def split_address(address: str) -> tuple[str, int]:
    """`host:port` or `[v6]:port` in its parts. Raises `ConfigError`."""
    host, colon, port = address.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    if not colon or not bare or (":" in bare) != host.startswith("["):
        raise ConfigError(
            f"{shorten(address, 80)!r} is not an address; write host:port, as 127.0.0.1:50051 or [::1]:50051"
        )
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) < 2**16):
        raise ConfigError(f"the port of {shorten(address, 80)!r} is not a number from 0 to 65535")
    return bare, int(port)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _known(name: str, known: tuple[str, ...], kind: str, prefix: str = "") -> None:
    if name not in known:
        raise ConfigError(manifest.unknown(name, known, kind, prefix))


def _address(name: str, value: object) -> str | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise ConfigError(f"`{name}` must be a string host:port, not {type(value).__name__}")
    split_address(value)
    return value


def _path(name: str, value: object) -> Path | None:
    if value is None or value == "":
        return None
    if not isinstance(value, (str, Path)):
        raise ConfigError(f"`{name}` must be a path, not {type(value).__name__}")
    if "\0" in str(value):
        raise ConfigError(f"`{name}` must be a path, and a path has no NUL")
    return Path(value)


def _switch(name: str, value: object) -> bool:
    words = {"true": True, "1": True, "false": False, "0": False, "": False}
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    raise ConfigError(f"`{name}` must be true or false")


def _one_of(name: str, value: object, known: tuple[str, ...]) -> str:
    if isinstance(value, str) and value in known:
        return value
    raise ConfigError(f"`{name}` must be one of {', '.join(known)}, in quotes")


def embedded_names(value: object) -> tuple[str, ...]:
    """The names that the setting `embedded` lists. Raises `ConfigError`."""
    return _names("embedded", value)


def _names(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(item.strip() for item in value.split(",") if item.strip())
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise ConfigError(f"`{name}` must be a list of names")


def _tenants(value: object) -> tuple[str, ...]:
    tenants = _names("tenants", value)
    if len(tenants) > MAX_TENANTS:
        raise ConfigError(
            f"`tenants` has {len(tenants)} names, the limit is {MAX_TENANTS}; list those that are to be counted by "
            "name, all others count together"
        )
    for tenant in tenants:
        if not (0 < len(tenant) <= _MAX_TENANT_CHARACTERS and tenant.isprintable()):
            raise ConfigError(
                f"a name in `tenants` is {shorten(tenant, 80)!r}; it must be the common name of a client certificate, "
                f"of 1 to {_MAX_TENANT_CHARACTERS} printable characters"
            )
        if tenant in (OTHER_TENANT, NO_TENANT):
            raise ConfigError(
                f"`tenants` lists {tenant!r}, which the metrics use for callers that it does not list"
            )
        if tenants.count(tenant) > 1:
            raise ConfigError(f"`tenants` lists {shorten(tenant, 80)!r} twice; list it once")
    return tenants


def _limit(name: str, value: object, whole: bool, most: float) -> float:
    """A positive number of at most `most`; strings may end in KiB, MiB or GiB. `whole` limits are integers."""
    number: float
    try:
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise ValueError
        text = str(value).strip().upper()
        factor = _UNITS.get(text[-3:], 1)
        text = text[:-3] if factor > 1 else text
        number = int(text) * factor if whole else float(text) * factor
    except ValueError:
        kind = "a whole number, or one with KiB, MiB or GiB" if whole else "a number"
        raise ConfigError(f"limit `{name}` must be {kind}, not {_shown(value)}") from None
    if not 0 < number <= most:
        raise ConfigError(f"limit `{name}` must be more than 0 and at most {most}, not {_shown(value)}")
    return number


def _shown(value: object) -> str:
    try:
        return repr(shorten(str(value), 40))
    except ValueError:  # Python writes out no whole number of thousands of digits.
        return "a number as long as this"


def _tls(settings: Mapping[str, object]) -> Tls | None:
    paths = {name: _path(f"tls.{name}", settings.get(f"tls.{name}")) for name in ("cert", "key", "client_ca")}
    if not any(paths.values()):
        return None
    cert, key = paths["cert"], paths["key"]
    if cert is None or key is None:
        raise ConfigError("TLS needs both tls.cert and tls.key")
    return Tls(cert, key, paths["client_ca"])
