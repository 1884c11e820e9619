"""tool_search over 10,000 tools against the bare FTS5 query of the same words."""

from __future__ import annotations

import itertools
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pegboard import RegisteredTool, ToolSpec
from pegboard.tools.search import ToolSearch

VERBS = ("create", "read", "update", "delete", "list")
VERBS += ("archive", "export", "import", "share", "rename")
OBJECTS = ("invoice", "ticket", "contact", "calendar", "event")
OBJECTS += ("file", "folder", "message", "channel", "report")
SERVICES = [
    f"{a}{b}" for a in ("acme", "blue", "cloud", "data", "east") for b in "abcdefghijklmnopqrst"
]
ROUNDS = 15
LIMIT = 5


def measure(row: Any, peers_python: Any) -> Iterator[Any]:
    result = row("tool_search over 10,000 tools, p50 query", "us", 1.5, "raw FTS5 query")
    catalogue = tuple(tools())
    queries = [
        f"{verb} the {thing} on {SERVICES[7]}" for verb, thing in zip(VERBS, OBJECTS, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        search = ToolSearch(Path(folder))
        search.adopt(search.build(catalogue))
        raw = sqlite3.connect(next(Path(folder).rglob("*.sqlite*")))
        for _ in range(ROUNDS):
            result.ours.append(
                p50(lambda query: search.search(query, LIMIT, lambda tool: True), queries)
            )
            result.reference.append(p50(lambda query: fts(raw, query), queries))
        raw.close()
        search.close()
    yield result


def tools() -> Iterator[RegisteredTool]:
    for number, (verb, thing, service) in enumerate(itertools.product(VERBS, OBJECTS, SERVICES)):
        spec = ToolSpec(
            name=f"{service}_{verb}_{thing}",
            description=f"{verb.title()} one {thing} on the service {service}.",
            parameters={"type": "object", "properties": {f"{thing}_id": {"type": "string"}}},
            effects=frozenset({"read"}),
        )
        yield RegisteredTool(spec, f"plugin-{number % 100}", name=spec.name)


def fts(raw: sqlite3.Connection, query: str) -> list[Any]:
    words = " OR ".join(f'"{word}"' for word in query.split() if word not in ("the", "on"))
    return raw.execute(
        "SELECT rowid FROM tools WHERE tools MATCH ? ORDER BY bm25(tools, 5, 1, 0.5, 1) LIMIT ?",
        (words, LIMIT),
    ).fetchall()


def p50(run: Any, queries: list[str]) -> float:
    """Return the median CPU microseconds of the queries."""
    samples = []
    for query in queries:
        started = time.process_time()
        found = run(query)
        samples.append((time.process_time() - started) * 1e6)
        assert found, query
    return statistics.median(samples)
