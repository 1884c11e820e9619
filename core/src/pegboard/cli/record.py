"""`pegboard record` and `pegboard replay`: a turn as a file, and the file run again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pegboard.cli import exit_codes
from pegboard.cli.output import BAD
from pegboard.cli.session import Session, json_option
from pegboard.cli.tools.options import workspace_option

if TYPE_CHECKING:
    from pegboard.agent.recording import Recording
    from pegboard.agent.replay import Replayed


@click.command("record")
@click.argument("turn", required=False, default="")
@click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to FILE, readable by you only.  [default: standard output]",
    metavar="FILE",
)
@click.pass_obj
def record_command(session: Session, turn: str, file: Path | None) -> None:
    """Write what happened in a turn to one file, which `pegboard replay` runs again.

    TURN is the id of a turn; without it, the one that ended last. The file holds what came in and
    what was said before, the answers of the models, the calls with their results, and the times.
    Known secrets are masked. All else that the conversation says is in it: read it before you hand
    it on.
    """
    recording = session.run(lambda: _recording(session, turn))
    if file is None:
        session.output.data(recording.text().rstrip("\n"))
        return
    from pegboard.config.private_file import write_private

    write_private(file, recording.text())
    session.output.note(f"Turn {recording.turn} is recorded in {file}.")


@click.command("replay")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--tools", is_flag=True, help="Run the calls for real, and say what they return otherwise."
)
@workspace_option
@json_option
@click.pass_context
def replay_command(ctx: click.Context, file: Path, tools: bool, workspace: Path | None) -> None:
    """Run a recorded turn again, with no network: models, tools and time are as they were.

    The reply is the recorded one. Where this version of Pegboard comes to something else, the first
    such place is told and the exit code is 1.

    With --tools every call of the file is made, in the current folder, under your own policy: as
    careful as you would be with a script of somebody else, read the file first.
    """
    from pegboard.agent.recording import read_recording

    session: Session = ctx.obj
    recording = read_recording(file)
    replayed = session.run(lambda: _replayed(session, recording, tools, workspace))
    output = session.output
    if output.json_wanted:
        output.json(_facts(recording, replayed))
    elif replayed.text:
        output.data(replayed.text)
    else:
        output.note(f"The recording ends in step {replayed.steps}: {recording.state}.")
    if not replayed.differences:
        return
    if not output.json_wanted:
        shown = replayed.differences if tools else replayed.differences[:1]
        for difference in shown:
            output.note(f"Not as recorded: {difference}", BAD)
    ctx.exit(exit_codes.FAILED)


async def _recording(session: Session, turn: str) -> Recording:
    from pegboard._version import __version__
    from pegboard.store.blobs import FolderBlobs
    from pegboard.store.reading import reading
    from pegboard.turns.record import latest_turn, record

    async with reading(session.paths.state) as store:
        return await record(
            store,
            turn or await latest_turn(store),
            FolderBlobs(session.paths.state / "blobs"),
            redact=session.redactor.data,
            pegboard=__version__,
            plugins={item.id: item.version for item in session.boot.records if item.usable},
        )


async def _replayed(
    session: Session, recording: Recording, tools: bool, workspace: Path | None
) -> Replayed:
    from pegboard.agent.replay import replay

    if not tools:
        return await replay(recording)
    async with session.open_host(workspace) as host:
        guest = recording.caller.trust != "operator"
        caller = host.local_caller(as_guest=guest, attended=False)
        async with host.real_calls(recording, caller) as run_call:
            return await replay(recording, run_call=run_call)


def _facts(recording: Recording, replayed: Replayed) -> dict[str, object]:
    return {
        "turn": recording.turn,
        "text": replayed.text,
        "status": replayed.status,
        "steps": replayed.steps,
        "differences": [
            {"where": item.where, "now": item.asked, "recorded": item.recorded}
            for item in replayed.differences
        ],
    }
