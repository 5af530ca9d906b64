"""What SentencePiece's models give out: pieces, and what text without one becomes.

That is the pieces of its bytes, or the unknown piece: neighbours are one, wherever the text was cut meanwhile. Places
of the pieces of bytes: by our rule each has its whole character; the reference gives the last one the place of all
that is unknown, and those before it an empty one where that begins.
"""

from tokenwire_core.sentencepiece_spec import PieceType


cdef void put_unknown(Output* o, size_t start, size_t end) noexcept nogil:
    cdef size_t at = start, k, size
    if o.fallback.unk != NO_VALUE:
        if not o.after_unknown:
            o.next = put(o.s, o.next, o.fallback.unk, start, end)
            o.after_unknown = True
        elif o.s.tracing and o.s.keep:
            (<uint32_t*>o.s.ends.p)[o.next - o.s.ids - 1] = <uint32_t>end
        return
    while at < end:
        size = character_bytes(o.p[at])
        for k in range(at, at + size):
            if o.s.tracing == TRACE_REFERENCE:
                o.next = put(o.s, o.next, o.fallback.byte_ids[o.p[k]], start, end if k + 1 == end else start)
            else:
                o.next = put(o.s, o.next, o.fallback.byte_ids[o.p[k]], at, at + size)
        at += size
    o.after_unknown = False


cdef class FallbackTable:
    """What text without a piece becomes in a `SentencePieceModel`."""

    def __cinit__(self, model):
        # Without the unknown piece there is fallback.
        if model.byte_fallback or model.unk_id is None:
            self.fallback.unk = <uint32_t>NO_VALUE
            for id_, piece in enumerate(model.pieces):
                if piece.type is PieceType.BYTE:
                    self.fallback.byte_ids[int(piece.text[3:5], 16)] = id_
        else:
            self.fallback.unk = model.unk_id
