"""Content encodings are undone while a body comes, and a body that is cut is never taken for whole."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.net.decoding import Decoders, EncodingError, TooLong, decoder_for

BODY = b'{"text": "' + bytes(range(32, 127)).replace(b'"', b"").replace(b"\\", b"") * 9 + b'"}'


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKED = {
    "gzip": gzip.compress(BODY),
    "x-gzip": gzip.compress(BODY),
    "deflate": zlib.compress(BODY),
    "Deflate": raw_deflate(BODY),
    "gzip, identity": gzip.compress(BODY[:50]) + gzip.compress(BODY[50:]),
    "deflate, gzip": gzip.compress(zlib.compress(BODY)),
}


def decoder(name: str) -> Decoders:
    found = decoder_for(name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", PACKED)
def test_each_encoding_is_undone_also_byte_by_byte(name: str) -> None:
    for step in (1, 7, 10**6):
        unpack = decoder(name)
        packed = PACKED[name]
        pieces = [unpack.decode(packed[at : at + step], 10**6) for at in range(0, len(packed), step)]
        assert b"".join(pieces) == BODY
        assert unpack.whole


@given(st.integers(1, len(PACKED["gzip"]) - 1))
def test_a_cut_gzip_body_is_never_taken_for_whole(length: int) -> None:
    unpack = decoder("gzip")
    unpack.decode(PACKED["gzip"][:length], 10**6)
    assert not unpack.whole


def test_an_empty_body_is_whole() -> None:
    assert decoder("gzip").whole


def test_padding_after_the_end_is_ignored() -> None:
    unpack = decoder("gzip")
    assert unpack.decode(PACKED["gzip"] + b"\0" * 20, 10**6) == BODY
    assert unpack.whole


def test_a_body_that_is_not_what_it_says_is_named() -> None:
    with pytest.raises(EncodingError, match="content-encoding: gzip, but the body is not gzip"):
        decoder("gzip").decode(b'{"text": "x"}', 100)
    with pytest.raises(EncodingError, match="deflate"):
        decoder("deflate").decode(b'{"text": "x"}', 100)


def test_damage_inside_is_named() -> None:
    packed = PACKED["gzip"]
    unpack = decoder("gzip")
    unpack.decode(packed[:20], 10**6)
    with pytest.raises(EncodingError, match="damaged"):
        unpack.decode(packed[20:-8] + bytes(8), 10**6)


def test_damage_is_told_from_a_false_name_also_when_all_comes_at_once() -> None:
    with pytest.raises(EncodingError, match="the body is damaged"):
        decoder("gzip").decode(PACKED["gzip"][:-8] + bytes(8), 10**6)


def test_a_bomb_stops_at_the_limit() -> None:
    bomb = gzip.compress(bytes(20_000_000))
    with pytest.raises(TooLong):
        decoder("gzip").decode(bomb, 1000)


@pytest.mark.parametrize("name", ["br", "zstd", "gzip, br", "compress"])
def test_an_encoding_never_asked_for_is_refused_by_name(name: str) -> None:
    with pytest.raises(EncodingError, match=r"(br|zstd|compress) is not supported"):
        decoder_for(name)


@pytest.mark.parametrize("name", ["", "identity", " , "])
def test_a_plain_body_needs_nothing(name: str) -> None:
    assert decoder_for(name) is None
