"""One turn: admitted, answered, delivered, kept."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import anyio.lowlevel

from pegboard.agent.loop import run_loop
from pegboard.agent.prompt import date_note
from pegboard.agent.setup import LoopResult, LoopSetup, Progress
from pegboard.contracts.channel import TurnOutcome
from pegboard.contracts.clock import Clock
from pegboard.contracts.errors import PegboardError
from pegboard.contracts.hook_events import (
    MessageGuardEvent,
    MessageInEvent,
    MessageOutEvent,
    ModelCalled,
    ModelRequestEvent,
    TurnBegan,
    TurnEnded,
)
from pegboard.contracts.message import Message, ToolCall
from pegboard.contracts.provider import ChatRequest
from pegboard.contracts.result import Part, Text
from pegboard.contracts.stream import Noticed, TurnFinished, TurnStarted
from pegboard.contracts.verdict import Ask
from pegboard.conversations.history import History
from pegboard.plugins.building.isolation import one_line
from pegboard.providers.route import ModelAttempt
from pegboard.tools.text_repair import repaired
from pegboard.turns import markers
from pegboard.turns.setup import Hooks, PrepareTurn, Turn, TurnParts

INTERNAL: Final = "Something went wrong inside Pegboard, so there is no answer. The log says what."
_log = logging.getLogger(__name__)


class TurnRun:
    """Runs one turn. `answer` once, then `finish` once, whatever came of the first.

    Args:
        turn: The turn.
        prepare: Returns what the host provides for it.
        hooks: Behaviour hooks.
        history: What was said before; the turn is added to it.
        clock: Time.
        redact: Takes secrets out of the errors that people read.
    """

    def __init__(
        self,
        turn: Turn,
        *,
        prepare: PrepareTurn,
        hooks: Hooks,
        history: History,
        clock: Clock,
        redact: Callable[[str], str] = str,
    ) -> None:
        self.turn = turn
        self._prepare = prepare
        self._hooks = hooks
        self._history = history
        self._clock = clock
        self._redact = redact
        self._progress = Progress()
        self._user: Message | None = None
        self._kept = False
        self._begun = False

    async def answer(self) -> TurnOutcome:
        """Run the turn up to its delivered reply. Failures are outcomes, not exceptions."""
        try:
            return await self._answered()
        except PegboardError as error:
            return await self._fail({**error.to_dict(), "exit_code": error.exit_code})
        except Exception:
            return await self._crashed()

    async def say(self, text: Callable[[], Awaitable[str]]) -> TurnOutcome:
        """Reply with a text that needs no model."""
        try:
            sent = await self._deliver(await text())
        except Exception:
            return await self._crashed()
        return self._not_sent("") if sent is None else self._outcome(sent, "done")

    def stopped(self) -> TurnOutcome:
        """Close the history of a turn that was cancelled, and return how it ended."""
        self._keep(self._progress.messages, markers.STOPPED)
        return self._outcome("", "cancelled")

    async def finish(self, outcome: TurnOutcome) -> None:
        """Tell everybody that the turn is over."""
        await self._begin("", "")
        await self.turn.emit(
            TurnFinished(
                turn=self.turn.id,
                status=outcome.status,
                text=outcome.text,
                steps=outcome.steps,
                usage=outcome.usage.to_dict(),
                error=outcome.error,
            )
        )
        await self._hooks.observe(
            TurnEnded(
                turn=self.turn.id,
                conversation=self.turn.conversation,
                status=outcome.status,
                steps=outcome.steps,
                usage=outcome.usage,
            )
        )

    async def _answered(self) -> TurnOutcome:
        refused = await self._admit()
        if refused is not None:
            return await self._fail(refused)
        parts = await self._prepare(self.turn)
        primary = parts.route.primary
        await self._begin(primary.name, primary.model)
        self._user = _user_message(self.turn)
        messages = await self._messages(parts)
        result = await run_loop(self._loop(parts), messages)
        if result.error is not None:
            return await self._closed_without(result)
        if result.terminated and not result.text.strip():
            self._keep(result.messages, markers.BESIDE)
            return self._outcome("", "done")
        return await self._delivered(result)

    async def _admit(self) -> dict[str, Any] | None:
        """Let hooks change and judge the message; return why it is no turn, or None."""
        turn, original = self.turn, self.turn.message
        event = MessageInEvent(message=original, caller=turn.caller)
        changed = (await self._hooks.transform("pegboard_message_in", event)).message
        # who wrote, and where, is not for a hook to say
        message = replace(
            changed,
            channel=original.channel,
            chat=original.chat,
            sender=original.sender,
            thread=original.thread,
            external_id=original.external_id,
            text=repaired(changed.text),
        )
        self.turn = turn = replace(turn, message=message)
        if not message.text.strip() and not message.attachments:
            return _error("empty_message", "The message is empty.", "Write something to answer.")
        answer = await self._hooks.guard(
            "pegboard_message_guard", MessageGuardEvent(message=message, caller=turn.caller)
        )
        if answer is None:
            return None
        if isinstance(answer, Ask):
            if self._may_agree and await turn.reply.ask(answer.question):
                return None
            return _error("denied", "This message needs a person's word, which was not given.")
        return _error("denied", answer.reason, answer.fix)

    async def _begin(self, provider: str, model: str) -> None:
        if self._begun:
            return
        self._begun = True
        turn = self.turn
        await turn.emit(
            TurnStarted(turn=turn.id, provider=provider, model=model, trust=turn.caller.trust)
        )
        await self._hooks.observe(
            TurnBegan(turn=turn.id, conversation=turn.conversation, caller=turn.caller)
        )

    async def _messages(self, parts: TurnParts) -> list[Message]:
        history = self._history.messages(self.turn.key)
        if not history:
            for text in (await parts.prompt.docs()).notices:
                await self.turn.emit(Noticed(code="workspace_docs", text=text))
        base = await parts.prompt.message(parts.deferred)
        return [base, date_note(self._clock.now()), *history, _user_message(self.turn)]

    def _loop(self, parts: TurnParts) -> LoopSetup:
        reply = self.turn.reply
        return LoopSetup(
            route=parts.route,
            dispatch_step=parts.dispatch_step,
            declare=parts.declare,
            emit=self.turn.emit,
            clock=self._clock,
            run=self.turn.id,
            max_steps=parts.max_steps,
            approve=self._approve if self._may_agree and reply.can_ask else None,
            prepare=self._prepare_request,
            on_attempt=self._observe_attempt,
            effort=parts.effort,
            progress=self._progress,
        )

    @property
    def _may_agree(self) -> bool:
        """True when the writer's word counts where a guard asks: it asks the owner, not a guest."""
        return self.turn.caller.trust == "operator"

    async def _approve(self, call: ToolCall, question: str) -> bool:
        return await self.turn.reply.ask(question)

    async def _prepare_request(self, request: ChatRequest, step: int) -> ChatRequest:
        event = ModelRequestEvent(request=request, caller=self.turn.caller, step=step)
        return (await self._hooks.transform("pegboard_model_request", event)).request

    async def _observe_attempt(self, attempt: ModelAttempt) -> None:
        await self._hooks.observe(
            ModelCalled(
                provider=attempt.hop.name,
                model=attempt.model,
                usage=attempt.usage,
                duration_ms=attempt.duration_ms,
                error=attempt.error,
            )
        )

    async def _delivered(self, result: LoopResult) -> TurnOutcome:
        sent = await self._deliver(result.text)
        if sent is None:
            # where a tool ended the turn, the last message holds results and no answer
            said = result.messages if result.terminated else result.messages[:-1]
            self._keep(said, markers.UNDELIVERED)
            return self._not_sent(result.text)
        await self._notice_trim(self._keep(result.messages))
        return self._outcome(sent, "done")

    async def _closed_without(self, result: LoopResult) -> TurnOutcome:
        error = result.error or {}
        if error.get("code") == "empty_completion" and self.turn.reply.sent:
            # what a tool sent was the reply
            self._keep(result.messages, markers.BESIDE)
            return self._outcome("", "done")
        overflowed = "context_overflow" in (error.get("code"), error.get("kind"))
        if not overflowed:
            self._keep(result.messages, markers.failed(result.text))
        self._kept = True
        return await self._fail(error)

    async def _crashed(self) -> TurnOutcome:
        _log.exception("turn %s of %s failed", self.turn.id, self.turn.conversation)
        return await self._fail(_error("internal", INTERNAL))

    async def _fail(self, error: dict[str, Any]) -> TurnOutcome:
        error = {
            key: self._redact(value) if isinstance(value, str) else value
            for key, value in error.items()
        }
        self._keep(self._progress.messages, markers.failed(error["message"]))
        text = ""
        if not self.turn.reply.shows_events:
            text = (
                await self._deliver(" ".join(filter(None, (error["message"], error["fix"])))) or ""
            )
        return self._outcome(text, "failed", error)

    async def _deliver(self, text: str) -> str | None:
        """Send a reply and return it as it was sent; None when the channel failed."""
        turn = self.turn
        event = MessageOutEvent(message=turn.reply.message(text), caller=turn.caller)
        message = (await self._hooks.transform("pegboard_message_out", event)).message
        # a turn that was stopped meanwhile ends here and sends nothing
        await anyio.lowlevel.checkpoint()
        if not message.text.strip() and not message.attachments:
            return message.text
        try:
            await turn.reply.deliver(message)
        except Exception as error:
            channel = turn.message.channel
            _log.warning("channel %s could not deliver a reply: %s", channel, one_line(error))
            _log.info("the reply was not delivered", exc_info=error)
            return None
        return message.text

    def _not_sent(self, text: str) -> TurnOutcome:
        error = _error("delivery_failed", "The reply could not be delivered.")
        return self._outcome(text, "failed", error)

    def _keep(self, messages: Sequence[Message], marker: Message | None = None) -> int:
        """Add the turn to the history, once, and return how many old turns had to go."""
        if self._kept or self._user is None:
            return 0
        self._kept = True
        closing = () if marker is None else (marker,)
        return self._history.commit(self.turn.key, (self._user, *messages, *closing))

    async def _notice_trim(self, dropped: int) -> None:
        if dropped:
            text = "Older parts of this conversation were dropped to stay within its limit."
            await self.turn.emit(Noticed(code="history_trimmed", text=text))

    def _outcome(self, text: str, status: str, error: dict[str, Any] | None = None) -> TurnOutcome:
        progress = self._progress
        return TurnOutcome(
            text=text,
            status=status,
            steps=progress.steps,
            usage=progress.usage,
            error=error,
            tool_calls=progress.tool_calls,
            tool_failures=progress.tool_failures,
        )


def _user_message(turn: Turn) -> Message:
    message = turn.message
    parts: list[Part] = [Text(message.text)] if message.text else []
    parts.extend(attachment.part for attachment in message.attachments)
    return Message("user", tuple(parts))


def _error(code: str, message: str, fix: str | None = None) -> dict[str, Any]:
    return {"code": code, "message": message, "fix": fix}
