"""Published tokenizer.json files: their stages, and the library's own reading of them."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest
from tokenwire_core.formats.hf_json import read_hf_json
from tokenwire_core.pipeline import BytePairModel, Pipeline, vocabulary_of

from tests.core.hf_documents import parts, reference, reference_parts

BERT = "BertNormalizer | BertPreTokenizer | Template | WordPieceDecoder"
BYTE_LEVEL = "- | Split ByteLevel | - | ByteLevelDecoder"
LLAMA = "Prepend Replace | - | Template | ReplaceDecoder ByteFallbackDecoder Fuse StripDecoder"
SUMMARIES = {
    "bert_cased_config": f"WordPieceModel of 30522, 5 added: {BERT}",
    "cl100k_hf": f"BytePairModel of 100261, 100000 merges, 5 added: {BYTE_LEVEL}",
    "claude_legacy": "BytePairModel of 65000, 64739 merges, 5 added: NFKC | ByteLevel | - | ByteLevelDecoder",
    "deepseek_v4": (
        "BytePairModel of 128000, 127741 merges, 1283 added: "
        "- | Split Split Split ByteLevel | - | ByteLevelDecoder"
    ),
    "gemma3": (
        "BytePairModel of 262144, 514906 merges, 6415 added: "
        "Replace | Split | Template | ReplaceDecoder ByteFallbackDecoder Fuse"
    ),
    "gpt_oss": f"BytePairModel of 199998, 446189 merges, 21 added: {BYTE_LEVEL}",
    "llama2": f"BytePairModel of 32000, 61249 merges, 3 added: {LLAMA}",
    "llama3_1": (
        "BytePairModel of 128000, 280147 merges, 256 added: - | Split ByteLevel | Template | ByteLevelDecoder"
    ),
    "minilm_bert_uncased": f"WordPieceModel of 30522, 5 added: {BERT}",
    "mistral_v1_hf": f"BytePairModel of 32000, 58980 merges, 3 added: {LLAMA}",
    "moonshine": f"BytePairModel of 32000, 61249 merges, 771 added: {LLAMA}",
    "nepali_unigram": (
        "UnigramModel of 32000, 7 added: "
        "Replace Replace Replace Replace Replace | Metaspace | Template | MetaspaceDecoder"
    ),
    "nepali_wordpiece": (
        "WordPieceModel of 30522, 5 added: BertNormalizer | Whitespace | Template | WordPieceDecoder"
    ),
    "qwen3": "BytePairModel of 151643, 151387 merges, 26 added: NFC | Split ByteLevel | - | ByteLevelDecoder",
    "xlm_roberta": (
        "UnigramModel of 250002, 5 added: Precompiled | WhitespaceSplit Metaspace | Template | MetaspaceDecoder"
    ),
}


def summary(pipeline: Pipeline) -> str:
    model = pipeline.model
    sizes = [f"{type(model).__name__} of {len(vocabulary_of(model))}"]
    if isinstance(model, BytePairModel):
        sizes.append(f"{len(model.merges)} merges")
    sizes.append(f"{len(pipeline.added_tokens)} added")
    kinds = (pipeline.normalizer, pipeline.pre_tokenizer, pipeline.post_processor, pipeline.decoder)
    names = (" ".join(type(stage).__name__ for stage in stages) or "-" for stages in kinds)
    return f"{', '.join(sizes)}: {' | '.join(names)}"


def artifact(folder: Path, name: str) -> bytes:
    return lzma.decompress((folder / "artifacts" / f"{name}.tokenizer.json.xz").read_bytes())


def test_every_artifact_has_its_summary(reference_data: Path) -> None:
    """No published file is left out."""
    paths = (reference_data / "artifacts").glob("*.tokenizer.json.xz")
    assert sorted(path.name.split(".")[0] for path in paths) == sorted(SUMMARIES)


@pytest.mark.parametrize("name", SUMMARIES)
def test_published_files(name: str, reference_data: Path) -> None:
    """Every published file is read, to the stages it should have."""
    assert summary(read_hf_json(artifact(reference_data, name))) == SUMMARIES[name]


@pytest.mark.long
@pytest.mark.parametrize("name", SUMMARIES)
def test_published_files_as_the_reference(name: str, reference_data: Path) -> None:
    """The library writes every published file anew as one that we read to the same stages, scores and ids."""
    data = artifact(reference_data, name)
    tokenizer = reference(data.decode())
    assert tokenizer is not None
    ours = read_hf_json(data)
    assert parts(ours) == reference_parts(tokenizer)
    added = {token.content: token.id for token in ours.added_tokens}
    assert {**vocabulary_of(ours.model), **added} == tokenizer.get_vocab(with_added_tokens=True)
