"""What a container knows of its host by: pipes with names, in a folder that is mounted in it.

A container does not end with the program that started it, nor with the host, and signals reach only
its first process. So something inside reads a pipe: a line is a signal for all, and the end of the
pipe is the end of the host, and then of the container.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

from pegboard.sandboxes import ScratchFolder

INSIDE: Final = "/run/pegboard"
"""Where the folder is mounted."""
ENTRY: Final = f"""( (
  trap '' HUP INT QUIT TERM USR1 USR2 PIPE ALRM TSTP TTIN TTOU
  while read number; do kill "-$number" -1; done
  kill -9 -1
) <{INSIDE}/line >/dev/null 2>&1 & )
echo >{INSIDE}/begun
exec "$@"
"""
"""Source for `sh -c` that runs its arguments. The reader sends the signals that it is told to send
to all but itself. It is nobody's child: whoever waits for all of its children does not wait for
this one."""
_MOST: Final = 16


class Lifeline:
    """The folder of one command; the host keeps its pipes open for as long as this is open."""

    def __init__(self) -> None:
        self._scratch = ScratchFolder("pegboard-container-")
        self.folder = self._scratch.path
        try:
            self.folder.chmod(0o711)
            self.nothing = self.folder / "nothing"
            self.nothing.touch(0o000)
            self.empty = self.folder / "empty"
            self.empty.mkdir(0o000)
            # for writing too: so it opens at once, and nothing but the end of this process ends it
            self._line = self._pipe("line")
            self._begun = self._pipe("begun")
        except BaseException:
            self._scratch.close()
            raise

    def has_begun(self) -> bool:
        """Tell whether the command has been started inside, not only its container."""
        try:
            return bool(os.read(self._begun, _MOST))
        except BlockingIOError:
            return False

    def signal(self, number: int) -> None:
        """Send a signal to every process of the command, at the latest when it has begun."""
        with suppress(BlockingIOError):  # so many are waiting that this one changes nothing
            os.write(self._line, f"{number}\n".encode())

    def close(self) -> None:
        """End what still runs in the container, and remove the folder."""
        os.close(self._line)
        os.close(self._begun)
        self._scratch.close()

    def _pipe(self, name: str) -> int:
        path = self.folder / name
        os.mkfifo(path, 0o600)
        path.chmod(0o666)  # whoever runs inside, with whatever user id
        return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
