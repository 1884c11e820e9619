from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pegboard.providers import GgufFacts, ModelFileError, read_gguf

_TYPES = {bool: (7, "?"), int: (4, "I"), float: (6, "f")}


def text(value: str) -> bytes:
    packed = value.encode()
    return struct.pack("<Q", len(packed)) + packed


def entry(name: str, value: Any) -> bytes:
    if isinstance(value, str):
        return text(name) + struct.pack("<I", 8) + text(value)
    if isinstance(value, list):
        of = 8 if isinstance(value[0], str) else 4
        items = b"".join(text(x) if of == 8 else struct.pack("<I", x) for x in value)
        return text(name) + struct.pack("<IIQ", 9, of, len(value)) + items
    kind, form = _TYPES[type(value)]
    return text(name) + struct.pack("<I" + form, kind, value)


def gguf(said: dict[str, Any], weights: int = 64, *, version: int = 3) -> bytes:
    """Return a file with one tensor of whole numbers."""
    head = struct.pack("<4sIQQ", b"GGUF", version, 1, len(said))
    entries = b"".join(entry(name, value) for name, value in said.items())
    tensor = text("t") + struct.pack("<IQIQ", 1, weights, 0, 0)
    whole = head + entries + tensor
    return whole.ljust(-(-len(whole) // 32) * 32, b"\0") + bytes(4 * weights)


SAID = {
    "general.architecture": "llama",
    "general.name": "Tiny",
    "llama.context_length": 2_048,
    "general.quantized": True,
    "llama.rope": 1.5,
    "tokenizer.ggml.tokens": ["a", "b", "ü"],
    "tokenizer.ggml.types": [1, 2, 3],
    "tokenizer.chat_template": "{{ x }}",
}
WHOLE = gguf(SAID)


def test_a_file_says_what_its_model_is(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(WHOLE)
    assert read_gguf(file) == GgufFacts(
        name="Tiny",
        architecture="llama",
        parameters=64,
        context=2_048,
        template=True,
        size=len(WHOLE),
    )


def test_a_file_that_says_nothing_is_read(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(gguf({}, version=2))
    assert (read_gguf(file).name, read_gguf(file).context) == ("", 0)


def test_a_file_cut_anywhere_is_told(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    for end in range(len(WHOLE)):
        file.write_bytes(WHOLE[:end])
        with pytest.raises(ModelFileError, match="cut off" if end >= 4 else "not a GGUF"):
            read_gguf(file)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"PK\x03\x04" + bytes(100), "is not a GGUF file"),
        (gguf({}, version=9), "version 9"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 0) + bytes(100), "holds no weights"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 0) + bytes(100), "is broken"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 1, 1, 1 << 60) + bytes(100), "is broken"),
    ],
)
def test_a_file_that_is_none_is_told(tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(content)
    with pytest.raises(ModelFileError, match=says):
        read_gguf(file)


def test_a_folder_and_nothing_at_all_are_told(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="can't be read"):
        read_gguf(tmp_path)
    with pytest.raises(ModelFileError, match="There is no model file"):
        read_gguf(tmp_path / "none.gguf")


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(4, len(WHOLE) - 1), st.binary(min_size=1, max_size=12))
def test_other_bytes_anywhere_end_in_facts_or_a_told_error(
    tmp_path: Path, at: int, other: bytes
) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(WHOLE[:at] + other + WHOLE[at + len(other) :])
    try:
        read_gguf(file)
    except ModelFileError as error:
        assert str(file) in error.message
