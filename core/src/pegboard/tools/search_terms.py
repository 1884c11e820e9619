"""How tools and queries become words to compare."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from pegboard.contracts.tool import RegisteredTool
from pegboard.tools.schema_compile import properties_of
from pegboard.tools.text_repair import repaired

MAX_QUERY_WORDS: Final = 24
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD: Final = re.compile(r"[^\W_]+")
# fmt: off
_STOP_WORDS: Final = frozenset({
    "a", "an", "and", "any", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from",
    "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "of", "on", "one", "or",
    "please", "some", "that", "the", "this", "to", "tool", "tools", "use", "want", "what", "when",
    "which", "will", "with", "you", "your",
})
# fmt: on


class Document(NamedTuple):
    """The text of one tool, field by field."""

    name: str
    description: str
    parameters: str
    origin: str


def words(text: str) -> list[str]:
    """Return the words of a text in lower case; names are split at `_` and at capital letters."""
    return _WORD.findall(_CAMEL.sub(" ", text).lower())


def document(tool: RegisteredTool) -> Document:
    """Return what can be found of a tool."""
    spec = tool.spec
    return Document(
        " ".join(words(" ".join((spec.name, *spec.aliases)))),
        repaired(f"{spec.description} {spec.help.when_to_use}".strip()),
        " ".join(words(" ".join(map(str, properties_of(spec.parameters))))),
        " ".join(words(f"{tool.plugin} {spec.category} {tool.metadata.get('group', '')}")),
    )


def query_words(query: str) -> list[str]:
    """Return the words of a query that tell tools apart, each once; all of them if none does."""
    found = list(dict.fromkeys(words(query[:2_000])))
    telling = [word for word in found if word not in _STOP_WORDS]
    return (telling or found)[:MAX_QUERY_WORDS]
