"""Commands that plugins contribute: listed from manifests, imported when they run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from pegboard.cli.lazy_group import LazyGroup
from pegboard.cli.session import Session, session_of
from pegboard.contracts.errors import PegboardError, PluginError

if TYPE_CHECKING:
    from pegboard.plugins.decision.boot import Boot
    from pegboard.plugins.decision.state import PluginRecord
    from pegboard.plugins.discovery.manifest import ContributionFact


def contributed(
    records: Iterable[PluginRecord], *, usable: bool = True
) -> dict[str, list[tuple[PluginRecord, ContributionFact]]]:
    """Return the commands that manifests state, by name, and who brings each.

    Args:
        records: The installed plugins.
        usable: False to include those of plugins that can't be used now.
    """
    found: dict[str, list[tuple[PluginRecord, ContributionFact]]] = {}
    for record in records:
        if record.manifest is None or (usable and not record.usable):
            continue
        for fact in record.manifest.contributions:
            if fact.kind == "command":
                found.setdefault(fact.name, []).append((record, fact))
    return found


class CommandGroup(LazyGroup):
    """The root group: its own commands, and those of the installed plugins."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return core's commands, then the plugins' in alphabetical order."""
        return [*self.lazy, *sorted(self._extra(ctx))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return core's command, or a plugin's as its manifest states it (nothing is imported)."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        summary = self._extra(ctx).get(cmd_name)
        return None if summary is None else click.Command(cmd_name, short_help=summary)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that `args` begins with; a plugin's is imported now."""
        name = args[0]
        if name in self.lazy or name.startswith("-"):
            return super().resolve_command(ctx, args)
        try:
            return name, load_command(session_of(ctx), name), args[1:]
        except PegboardError:
            if ctx.resilient_parsing:
                return None, None, args[1:]
            raise
        except LookupError:
            if not ctx.resilient_parsing:
                self.unknown(ctx, name, self._known(ctx))
            return None, None, args[1:]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write core's commands and the plugins' into the help."""
        super().format_commands(ctx, formatter)
        extra = self._extra(ctx)
        if extra:
            with formatter.section("Commands of plugins"):
                formatter.write_dl(sorted(extra.items()))

    def _extra(self, ctx: click.Context) -> dict[str, str]:
        """Name and summary of what plugins add; nothing when config or a plugin stands in the way.

        Help must work in a broken installation; `plugins doctor` says what is broken.
        """
        try:
            found = contributed(session_of(ctx).boot.records)
        except (PegboardError, OSError):
            return {}
        return {
            name: items[0][1].summary or f"A command of the plugin {items[0][0].id}."
            for name, items in found.items()
            if name not in self.lazy and len(items) == 1
        }

    def _known(self, ctx: click.Context) -> list[str]:
        from pegboard.plugins.discovery.first_party import COMMAND_PACKAGES

        return [*self._extra(ctx), *COMMAND_PACKAGES]


def load_command(session: Session, name: str) -> click.Command:
    """Import the command `name` from the plugin that brings it.

    Raises:
        LookupError: When nobody, installed or known, brings such a command.
        PluginError: When the plugin is missing, can't be used, or two bring the same command.
    """
    boot = session.boot_with(retry_failed=True)
    unseen = any(record.usable and record.manifest is None for record in boot.records)
    if not unseen and name not in contributed(boot.records):
        raise _missing(boot, name)
    from pegboard.cli.command_import import import_command

    command = session.run(lambda: import_command(session, boot, name))
    if command is None:
        raise _missing(boot, name)
    return command


def _missing(boot: Boot, name: str) -> Exception:
    """Return the most helpful error about a command that no usable plugin brings."""
    from pegboard.plugins.discovery.first_party import COMMAND_PACKAGES

    package = COMMAND_PACKAGES.get(name)
    broken = contributed(boot.records, usable=False).get(name, [])
    installed = next((record for record in boot.records if record.dist == package), None)
    record = broken[0][0] if broken else installed
    if record is not None:
        return PluginError(
            f"The command {name!r} comes from the plugin {record.id} "
            f"({record.dist} {record.version}), which is {record.state.value}: {record.reason}",
            fix=record.fix,
        )
    if package is None:
        return LookupError(name)
    return PluginError(
        f"The command {name!r} comes from the package {package}, which is not installed.",
        fix=f"pip install {package}",
    )
