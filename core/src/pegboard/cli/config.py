"""`pegboard config`: show, change and check the configuration."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from pegboard.cli import exit_codes
from pegboard.cli.completing import config_keys, dotted_keys
from pegboard.cli.fault import tell
from pegboard.cli.lazy_group import LazyGroup
from pegboard.cli.output import FAINT, GOOD, PLAIN
from pegboard.cli.resident import tell_host
from pegboard.cli.session import Session, json_option
from pegboard.cli.settings import doubts, merged_schema, problems, visible
from pegboard.config import edit
from pegboard.config.keys import join_key
from pegboard.config.nearest import nearest
from pegboard.contracts.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from pegboard.config.schema import Problem

_COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "show": ("config:show", "Show every setting in force and where it comes from."),
    "get": ("config:get", "Print one setting."),
    "set": ("config:set_command", "Set one key in your config file; its comments stay."),
    "unset": ("config:unset", "Remove one key or table from your config file."),
    "check": ("config:check", "Check all settings, the plugins' included."),
    "schema": ("config:schema", "Print the JSON Schema of the config file."),
}
_BY_SETTING: Final = ("pegboard config", "leave out the option")
"""What a fix begins with that is about the setting itself, and not about what it names."""


@click.group("config", cls=LazyGroup, lazy=_COMMANDS)
def group() -> None:
    """Show, change and check the configuration."""


@click.command("show")
@json_option
@click.pass_obj
def show(session: Session) -> None:
    """Show every setting in force and where it comes from."""
    config = session.config
    shown = visible(config, session.boot)
    rows = [(key, value, config.source(key)) for key, value in flat(shown.data)]
    if session.output.json_wanted:
        settings = {key: {"value": value, "source": source} for key, value, source in rows}
        files = [str(file) for file in config.files]
        session.output.json({"settings": settings, "files": files})
        return
    session.output.table(
        ["KEY", "VALUE", "FROM"],
        [(key, value_text(value), source) for key, value, source in rows],
        paint={2: lambda source: FAINT if source == "default" else PLAIN},
    )


@click.command("get")
@click.argument("key", shell_complete=config_keys)
@json_option
@click.pass_context
def get(ctx: click.Context, key: str) -> None:
    """Print one setting; a list or table as JSON. Exit code 1 when it is known but not set.

    What is secret is hidden.
    """
    session: Session = ctx.obj
    value = _shown(session, key)
    if value is None:
        _refuse_unknown(session, key)
        session.output.note(f"{key} is not set.")
        ctx.exit(exit_codes.FAILED)
    if session.output.json_wanted:
        facts = {"key": key, "value": value, "source": session.config.source(key)}
        session.output.json(facts)
    else:
        session.output.data(value if isinstance(value, str) else value_text(value))


@click.command("set")
@click.argument("key", shell_complete=config_keys)
@click.argument("value")
@click.pass_obj
def set_command(session: Session, key: str, value: str) -> None:
    """Set one key in your config file; its comments stay.

    VALUE is TOML (5, true, '["a", "b"]'), else it is text. A value that would be wrong is refused.
    """
    parsed = edit.parse_value(value)
    refuse_wrong(session, {key: parsed})
    edit.set_value(session.paths.config_file, key, parsed)
    now = session.again()
    session.output.line(f"{key} = {value_text(_shown(now, key))}", GOOD)
    source = now.config.source(key)
    if str(session.paths.config_file) not in source:
        tell(session.output, f"{source} still decides {key}.", None, title="Warning")
    tell_host(session, subject=key)


@click.command("unset")
@click.argument("key", shell_complete=config_keys)
@click.pass_obj
def unset(session: Session, key: str) -> None:
    """Remove one key or table from your config file."""
    if not edit.unset(session.paths.config_file, key):
        raise UsageError(
            f"{key} is not set in {session.paths.config_file}.", fix="pegboard config show"
        )
    session.output.line(f"{key} is removed.", GOOD)
    tell_host(session, subject=key)


@click.command("check")
@json_option
@click.pass_context
def check(ctx: click.Context) -> None:
    """Check all settings, the plugins' included; nothing is started."""
    session: Session = ctx.obj
    found, open_ = problems(session.config, session.boot), doubts(session.boot)
    if session.output.json_wanted:
        session.output.json(
            {
                "problems": [problem._asdict() for problem in found],
                "doubts": [doubt._asdict() for doubt in open_],
            }
        )
    else:
        for problem in found:
            tell(session.output, problem.message, problem.fix)
        for doubt in open_:
            tell(session.output, doubt.message, doubt.fix, title="Not checked")
        if not found:
            files = ", ".join(str(file) for file in session.config.files) or "no config file"
            known = "All settings that are known" if open_ else "All settings"
            session.output.line(f"{known} are in order ({files}).", GOOD)
    if found:
        ctx.exit(exit_codes.CONFIG)


@click.command("schema")
@click.pass_obj
def schema(session: Session) -> None:
    """Print the JSON Schema of the config file, with the settings of all installed plugins."""
    session.output.data(json.dumps(merged_schema(session.boot), indent=2))


def flat(data: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield each value of nested tables with its dotted key; an empty table yields nothing."""
    for name, value in data.items():
        if isinstance(value, Mapping):
            yield from flat(value, (*above, name))
        else:
            yield join_key((*above, name)), value


def value_text(value: Any) -> str:
    """Return a value on one line, as JSON, which reads like TOML for all that a setting can be."""
    return json.dumps(value, ensure_ascii=False, default=str)


def _shown(session: Session, key: str) -> Any:
    """Return the value in force of a key without what is secret; None = it has none."""
    config = session.config
    if config.get(key) is None:
        return None
    return visible(config, session.boot).get(key)


def refuse_wrong(session: Session, values: Mapping[str, Any]) -> None:
    """Raise when new values would bring a problem that is not there now.

    Args:
        session: The settings as they are.
        values: Dotted key -> new value.

    Raises:
        ConfigError: With the first problem.
    """
    trial = Session(
        home=session.home, safe=session.safe, settings=session.settings, output=session.output
    )
    trial.overrides.update(values)
    before = problems(session.config, session.boot)
    new: list[Problem] = [
        problem for problem in problems(trial.config, trial.boot) if problem not in before
    ]
    if new:
        # the trial value was handed over like an option, but nobody gave one
        keys = " and ".join(values)
        message = new[0].message.removesuffix(" (set in command line)").removeprefix(f"{keys}: ")
        fix = new[0].fix
        if _is_about(new[0].path, values) and (not fix or fix.startswith(_BY_SETTING)):
            unknown = message.startswith("unknown key")
            fix = "pegboard config show" if unknown else f"pegboard config set {keys} VALUE"
        raise ConfigError(f"{keys} is unchanged: {message}", fix=fix)


def _is_about(path: str, values: Mapping[str, Any]) -> bool:
    # what is wrong in a plugin's settings is told of their table
    return any(key == path or key.startswith(f"{path}.") for key in values)


def _refuse_unknown(session: Session, key: str) -> None:
    known = list(dotted_keys(merged_schema(session.boot)))
    if key in known or any(name.startswith(f"{key}.") for name in known):
        return
    near = nearest(key, known)
    raise UsageError(
        f"There is no setting {key!r}.",
        fix=f"pegboard config get {near}" if near else "pegboard config show",
    )
