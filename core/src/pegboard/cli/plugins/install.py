"""`pegboard plugins install`: see it first, then let pip of this environment install it."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from pegboard.cli import exit_codes
from pegboard.cli.fault import tell
from pegboard.cli.output import GOOD
from pegboard.cli.plugins.fresh import fresh_plugins
from pegboard.cli.plugins.inspect import differences, print_inspection
from pegboard.cli.plugins.pip import Pip, Target, target_of
from pegboard.cli.resident import tell_host
from pegboard.cli.session import Session, json_option
from pegboard.contracts.errors import PluginError, UsageError
from pegboard.plugins.discovery.first_party import package_of
from pegboard.plugins.discovery.scan import normalized

if TYPE_CHECKING:
    from pegboard.plugins.decision.boot import Boot
    from pegboard.plugins.discovery.inspect import Inspection


@click.command()
@click.argument("what", metavar="WHEEL|FOLDER|NAME")
@click.option("--yes", "-y", is_flag=True, help="Install without asking.")
@click.option("--editable", "-e", is_flag=True, help="Install a folder so that edits take effect.")
@click.option("--reinstall", is_flag=True, help="Install again although the version is the same.")
@click.option(
    "--allow-build", is_flag=True, help="Accept a source archive or address, whose code runs now."
)
@json_option
@click.pass_context
def command(
    ctx: click.Context, what: str, yes: bool, editable: bool, reinstall: bool, allow_build: bool
) -> None:
    """Inspect a plugin, then install it here.

    WHEEL and FOLDER are paths; NAME is a package of the index, of which the wheel is fetched and
    looked into before anything of it runs. Installing runs code: what pip builds, and what the
    plugin does once it is used.
    """
    session: Session = ctx.obj
    target = target_of(package_of(what) or what)
    if editable and target.kind != "folder":
        raise UsageError("--editable takes a folder.", fix="pegboard plugins install -e FOLDER")
    _refuse_source(target, allow_build)
    pip = Pip(session.output, session.env)
    with TemporaryDirectory(prefix="pegboard-") as folder:
        path = _fetch(pip, target, Path(folder), allow_build)
        found = _inspect(path, target)
        ids = list(found.plugins)
        if not session.output.json_wanted:
            print_inspection(session.output, found, differences(found))
        _warn_of_clashes(session, session.boot, found)
        confirm(session, f"Install {found.dist} {found.version} here?", yes=yes)
        flags = ["--editable"] if editable else []
        pip.install(*flags, f"{path}{target.extras}", reinstall=reinstall)
    tell_host(session, subject=f"{found.dist} {found.version}")
    records = {record["id"]: record for record in fresh_plugins(session, ids)}
    if session.output.json_wanted:
        data = {"inspection": found.to_dict(), "plugins": list(records.values())}
        session.output.json(data)
    told = [_tell(session, plugin_id, records.get(plugin_id)) for plugin_id in ids]
    if not all(told):
        ctx.exit(exit_codes.PLUGIN)


def confirm(session: Session, question: str, *, yes: bool) -> None:
    """Ask before something is changed; a refusal ends the command.

    Raises:
        UsageError: When nobody can be asked and `--yes` was not given.
    """
    if yes:
        return
    if not session.output.interactive():
        raise UsageError(
            f"{question} Nobody can answer: this is no terminal.", fix="add --yes to agree"
        )
    session.output.line()
    if not click.confirm(question, err=True):
        session.output.note("Nothing was changed.")
        raise click.exceptions.Exit(exit_codes.FAILED)


def _refuse_source(target: Target, allow_build: bool) -> None:
    if target.kind in ("sdist", "address") and not allow_build:
        raise PluginError(
            f"{target.text} is no wheel: its code would run before it could be inspected.",
            fix=f"pegboard plugins install --allow-build {target.text}",
        )


def _fetch(pip: Pip, target: Target, folder: Path, allow_build: bool) -> Path:
    if target.kind == "name" and not allow_build:
        return pip.download(target.text, folder)
    if target.kind in ("name", "sdist", "address"):
        return pip.build(target.text, folder)
    # absolute: to pip a bare word is a package of the index, which nobody has looked into
    return Path(target.text).resolve()


def _inspect(path: Path, target: Target) -> Inspection:
    from pegboard.plugins.discovery.inspect import inspect

    found = inspect(str(path))
    if not found.plugins:
        raise PluginError(
            f"{found.dist} {found.version} is no Pegboard plugin: it has no entry point in the "
            "group pegboard.plugins.",
            fix=f"{sys.executable} -m pip install {target.text}  (if you want it nevertheless)",
        )
    return found


def _warn_of_clashes(session: Session, boot: Boot, found: Inspection) -> None:
    """Say before the install which ids and tool names are taken already."""
    for record in boot.records:
        if normalized(record.dist) == normalized(found.dist):
            continue
        if record.id in found.plugins:
            tell(
                session.output,
                f"The id {record.id} belongs to {record.dist}; with both installed, neither works.",
                f"pegboard plugins uninstall {record.dist}",
                title="Warning",
            )
        taken = _tool_names(record.manifest)
        for manifest in found.manifests.values():
            for name in sorted(taken & _tool_names(manifest)):
                tell(
                    session.output,
                    f"The tool {name} is also brought by {record.dist}; neither gets the short "
                    "name until config decides.",
                    f"pegboard config set names.{name} {manifest.id}:{name}",
                    title="Warning",
                )


def _tool_names(manifest: Any) -> set[str]:
    return {str(tool["name"]) for tool in manifest.tools} if manifest else set()


def _tell(session: Session, plugin_id: str, record: dict[str, Any] | None) -> bool:
    """Say what became of a plugin; False when it can't be used and nobody chose that."""
    output = session.output
    if record is None:
        tell(output, f"{plugin_id} is installed, but no new process finds it.", "pegboard doctor")
        return False
    state = record["state"]
    if record["usable"]:
        if not output.json_wanted:
            output.line(f"{plugin_id} {record['version']} is {state}.", GOOD)
        return True
    chosen = bool(state == "disabled")
    title = "Warning" if chosen else "Error"
    tell(output, f"{plugin_id} is {state}: {record['reason']}", record["fix"], title=title)
    return chosen
