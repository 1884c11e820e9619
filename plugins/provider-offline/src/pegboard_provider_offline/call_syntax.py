r"""How a tool call is typed: `/file_read path=README.md`, with JSON, or with nothing.

A call begins with `/name` at the start of a line; further on in a line only with the name of a tool
that is offered, so that a path such as `/tmp` stays an argument. After the name comes one JSON
object, or `key=value` pairs:

- `"..."` knows the escapes `\"`, `\\`, `\n`, `\r`, `\t` and `\uXXXX`; any other backslash stays
  as it is, so that a regular expression can be typed as such. `'...'` knows only `\'`.
- An unquoted value that is JSON is that value, else it is text; where the tool wants text, it is
  text in any case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pegboard import ToolDeclaration

_NAME: Final = r"/(?P<name>[A-Za-z][\w-]*(?::[A-Za-z][\w-]*)?)(?=[\s;{]|$)"
_FIRST: Final = re.compile(rf"^[ \t]*(?={_NAME})", re.MULTILINE)
_CALL: Final = re.compile(_NAME)
_KEY: Final = re.compile(r"(?P<key>[A-Za-z_][\w.-]*)=")
_BLANK: Final = re.compile(r"\s*")
_WORD: Final = re.compile(r"\S+")
_QUOTED: Final = {
    '"': re.compile(r'"(?P<inner>(?:\\.|[^"\\])*)"', re.DOTALL),
    "'": re.compile(r"'(?P<inner>(?:\\'|[^'])*)'", re.DOTALL),
}
_ESCAPE: Final = re.compile(r'\\(?:u(?P<code>[0-9a-fA-F]{4})|(?P<plain>["\\nrt]))')
_PLAIN: Final = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPED: Final = {value: f"\\{name}" for name, value in _PLAIN.items()}
_UNSAFE: Final = re.compile(r'["\\\x00-\x1f]')
_BARE: Final = re.compile(r"[^\s\"'{\[;][^\s;]*")


@dataclass(frozen=True, slots=True)
class Mistake:
    """Why typed arguments can't be read.

    Args:
        line, column: Where, counted from 1.
        message: What is wrong there.
        example: A call that would be right, or "".
    """

    line: int
    column: int
    message: str
    example: str = ""

    def text(self) -> str:
        """Return the sentence a person reads."""
        hint = f" Write it like this: {self.example}" if self.example else ""
        return f"Line {self.line}, column {self.column}: {self.message}.{hint}"


@dataclass(frozen=True, slots=True)
class TypedCall:
    """One call as somebody typed it.

    Args:
        name: Name of the tool, as typed.
        arguments: A JSON object; what was typed, word for word, when it can't be read.
        mistake: Why it can't be read, or None.
    """

    name: str
    arguments: str
    mistake: Mistake | None = None


class _SyntaxError(Exception):
    """Typed arguments can't be read at `position`."""

    def __init__(self, position: int, message: str, example: str = "") -> None:
        super().__init__(message)
        self.position = position
        self.message = message
        self.example = example


def is_call(text: str) -> bool:
    """Return True when a line of `text` begins like a call."""
    return _FIRST.search(text) is not None


def read_calls(text: str, tools: Mapping[str, ToolDeclaration]) -> tuple[TypedCall, ...]:
    """Read every call in `text`; text in front of the first one is left out.

    Args:
        text: What somebody wrote.
        tools: The offered tools by name: their schemas say where text is wanted.
    """
    first = _FIRST.search(text)
    position = len(text) if first is None else first.end()
    calls: list[TypedCall] = []
    while found := _CALL.match(text, position):
        name = found["name"]
        tool = tools.get(name) or tools.get(name.rpartition(":")[2])
        call, position = _read_call(text, found.end(), name, tool, tools)
        calls.append(call)
    return tuple(calls)


def write_call(name: str, arguments: Mapping[str, Any]) -> str:
    """Return the line that reads back as this call."""
    return " ".join([f"/{name}", *_pairs(arguments)])


def write_arguments(arguments: str) -> str:
    """Return raw JSON arguments as `key=value` pairs; what is no JSON object stays as it is."""
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments
    return " ".join(_pairs(value)) if isinstance(value, dict) else arguments


def call_form(tool: ToolDeclaration) -> str:
    """Return how a tool is called, with its required arguments as placeholders."""
    return " ".join([f"/{tool.name}", *(f"{name}=..." for name in _required(tool))])


def _pairs(arguments: Mapping[str, Any]) -> list[str]:
    return [f"{key}={_write_value(value)}" for key, value in arguments.items()]


def _write_value(value: Any) -> str:
    if isinstance(value, str) and _BARE.fullmatch(value) and _json_or_none(value) is None:
        return value
    if isinstance(value, str):
        return f'"{_UNSAFE.sub(_escape, value)}"'
    return json.dumps(value, ensure_ascii=False)


def _escape(found: re.Match[str]) -> str:
    known = _ESCAPED.get(found[0])
    return known if known is not None else f"\\u{ord(found[0]):04x}"


def _read_call(
    text: str, start: int, name: str, tool: ToolDeclaration | None, tools: Collection[str]
) -> tuple[TypedCall, int]:
    """Read the arguments that begin at `start`; return the call and where the next one begins."""
    begin = _skip(text, start)
    try:
        if text.startswith("{", begin):
            arguments, end = _read_object(text, begin)
            end = _end_of_call(text, end, tools)
        else:
            arguments, end = _read_pairs(text, start, tool, tools)
    except _SyntaxError as error:
        end = _next_line_call(text, begin)
        mistake = _mistake(text, error)
        return TypedCall(name, text[begin:end].strip(), mistake), end
    return TypedCall(name, json.dumps(arguments, ensure_ascii=False)), end


def _read_object(text: str, start: int) -> tuple[dict[str, Any], int]:
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise _SyntaxError(error.pos, f"this is no valid JSON ({error.msg})") from error
    except RecursionError as error:
        raise _SyntaxError(start, "this JSON is nested beyond measure") from error
    except ValueError as error:
        raise _SyntaxError(start, f"this is no JSON that can be meant: {error}") from error
    return value, end


def _read_pairs(
    text: str, start: int, tool: ToolDeclaration | None, tools: Collection[str]
) -> tuple[dict[str, Any], int]:
    arguments: dict[str, Any] = {}
    end = start
    while (position := _gap(text, end, tools)) is not None:
        key = _KEY.match(text, position)
        if key is None:
            raise _no_pair(text, position, tool, arguments)
        if key["key"] in arguments:
            raise _SyntaxError(position, f"the argument {key['key']} is given twice")
        wants_text = _wants_text(tool, key["key"])
        arguments[key["key"]], end = _read_value(text, key.end(), key["key"], wants_text)
    return arguments, _skip(text, end)


def _read_value(text: str, start: int, key: str, wants_text: bool) -> tuple[Any, int]:
    opening = text[start : start + 1]
    if opening in _QUOTED:
        return _read_quoted(text, start, opening)
    if opening in ("{", "["):
        found = _read_structure(text, start)
        if found is not None:
            value, end = found
            return (text[start:end] if wants_text else value), end
    word = _WORD.match(text, start)
    if word is None:
        raise _SyntaxError(start, f"{key}= has no value", f'{key}=""')
    value = word[0]
    if value.endswith(";") and text[word.end() :].lstrip()[:1] in ("", "/"):
        value = value[:-1]
    parsed = None if wants_text else _json_or_none(value)
    return (value if parsed is None else parsed[0]), word.end()


def _read_quoted(text: str, start: int, quote: str) -> tuple[str, int]:
    found = _QUOTED[quote].match(text, start)
    if found is None:
        raise _SyntaxError(start, f"the quoted text that begins here has no closing {quote}")
    after = text[found.end() : found.end() + 1]
    if after.strip() and after != ";":
        raise _SyntaxError(found.end(), "expected a blank after the closing quote")
    inner = found["inner"]
    if quote == "'":
        return inner.replace("\\'", "'"), found.end()
    value = _ESCAPE.sub(_unescape, inner)
    # two escapes may be the halves of one character; a half of its own is replaced
    whole = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole, found.end()


def _unescape(found: re.Match[str]) -> str:
    return chr(int(found["code"], 16)) if found["code"] else _PLAIN[found["plain"]]


def _read_structure(text: str, start: int) -> tuple[Any, int] | None:
    """Read a JSON list or object; None when it is text after all, such as the glob `[ab]*.py`."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    after = text[end : end + 1]
    return None if after.strip() and after != ";" else (value, end)


def _json_or_none(text: str) -> tuple[Any] | None:
    """Return the JSON value in a tuple of one (it may be null), or None when it is none."""
    try:
        return (json.loads(text, parse_constant=_refuse),)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON value")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key is given twice")
    return value


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_unique)


def _gap(text: str, end: int, tools: Collection[str]) -> int | None:
    """Return where the next argument begins, or None when the call ends here."""
    position = _skip(text, end)
    if position >= len(text):
        return None
    found = _CALL.match(text, position)
    between = text[end:position]
    fresh = "\n" in between or ";" in between
    return None if found and (fresh or _offered(found["name"], tools)) else position


def _end_of_call(text: str, end: int, tools: Collection[str]) -> int:
    position = _gap(text, end, tools)
    if position is not None:
        raise _SyntaxError(position, "a call with a JSON object ends after the object")
    return _skip(text, end)


def _offered(name: str, tools: Collection[str]) -> bool:
    return name in tools or name.rpartition(":")[2] in tools


def _skip(text: str, position: int) -> int:
    """Return the position after blanks, with at most one `;` among them."""
    blank = _BLANK.match(text, position)
    end = blank.end() if blank else position
    if text.startswith(";", end):
        blank = _BLANK.match(text, end + 1)
        return blank.end() if blank else end + 1
    return end


def _next_line_call(text: str, position: int) -> int:
    found = _FIRST.search(text, text.find("\n", position)) if "\n" in text[position:] else None
    return len(text) if found is None else found.end()


def _properties(tool: ToolDeclaration) -> Mapping[str, Any]:
    """Return the schemas of a tool's parameters; a schema that is none shall not cost the rest."""
    found = tool.parameters.get("properties")
    return found if isinstance(found, Mapping) else {}


def _required(tool: ToolDeclaration) -> list[str]:
    found = tool.parameters.get("required")
    return (
        [name for name in found if isinstance(name, str)]
        if isinstance(found, (list, tuple))
        else []
    )


def _wants_text(tool: ToolDeclaration | None, key: str) -> bool:
    schema = _properties(tool).get(key) if tool else None
    return isinstance(schema, Mapping) and schema.get("type") == "string"


def _no_pair(
    text: str, position: int, tool: ToolDeclaration | None, given: Collection[str]
) -> _SyntaxError:
    found = _loose_value(text, position)
    message = f"expected name=value, found {json.dumps(found, ensure_ascii=False)}"
    if given:
        message += "; a value that holds blanks needs quotes"
        return _SyntaxError(position, message)
    names = (_required(tool) or list(_properties(tool))) if tool else []
    example = write_call(tool.name, {names[0]: found}) if tool and names else ""
    return _SyntaxError(position, message, example)


def _loose_value(text: str, position: int) -> str:
    """Return the quoted text or the word that stands where an argument should."""
    quoted = _QUOTED.get(text[position], _WORD).match(text, position)
    if quoted is None:
        quoted = _WORD.match(text, position)
    return quoted.groupdict().get("inner", quoted[0]) if quoted else ""


def _mistake(text: str, error: _SyntaxError) -> Mistake:
    before = text[: error.position]
    line = before.count("\n") + 1
    column = error.position - (before.rfind("\n") + 1) + 1
    return Mistake(line, column, error.message, error.example)
