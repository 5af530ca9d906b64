"""Public bug reports: each is run here from its row, answered by a marked test, or out of scope until a named issue.

A row says what to load, what to do and what must come; the keys are those of the reports' own list. Rows were made
from the reports (`source` names repository and number); inputs and wording are ours.
"""

from __future__ import annotations

import ast
import base64
import functools
import hashlib
import json
import lzma
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tokenwire_core
from _pytest.mark import ParameterSet
from tokenwire_core.encoder import Encoder
from tokenwire_core.encoding import Encoding
from tokenwire_core.errors import ArtifactError, ControlTokenError, IdOutOfRangeError
from tokenwire_core.segment import OffsetUnit, SpecialPolicy

from tests import artifact_files
from tests.rank_files import ours

HERE = Path(__file__).parent
Row = dict[str, Any]

ROWS: dict[str, Row] = {
    row["id"]: row
    for row in map(json.loads, lzma.decompress((HERE / "data" / "cases.jsonl.xz").read_bytes()).splitlines())
}
LISTED: Row = tomllib.loads((HERE / "data" / "cases.toml").read_text())
POLICY: dict[str, SpecialPolicy] = {"escape": "text", "allow": "allow", "reject": "reject"}
OPTIONS: dict[str, tuple[SpecialPolicy, bool]] = {
    **{option: (policy, False) for option, policy in POLICY.items()},
    "add_special=false": ("text", False),
    "add_special=true": ("text", True),
}
"""Policy and whether special tokens are added, by the rows' `by_option`."""
OFFSETS: dict[str, OffsetUnit] = {"offsets": "byte", "offsets_cp": "codepoint", "offsets_bytes": "byte"}
"""Units of the rows' offsets."""


def name_of(row: Row, number: int) -> str:
    """How a row's artifact is called here."""
    artifact = row["artifacts"][number]
    return artifact if isinstance(artifact, str) else f"inline {number}"


def load_inline(artifact: Row) -> Encoder:
    """An artifact that stands in its row."""
    if artifact["inline"] == "tiktoken":
        return tokenwire_core.load(
            base64.b64decode(artifact["content_b64"]),
            format="tiktoken",
            pattern=artifact["pat_str"],
            special_tokens=artifact["special_tokens"],
        )
    content = artifact.get("content")
    data = base64.b64decode(artifact["content_b64"]) if content is None else json.dumps(content).encode()
    return tokenwire_core.load(data, format="hf_json")


def encoder_of(row: Row, number: int) -> Encoder:
    """The encoder of a row's artifact."""
    artifact = row["artifacts"][number]
    if not isinstance(artifact, str):
        return load_inline(artifact)
    if artifact.startswith("tiktoken:"):
        return ours(artifact.removeprefix("tiktoken:"))
    return artifact_files.ours(artifact_files.NAME_OF_CASE[artifact])


def text_of(row: Row) -> str:
    made = row["input"].get("text_repeat")
    if made is None:
        return str(row["input"]["text"])
    return str(made["prefix"] + made["unit"] * made["times"] + made["suffix"])


def policy_of(row: Row) -> SpecialPolicy:
    options = row["options"]
    return frozenset(options["allowed"]) if "allowed" in options else POLICY[options.get("special", "escape")]


def check_ids(ids: list[int], expected: Row) -> None:
    """The ids are those of the row, given in full or by count, head, tail and hash."""
    assert expected.keys() & {"ids", "ids_sha256_le_u32"}
    if "ids" in expected:
        assert ids == expected["ids"]
    if "count" in expected:
        assert len(ids) == expected["count"]
    if "ids_sha256_le_u32" in expected:
        assert (ids[:4], ids[-4:]) == (expected["ids_head"], expected["ids_tail"])
        packed = b"".join(token_id.to_bytes(4, "little") for token_id in ids)
        assert hashlib.sha256(packed).hexdigest() == expected["ids_sha256_le_u32"]


def check_offsets(encoding: Encoding, expected: Row, *, reference: bool = True) -> None:
    """Offsets, if there are any in the row, are the reference's or ours."""
    for key, unit in OFFSETS.items():
        if key in expected:
            spans = [(start, end) for start, end in expected[key]]
            assert encoding.offsets(unit, reference=reference) == spans


def run_encode(row: Row, encoder: Encoder) -> None:
    text, by_option = text_of(row), row["expected"].get("by_option")
    cases = {OPTIONS[option]: answer for option, answer in by_option.items()} if by_option else {}
    for (policy, add_special), expected in (cases or {(policy_of(row), False): row["expected"]}).items():
        if "error" in expected:
            with pytest.raises(ControlTokenError, match=r"<\|") as error:
                encoder.encode(text, special=policy)
            assert error.value.token in text
        else:
            encoding = encoder.encode(text, special=policy, add_special=add_special)
            check_ids(encoding.ids, expected)
            check_offsets(encoding, expected)
            for other in row.get("accept", []):
                check_offsets(encoding, other, reference=False)
            assert encoder.count(text, special=policy, add_special=add_special) == len(encoding.ids)
    assert encoder.count(text) == len(encoder.encode(text).ids)


def run_encode_each(row: Row, encoder: Encoder) -> None:
    texts, policy, expected = row["input"]["texts"], policy_of(row), row["expected"]
    encodings = [encoder.encode(text, special=policy) for text in texts]
    assert [encoding.ids for encoding in encodings] == expected["ids_each"]
    assert [each.ids for each in encoder.encode_batch(texts, special=policy)] == expected["ids_each"]
    assert [encoder.count(text, special=policy) for text in texts] == list(map(len, expected["ids_each"]))
    for encoding, offsets in zip(encodings, expected.get("offsets_cp_each", []), strict=False):
        check_offsets(encoding, {"offsets_cp": offsets})
    if "decoded_each" in expected:
        decoded = [encoder.decode(encoding.ids, reference=True) for encoding in encodings]
        assert decoded == expected["decoded_each"]


def run_count(row: Row, name: str, encoder: Encoder) -> None:
    expected, given = row["expected"], row["input"]
    if "by_artifact" in expected:
        assert encoder.count(given["text"]) == expected["by_artifact"][name]["count"]
    else:
        assert [encoder.count(text) for text in given["texts"]] == expected["count_each"]
        assert encoder.count(given["joined"]) == expected["count_joined"]


def run_decode(row: Row, encoder: Encoder) -> None:
    """One decode, and the same ids streamed in steps of 1, 2 and 3: the parts join to the whole."""
    given, expected = row["input"], row["expected"]
    ids = given["ids"] if "ids" in given else given["ids_repeat"]["ids"] * given["ids_repeat"]["times"]
    if "error" in expected:
        with pytest.raises(IdOutOfRangeError) as error:
            encoder.decode(ids)
        bad = (index for index, id_ in enumerate(ids) if not 0 <= id_ < encoder.vocab_size)
        assert error.value.index == next(bad)
        return
    text = encoder.decode(ids, reference=True)
    if "text" in expected:
        assert text == expected["text"]
    if "bytes_hex" in expected:
        assert encoder.decode_bytes(ids).hex() == expected["bytes_hex"]
    if "ids_repeat" in given:
        assert text == "\ufffd" * len(ids)
    for step in (1, 2, 3):
        decoder, parts, held = encoder.decoder(), [], b""
        for start in range(0, len(ids), step):
            parts.append(decoder.push(ids[start : start + step]))
            held = encoder.decode_bytes(ids[: start + step])[len("".join(parts).encode()) :]
            if "ids_repeat" not in given:
                assert len(held) < 4, "more than the start of one character is held back"
        assert "".join([*parts, decoder.flush()]) == text


def run_roundtrip(row: Row, encoder: Encoder) -> None:
    for text in row["input"]["texts"]:
        assert encoder.decode(encoder.encode(text).ids) == text


def run_truncate(row: Row, encoder: Encoder) -> None:
    """Cut at tokens, the text is the row's; cut at graphemes, it is that or more of the text, within the budget."""
    text = text_of(row)
    for expected in row["expected"]["rows"]:
        n_most = expected["max_tokens"]
        if row["options"].get("side") == "left":
            kept = encoder.truncate(text, n_most, keep="end", cut="token")
            assert (kept.ids, kept.text) == (expected["ids"], expected["text"])
            continue
        safe = expected["char_safe"]
        kept = encoder.truncate(text, n_most, cut="token")
        assert (kept.text, kept.n_tokens) == (safe["text"], safe["kept_tokens"])
        assert encoder.truncate(text, n_most, cut="token", ids_only=True).ids == expected["ids_prefix"]
        longer = encoder.truncate(text, n_most)
        assert longer.text.startswith(safe["text"])
        assert text.startswith(longer.text)
        assert encoder.count(longer.text) <= n_most


def run_load(artifact: Row) -> None:
    """The artifact is refused with a named reason, in a tokenizer.json at a named place, and others still answer."""
    with pytest.raises(ArtifactError) as error:
        load_inline(artifact)
    assert error.value.reason
    if artifact["inline"] == "tokenizer.json":
        assert error.value.path
    assert ours("cl100k_base").count("still here") == 2


@functools.cache
def marked_ids() -> Counter[str]:
    """The ids that tests carry in `pytest.mark.case`, read from their sources."""
    found: Counter[str] = Counter()
    for path in HERE.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.case":
                found.update(str(ast.literal_eval(argument)) for argument in node.args)
    return found


def runs() -> Iterator[ParameterSet]:
    """Each case that is run with each of its artifacts, by artifact: few stay in memory at once.

    Those that npm alone has belong to `make test-system`.
    """
    wanted = (
        (name_of(ROWS[case], number), case, number)
        for case in LISTED["run"]
        for number in range(len(ROWS[case]["artifacts"]))
    )
    for name, case, number in sorted(wanted):
        known_as = artifact_files.NAME_OF_CASE.get(name)
        is_here = known_as is None or artifact_files.TABLE[known_as].when == "always"
        yield pytest.param(case, number, id=f"{case} {name}", marks=[] if is_here else [pytest.mark.system])


@pytest.mark.parametrize(("case", "number"), list(runs()))
def test_reported_fault_is_not_ours(case: str, number: int) -> None:
    """The service's core gives what the report's row expects."""
    row = ROWS[case]
    if row["op"] == "load":
        run_load(row["artifacts"][number])
        return
    encoder = encoder_of(row, number)
    match row["op"]:
        case "encode":
            run_encode(row, encoder)
        case "encode_each":
            run_encode_each(row, encoder)
        case "count":
            run_count(row, name_of(row, number), encoder)
        case "decode":
            run_decode(row, encoder)
        case "roundtrip":
            run_roundtrip(row, encoder)
        case "truncate":
            run_truncate(row, encoder)
        case unknown:
            pytest.fail(f"no runner for {unknown}")


def test_every_report_is_listed_once() -> None:
    """Each of the 141 reports is run, marked or out of scope, and nothing else is listed."""
    out_of_scope = [case for cases in LISTED["out_of_scope"].values() for case in cases]
    assert Counter([*LISTED["run"], *LISTED["marked"], *out_of_scope]) == Counter(list(ROWS))
    assert len(ROWS) == 141


def test_marked_reports_have_their_tests() -> None:
    """Each report listed as marked has a test that carries its id, and no test carries an unknown one."""
    assert [case for case in LISTED["marked"] if not marked_ids()[case]] == []
    assert sorted(marked_ids().keys() - ROWS.keys()) == []


def test_the_rows_are_the_reports(reference_data: Path) -> None:
    """The committed rows are those of the reports' own list."""
    lines = (reference_data / "cases" / "bug_reports.jsonl").read_text().splitlines()
    assert {row["id"]: row for row in map(json.loads, lines)} == ROWS
