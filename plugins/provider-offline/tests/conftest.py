from __future__ import annotations

import pytest

from pegboard import Intent, ToolDeclaration


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def declare(
    name: str, description: str = "", *, intents: tuple[Intent, ...] = (), **properties: str
) -> ToolDeclaration:
    schema = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in properties.items()},
        "required": list(properties)[:1],
    }
    return ToolDeclaration(name, description or f"Do {name}.", schema, intents)


@pytest.fixture
def tools() -> tuple[ToolDeclaration, ...]:
    return (
        declare(
            "file_read",
            "Read a file.\nWith line numbers.",
            intents=(Intent("(read|show) [the] [file] {path:path}"),),
            path="string",
            offset="integer",
        ),
        declare(
            "list_dir",
            "List a folder.",
            intents=(
                Intent("list [the] files", {"path": "."}),
                Intent("list [the] files in {path:path}"),
            ),
            path="string",
        ),
        declare(
            "content_search",
            "Search in files.",
            intents=(Intent("search for {pattern:quoted}"),),
            pattern="string",
            limit="integer",
        ),
    )


@pytest.fixture
def finder() -> ToolDeclaration:
    return declare("tool_search", "Find tools.", query="string")
