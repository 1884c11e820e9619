"""Keeping the whole of a result that a run shortens later on."""

from __future__ import annotations

from collections.abc import Callable

from pegboard.contracts.message import CallResult
from pegboard.tools.kept_results import KeptResult
from pegboard.tools.limits import line_count
from pegboard.tools.run_scope import RunScope


class RecallKeeper:
    """Keeps texts where `tool_result_recall` finds them.

    Args:
        run: The run that the results are of.
        may_recall: Tells whether its caller may use that tool.
    """

    def __init__(self, run: RunScope, may_recall: Callable[[], bool]) -> None:
        self._run = run
        self._may_recall = may_recall

    async def __call__(self, result: CallResult, text: str, outside: bool) -> str | None:
        """Keep a text and return the sentence that says how to read it; None when it can't be.

        Args:
            result: The result.
            text: Its whole text, without marks.
            outside: True when it came from outside.
        """
        kept = self._run.kept
        if kept.get(result.call_id) is None:  # one that was cut is kept whole already
            try:
                blob = await self._run.blobs.put(
                    text.encode("utf-8", "replace"),
                    media_type="text/plain",
                    name=f"{result.name}.txt",
                )
            except OSError:
                return None
            kept.add(
                KeptResult(
                    call=result.call_id,
                    tool=result.name,
                    blob=blob,
                    chars=len(text),
                    lines=line_count(text),
                    outside=outside,
                )
            )
        if self._may_recall():
            return f'Read the whole with tool_result_recall(call_id="{result.call_id}").'
        return "Call the tool again if you need the rest."
