from google.rpc import status_pb2 as _status_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SpecialPolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SPECIAL_POLICY_UNSPECIFIED: _ClassVar[SpecialPolicy]
    SPECIAL_POLICY_AS_TEXT: _ClassVar[SpecialPolicy]
    SPECIAL_POLICY_ALLOW: _ClassVar[SpecialPolicy]
    SPECIAL_POLICY_REJECT: _ClassVar[SpecialPolicy]

class InvalidUtf8Policy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    INVALID_UTF8_POLICY_UNSPECIFIED: _ClassVar[InvalidUtf8Policy]
    INVALID_UTF8_POLICY_ERROR: _ClassVar[InvalidUtf8Policy]
    INVALID_UTF8_POLICY_REPLACE: _ClassVar[InvalidUtf8Policy]

class OffsetUnit(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OFFSET_UNIT_UNSPECIFIED: _ClassVar[OffsetUnit]
    OFFSET_UNIT_BYTE: _ClassVar[OffsetUnit]
    OFFSET_UNIT_CODEPOINT: _ClassVar[OffsetUnit]
    OFFSET_UNIT_UTF16: _ClassVar[OffsetUnit]

class TruncateKeep(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TRUNCATE_KEEP_UNSPECIFIED: _ClassVar[TruncateKeep]
    TRUNCATE_KEEP_START: _ClassVar[TruncateKeep]
    TRUNCATE_KEEP_END: _ClassVar[TruncateKeep]

class TruncateCut(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TRUNCATE_CUT_UNSPECIFIED: _ClassVar[TruncateCut]
    TRUNCATE_CUT_TOKEN: _ClassVar[TruncateCut]
    TRUNCATE_CUT_GRAPHEME: _ClassVar[TruncateCut]

class TokenizerState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOKENIZER_STATE_UNSPECIFIED: _ClassVar[TokenizerState]
    TOKENIZER_STATE_LOADING: _ClassVar[TokenizerState]
    TOKENIZER_STATE_READY: _ClassVar[TokenizerState]
    TOKENIZER_STATE_FAILED: _ClassVar[TokenizerState]
SPECIAL_POLICY_UNSPECIFIED: SpecialPolicy
SPECIAL_POLICY_AS_TEXT: SpecialPolicy
SPECIAL_POLICY_ALLOW: SpecialPolicy
SPECIAL_POLICY_REJECT: SpecialPolicy
INVALID_UTF8_POLICY_UNSPECIFIED: InvalidUtf8Policy
INVALID_UTF8_POLICY_ERROR: InvalidUtf8Policy
INVALID_UTF8_POLICY_REPLACE: InvalidUtf8Policy
OFFSET_UNIT_UNSPECIFIED: OffsetUnit
OFFSET_UNIT_BYTE: OffsetUnit
OFFSET_UNIT_CODEPOINT: OffsetUnit
OFFSET_UNIT_UTF16: OffsetUnit
TRUNCATE_KEEP_UNSPECIFIED: TruncateKeep
TRUNCATE_KEEP_START: TruncateKeep
TRUNCATE_KEEP_END: TruncateKeep
TRUNCATE_CUT_UNSPECIFIED: TruncateCut
TRUNCATE_CUT_TOKEN: TruncateCut
TRUNCATE_CUT_GRAPHEME: TruncateCut
TOKENIZER_STATE_UNSPECIFIED: TokenizerState
TOKENIZER_STATE_LOADING: TokenizerState
TOKENIZER_STATE_READY: TokenizerState
TOKENIZER_STATE_FAILED: TokenizerState

class Input(_message.Message):
    __slots__ = ("text", "utf8", "invalid_utf8", "language", "pair_text", "pair_utf8")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    UTF8_FIELD_NUMBER: _ClassVar[int]
    INVALID_UTF8_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    PAIR_TEXT_FIELD_NUMBER: _ClassVar[int]
    PAIR_UTF8_FIELD_NUMBER: _ClassVar[int]
    text: str
    utf8: bytes
    invalid_utf8: InvalidUtf8Policy
    language: str
    pair_text: str
    pair_utf8: bytes
    def __init__(self, text: _Optional[str] = ..., utf8: _Optional[bytes] = ..., invalid_utf8: _Optional[_Union[InvalidUtf8Policy, str]] = ..., language: _Optional[str] = ..., pair_text: _Optional[str] = ..., pair_utf8: _Optional[bytes] = ...) -> None: ...

class EncodeOptions(_message.Message):
    __slots__ = ("special", "allowed_control_tokens", "add_special")
    SPECIAL_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_CONTROL_TOKENS_FIELD_NUMBER: _ClassVar[int]
    ADD_SPECIAL_FIELD_NUMBER: _ClassVar[int]
    special: SpecialPolicy
    allowed_control_tokens: _containers.RepeatedScalarFieldContainer[str]
    add_special: bool
    def __init__(self, special: _Optional[_Union[SpecialPolicy, str]] = ..., allowed_control_tokens: _Optional[_Iterable[str]] = ..., add_special: bool = ...) -> None: ...

class ControlTokenMatch(_message.Message):
    __slots__ = ("token", "id", "byte_start", "byte_end", "sequence_id")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    BYTE_START_FIELD_NUMBER: _ClassVar[int]
    BYTE_END_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_ID_FIELD_NUMBER: _ClassVar[int]
    token: str
    id: int
    byte_start: int
    byte_end: int
    sequence_id: int
    def __init__(self, token: _Optional[str] = ..., id: _Optional[int] = ..., byte_start: _Optional[int] = ..., byte_end: _Optional[int] = ..., sequence_id: _Optional[int] = ...) -> None: ...

class EncodeRequest(_message.Message):
    __slots__ = ("tokenizer", "expect_digest", "inputs", "options", "offsets", "token_bytes", "report_control_tokens", "reference_offsets", "type_ids", "special_tokens_mask", "word_ids", "sequence_ids")
    TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    EXPECT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    OFFSETS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_BYTES_FIELD_NUMBER: _ClassVar[int]
    REPORT_CONTROL_TOKENS_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_OFFSETS_FIELD_NUMBER: _ClassVar[int]
    TYPE_IDS_FIELD_NUMBER: _ClassVar[int]
    SPECIAL_TOKENS_MASK_FIELD_NUMBER: _ClassVar[int]
    WORD_IDS_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_IDS_FIELD_NUMBER: _ClassVar[int]
    tokenizer: str
    expect_digest: str
    inputs: _containers.RepeatedCompositeFieldContainer[Input]
    options: EncodeOptions
    offsets: OffsetUnit
    token_bytes: bool
    report_control_tokens: bool
    reference_offsets: bool
    type_ids: bool
    special_tokens_mask: bool
    word_ids: bool
    sequence_ids: bool
    def __init__(self, tokenizer: _Optional[str] = ..., expect_digest: _Optional[str] = ..., inputs: _Optional[_Iterable[_Union[Input, _Mapping]]] = ..., options: _Optional[_Union[EncodeOptions, _Mapping]] = ..., offsets: _Optional[_Union[OffsetUnit, str]] = ..., token_bytes: bool = ..., report_control_tokens: bool = ..., reference_offsets: bool = ..., type_ids: bool = ..., special_tokens_mask: bool = ..., word_ids: bool = ..., sequence_ids: bool = ...) -> None: ...

class EncodeResponse(_message.Message):
    __slots__ = ("digest", "results")
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    digest: str
    results: _containers.RepeatedCompositeFieldContainer[EncodeResult]
    def __init__(self, digest: _Optional[str] = ..., results: _Optional[_Iterable[_Union[EncodeResult, _Mapping]]] = ...) -> None: ...

class EncodeResult(_message.Message):
    __slots__ = ("encoding", "error")
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    encoding: Encoding
    error: _status_pb2.Status
    def __init__(self, encoding: _Optional[_Union[Encoding, _Mapping]] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class Encoding(_message.Message):
    __slots__ = ("ids", "starts", "ends", "partial_tokens", "token_bytes", "control_tokens", "type_ids", "special_tokens_mask", "word_ids", "sequence_ids")
    IDS_FIELD_NUMBER: _ClassVar[int]
    STARTS_FIELD_NUMBER: _ClassVar[int]
    ENDS_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_BYTES_FIELD_NUMBER: _ClassVar[int]
    CONTROL_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TYPE_IDS_FIELD_NUMBER: _ClassVar[int]
    SPECIAL_TOKENS_MASK_FIELD_NUMBER: _ClassVar[int]
    WORD_IDS_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_IDS_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[int]
    starts: _containers.RepeatedScalarFieldContainer[int]
    ends: _containers.RepeatedScalarFieldContainer[int]
    partial_tokens: _containers.RepeatedScalarFieldContainer[int]
    token_bytes: _containers.RepeatedScalarFieldContainer[bytes]
    control_tokens: _containers.RepeatedCompositeFieldContainer[ControlTokenMatch]
    type_ids: _containers.RepeatedScalarFieldContainer[int]
    special_tokens_mask: _containers.RepeatedScalarFieldContainer[bool]
    word_ids: _containers.RepeatedScalarFieldContainer[int]
    sequence_ids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, ids: _Optional[_Iterable[int]] = ..., starts: _Optional[_Iterable[int]] = ..., ends: _Optional[_Iterable[int]] = ..., partial_tokens: _Optional[_Iterable[int]] = ..., token_bytes: _Optional[_Iterable[bytes]] = ..., control_tokens: _Optional[_Iterable[_Union[ControlTokenMatch, _Mapping]]] = ..., type_ids: _Optional[_Iterable[int]] = ..., special_tokens_mask: _Optional[_Iterable[bool]] = ..., word_ids: _Optional[_Iterable[int]] = ..., sequence_ids: _Optional[_Iterable[int]] = ...) -> None: ...

class DecodeRequest(_message.Message):
    __slots__ = ("tokenizer", "expect_digest", "inputs", "skip_special", "as_bytes", "reference")
    TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    EXPECT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    SKIP_SPECIAL_FIELD_NUMBER: _ClassVar[int]
    AS_BYTES_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    tokenizer: str
    expect_digest: str
    inputs: _containers.RepeatedCompositeFieldContainer[TokenIds]
    skip_special: bool
    as_bytes: bool
    reference: bool
    def __init__(self, tokenizer: _Optional[str] = ..., expect_digest: _Optional[str] = ..., inputs: _Optional[_Iterable[_Union[TokenIds, _Mapping]]] = ..., skip_special: bool = ..., as_bytes: bool = ..., reference: bool = ...) -> None: ...

class TokenIds(_message.Message):
    __slots__ = ("ids", "language")
    IDS_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[int]
    language: str
    def __init__(self, ids: _Optional[_Iterable[int]] = ..., language: _Optional[str] = ...) -> None: ...

class DecodeResponse(_message.Message):
    __slots__ = ("digest", "results")
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    digest: str
    results: _containers.RepeatedCompositeFieldContainer[DecodeResult]
    def __init__(self, digest: _Optional[str] = ..., results: _Optional[_Iterable[_Union[DecodeResult, _Mapping]]] = ...) -> None: ...

class DecodeResult(_message.Message):
    __slots__ = ("text", "utf8", "error")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    UTF8_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    text: str
    utf8: bytes
    error: _status_pb2.Status
    def __init__(self, text: _Optional[str] = ..., utf8: _Optional[bytes] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class CountRequest(_message.Message):
    __slots__ = ("tokenizer", "expect_digest", "inputs", "options", "limit", "context_size", "reserved_output_tokens", "check_nfc")
    TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    EXPECT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_SIZE_FIELD_NUMBER: _ClassVar[int]
    RESERVED_OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CHECK_NFC_FIELD_NUMBER: _ClassVar[int]
    tokenizer: str
    expect_digest: str
    inputs: _containers.RepeatedCompositeFieldContainer[Input]
    options: EncodeOptions
    limit: int
    context_size: int
    reserved_output_tokens: int
    check_nfc: bool
    def __init__(self, tokenizer: _Optional[str] = ..., expect_digest: _Optional[str] = ..., inputs: _Optional[_Iterable[_Union[Input, _Mapping]]] = ..., options: _Optional[_Union[EncodeOptions, _Mapping]] = ..., limit: _Optional[int] = ..., context_size: _Optional[int] = ..., reserved_output_tokens: _Optional[int] = ..., check_nfc: bool = ...) -> None: ...

class CountResponse(_message.Message):
    __slots__ = ("digest", "results")
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    digest: str
    results: _containers.RepeatedCompositeFieldContainer[CountResult]
    def __init__(self, digest: _Optional[str] = ..., results: _Optional[_Iterable[_Union[CountResult, _Mapping]]] = ...) -> None: ...

class CountResult(_message.Message):
    __slots__ = ("count", "error")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    count: TokenCount
    error: _status_pb2.Status
    def __init__(self, count: _Optional[_Union[TokenCount, _Mapping]] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class TokenCount(_message.Message):
    __slots__ = ("n_tokens", "n_bytes", "n_codepoints", "n_unknown", "n_byte_fallback", "limit_exceeded", "fits", "is_nfc")
    N_TOKENS_FIELD_NUMBER: _ClassVar[int]
    N_BYTES_FIELD_NUMBER: _ClassVar[int]
    N_CODEPOINTS_FIELD_NUMBER: _ClassVar[int]
    N_UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    N_BYTE_FALLBACK_FIELD_NUMBER: _ClassVar[int]
    LIMIT_EXCEEDED_FIELD_NUMBER: _ClassVar[int]
    FITS_FIELD_NUMBER: _ClassVar[int]
    IS_NFC_FIELD_NUMBER: _ClassVar[int]
    n_tokens: int
    n_bytes: int
    n_codepoints: int
    n_unknown: int
    n_byte_fallback: int
    limit_exceeded: bool
    fits: bool
    is_nfc: bool
    def __init__(self, n_tokens: _Optional[int] = ..., n_bytes: _Optional[int] = ..., n_codepoints: _Optional[int] = ..., n_unknown: _Optional[int] = ..., n_byte_fallback: _Optional[int] = ..., limit_exceeded: bool = ..., fits: bool = ..., is_nfc: bool = ...) -> None: ...

class TruncateRequest(_message.Message):
    __slots__ = ("tokenizer", "expect_digest", "inputs", "options", "max_tokens", "keep", "cut", "ids_only", "return_ids")
    TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    EXPECT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    KEEP_FIELD_NUMBER: _ClassVar[int]
    CUT_FIELD_NUMBER: _ClassVar[int]
    IDS_ONLY_FIELD_NUMBER: _ClassVar[int]
    RETURN_IDS_FIELD_NUMBER: _ClassVar[int]
    tokenizer: str
    expect_digest: str
    inputs: _containers.RepeatedCompositeFieldContainer[Input]
    options: EncodeOptions
    max_tokens: int
    keep: TruncateKeep
    cut: TruncateCut
    ids_only: bool
    return_ids: bool
    def __init__(self, tokenizer: _Optional[str] = ..., expect_digest: _Optional[str] = ..., inputs: _Optional[_Iterable[_Union[Input, _Mapping]]] = ..., options: _Optional[_Union[EncodeOptions, _Mapping]] = ..., max_tokens: _Optional[int] = ..., keep: _Optional[_Union[TruncateKeep, str]] = ..., cut: _Optional[_Union[TruncateCut, str]] = ..., ids_only: bool = ..., return_ids: bool = ...) -> None: ...

class TruncateResponse(_message.Message):
    __slots__ = ("digest", "results")
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    digest: str
    results: _containers.RepeatedCompositeFieldContainer[TruncateResult]
    def __init__(self, digest: _Optional[str] = ..., results: _Optional[_Iterable[_Union[TruncateResult, _Mapping]]] = ...) -> None: ...

class TruncateResult(_message.Message):
    __slots__ = ("truncation", "error")
    TRUNCATION_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    truncation: Truncation
    error: _status_pb2.Status
    def __init__(self, truncation: _Optional[_Union[Truncation, _Mapping]] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class ByteRange(_message.Message):
    __slots__ = ("start", "end")
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    start: int
    end: int
    def __init__(self, start: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class Truncation(_message.Message):
    __slots__ = ("text", "ids", "n_tokens", "n_tokens_before", "kept", "truncated")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    N_TOKENS_FIELD_NUMBER: _ClassVar[int]
    N_TOKENS_BEFORE_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    text: str
    ids: _containers.RepeatedScalarFieldContainer[int]
    n_tokens: int
    n_tokens_before: int
    kept: _containers.RepeatedCompositeFieldContainer[ByteRange]
    truncated: bool
    def __init__(self, text: _Optional[str] = ..., ids: _Optional[_Iterable[int]] = ..., n_tokens: _Optional[int] = ..., n_tokens_before: _Optional[int] = ..., kept: _Optional[_Iterable[_Union[ByteRange, _Mapping]]] = ..., truncated: bool = ...) -> None: ...

class ListTokenizersRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListTokenizersResponse(_message.Message):
    __slots__ = ("tokenizers",)
    TOKENIZERS_FIELD_NUMBER: _ClassVar[int]
    tokenizers: _containers.RepeatedCompositeFieldContainer[TokenizerInfo]
    def __init__(self, tokenizers: _Optional[_Iterable[_Union[TokenizerInfo, _Mapping]]] = ...) -> None: ...

class GetTokenizerRequest(_message.Message):
    __slots__ = ("tokenizer", "expect_digest")
    TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    EXPECT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    tokenizer: str
    expect_digest: str
    def __init__(self, tokenizer: _Optional[str] = ..., expect_digest: _Optional[str] = ...) -> None: ...

class GetTokenizerResponse(_message.Message):
    __slots__ = ("tokenizer",)
    TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    tokenizer: TokenizerInfo
    def __init__(self, tokenizer: _Optional[_Union[TokenizerInfo, _Mapping]] = ...) -> None: ...

class SpecialToken(_message.Message):
    __slots__ = ("token", "id")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    token: str
    id: int
    def __init__(self, token: _Optional[str] = ..., id: _Optional[int] = ...) -> None: ...

class TokenizerInfo(_message.Message):
    __slots__ = ("name", "aliases", "state", "digest", "format", "model", "vocab_size", "control_tokens", "splitter", "pattern", "sha256", "max_text_bytes", "failure", "source", "proven_by", "models", "model_prefixes", "pipeline", "config")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    VOCAB_SIZE_FIELD_NUMBER: _ClassVar[int]
    CONTROL_TOKENS_FIELD_NUMBER: _ClassVar[int]
    SPLITTER_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    MAX_TEXT_BYTES_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    PROVEN_BY_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    MODEL_PREFIXES_FIELD_NUMBER: _ClassVar[int]
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    name: str
    aliases: _containers.RepeatedScalarFieldContainer[str]
    state: TokenizerState
    digest: str
    format: str
    model: str
    vocab_size: int
    control_tokens: _containers.RepeatedCompositeFieldContainer[SpecialToken]
    splitter: str
    pattern: str
    sha256: str
    max_text_bytes: int
    failure: str
    source: str
    proven_by: str
    models: _containers.RepeatedScalarFieldContainer[str]
    model_prefixes: _containers.RepeatedScalarFieldContainer[str]
    pipeline: Pipeline
    config: TokenizerConfig
    def __init__(self, name: _Optional[str] = ..., aliases: _Optional[_Iterable[str]] = ..., state: _Optional[_Union[TokenizerState, str]] = ..., digest: _Optional[str] = ..., format: _Optional[str] = ..., model: _Optional[str] = ..., vocab_size: _Optional[int] = ..., control_tokens: _Optional[_Iterable[_Union[SpecialToken, _Mapping]]] = ..., splitter: _Optional[str] = ..., pattern: _Optional[str] = ..., sha256: _Optional[str] = ..., max_text_bytes: _Optional[int] = ..., failure: _Optional[str] = ..., source: _Optional[str] = ..., proven_by: _Optional[str] = ..., models: _Optional[_Iterable[str]] = ..., model_prefixes: _Optional[_Iterable[str]] = ..., pipeline: _Optional[_Union[Pipeline, _Mapping]] = ..., config: _Optional[_Union[TokenizerConfig, _Mapping]] = ...) -> None: ...

class Pipeline(_message.Message):
    __slots__ = ("normalizer", "pre_tokenizer", "model", "post_processor", "decoder", "n_added_tokens", "n_control_tokens")
    NORMALIZER_FIELD_NUMBER: _ClassVar[int]
    PRE_TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    POST_PROCESSOR_FIELD_NUMBER: _ClassVar[int]
    DECODER_FIELD_NUMBER: _ClassVar[int]
    N_ADDED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    N_CONTROL_TOKENS_FIELD_NUMBER: _ClassVar[int]
    normalizer: _containers.RepeatedScalarFieldContainer[str]
    pre_tokenizer: _containers.RepeatedScalarFieldContainer[str]
    model: str
    post_processor: _containers.RepeatedScalarFieldContainer[str]
    decoder: _containers.RepeatedScalarFieldContainer[str]
    n_added_tokens: int
    n_control_tokens: int
    def __init__(self, normalizer: _Optional[_Iterable[str]] = ..., pre_tokenizer: _Optional[_Iterable[str]] = ..., model: _Optional[str] = ..., post_processor: _Optional[_Iterable[str]] = ..., decoder: _Optional[_Iterable[str]] = ..., n_added_tokens: _Optional[int] = ..., n_control_tokens: _Optional[int] = ...) -> None: ...

class TokenizerConfig(_message.Message):
    __slots__ = ("bos_token", "eos_token", "unk_token", "pad_token", "model_max_length", "chat_templates")
    BOS_TOKEN_FIELD_NUMBER: _ClassVar[int]
    EOS_TOKEN_FIELD_NUMBER: _ClassVar[int]
    UNK_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PAD_TOKEN_FIELD_NUMBER: _ClassVar[int]
    MODEL_MAX_LENGTH_FIELD_NUMBER: _ClassVar[int]
    CHAT_TEMPLATES_FIELD_NUMBER: _ClassVar[int]
    bos_token: str
    eos_token: str
    unk_token: str
    pad_token: str
    model_max_length: int
    chat_templates: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, bos_token: _Optional[str] = ..., eos_token: _Optional[str] = ..., unk_token: _Optional[str] = ..., pad_token: _Optional[str] = ..., model_max_length: _Optional[int] = ..., chat_templates: _Optional[_Iterable[str]] = ...) -> None: ...

class GetArtifactRequest(_message.Message):
    __slots__ = ("tokenizer", "expect_digest", "offset")
    TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    EXPECT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    tokenizer: str
    expect_digest: str
    offset: int
    def __init__(self, tokenizer: _Optional[str] = ..., expect_digest: _Optional[str] = ..., offset: _Optional[int] = ...) -> None: ...

class GetArtifactResponse(_message.Message):
    __slots__ = ("header", "data")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    header: ArtifactHeader
    data: bytes
    def __init__(self, header: _Optional[_Union[ArtifactHeader, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...

class ArtifactHeader(_message.Message):
    __slots__ = ("digest", "format", "sha256", "n_bytes", "pattern", "special_tokens", "control_tokens")
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    N_BYTES_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    SPECIAL_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CONTROL_TOKENS_FIELD_NUMBER: _ClassVar[int]
    digest: str
    format: str
    sha256: str
    n_bytes: int
    pattern: str
    special_tokens: _containers.RepeatedCompositeFieldContainer[SpecialToken]
    control_tokens: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, digest: _Optional[str] = ..., format: _Optional[str] = ..., sha256: _Optional[str] = ..., n_bytes: _Optional[int] = ..., pattern: _Optional[str] = ..., special_tokens: _Optional[_Iterable[_Union[SpecialToken, _Mapping]]] = ..., control_tokens: _Optional[_Iterable[str]] = ...) -> None: ...
