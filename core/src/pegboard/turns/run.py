"""One attempt of a turn: admitted, answered, concluded. Nothing is sent or kept here."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import anyio
import anyio.lowlevel

from pegboard.agent.loop import run_loop
from pegboard.agent.setup import LoopResult, LoopSetup, Progress, Successor
from pegboard.agent.token_estimate import message_tokens
from pegboard.contracts.approval import Suspended
from pegboard.contracts.channel import TurnOutcome
from pegboard.contracts.errors import PegboardError
from pegboard.contracts.hook_events import (
    MessageOutEvent,
    ModelCalled,
    ModelRequestEvent,
    TurnBegan,
    TurnEnded,
)
from pegboard.contracts.message import Message, OutboundMessage
from pegboard.contracts.provider import ChatRequest
from pegboard.contracts.result import Handoff, Part, Text
from pegboard.contracts.store import FencedError
from pegboard.contracts.stream import Noticed, StreamEvent, TurnFinished, TurnStarted
from pegboard.plugins.building.isolation import one_line
from pegboard.providers.route import ModelAttempt, Route
from pegboard.turns import doubt, markers
from pegboard.turns.admission import failure, refusal, transformed
from pegboard.turns.commands import Prompt
from pegboard.turns.conclusion import Conclusion
from pegboard.turns.replay import replayed
from pegboard.turns.setup import Turn, TurnParts, TurnServices
from pegboard.turns.succession import Succession

INTERNAL: Final = "Something went wrong inside Pegboard, so there is no answer. The log says what."
ENDED: Final = "the turn that started it has ended"
STOPPED: Final = "the turn that started it was stopped"
_log = logging.getLogger(__name__)


class TurnRun:
    """Runs one attempt of a turn. `answer` once, then `finish` once, whatever came of the first.

    Args:
        turn: The turn.
        services: What all turns share.
        told: True when those who watch it know that it began.
        command: True when it is a chat command, of which the history keeps nothing.
    """

    def __init__(
        self, turn: Turn, services: TurnServices, *, told: bool = False, command: bool = False
    ) -> None:
        self.turn = turn
        self.route: Route | None = None
        self._services = services
        self._progress = Progress()
        self._user: Message | None = None
        self._begun = told
        self._command = command
        self._agents: Succession | None = None

    async def answer(self) -> Conclusion:
        """Run the turn up to what it comes to. Failures are conclusions, not exceptions.

        Raises:
            Suspended: When a call waits for a person.
            FencedError: When another attempt has begun.
        """
        try:
            return await self._answered()
        except (Suspended, FencedError):
            raise
        except PegboardError as error:
            return self._failed({**error.to_dict(), "exit_code": error.exit_code})
        except Exception:
            return self.crashed()

    async def say(self, words: Callable[[], Awaitable[str | Prompt]]) -> Conclusion:
        """Return the conclusion of a command: its words, of which the history keeps nothing.

        Where it makes a request to the model of itself, that is answered instead.
        """
        try:
            said = await words()
        except FencedError:
            raise
        except PegboardError as error:
            return self._failed(error.to_dict())
        except Exception:
            return self.crashed()
        if isinstance(said, str):
            return self._concluded("done", said)
        turn = self.turn
        caller = replace(turn.caller, run_profile=said.run_profile)
        self.turn = replace(turn, message=replace(turn.message, text=said.text), caller=caller)
        return await self.answer()

    async def stopped(self) -> Conclusion:
        """Return the conclusion of a turn that was stopped, with what it did until then."""
        said: Sequence[Message] = self._progress.messages
        journal = self.turn.journal
        if self._user is None and journal is not None and await self._keeps_request():
            self._user = _user_message(self.turn)
            said = await replayed(journal)
        return self._concluded("cancelled", messages=self._kept(said)).stopped()

    async def _keeps_request(self) -> bool:
        """Tell whether the history keeps a request that this attempt has not come to answer.

        One that was stopped before anything was done for it counts as well, unless a guard would
        have kept it from the model.
        """
        taken_up, hooks = self.turn.taken_up, self._services.hooks
        if self._command and not taken_up:
            return False
        self.turn = await transformed(self.turn, hooks)
        return taken_up or await refusal(self.turn, hooks, None) is None

    async def outgoing(self, text: str) -> OutboundMessage:
        """Return a reply as the hooks let it go out; where it goes is not for them to say."""
        own = self.turn.reply.message(text)
        event = MessageOutEvent(message=own, caller=self.turn.caller)
        message = (await self._services.hooks.transform("pegboard_message_out", event)).message
        return replace(message, chat=own.chat, thread=own.thread)

    async def deliver(self, outcome: TurnOutcome) -> TurnOutcome:
        """Send the reply of what is not kept, and return how that ended."""
        if not outcome.text:
            return outcome
        message = await self.outgoing(outcome.text)
        outcome = replace(outcome, text=message.text)
        # what was cancelled meanwhile ends here and sends nothing
        await anyio.lowlevel.checkpoint()
        if not message.text.strip() and not message.attachments:
            return outcome
        try:
            await self.turn.reply.deliver(message)
        except Exception as error:
            channel = self.turn.message.channel
            _log.warning("channel %s could not deliver a reply: %s", channel, one_line(error))
            _log.info("the reply was not delivered", exc_info=error)
            failed = failure("delivery_failed", "The reply could not be delivered.")
            return replace(outcome, text="", status="failed", error=failed)
        return outcome

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
        await self._services.hooks.observe(
            TurnEnded(
                turn=self.turn.id,
                conversation=self.turn.conversation,
                status=outcome.status,
                steps=outcome.steps,
                usage=outcome.usage,
            )
        )

    async def tell(self, event: StreamEvent) -> None:
        """Tell the person something now: as an event, or as a message where no event is shown."""
        await self.turn.emit(event)
        if isinstance(event, Noticed) and not self.turn.reply.shows_events:
            try:
                await self.turn.reply.deliver(self.turn.reply.message(event.text))
            except Exception as error:
                _log.info("a notice was not delivered: %s", one_line(error))

    async def tell_later(self, event: StreamEvent) -> None:
        """Tell the person something after the last event of the turn: with the next turn's first.

        Where no event is shown it is a message of its own, at once.
        """
        if self.turn.reply.shows_events:
            self._services.notices[self.turn.conversation] = event
        else:
            await self.tell(event)

    async def observe_attempt(self, attempt: ModelAttempt) -> None:
        """Count a request to a provider, and tell observers of it."""
        turn, limits = self.turn, self._services.limits
        if limits is not None:
            await limits.spent(attempt, turn.caller, turn.id, turn.conversation)
        await self._services.hooks.observe(
            ModelCalled(
                provider=attempt.hop.name,
                model=attempt.model,
                usage=attempt.usage,
                duration_ms=attempt.duration_ms,
                error=attempt.error,
            )
        )

    async def _answered(self) -> Conclusion:
        hooks = self._services.hooks
        self.turn = await transformed(self.turn, hooks)
        refused = await refusal(self.turn, hooks, self._services.approver(self.turn))
        if refused is not None:
            return self._failed(refused)
        agents = self._agents = Succession(self.turn, self._services.prepare, self._services.clock)
        parts = await agents.begin()
        self.route = parts.route
        primary = parts.route.primary
        await self._begin(primary.name, primary.model)
        await self._tell_what_waits()
        self._user = agents.user = _user_message(self.turn)
        result = await self._looped(agents, parts)
        if result is None:
            return self._failed(_late(parts.timeout_s or 0.0, self.turn.caller.agent))
        if result.error is not None:
            return self._without_answer(result)
        if result.terminated and not result.text.strip():
            return self._concluded("done", messages=self._kept(result.messages, markers.BESIDE))
        # where a tool ended the turn, the last message holds results and no answer
        answered = not result.terminated
        messages_kept = self._kept(result.messages)
        return self._concluded("done", result.text, messages=messages_kept, answered=answered)

    async def _looped(self, agents: Succession, parts: TurnParts) -> LoopResult | None:
        """Return what the loop came to; None when the turn took longer than it may."""
        how = ENDED
        limit = math.inf if parts.timeout_s is None else parts.timeout_s
        try:
            with anyio.move_on_after(limit):
                return await run_loop(self._loop(parts), await self._messages(agents, parts))
            return None
        except anyio.get_cancelled_exc_class():
            how = STOPPED
            raise
        finally:
            agents.close(how)

    async def _begin(self, provider: str, model: str) -> None:
        if self._begun:
            return
        self._begun = True
        turn = self.turn
        await turn.emit(
            TurnStarted(turn=turn.id, provider=provider, model=model, trust=turn.caller.trust)
        )
        await self._services.hooks.observe(
            TurnBegan(turn=turn.id, conversation=turn.conversation, caller=turn.caller)
        )

    async def _tell_what_waits(self) -> None:
        """Tell, where events are shown, what there is to tell of earlier turns."""
        turn, services = self.turn, self._services
        if turn.begun is None or not turn.reply.shows_events:
            return
        notice = services.notices.pop(turn.conversation, None)
        if notice is not None:
            await turn.emit(notice)
        if await services.store.doubtful(turn.conversation):
            parts = await services.store.doubtful(turn.conversation, settle=True)
            if parts:
                await turn.emit(Noticed(code=doubt.CODE, text=doubt.sentence(parts)))

    async def _messages(self, agents: Succession, parts: TurnParts) -> list[Message]:
        agents.before = await self._before(parts)
        if not agents.before:
            for text in (await parts.prompt.docs()).notices:
                await self.turn.emit(Noticed(code="workspace_docs", text=text))
        return await agents.messages()

    async def _hand_over(self, control: Handoff) -> Successor:
        assert self._agents is not None, "only an agent that has the turn hands it over"
        successor = await self._agents.hand_over(control)
        self.turn = self._agents.turn
        return successor

    async def _before(self, parts: TurnParts) -> Sequence[Message]:
        """Return what was said before, made shorter first where that is needed."""
        turn, services = self.turn, self._services
        if turn.begun is None:
            return ()
        compactor = services.compactor
        # an attempt that goes on must find what the one before it found
        if compactor is not None and not turn.taken_up:
            made = await compactor.preflight(
                turn.conversation,
                parts.route,
                self.tell,
                added=message_tokens(_user_message(turn)),
                on_attempt=self.observe_attempt,
                admit=self.admit,
            )
            if made:
                services.history.forget(turn.conversation)
        return await services.history.before(turn.begun.turn)

    def _loop(self, parts: TurnParts) -> LoopSetup:
        return LoopSetup(
            route=parts.route,
            dispatch_step=parts.dispatch_step,
            declare=parts.declare,
            emit=self.turn.emit,
            clock=self._services.clock,
            run=self.turn.id,
            max_steps=parts.max_steps,
            approve=self._services.approver(self.turn),
            prepare=self._prepare_request,
            on_attempt=self.observe_attempt,
            admit=self.admit,
            effort=parts.effort,
            journal=self.turn.journal,
            digests=parts.digests,
            blobs=parts.blobs,
            hand_over=self._hand_over,
            retracts=self.turn.reply.retracts,
            progress=self._progress,
        )

    async def admit(self, provider: str, model: str) -> None:
        """Let the turn ask a model once more.

        Raises:
            BudgetError: When a budget is used up, or can't be held.
        """
        turn, limits = self.turn, self._services.limits
        if limits is not None:
            await limits.admit(turn.caller, turn.id, turn.conversation, provider, model)

    async def _prepare_request(self, request: ChatRequest, step: int) -> ChatRequest:
        event = ModelRequestEvent(request=request, caller=self.turn.caller, step=step)
        return (await self._services.hooks.transform("pegboard_model_request", event)).request

    def _without_answer(self, result: LoopResult) -> Conclusion:
        error = result.error or {}
        if error.get("code") == "empty_completion" and self.turn.reply.sent:
            # what a tool sent was the reply
            return self._concluded("done", messages=self._kept(result.messages, markers.BESIDE))
        if "context_overflow" in (error.get("code"), error.get("kind")):
            self._user = None  # kept, it would make every later turn overflow as well
        return self._failed(error)

    def crashed(self) -> Conclusion:
        """Return the conclusion of a turn that a fault of ours ended, and log the exception."""
        _log.exception("turn %s of %s failed", self.turn.id, self.turn.conversation)
        return self._failed(failure("internal", INTERNAL))

    def _failed(self, error: Mapping[str, Any]) -> Conclusion:
        redact = self._services.redact
        told = {
            key: redact(value) if isinstance(value, str) else value
            for key, value in json.loads(json.dumps(dict(error), default=str)).items()
        }
        text = ""
        if not self.turn.reply.shows_events:
            text = " ".join(filter(None, (told["message"], told["fix"])))
        messages = self._kept(self._progress.messages, markers.failed(told["message"]))
        return self._concluded("failed", text, messages=messages, error=told)

    def _kept(
        self, messages: Sequence[Message], marker: Message | None = None
    ) -> tuple[Message, ...]:
        """Return what the history keeps: nothing of what never became a request to a model."""
        if self._user is None:
            return ()
        return (self._user, *messages, *(() if marker is None else (marker,)))

    def _concluded(self, status: Any, text: str = "", **facts: Any) -> Conclusion:
        progress = self._progress
        return Conclusion(
            status=status,
            text=text,
            steps=progress.steps,
            usage=progress.usage,
            tool_calls=progress.tool_calls,
            tool_failures=progress.tool_failures,
            # also of what earlier attempts were answered; nobody has counted none
            tokens=progress.context_tokens or None,
            **facts,
        )


def _user_message(turn: Turn) -> Message:
    message = turn.message
    parts: list[Part] = [Text(message.text)] if message.text else []
    parts.extend(attachment.part for attachment in message.attachments)
    return Message("user", tuple(parts))


def _late(seconds: float, agent: str) -> dict[str, Any]:
    return failure(
        "time_limit",
        f"I was still at work after {seconds:g} s, which is all the time that I have.",
        f"Ask for less at once, or raise timeout_s in the section [agents.{agent}].",
    )
