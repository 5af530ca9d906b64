"""Configuration: the precedence of its sources, and every refusal by name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tokenwire_server import config, known_rank_files, limits
from tokenwire_server.config import Config
from tokenwire_server.errors import ConfigError

from tests.server import made_up

O200K_BASE_DIGEST = "6698135781c3fe10126fd7597383325dc427225d751a676c24260ec60a3f9989"


def load(path: Path | None = None, environment: dict[str, str] | None = None, **flags: object) -> Config:
    """`config.load` with `__` in flags for the dot."""
    given: dict[str, object] = {name.replace("__", "."): value for name, value in flags.items()}
    return config.load({"config": path, **given}, environment or {})


def test_the_defaults_serve_the_embedded_tokenizers_on_loopback() -> None:
    """With nothing set, both embedded tokenizers are served on this machine alone."""
    loaded = load()
    assert [item.name for item in loaded.tokenizers] == ["o200k_base", "cl100k_base"]
    assert (loaded.listen, loaded.http, loaded.unix) == ("127.0.0.1:50051", "127.0.0.1:9464", None)
    assert loaded.limits == limits.Limits()


@pytest.mark.parametrize("n_sources", range(1, 5))
def test_a_later_source_wins(tmp_path: Path, n_sources: int) -> None:
    """Defaults give way to the file, the file to the environment, the environment to flags."""
    path = made_up.manifest(tmp_path, 'listen = "127.0.0.1:1"', "[limits]", "inputs = 1")
    environment = {"TOKENWIRE_SERVE_LISTEN": "127.0.0.1:2", "TOKENWIRE_SERVE_LIMITS_INPUTS": "2"}
    flags: dict[str, object] = {"listen": "127.0.0.1:3", "limits__inputs": "3"}
    loaded = load(
        path if n_sources > 1 else None,
        environment if n_sources > 2 else {},
        **(flags if n_sources > 3 else {}),
    )
    expected = [("127.0.0.1:50051", 4096), ("127.0.0.1:1", 1), ("127.0.0.1:2", 2), ("127.0.0.1:3", 3)]
    assert (loaded.listen, loaded.limits.inputs) == expected[n_sources - 1]


def test_each_key_is_decided_by_itself(tmp_path: Path) -> None:
    """A flag for one key leaves the file's other keys standing."""
    path = made_up.manifest(tmp_path, 'listen = "127.0.0.1:1"', 'http = ""')
    loaded = load(path, listen="127.0.0.1:3")
    assert (loaded.listen, loaded.http) == ("127.0.0.1:3", None)


def test_the_file_can_be_named_in_the_environment(tmp_path: Path) -> None:
    """TOKENWIRE_SERVE_CONFIG names the file where no flag does."""
    path = made_up.manifest(tmp_path, 'http = ""')
    assert load(environment={"TOKENWIRE_SERVE_CONFIG": str(path)}).http is None


def test_tenants_are_names_in_a_list_or_between_commas(tmp_path: Path) -> None:
    """In the file they are a list and may have commas; in the environment and flags commas part them."""
    tls = '[tls]\ncert = "c"\nkey = "k"\nclient_ca = "ca"'
    path = made_up.manifest(tmp_path, 'tenants = ["acme", "Globex, Inc."]', tls)
    assert load(path).tenants == ("acme", "Globex, Inc.")
    assert load(path, {"TOKENWIRE_SERVE_TENANTS": "initech"}).tenants == ("initech",)
    assert load(path, tenants=" acme ,initech,").tenants == ("acme", "initech")
    assert load(path, tenants=",".join(f"t{number}" for number in range(100))).tenants[-1] == "t99"
    assert load(path, tenants="x" * 64).tenants == ("x" * 64,)
    assert load().tenants == ()


def test_paths_in_the_file_are_relative_to_it(tmp_path: Path) -> None:
    """TLS files and the socket folder are found beside the file, whatever the working directory."""
    path = made_up.manifest(tmp_path, 'unix = "run"', "[tls]", 'cert = "c.pem"', 'key = "/k.pem"')
    loaded = load(path)
    assert loaded.unix == tmp_path / "run"
    assert loaded.tls is not None
    assert (loaded.tls.cert, loaded.tls.key) == (tmp_path / "c.pem", Path("/k.pem"))


def test_own_tokenizers_replace_the_embedded_ones(tmp_path: Path) -> None:
    """A manifest that lists tokenizers serves those alone, unless it names embedded ones too."""
    table = made_up.table(tmp_path)
    assert [item.name for item in load(made_up.manifest(tmp_path, table)).tokenizers] == ["tiny"]
    both = load(made_up.manifest(tmp_path, 'embedded = ["cl100k_base"]', table))
    assert [item.name for item in both.tokenizers] == ["cl100k_base", "tiny"]


@pytest.mark.parametrize(("value", "expected"), [("16KiB", 16384), (" 2 MiB", 2 << 20), (7, 7), ("7", 7)])
def test_sizes_may_have_binary_units(value: object, expected: int) -> None:
    """A limit is a number, or one with KiB, MiB or GiB."""
    assert load(limits__text_bytes=value).limits.text_bytes == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('lisen = "x"', "did you mean 'listen'"),
        ("[limits]\ntext_byte = 1", "did you mean 'limits.text_bytes'"),
        ("[limits]\ntext_bytes = 0", "more than 0"),
        ("[limits]\ntext_bytes = true", "whole number"),
        ('[limits]\ntext_bytes = "many"', "whole number"),
        ('[limits]\ninputs = "1.5"', "whole number"),
        ('[limits]\ntext_bytes = "1MB"', "not '1MB'"),
        ("serve = 1", "unknown key 'serve'; known: listen, unix, http,"),
        ('[limits]\nqueue_bytes = "1KiB"', "queue_bytes"),
        ("[tls]\ncert = 'a'", "both tls.cert and tls.key"),
        ('listen = "nowhere"', "host:port"),
        ('listen = "127.0.0.1:99999"', "port"),
        ('listen = "::1:50051"', "host:port"),
        ("listen = 5", "must be a string"),
        ('listen = ""', "nothing to listen on"),
        ('listen = "127.0.0.1:9464"', "another port"),
        ('listen = "0.0.0.0:50051"', "plain text beyond"),
        ('listen = "tokenwire.example:50051"', "plain text beyond"),
        ('http = "[::]:9464"', "plain text beyond"),
        ('allow_plaintext = "maybe"', "true or false"),
        ("language_detector = false", "one of auto, on, off"),
        ('language_detector = "eldc"', "one of auto, on, off"),
        ('embedded = ["o200k"]', "did you mean 'o200k_base'"),
        ("embedded = []", "no tokenizer to serve"),
        ("embedded = 5", "list of names"),
        ('tenants = ["acme"]', "without tls.client_ca none is asked for"),
        ('tenants = ["acme"]\n[tls]\ncert = "c"\nkey = "k"', "without tls.client_ca none is asked for"),
        ("tenants = 5", "`tenants` must be a list of names"),
        ('tenants = ["acme", ""]', "of 1 to 64 printable characters"),
        (f'tenants = ["{"x" * 65}"]', "of 1 to 64 printable characters"),
        ('tenants = ["a\\nb"]', "of 1 to 64 printable characters"),
        ('tenants = ["other"]', "the metrics use"),
        ('tenants = ["none"]', "the metrics use"),
        ('tenants = ["acme", "acme"]', "twice"),
        (f"tenants = {[f't{number}' for number in range(101)]}", "101 names, the limit is 100"),
        ("tokenizer = 5", "[[tokenizer]]"),
        ("listen = ", "not TOML"),
        ("listen = " + "[" * 50_000, "too deep within each other"),
        ("listen = " + "9" * 5000, "not TOML"),
        ("[limits]\ninputs = 0x" + "f" * 5000, "`inputs`"),
        ("[limits]\ndrain_s = 0x" + "f" * 5000, "`drain_s`"),
        (f'listen = "127.0.0.1:{"9" * 5000}"', "not a number from 0 to 65535"),
        ('unix = "a\\u0000b"', "no NUL"),
        ('[tls]\ncert = "a\\u0000b"\nkey = "k"', "no NUL"),
        ("[tls]\ncert = 5\nkey = 'k'", "`tls.cert` must be a path, not int"),
        ("[tls]\ncert = 'c'\nkey = ['k']", "`tls.key` must be a path, not list"),
        ("unix = true", "`unix` must be a path, not bool"),
    ],
)
def test_a_mistake_is_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    """Each mistake in the file is refused with the key and what would do."""
    with pytest.raises(ConfigError) as caught:
        load(made_up.manifest(tmp_path, text))
    assert message in str(caught.value)


def test_plain_text_beyond_loopback_needs_the_switch() -> None:
    """The switch, and nothing else, opens plain text to other machines; TLS needs none for gRPC."""
    assert load(listen="0.0.0.0:1", allow_plaintext=True).listen == "0.0.0.0:1"
    assert load(listen="0.0.0.0:1", tls__cert="c", tls__key="k").listen == "0.0.0.0:1"
    for address in ("127.8.8.8:1", "localhost:1", "[::1]:1"):
        assert load(listen=address, http="").listen == address
        assert load(listen="", unix="run", http=address).http == address


def test_unknown_variables_are_refused_and_those_of_others_left_alone() -> None:
    """A misspelt TOKENWIRE_SERVE_ variable is refused; the names Kubernetes makes for a service are not ours."""
    with pytest.raises(
        ConfigError, match="variable 'TOKENWIRE_SERVE_LISTN'; did you mean 'TOKENWIRE_SERVE_LISTEN'"
    ):
        load(environment={"TOKENWIRE_SERVE_LISTN": "127.0.0.1:1"})
    assert load(environment={"TOKENWIRE_SERVICE_HOST": "10.0.0.1", "TOKENWIRE_PORT": "tcp://x"}) == load()


@pytest.mark.parametrize("name", limits.limit_fields())
def test_no_limit_is_more_than_the_transport_can_take(name: str) -> None:
    """Each limit can be set to the most in its table, and to no more."""
    most = limits.limit_fields()[name].metadata["most"]
    queue: dict[str, object] = {"limits.queue_bytes": 2**40}
    loaded = config.load({**queue, f"limits.{name}": most}, {})
    assert getattr(loaded.limits, name) == most
    with pytest.raises(ConfigError, match=f"`{name}` must be more than 0 and at most {most}"):
        config.load({f"limits.{name}": most + 1}, {})


def test_a_fifo_is_refused_without_waiting_for_its_writer(tmp_path: Path) -> None:
    """What is no regular file is not read: neither the configuration nor what it names."""
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(ConfigError, match="not a regular file"):
        load(tmp_path / "fifo")


def test_a_file_whose_name_has_a_nul_is_refused() -> None:
    """No system has such a file."""
    with pytest.raises(ConfigError, match="no NUL"):
        load(Path("a\0b"))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """A configuration that is not there is an error, never the defaults."""
    with pytest.raises(ConfigError, match="cannot read"):
        load(tmp_path / "absent.toml")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('name = "tiny"', 'name = ""'), "`name`"),
        (('name = "tiny"', 'name = "ti ny"'), "letters"),
        (('format = "tiktoken"', 'format = "tiktokens"'), "did you mean 'tiktoken'"),
        (
            ('format = "tiktoken"', 'format = "gguf"'),
            "unknown format 'gguf'; known: tiktoken, hf_json, sentencepiece",
        ),
        (("sha256", "sha265"), "did you mean 'sha256'"),
        (("name =", "zzz ="), "xz_sha256"),
        (("sha256 =", 'embedded = ["o200k_base"]\nsha256 ='), "`embedded` is no key of a tokenizer"),
        (('sha256 = "', 'sha256 = "A'), "64 lower-case hex"),
        (("= 300", '= "300"'), "spelling = id"),
        (("= 300", "= -1"), "spelling = id"),
        (("sha256 =", 'models = "acme-1"\nsha256 ='), "`models` must be a list of strings"),
        (("sha256 =", 'source = "http://x/y"\nsha256 ='), "is not a source; write file:PATH"),
        (('file = "', 'source = "file:x"\nfile = ".git/hooks/'), "`file` must not be hidden"),
        (("sha256 =", 'models = [""]\nsha256 ='), "`models` must be a list of strings"),
        (("sha256 =", 'models = ["acme 1"]\nsha256 ='), "`models` is 1 to 256 visible ASCII characters"),
        (("sha256 =", 'models = ["äcme"]\nsha256 ='), "`models` is 1 to 256 visible ASCII characters"),
        (("sha256 =", f'models = ["{"a" * 257}"]\nsha256 ='), "1 to 256 visible ASCII characters, not 'aaaa"),
        (("sha256 =", 'model_prefixes = [""]\nsha256 ='), "`model_prefixes` must be a list of strings"),
        (("sha256 =", 'model_prefixes = ["a"]\nsha256 ='), "`model_prefixes` is 2 to 256 visible ASCII"),
        (("= 300", "= true"), "spelling = id"),
    ],
)
def test_a_mistake_in_a_table_is_refused_by_name(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    """Each mistake in a [[tokenizer]] table is refused with the table and the key."""
    path = made_up.manifest(tmp_path, made_up.table(tmp_path).replace(*change))
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert message in str(caught.value)
    assert "[[tokenizer]] 1" in str(caught.value)
    assert "golden" not in str(caught.value)


@pytest.mark.case("BR-256")
@pytest.mark.parametrize("file", ["/etc/hostname", "../x", "a/../../x", "..\\\\x"])
def test_a_path_may_not_leave_the_folder_by_its_spelling(tmp_path: Path, file: str) -> None:
    """Absolute paths and `..` are refused before anything is opened."""
    path = made_up.manifest(tmp_path, made_up.table(tmp_path, file=file))
    with pytest.raises(ConfigError, match="inside the folder"):
        load(path)


@pytest.mark.parametrize(
    "file",
    [
        *("tokenwire.toml", "./tokenwire.lock", "golden", "golden/a.json", "artifacts/.partial/a"),
        *("artifacts/./.partial", "tokenwire.lock/a"),
    ],
)
def test_a_file_takes_no_place_of_another(tmp_path: Path, file: str) -> None:
    """No artifact is the manifest or its lock, or lies below golden/ or where transfers under way do."""
    path = made_up.manifest(tmp_path, made_up.table(tmp_path, file=file))
    with pytest.raises(ConfigError, match="which is for other files"):
        load(path)


def test_a_file_may_be_called_almost_so(tmp_path: Path) -> None:
    """Only these places are taken."""
    for file in ("golden.json", "artifacts/.partial.json", "sub/golden/a", "sub/tokenwire.lock"):
        load(made_up.manifest(tmp_path, made_up.table(tmp_path, file=file)))


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        ("", 'aliases = ["tiny"]', "the name 'tiny' is given twice"),
        ("", 'models = ["tiny"]', "the name 'tiny' is given twice"),
        ('models = ["acme-1"]', 'models = ["acme-1"]', "the name 'acme-1' is given twice"),
        ('aliases = ["acme-1"]', 'models = ["acme-1"]', "the name 'acme-1' is given twice"),
        ('model_prefixes = ["acme-"]', 'model_prefixes = ["acme-"]', "the prefix 'acme-' is given twice"),
    ],
)
def test_two_tokenizers_may_not_share_a_name(tmp_path: Path, first: str, second: str, says: str) -> None:
    """Names, aliases and models are unique over all tokenizers, and so are prefixes."""
    tables = made_up.table(tmp_path, extra=first), made_up.table(tmp_path, "other", extra=second)
    with pytest.raises(ConfigError, match=says):
        load(made_up.manifest(tmp_path, *tables))


def test_a_prefix_may_be_a_name_and_the_beginning_of_another(tmp_path: Path) -> None:
    """One tokenizer's prefix may be another's exact name, and longer or shorter than another's prefix."""
    first = made_up.table(tmp_path, extra='models = ["acme-"]\nmodel_prefixes = ["acme-1-"]')
    second = made_up.table(tmp_path, "other", extra='model_prefixes = ["acme-"]')
    tiny, other = load(made_up.manifest(tmp_path, first, second)).tokenizers
    assert (tiny.models, tiny.model_prefixes, other.model_prefixes) == (("acme-",), ("acme-1-",), ("acme-",))


@pytest.mark.parametrize(
    ("name", "extra", "says"),
    [
        ("tiny", 'aliases = ["gpt-4o"]', "'gpt-4o': the name is known to mean o200k_base"),
        ("tiny", 'aliases = ["gpt-4o-2024-08-06"]', 'with digest = "6698135781c3'),
        ("tiny", 'aliases = ["cl100k_base"]', 'with digest = "ca1a961b1f5a'),
        ("gpt-4", "", "known to mean cl100k_base"),
        ("o200k_base", "", 'with digest = "6698135781c3'),
        ("o200k_base", f'digest = "{"0" * 64}"', 'with digest = "6698135781c3'),
        ("tiny", 'aliases = ["davinci"]', 'with sha256 = "306cd27f03c1'),
        ("r50k_base", "", 'with sha256 = "306cd27f03c1'),
        ("tiny", 'models = ["text-davinci-003"]', 'with sha256 = "94b5ca7dff4d'),
        ("Qwen2.5-7B-Instruct", "", 'with aliases = ["qwen2.5"]'),
        ("tiny", 'models = ["azure/gpt-4o"]', "'azure/gpt-4o': the name is known to mean o200k_base"),
        ("tiny", 'models = ["google/gemma-2-9b-it:free"]', 'with aliases = ["gemma2"]'),
        ("tiny", 'model_prefixes = ["ft:gpt-4o-mini-2024-07-18:acme:"]', "known to mean o200k_base"),
        ("tiny", 'model_prefixes = ["gpt-4"]', "known to mean cl100k_base"),
        ("tiny", 'model_prefixes = ["openai/gpt-4o-"]', "known to mean o200k_base"),
        ("tiny", 'model_prefixes = ["o200k_base"]', "known to mean o200k_base"),
    ],
)
def test_a_known_name_is_given_to_no_other_tokenizer(
    tmp_path: Path, name: str, extra: str, says: str
) -> None:
    """The names of public tokenizers and models, exact or by prefix, are refused on any other tokenizer."""
    path = made_up.manifest(tmp_path, made_up.table(tmp_path, name, extra=extra))
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("mine", f'aliases = ["gpt-4o", "o200k_base"]\ndigest = "{O200K_BASE_DIGEST}"'),
        ("o200k_base", f'digest = "{O200K_BASE_DIGEST}"'),
        ("mine", 'aliases = ["qwen2.5"]\nmodels = ["Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-Coder-7B"]'),
        ("mine", f'model_prefixes = ["ft:gpt-4o-mini-2024-07-18:acme:"]\ndigest = "{O200K_BASE_DIGEST}"'),
        ("tiny", 'models = ["claude-sonnet-4-5"]\nmodel_prefixes = ["gpt-", "o2"]'),
        ("tiny", 'aliases = ["gpt-4o_", "own"]'),
    ],
)
def test_a_known_name_may_be_given_to_its_own_tokenizer(tmp_path: Path, name: str, extra: str) -> None:
    """With the digest pinned, which loading proves, or where it answers to the name of one that no table here knows."""
    path = made_up.manifest(tmp_path, made_up.table(tmp_path, name, extra=extra))
    assert load(path).tokenizers[0].name == name


@pytest.mark.parametrize(
    ("published", "name", "extra"),
    [
        ("r50k_base", "r50k_base", 'aliases = ["davinci", "gpt2"]'),
        ("gpt2", "gpt2", 'aliases = ["davinci"]'),
        ("p50k_base", "mine", 'aliases = ["p50k_base", "text-davinci-003"]'),
        ("o200k_harmony", "o200k_harmony", 'models = ["gpt-oss-120b"]'),
    ],
)
def test_a_published_rank_file_has_its_names(tmp_path: Path, published: str, name: str, extra: str) -> None:
    """With the file's sha256 and its special tokens; with one of these less it is another tokenizer."""
    known = known_rank_files.known()[published]
    own = dict(known.special_tokens)
    for special_tokens in (own, own | {"<|more|>": 300_000}):
        table = made_up.table(tmp_path, name, sha256=known.sha256, special_tokens=special_tokens, extra=extra)
        assert load(made_up.manifest(tmp_path, table)).tokenizers[0].name == name
    own.popitem()
    table = made_up.table(tmp_path, name, sha256=known.sha256, special_tokens=own, extra=extra)
    with pytest.raises(ConfigError, match="known to mean"):
        load(made_up.manifest(tmp_path, table))


def test_every_limit_is_documented_in_the_table() -> None:
    """The printed table has one row for each limit, with its meaning."""
    rows = limits.table().splitlines()[2:]
    assert len(rows) == len(limits.limit_fields())
    assert all(len(row.split("|")[4].strip()) > 10 for row in rows)
