"""Read settings from files, environment and command line into one value that never changes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pegboard.config.agents import agent_problems
from pegboard.config.core_schema import CORE_SCHEMA, RESERVED
from pegboard.config.keys import join_key, split_key
from pegboard.config.paths import Paths, StrPath
from pegboard.config.schema import Problem, check, defaults
from pegboard.contracts.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

ENV_PREFIX: Final = "PEGBOARD__"
PROJECT_FILE: Final = os.path.join(".pegboard", "config.toml")  # noqa: PTH118
USER_FILE: Final = "config.toml"
DEFAULT: Final = "default"
COMMAND_LINE: Final = "command line"
_POSITION: Final = r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)"
_EDITS: Final = "pegboard config "
"""How a fix begins that changes the user's own file."""
_MISSING: Final = object()


class Config:
    """All settings after merging, and where each came from. Never changes.

    Args:
        data: Nested tables, defaults included.
        sources: Dotted key of each value that is no default -> where it was set.
        paths: The folders.
        files: The files that were read.
        problems: What is wrong with core's own keys; `require_valid` raises the first.
    """

    __slots__ = ("_files", "data", "paths", "problems", "sources")

    def __init__(
        self,
        data: Mapping[str, Any],
        sources: Mapping[str, str],
        paths: Paths,
        files: Sequence[StrPath] = (),
        problems: tuple[Problem, ...] = (),
    ) -> None:
        self.data = data
        self.sources = sources
        self.paths = paths
        self._files = tuple(os.fspath(file) for file in files)
        self.problems = problems

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that were read."""
        from pathlib import Path

        return tuple(map(Path, self._files))

    def get(self, dotted: str, default: Any = None) -> Any:
        """Return the value of a dotted key, or `default`."""
        value: Any = self.data
        for part in split_key(dotted):
            value = value.get(part, _MISSING) if isinstance(value, Mapping) else _MISSING
            if value is _MISSING:
                return default
        return value

    def section(self, dotted: str) -> Mapping[str, Any]:
        """Return a table; empty when it is absent or no table."""
        value = self.get(dotted)
        return value if isinstance(value, Mapping) else {}

    def source(self, dotted: str) -> str:
        """Return where the value of a dotted key comes from, or `default` when nobody set it.

        For a table: where the first of its values comes from.
        """
        own = self.sources.get(dotted)
        if own is not None:
            return own
        below = (place for key, place in self.sources.items() if key.startswith(f"{dotted}."))
        return next(below, DEFAULT)

    def located(self, problem: Problem) -> Problem:
        """Return a problem with the place where its key was set, and a fix for that place.

        A fix that changes no setting (`pip install ...`) is right wherever the key was set.
        """
        place = self.source(problem.path.partition("[")[0]) if problem.path else DEFAULT
        if place == DEFAULT:
            return problem
        fix = problem.fix
        if fix is None or fix.startswith(_EDITS):
            fix = self._edit(problem, place)
        return problem._replace(message=f"{problem.message} (set in {place})", fix=fix)

    def _edit(self, problem: Problem, place: str) -> str | None:
        if place.startswith(ENV_PREFIX):
            return f"unset {place}"
        if place == COMMAND_LINE:
            return f"leave out the option that sets {problem.path}"
        if place != self.paths.config_name(USER_FILE):
            return f"change {problem.path} in {place}"
        return problem.fix

    def require_valid(self) -> None:
        """Raise when core's own settings are wrong.

        Raises:
            ConfigError: With the first problem, and how many more there are.
        """
        if self.problems:
            first, *others = self.problems
            more = f"; {len(others)} more: pegboard config check" if others else ""
            raise ConfigError(first.message + more, fix=first.fix, key=first.path)


def load(
    paths: Paths,
    *,
    project: Path | None = None,
    env: Mapping[str, str] = os.environ,
    overrides: Mapping[str, Any] | None = None,
) -> Config:
    """Read and merge all settings; unknown keys and wrong types land in `Config.problems`.

    The command line counts before the environment, that before the project's file, that before the
    user's, and all before the defaults. Tables are merged, anything else is replaced.

    Args:
        paths: The folders.
        project: A trusted project folder, whose `.pegboard/config.toml` counts; None = none.
        env: `PEGBOARD__AGENT__MAX_STEPS=5` sets `agent.max_steps`.
        overrides: Dotted keys from the command line.

    Raises:
        ConfigError: When a file is not TOML or can't be read.
    """
    data = defaults(CORE_SCHEMA)
    sources: dict[str, str] = {}
    candidates = [paths.config_name(USER_FILE)]
    if project is not None:
        candidates.append(os.path.join(project, PROJECT_FILE))  # noqa: PTH118
    layers = [(file, table) for file in candidates if (table := read_file(file)) is not None]
    for file, table in layers:
        _merge(data, table, file, sources, ())
    for name, parts, value in _from_env(env):
        _merge(data, _nested(_spelled(parts, data), value), name, sources, ())
    for dotted, value in (overrides or {}).items():
        _merge(data, _nested(split_key(dotted), value), COMMAND_LINE, sources, ())
    files = [file for file, _ in layers]
    config = Config(data, sources, paths, files)
    if not sources:
        return config  # the defaults are right; a test holds it
    found = (*check(data, CORE_SCHEMA), *agent_problems(data))
    problems = tuple(map(config.located, found))
    return Config(data, sources, paths, files, problems)


def read_file(file: StrPath) -> dict[str, Any] | None:
    """Read one settings file; None = it is not there.

    Raises:
        ConfigError: When it is not TOML or can't be read; names file, line and column.
    """
    try:
        with open(file, "rb") as stream:  # noqa: PTH123
            text = stream.read().decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(
            f"{file} can't be read: {error.strerror}", fix=f"chmod u+r {file}", file=str(file)
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{file} is not UTF-8 (byte {error.start})",
            fix=f"save {file} as UTF-8",
            file=str(file),
        ) from error
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _not_toml(file, text, error) from error


def parse_value(text: str) -> Any:
    """Return `text` read as a TOML value, else as the string it is."""
    import tomllib

    try:
        return tomllib.loads(f"value = {text}\n")["value"] if "\n" not in text else text
    except (tomllib.TOMLDecodeError, RecursionError):
        return text


def _not_toml(file: StrPath, text: str, error: Exception) -> ConfigError:
    lines = text.splitlines()
    match = re.match(_POSITION, str(error))
    what = match[1] if match else str(error) or "nested too deep"
    line = int(match[2]) if match and match[2] else max(len(lines), 1)
    column = int(match[3]) if match and match[3] else 1
    shown = _head(lines[line - 1].strip()) if line <= len(lines) else ""
    where = f"{file}, line {line}, column {column}"
    return ConfigError(
        f"{where}: not TOML: {what}" + (f", in: {shown[:80]}" if shown else ""),
        fix=f"mend line {line} of {file}; a line is `key = value`, and text is in quotes",
        file=str(file),
        line=line,
        column=column,
    )


def _head(line: str) -> str:
    """Return how a line of a file begins; the rest may be a secret."""
    head = re.split(r"[\s=\"']", line, maxsplit=1)[0]
    if head == line:
        return line
    return f"{head} = ..." if "=" in line else f"{head} ...".lstrip()


def _merge(
    into: dict[str, Any],
    table: Mapping[str, Any],
    place: str,
    sources: dict[str, str],
    above: tuple[str, ...],
) -> None:
    for key, value in table.items():
        here = (*above, key)
        dotted = join_key(here)
        if isinstance(value, Mapping):
            if not isinstance(into.get(key), dict):
                _forget(dotted, sources)
                into[key] = {}
            if not value:
                sources.setdefault(dotted, place)
            _merge(into[key], value, place, sources, here)
        else:
            _forget(dotted, sources)
            into[key] = value
            sources[dotted] = place


def _forget(dotted: str, sources: dict[str, str]) -> None:
    for key in [key for key in sources if key == dotted or key.startswith(f"{dotted}.")]:
        del sources[key]


def _nested(parts: Sequence[str], value: Any) -> dict[str, Any]:
    for part in reversed(parts[1:]):
        value = {part: value}
    return {parts[0]: value}


def _from_env(env: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    for name in sorted(env):
        parts = name.removeprefix(ENV_PREFIX).lower().split("__")
        if name.startswith(ENV_PREFIX) and all(parts):
            yield name, tuple(parts), parse_value(env[name])


def _spelled(parts: Sequence[str], data: Mapping[str, Any]) -> list[str]:
    """Return the parts as they are spelled in `data`: a variable's name can't hold a `-`."""
    spelled: list[str] = []
    table: Any = data
    for part in parts:
        known = table if isinstance(table, Mapping) else {}
        if part not in known:
            part = next((key for key in known if key.lower().replace("-", "_") == part), part)
        if spelled == ["plugins"] and part not in RESERVED:
            part = part.replace("_", "-")  # ids have no underscore
        spelled.append(part)
        table = known.get(part)
    return spelled
