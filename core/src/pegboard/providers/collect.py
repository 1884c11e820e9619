"""Hold a provider's stream to the laws, and fold it into its `Done`.

The laws: nothing after `Done`; exactly one end; calls become executable only in `Done`; their ids
are unique; the text deltas add up to the answer.
"""

from __future__ import annotations

import inspect
import io
import itertools
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from dataclasses import replace
from typing import Any

from pegboard.contracts import json_text
from pegboard.contracts.errors import PegboardError
from pegboard.contracts.message import ToolCall
from pegboard.contracts.provider import (
    NO_USAGE,
    Done,
    ErrorKind,
    Notice,
    ProviderError,
    ProviderEvent,
    ProviderInfo,
    Restart,
    Start,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStart,
    Usage,
)
from pegboard.plugins.building.isolation import is_plugin_fault
from pegboard.policy.redaction import Redactor
from pegboard.providers.calls import CallAssembler
from pegboard.providers.surrogates import TextJoiner, repaired

_log = logging.getLogger(__name__)
_shapeless = Redactor()
"""Masks what looks like a key; the values that the host knows are masked where errors are shown."""


class StreamFold:
    """Takes the events of one stream and returns those to pass on, corrected where a law broke.

    Args:
        info: The provider, for messages.
        seen: Ids of calls already used in the conversation; the ids of this stream are added.

    Attributes:
        done: The corrected `Done`, once it came.
        shown: True when text or thinking was passed on, so that a person may have seen it.
        data: True when any part of an answer arrived.
        model: The model that answers, as the provider names it; "" until it said so.
    """

    def __init__(self, info: ProviderInfo, *, seen: set[str] | None = None) -> None:
        self.done: Done | None = None
        self.shown = False
        self.data = False
        self.model = ""
        self._info = info
        self._seen = set() if seen is None else seen
        self._joiner = TextJoiner()
        self._pieces = io.StringIO()  # a list of small texts would take ten times their size
        self._calls = CallAssembler()

    def add(self, event: ProviderEvent) -> Iterable[ProviderEvent]:
        """Take one event and return what to pass on.

        Raises:
            ProviderError: When the stream breaks a law that can't be mended.
        """
        if self.done is not None:
            raise self._error("protocol", "sent something after the end of its answer")
        if isinstance(event, TextDelta):
            return self._text(event)
        if isinstance(event, ThinkingDelta):
            self.data = self.shown = True
            return (ThinkingDelta(repaired(event.text)),)
        if isinstance(event, Done):
            return self._end(event)
        return self._other(event)

    def end(self) -> Done:
        """Return the `Done` of a stream that is over.

        Raises:
            ProviderError: When there was none: `empty_stream` when nothing came at all, else
                `protocol`. Calls that looked complete are dropped with it.
        """
        if self.done is not None:
            return self.done
        if not self.data:
            raise self._error("empty_stream", "ended its stream without an answer")
        cut = [call.name for call in self._calls.calls()]
        raise self._error("protocol", "broke off in the middle of its answer", cut_calls=cut)

    def failure(self, error: BaseException) -> ProviderError:
        """Return the `ProviderError` that stands for what a provider raised.

        Raises:
            BaseException: The error itself, when it is the host's own will and no fault.
        """
        if not is_plugin_fault(error):
            raise error
        if isinstance(error, PegboardError):
            return self._own(error)
        kind: ErrorKind = "protocol"
        if isinstance(error, TimeoutError):
            kind = "timeout"
        elif isinstance(error, OSError):
            kind = "network"
        # the text of a foreign exception may hold a request with its key, so only a log that was
        # asked for gets it: a warning reaches the terminal of whoever has set up none
        _log.info("provider %s raised", self._info.id, exc_info=error)
        return self._error(kind, f"raised {type(error).__name__}")

    def _own(self, error: PegboardError) -> ProviderError:
        """Return the failure for an error that was written for people: it would come up again."""
        failure = ProviderError(
            _shapeless(error.message),
            kind="not_found",
            fix=None if error.fix is None else _shapeless(error.fix),
            started=self.shown,
        )
        failure.details.update(_shapeless.data(error.details))
        return failure

    def _text(self, event: TextDelta) -> Iterable[ProviderEvent]:
        self.data = True
        ready = self._joiner.add(event.text)
        if not ready:
            return ()
        self.shown = True
        self._pieces.write(ready)
        return (event if ready is event.text else TextDelta(ready),)

    def _other(self, event: ProviderEvent) -> Iterable[ProviderEvent]:
        if isinstance(event, ToolCallStart):
            self.data = True
            self._calls.start(index=event.index, id=event.id, name=event.name)
        elif isinstance(event, ToolCallDelta):
            self.data = True
            self._calls.add(event.text, index=event.index)
        elif isinstance(event, Restart):
            self._joiner, self._pieces, self._calls = TextJoiner(), io.StringIO(), CallAssembler()
        elif isinstance(event, Start):
            self.model = event.model
        elif not isinstance(event, Notice):
            raise self._error("protocol", f"sent a {type(event).__name__}, which is no event")
        return (event,)

    def _end(self, done: Done) -> Iterable[ProviderEvent]:
        if done.stop == "tool_use" and not done.calls and len(self._calls):
            raise self._error("malformed_tool_call", "announced a tool call but did not finish it")
        self.data = True
        passed, text = self._whole_text(repaired(done.text))
        calls, notices = self._whole_calls(done)
        changed = calls != done.calls
        self.done = replace(
            done,
            text=text,
            calls=calls,
            usage=done.usage if isinstance(done.usage, Usage) else NO_USAGE,
            # the provider's own record would name calls that we know under other ids, or not at all
            state=None if changed else done.state,
        )
        return (*passed, *notices, self.done)

    def _whole_text(self, whole: str) -> tuple[list[ProviderEvent], str]:
        passed: list[ProviderEvent] = []
        rest = self._joiner.rest()
        if rest:
            self._pieces.write(rest)
            passed.append(TextDelta(rest))
        streamed = self._pieces.getvalue()
        if not whole or whole == streamed:
            self.shown = self.shown or bool(passed)
            return passed, streamed
        self.shown = True
        if whole.startswith(streamed):
            return [*passed, TextDelta(whole[len(streamed) :])], whole
        # what was shown is not the answer: let channels show it anew
        _log.warning("provider %s: its deltas do not add up to its answer", self._info.id)
        return [*passed, Restart(0, self._info.id), TextDelta(whole)], whole

    def _whole_calls(self, done: Done) -> tuple[tuple[ToolCall, ...], list[ProviderEvent]]:
        calls, notices = [], list[ProviderEvent]()
        for call in done.calls:
            if done.stop == "max_tokens" and not _is_whole(call.arguments):
                notices.append(
                    Notice("call_cut", f"A call of {call.name} was cut off and does not run.")
                )
                continue
            calls.append(self._with_id(call))
        return tuple(calls), notices

    def _with_id(self, call: ToolCall) -> ToolCall:
        id, name, arguments = repaired(call.id or ""), repaired(call.name), repaired(call.arguments)
        if not id or id in self._seen:
            numbers = itertools.count(len(self._seen) + 1)
            id = next(new for n in numbers if (new := f"call-{n}") not in self._seen)
            _log.debug("provider %s: no unique id for a call; using %s", self._info.id, id)
        self._seen.add(id)
        if (id, name, arguments) == (call.id, call.name, call.arguments):
            return call
        return ToolCall(id, name, arguments)

    def _error(self, kind: ErrorKind, what: str, **details: Any) -> ProviderError:
        title = self._info.title or self._info.id
        return ProviderError(f"{title} {what}.", kind=kind, started=self.shown, **details)


def _is_whole(arguments: str) -> bool:
    """Tell whether arguments of an answer that was cut are all there; none at all are not."""
    return bool(arguments.strip()) and json_text.read_object(arguments) is not None


async def lawful(
    events: AsyncIterator[ProviderEvent], fold: StreamFold, *, strict: bool = False
) -> AsyncGenerator[ProviderEvent, None]:
    """Pass on the events of a stream until its `Done`, which is the last; then close it.

    Args:
        events: The provider's stream.
        fold: Where it is folded.
        strict: True to read on after `Done` and fail when anything follows, as a contract test
            does. A host stops there: a provider that hangs after its answer costs nothing.

    Raises:
        ProviderError: In place of `Done`; anything else that the provider raises becomes one.
    """
    try:
        while strict or fold.done is None:
            # this is not around the `yield`: what comes in there is the will of whoever reads this
            try:
                passed = tuple(fold.add(await anext(events)))
            except StopAsyncIteration:
                break
            except ProviderError as error:
                error.started = error.started or fold.shown
                raise
            except BaseException as error:
                raise fold.failure(error) from error
            for event in passed:
                yield event
        fold.end()
    finally:
        await _close(events)


async def _close(events: object) -> None:
    """End a stream, or what somebody took for one."""
    if inspect.iscoroutine(events):  # `async def stream` that returns its iterator
        events.close()
    close = getattr(events, "aclose", None)
    if close is not None:
        await close()


async def collect(
    events: AsyncIterator[ProviderEvent], info: ProviderInfo, *, strict: bool = True
) -> Done:
    """Read a whole stream and return its `Done`.

    Raises:
        ProviderError: When the provider fails, or breaks a law.
    """
    fold = StreamFold(info)
    async for _ in lawful(events, fold, strict=strict):
        pass
    return fold.end()
