"""A recording of a turn, made of what the store keeps of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pegboard.agent.recording import RecordedCall, RecordedStep, Recording
from pegboard.agent.setup import DEFAULT_MAX_STEPS
from pegboard.contracts.blob import Blobs
from pegboard.contracts.errors import UsageError
from pegboard.contracts.journal import Answered
from pegboard.contracts.message import InboundMessage, Message, ToolCall
from pegboard.contracts.result import Part, Text, ToolResult
from pegboard.contracts.store import Store
from pegboard.contracts.turn import Begun, CallRecord, Json
from pegboard.contracts.wire import CALLER, INBOUND, MESSAGE
from pegboard.turns.call_form import LostValue, Packer
from pegboard.turns.conclusion import part_message
from pegboard.turns.request_digests import message_digest

Redact = Callable[[Any], Any]
"""`redact(data)` returns JSON-like data with the secrets in its texts masked."""
_FIX: Final = "pegboard sessions list"


async def latest_turn(store: Store) -> str:
    """Return the id of the turn that ended last.

    Raises:
        UsageError: When there is none.
    """
    for conversation in await store.conversations(limit=1):
        for turn in reversed(await store.messages(conversation.key)):
            return turn.turn
    raise UsageError("No turn has ended yet.", fix='pegboard ask "hello"')


async def record(
    store: Store,
    turn: str,
    blobs: Blobs,
    *,
    redact: Redact,
    pegboard: str,
    plugins: Mapping[str, str],
) -> Recording:
    """Return a recording of a turn.

    Args:
        store: Where it is kept.
        turn: Its id.
        blobs: Where its large values are.
        redact: Takes secrets out.
        pegboard: Version of the host.
        plugins: Version of each plugin, by id.

    Raises:
        UsageError: When there is no such turn.
        StoreError: When what is kept of it can't be read.
    """
    begun = await store.begun(turn)
    if begun is None:
        raise UsageError(f"There is no turn {turn}.", fix=_FIX)
    reader = _Reader(begun, Packer(blobs), await _pool(store, begun))
    recording = await reader.recording()
    recording = replace(recording, pegboard=pegboard, plugins=plugins)
    return redacted(recording, redact)


def redacted(recording: Recording, redact: Redact) -> Recording:
    """Return a recording without secrets.

    A message that held one is not compared in a replay: what is masked in it may be masked in other
    places than in the parts that it is made of.
    """
    masked = Recording.from_dict(redact(recording.to_dict()))
    steps = [
        replace(
            step,
            asked=None
            if step.asked is None or before.asked is None
            else tuple(
                now if now == then else None
                for now, then in zip(step.asked, before.asked, strict=True)
            ),
        )
        for step, before in zip(masked.steps, recording.steps, strict=True)
    ]
    return replace(masked, steps=tuple(steps))


async def _pool(store: Store, begun: Begun) -> dict[str, Message]:
    """Return every message that requests of a turn may have held, by digest."""
    key = begun.turn.ref.key
    turns = [*await store.messages(key), *(await store.transcript(key)).turns]
    messages = [MESSAGE.read(form) for turn in turns for form in turn.messages]
    messages.append(_user_message(INBOUND.read(begun.turn.message)))
    return {message_digest(message): message for message in messages}


@dataclass(slots=True)
class _Reader:
    """Reads a turn from its record.

    Args:
        begun: What is kept of it.
        packer: Reads large values.
        pool: Messages by digest.
    """

    begun: Begun
    packer: Packer
    pool: dict[str, Message]

    async def recording(self) -> Recording:
        turn = self.begun.turn
        forms = list(self._answers())
        asked = await self._asked(forms)
        steps = [
            await self._step(form, following, messages)
            for form, following, messages in zip(forms, [*forms[1:], None], asked, strict=True)
        ]
        error = turn.error
        limit = bool(error) and (error or {}).get("code") == "step_limit"
        return Recording(
            turn=turn.ref.turn,
            conversation=turn.ref.key,
            agent=turn.agent,
            message=INBOUND.read(turn.message),
            caller=CALLER.read(turn.caller),
            received_at=turn.received_at,
            ended_at=turn.ended_at,
            state=turn.state,
            error=error,
            start=(asked[0] or ()) if asked else (),
            steps=_natural(steps),
            reply=tuple(part_message(part.message) for part in self.begun.outbox),
            max_steps=len(steps) if limit else max(DEFAULT_MAX_STEPS, len(steps)),
        )

    def _answers(self) -> Iterator[Json]:
        number = 1
        while (record := self.begun.calls.get(f"model:{number}")) and record.result is not None:
            yield record.result
            number += 1

    async def _asked(self, forms: Sequence[Json]) -> list[tuple[Message | None, ...] | None]:
        """Return what each step was asked with."""
        digests: list[str] = []
        asked: list[tuple[Message | None, ...] | None] = []
        for form in forms:
            request = form.get("request")
            if request is None:
                asked.append(None)
                continue
            for digest, place in request.get("system", {}).items():
                await self._learn(digest, place)
            digests = [*digests[: request["kept"]], *request["messages"]]
            asked.append(tuple(self.pool.get(digest) for digest in digests))
        return asked

    async def _learn(self, digest: str, place: Json) -> None:
        """Take a system message into the pool, if it is still kept."""
        if "message" in place:
            self.pool[digest] = MESSAGE.read(place["message"])
        elif "blob" in place:
            message = await self.packer.message(place["blob"])
            if message is not None:
                self.pool[digest] = message

    async def _step(
        self, form: Json, following: Json | None, asked: tuple[Message | None, ...] | None
    ) -> RecordedStep:
        answer = await self.packer.answer(form)
        settled = {} if following is None else await self.packer.settled(following)
        calls: list[RecordedCall] = []
        for call in answer.done.calls:
            calls.append(await self._call(call, settled.get(call.id)))
            calls.extend([await self._inner(record) for record in self._inside(call.id)])
        return RecordedStep(
            answer=Answered(
                done=replace(answer.done, state=None),
                hop=answer.hop,
                model=answer.model,
                news=answer.news,
            ),
            asked=asked,
            tools=tuple(form.get("request", {}).get("tools", ())),
            calls=tuple(calls),
            began=form["began"],
            ended=form["ended"],
        )

    async def _call(self, call: ToolCall, settled: ToolResult | None) -> RecordedCall:
        record = self.begun.calls.get(call.id)
        recorded = RecordedCall(
            id=call.id, name=call.name, arguments=call.arguments, result=settled
        )
        return recorded if record is None else await self._ended(recorded, record)

    async def _inner(self, record: CallRecord) -> RecordedCall:
        asked: Json = {} if record.result is None else await self.packer.asked(record.result)
        arguments = asked.get("arguments", "")
        recorded = RecordedCall(
            id=record.id,
            name=asked.get("name", record.name),
            arguments=arguments if isinstance(arguments, str) else json.dumps(arguments),
        )
        return await self._ended(recorded, record)

    async def _ended(self, call: RecordedCall, record: CallRecord) -> RecordedCall:
        form = record.result
        if form is None:
            return replace(call, tool=record.name)
        try:
            result = await self.packer.result(form)
        except LostValue:
            return replace(call, tool=record.name)
        return replace(
            call, tool=record.name, result=result, began=form["began"], ended=form["ended"]
        )

    def _inside(self, outer: str) -> list[CallRecord]:
        return [call for call in self.begun.calls.values() if call.id.startswith(f"{outer}.")]


def _natural(steps: Sequence[RecordedStep]) -> tuple[RecordedStep, ...]:
    """Leave out what steps were asked with where it did not grow out of the step before.

    A plugin had changed it, or the host had shortened it, and a replay has neither.
    """
    natural: list[RecordedStep] = []
    tools: tuple[str, ...] = ()
    before: tuple[Message | None, ...] | None = ()
    for step in steps:
        tools = step.tools or tools  # written only when they change
        asked = step.asked
        if asked is None or before is None or asked[: len(before)] != before:
            asked = None  # and so are all after it: they hold what was changed
        natural.append(replace(step, asked=asked, tools=tools))
        before = asked
    return tuple(natural)


def _user_message(message: InboundMessage) -> Message:
    parts: list[Part] = [Text(message.text)] if message.text else []
    parts.extend(attachment.part for attachment in message.attachments)
    return Message("user", tuple(parts))
