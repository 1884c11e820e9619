"""What a GGUF file says of the model in it, and whether the file is whole.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Only what stands before the
weights is read.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from pegboard.contracts.errors import ModelFileError

MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_MOST: Final = 1 << 24
"""More entries, or a longer text, than any model has."""
_STRING: Final = 8
_ARRAY: Final = 9
_SCALARS: Final = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
_BLOCKS: Final[dict[int, tuple[int, int]]] = {
    0: (1, 4),
    1: (1, 2),
    2: (32, 18),
    3: (32, 20),
    6: (32, 22),
    7: (32, 24),
    8: (32, 34),
    9: (32, 36),
    10: (256, 84),
    11: (256, 110),
    12: (256, 144),
    13: (256, 176),
    14: (256, 210),
    15: (256, 292),
    16: (256, 66),
    17: (256, 74),
    18: (256, 98),
    19: (256, 50),
    20: (32, 18),
    21: (256, 110),
    22: (256, 82),
    23: (256, 136),
    24: (1, 1),
    25: (1, 2),
    26: (1, 4),
    27: (1, 8),
    28: (1, 8),
    29: (256, 56),
    30: (1, 2),
}
"""Type of a tensor -> values in a block, bytes of a block. One that is not here counts nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufFacts:
    """One model file.

    Args:
        name: Name of the model, or "".
        architecture: Such as `llama`.
        parameters: Weights in this file.
        context: Context window in tokens that it was trained with; 0 = it does not say.
        template: True when it says how a chat is written.
        size: Bytes.
    """

    name: str
    architecture: str
    parameters: int
    context: int
    template: bool
    size: int


def read_gguf(path: Path) -> GgufFacts:
    """Return what a file says of its model.

    Raises:
        ModelFileError: When there is no file, it can't be read, is no GGUF file, or is cut off.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            return _Reader(file, path, size).facts()
    except FileNotFoundError:
        raise ModelFileError(
            f"There is no model file {path}.", fix="pegboard models add PATH.gguf"
        ) from None
    except OSError as error:
        raise ModelFileError(f"The model file {path} can't be read: {error.strerror}.") from error


class _Reader:
    def __init__(self, file: BinaryIO, path: Path, size: int) -> None:
        self._file = file
        self._path = path
        self._size = size

    def facts(self) -> GgufFacts:
        if self._file.read(4) != MAGIC:
            raise ModelFileError(
                f"{self._path} is not a GGUF file.", fix="take the file that ends with .gguf"
            )
        version = self._number("I")
        if version not in _VERSIONS:
            raise ModelFileError(f"{self._path} is GGUF of version {version}, which is not known.")
        tensors, entries = self._count(), self._count()
        said = {self._text(): self._value(self._number("I")) for _ in range(entries)}
        parameters, end = self._weights(tensors)
        if not parameters:
            raise ModelFileError(f"{self._path} holds no weights.")
        align = said.get("general.alignment")
        align = align if isinstance(align, int) and align > 0 else 32
        start = -(-self._file.tell() // align) * align
        if start + end > self._size:
            raise self._cut(start + end)
        architecture = _word(said.get("general.architecture"))
        context = said.get(f"{architecture}.context_length")
        return GgufFacts(
            name=_word(said.get("general.name")),
            architecture=architecture,
            parameters=parameters,
            context=context if isinstance(context, int) else 0,
            template=bool(said.get("tokenizer.chat_template")),
            size=self._size,
        )

    def _weights(self, tensors: int) -> tuple[int, int]:
        """Return how many weights there are, and where behind the head they end, in bytes."""
        parameters = end = 0
        for _ in range(tensors):
            self._text()
            values = 1
            for _ in range(min(self._number("I"), 8)):
                values *= self._number("Q")
            kind, offset = self._number("I"), self._number("Q")
            per_block, bytes_of = _BLOCKS.get(kind, (1, 0))
            parameters += values
            end = max(end, offset + values // per_block * bytes_of)
        return parameters, end

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._text()
        if kind in _SCALARS:
            return self._number(_SCALARS[kind])
        if kind != _ARRAY:
            raise self._broken()
        of, length = self._number("I"), self._number("Q")
        if length > _MOST:
            raise self._broken()
        if of in _SCALARS:
            self._skip(struct.calcsize("<" + _SCALARS[of]) * length)
        else:
            skip: Callable[[], object] = self._skip_text
            if of != _STRING:
                skip = lambda: self._value(of)  # noqa: E731
            for _ in range(length):
                skip()
        return None  # nothing that is told of a model is a list

    def _text(self) -> str:
        return self._read(self._count()).decode("utf-8", "replace")

    def _skip_text(self) -> None:
        self._skip(self._count())

    def _skip(self, count: int) -> None:
        self._file.seek(count, 1)
        if self._file.tell() > self._size:
            raise self._cut(self._file.tell())

    def _count(self) -> int:
        found: int = self._number("Q")
        if found > _MOST:
            raise self._broken()
        return found

    def _number(self, form: str) -> Any:
        packed = struct.Struct("<" + form)
        return packed.unpack(self._read(packed.size))[0]

    def _read(self, count: int) -> bytes:
        found = self._file.read(count)
        if len(found) < count:
            raise self._cut(self._file.tell() + count - len(found))
        return found

    def _cut(self, needed: int) -> ModelFileError:
        return ModelFileError(
            f"The model file {self._path} is cut off: it has {self._size:,} bytes and needs "
            f"{needed:,} at least.",
            fix="download it again",
        )

    def _broken(self) -> ModelFileError:
        return ModelFileError(f"The model file {self._path} is broken.", fix="download it again")


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""
