"""Kinds of files by their names, as `type` of a search names them."""

from __future__ import annotations

import difflib
from typing import Final

from pegboard import ToolFailure

FILE_TYPES: Final[dict[str, tuple[str, ...]]] = {
    "c": ("*.c", "*.h"),
    "cpp": ("*.cc", "*.cpp", "*.cxx", "*.hh", "*.hpp", "*.hxx", "*.h", "*.inl"),
    "csharp": ("*.cs",),
    "css": ("*.css", "*.scss", "*.sass", "*.less"),
    "dart": ("*.dart",),
    "docker": ("Dockerfile*", "*.dockerfile"),
    "elixir": ("*.ex", "*.exs", "*.eex", "*.heex"),
    "erlang": ("*.erl", "*.hrl"),
    "go": ("*.go",),
    "haskell": ("*.hs", "*.lhs"),
    "html": ("*.html", "*.htm"),
    "ini": ("*.ini", "*.cfg"),
    "java": ("*.java",),
    "js": ("*.js", "*.jsx", "*.mjs", "*.cjs", "*.vue"),
    "json": ("*.json", "*.jsonl"),
    "kotlin": ("*.kt", "*.kts"),
    "lua": ("*.lua",),
    "make": ("Makefile*", "makefile*", "GNUmakefile*", "*.mk"),
    "markdown": ("*.md", "*.markdown", "*.mdx"),
    "perl": ("*.pl", "*.pm", "*.t"),
    "php": ("*.php", "*.phtml"),
    "proto": ("*.proto",),
    "py": ("*.py", "*.pyi"),
    "r": ("*.r", "*.R", "*.Rmd"),
    "rst": ("*.rst",),
    "ruby": ("*.rb", "*.gemspec", "Gemfile", "Rakefile"),
    "rust": ("*.rs",),
    "scala": ("*.scala", "*.sbt"),
    "sh": ("*.sh", "*.bash", "*.zsh", "*.ksh", ".bashrc", ".profile"),
    "sql": ("*.sql",),
    "swift": ("*.swift",),
    "tex": ("*.tex", "*.bib", "*.cls", "*.sty"),
    "toml": ("*.toml", "Cargo.lock"),
    "ts": ("*.ts", "*.tsx", "*.mts", "*.cts"),
    "txt": ("*.txt",),
    "xml": ("*.xml", "*.xsd", "*.xsl", "*.svg"),
    "yaml": ("*.yaml", "*.yml"),
    "zig": ("*.zig",),
}
_OTHER_NAMES: Final = {
    "bash": "sh",
    "c#": "csharp",
    "c++": "cpp",
    "cs": "csharp",
    "dockerfile": "docker",
    "golang": "go",
    "javascript": "js",
    "jsx": "js",
    "kt": "kotlin",
    "md": "markdown",
    "python": "py",
    "rb": "ruby",
    "rs": "rust",
    "shell": "sh",
    "text": "txt",
    "tsx": "ts",
    "typescript": "ts",
    "yml": "yaml",
}


def names_of_type(name: str) -> tuple[str, ...]:
    """Return the patterns of file names that are of a type; several are separated by commas.

    Raises:
        ToolFailure: When there is no such type.
    """
    if "," in name.strip(","):
        kinds = [kind for kind in name.split(",") if kind.strip()]
        return tuple(dict.fromkeys(found for kind in kinds for found in names_of_type(kind)))
    folded = name.strip(" ,").lower().removeprefix("*").removeprefix(".")
    found = FILE_TYPES.get(_OTHER_NAMES.get(folded, folded))
    if found is not None:
        return found
    known = [*FILE_TYPES, *_OTHER_NAMES]
    near = difflib.get_close_matches(folded, known, n=3)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"Types: {', '.join(FILE_TYPES)}."
    raise ToolFailure(
        f"There is no file type {name[:40]!r}.",
        fix=f"{hint} Or set `glob`, like *.{folded[:20]}.",
        code="unknown_type",
    )
