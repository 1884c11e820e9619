"""What a tool states about one of its arguments."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Final

from pegboard.contracts.effects import Effect

ALIASES_KEYWORD: Final = "x-aliases"
"""Where a schema holds the further names of an argument until the manifest is built."""
OPPOSITES_KEYWORD: Final = "x-opposites"
"""The same for the names of its opposite."""
OPPOSITE: Final = "!"
"""Before the argument's own name in `ToolSpec.argument_aliases`: a name that says the opposite."""
NOTHING: Final = ""
"""Instead of an own name there: an argument that is left out."""


@dataclass(frozen=True, slots=True)
class Arg:
    """Describe one parameter of a tool, inside `Annotated[...]`.

    Standard library only; pydantic meets it when the manifest is built, never when a plugin is
    imported.

    Args:
        description: What the value means, with units.
        ge, gt, le, lt: Bounds of a number.
        min_length, max_length: Bounds of a string's or a list's length.
        pattern: Regular expression that a string must match.
        examples: Values to show.
        access: The effect on the path that this argument names (`"read"` or `"fs_write"`), so that
            calls which touch one path are ordered and policy sees the path.
        path_pattern: With `access`, for an argument that is no path but a text with paths in it:
            regular expression whose one group is a path; every match counts.
        shell: True when this argument is source that a shell runs, or a list of a program and its
            arguments: the operator's rules are then applied to each command in it.
        aliases: Further names that models give this argument. A call that uses one is put right,
            and that is recorded; the schema that models see does not hold them.
        opposites: Further names that models give the opposite of a yes-or-no argument, such as
            `case_sensitive` for `ignore_case`; true is taken for false, and recorded like aliases.
        remark: True when this argument only says something about the call, such as what it is for:
            a person's yes to the call does not depend on it.
        freeform: True for the one text argument that a call without JSON is taken for.
    """

    description: str = ""
    _: KW_ONLY
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    examples: tuple[Any, ...] = ()
    access: Effect | None = None
    shell: bool = False
    aliases: tuple[str, ...] = ()
    opposites: tuple[str, ...] = ()
    path_pattern: str | None = None
    remark: bool = False
    freeform: bool = False

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        """Add the keywords to the schema that pydantic made of the annotation."""
        schema = dict(handler(core))
        branches = (schema, *schema.get("anyOf", ()))  # `list[str] | None` has no type of its own
        listy = any(branch.get("type") == "array" for branch in branches)
        words = {
            "description": self.description or None,
            "minimum": self.ge,
            "exclusiveMinimum": self.gt,
            "maximum": self.le,
            "exclusiveMaximum": self.lt,
            "minItems" if listy else "minLength": self.min_length,
            "maxItems" if listy else "maxLength": self.max_length,
            "pattern": self.pattern,
            "examples": list(self.examples) or None,
            # taken out again when the manifest is built
            ALIASES_KEYWORD: list(self.aliases) or None,
            OPPOSITES_KEYWORD: list(self.opposites) or None,
        }
        return {**schema, **{word: value for word, value in words.items() if value is not None}}
