"""Search over the tools of a catalogue, never showing what the caller could not use."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from pegboard.contracts.tool import RegisteredTool
from pegboard.tools.search_fts import FtsIndex
from pegboard.tools.search_plain import PlainIndex
from pegboard.tools.search_terms import Document, document, query_words

FORMAT: Final = b"1"
"""Part of the hash, so that an index of another make is never opened."""

Allowed = Callable[[RegisteredTool], bool]


class Index(Protocol):
    """Ranks documents."""

    def ranked(self, words: Iterable[str], most: int) -> list[int]:
        """Return the places of the best documents, best first."""
        ...

    def close(self) -> None:
        """Give back resources."""
        ...


class Built(NamedTuple):
    """The index of one catalogue.

    Args:
        tools: The catalogue.
        documents: The text of each tool.
        by_name: Any name -> place in the catalogue.
        ranking: What ranks.
    """

    tools: tuple[RegisteredTool, ...]
    documents: Sequence[Document]
    by_name: Mapping[str, int]
    ranking: Index


class ToolSearch:
    """Finds tools by what they say of themselves.

    Args:
        folder: Where indexes are kept between runs; None = in memory only.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._built: Built | None = None

    def fits(self, tools: tuple[RegisteredTool, ...]) -> bool:
        """Tell whether the index in use is that of this catalogue (by the tuple's identity)."""
        return self._built is not None and self._built.tools is tools

    def build(self, tools: tuple[RegisteredTool, ...]) -> Built:
        """Open the index of a catalogue, or make it: slow for many tools, safe in a thread."""
        documents = [document(tool) for tool in tools]
        by_name: dict[str, int] = {}
        for place, tool in enumerate(tools):
            for name in (tool.canonical, tool.wire_name, tool.spec.name):
                by_name.setdefault(name, place)
        return Built(tools, documents, by_name, self._index(documents))

    def adopt(self, built: Built) -> None:
        """Use an index from now on."""
        self.close()
        self._built = built

    def search(self, query: str, limit: int, allowed: Allowed) -> list[RegisteredTool]:
        """Return the best tools for a query, best first; none before an index is adopted.

        Args:
            query: Words, or a tool's name.
            limit: Tools at most.
            allowed: Tells whether a tool may be shown.
        """
        built = self._built
        wanted = query_words(query)
        if built is None or not wanted or limit < 1:
            return []
        named = built.by_name.get(query.strip())
        places = () if named is None else (named,)
        found = self._kept(built, places, limit, allowed)
        for most in (4 * limit + len(places), len(built.tools)):
            ranked = self._ranked(wanted, most)
            found = self._kept(built, (*places, *ranked), limit, allowed)
            if len(found) == limit or len(ranked) < most:
                break
        return found or self._kept(built, _spelled(built, wanted), limit, allowed)

    def close(self) -> None:
        """Give back the file."""
        if self._built is not None:
            self._built.ranking.close()
            self._built = None

    def _index(self, documents: Sequence[Document]) -> Index:
        if self._folder is None:
            return PlainIndex(documents)
        try:
            return FtsIndex.open(self._folder, catalogue_hash(documents), documents)
        except (sqlite3.Error, OSError):
            return PlainIndex(documents)

    def _ranked(self, wanted: list[str], most: int) -> list[int]:
        built = self._built
        if built is None:
            return []
        try:
            return built.ranking.ranked(wanted, most)
        except sqlite3.Error:  # the file was damaged after it was opened
            self.adopt(built._replace(ranking=PlainIndex(built.documents)))
            return self._ranked(wanted, most)

    @staticmethod
    def _kept(
        built: Built, places: Iterable[int], limit: int, allowed: Allowed
    ) -> list[RegisteredTool]:
        kept: dict[int, RegisteredTool] = {}
        for place in places:
            if place not in kept and allowed(built.tools[place]):
                kept[place] = built.tools[place]
                if len(kept) == limit:
                    break
        return list(kept.values())


def catalogue_hash(documents: Iterable[Document]) -> str:
    """Return what changes whenever anything that is searched does."""
    digest = hashlib.sha256(FORMAT)
    for texts in documents:
        for text in texts:
            digest.update(text.encode("utf-8", "replace"))
            digest.update(b"\0")
    return digest.hexdigest()[:32]


def _spelled(built: Built, wanted: Sequence[str]) -> list[int]:
    """Return the tools in whose names a word of the query is a part."""
    return [
        place
        for place, texts in enumerate(built.documents)
        if any(len(word) > 2 and word in texts.name.replace(" ", "") for word in wanted)
    ]
