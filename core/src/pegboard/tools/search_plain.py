"""The search index in memory, for where SQLite has no full-text search."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from pegboard.tools.search_terms import Document, words

_WEIGHTS: Final = (5, 1, 0.5, 1)
_K1: Final = 1.2
_B: Final = 0.75


class PlainIndex:
    """Ranks documents with BM25 in Python.

    Args:
        documents: What to index, in catalogue order.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        self._postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        self._count = len(documents)
        lengths = []
        for place, fields in enumerate(documents):
            counts: Counter[str] = Counter()
            for weight, text in zip(_WEIGHTS, fields, strict=True):
                for word in words(text):
                    counts[stem(word)] += weight  # type: ignore[assignment]  # halves are fine
            lengths.append(sum(counts.values()))
            for word, count in counts.items():
                self._postings[word].append((place, count))
        self._lengths = lengths
        self._mean = max(1.0, sum(lengths) / max(1, self._count))

    def ranked(self, words: Iterable[str], most: int) -> list[int]:
        """Return the places of the best documents, best first."""
        scores: dict[int, float] = defaultdict(float)
        for word in {stem(word) for word in words}:
            found = self._postings.get(word, ())
            rarity = math.log(1 + (self._count - len(found) + 0.5) / (len(found) + 0.5))
            for place, count in found:
                norm = _K1 * (1 - _B + _B * self._lengths[place] / self._mean)
                scores[place] += rarity * count * (_K1 + 1) / (count + norm)
        return sorted(scores, key=lambda place: (-scores[place], place))[:most]

    def close(self) -> None:
        """Do nothing: there is no file."""


def stem(word: str) -> str:
    """Return a word without the endings that rarely change its meaning."""
    for ending in ("ing", "ies", "es", "ed", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)] + ("y" if ending == "ies" else "")
    return word
