"""Run the course of verbs in child processes, each of which dies at a crash point.

    python crash_course.py FOLDER [VERB:WHEN:TIMES ...]

Each child works in a folder of its own, named like its point, and adds one byte to the file
`returned` there whenever a verb has returned. Prints how each child ended. The children are forked,
since starting Python and importing everything takes longer than the course.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import workload

from pegboard.store import crash_points
from pegboard.store.embedded import open_store


async def course(folder):
    with (folder / "returned").open("ab", buffering=0) as returned:
        store = await open_store(folder, worker="one")
        returned.write(b"o")
        for step in workload.steps(store):
            await step
            returned.write(b".")
        await store.aclose()


def main():
    base, *points = sys.argv[1:]
    for point in points:
        folder = Path(base, point)
        folder.mkdir()
        child = os.fork()
        if child == 0:
            crash_points._POINT = crash_points.read({crash_points.VARIABLE: point})
            asyncio.run(course(folder))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(point, os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
