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
from pegboard.agent.news import with_news
from pegboard.agent.setup import LoopResult, LoopSetup, Progress, Successor
from pegboard.agent.token_estimate import message_tokens
from pegboard.contracts.approval import Suspended
from pegboard.contracts.errors import PegboardError
from pegboard.contracts.hook_events import ModelCalled, ModelRequestEvent
from pegboard.contracts.message import Message
from pegboard.contracts.provider import ChatRequest
from pegboard.contracts.result import Handoff, Part, Text
from pegboard.contracts.store import FencedError
from pegboard.contracts.stream import Noticed
from pegboard.providers.route import ModelAttempt, Route
from pegboard.turns import markers
from pegboard.turns.admission import failure, refusal, transformed
from pegboard.turns.announcer import TurnAnnouncer
from pegboard.turns.commands import Prompt
from pegboard.turns.conclusion import Conclusion
from pegboard.turns.news import TurnNews
from pegboard.turns.person_call import PersonCall, answered
from pegboard.turns.replay import replayed
from pegboard.turns.setup import Turn, TurnParts, TurnServices
from pegboard.turns.succession import Succession

INTERNAL: Final = "Something went wrong inside Pegboard, so there is no answer. The log says what."
ENDED: Final = "the turn that started it has ended"
STOPPED: Final = "the turn that started it was stopped"
_log = logging.getLogger(__name__)


class TurnRun:
    """Runs one attempt of a turn: `answer` or `say` once, and then tell everybody of its end.

    Args:
        turn: The turn.
        services: What all turns share.
        told: True when those who watch it know that it began.
        command: True when it is a chat command, of which the history keeps nothing.

    Attributes:
        route: Who is asked, once that is known.
        announcer: Tells people and observers of it.
    """

    def __init__(
        self, turn: Turn, services: TurnServices, *, told: bool = False, command: bool = False
    ) -> None:
        self.route: Route | None = None
        self.announcer = TurnAnnouncer(turn, services, begun=told)
        self._services = services
        self._progress = Progress()
        self._user: Message | None = None
        self._command = command
        self._agents: Succession | None = None

    @property
    def turn(self) -> Turn:
        """The turn as it is now: hooks, commands and hand-overs make another one of it."""
        return self.announcer.turn

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

    async def say(self, words: Callable[[], Awaitable[str | Prompt | PersonCall]]) -> Conclusion:
        """Return the conclusion of a command: its words, of which the history keeps nothing.

        Where it makes a request to the model of itself, that is answered instead.

        Raises:
            Suspended: When a call waits for a person.
            FencedError: When another attempt has begun.
        """
        try:
            said = await words()
            if isinstance(said, PersonCall):
                said = await self._called(said)
        except (Suspended, FencedError):
            raise
        except PegboardError as error:
            return self._failed(error.to_dict())
        except Exception:
            return self.crashed()
        if isinstance(said, str):
            return self._concluded("done", said)
        turn = self.turn
        caller = replace(turn.caller, run_profile=said.run_profile)
        self.announcer.turn = replace(
            turn, message=replace(turn.message, text=said.text), caller=caller
        )
        return await self.answer()

    async def _called(self, call: PersonCall) -> str:
        turn, services = self.turn, self._services
        return await answered(
            call,
            services.prepare_call(turn),
            clock=services.clock,
            approve=services.approver(turn),
            emit=None if turn.begun is None else turn.emit,
            progress=self._progress,
        )

    async def stopped(self) -> Conclusion:
        """Return the conclusion of a turn that was stopped, with what it did until then."""
        said: Sequence[Message] = self._progress.messages
        journal = self.turn.journal
        if self._user is None and journal is not None and await self._keeps_request():
            self._user = _user_message(self.turn)
            said, self._progress.opening = await replayed(journal)
        return self._concluded("cancelled", messages=self._kept(said)).stopped()

    async def _keeps_request(self) -> bool:
        """Tell whether the history keeps a request that this attempt has not come to answer.

        One that was stopped before anything was done for it counts as well, unless a guard would
        have kept it from the model.
        """
        taken_up, hooks = self.turn.taken_up, self._services.hooks
        if self._command and not taken_up:
            return False
        self.announcer.turn = await transformed(self.turn, hooks)
        return taken_up or await refusal(self.turn, hooks, None) is None

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
        self.announcer.turn = await transformed(self.turn, hooks)
        refused = await refusal(self.turn, hooks, self._services.approver(self.turn))
        if refused is not None:
            return self._failed(refused)
        agents = self._agents = Succession(self.turn, self._services.prepare, self._services.clock)
        parts = await agents.begin()
        self.route = parts.route
        primary = parts.route.primary
        await self.announcer.begin(primary.name, primary.model)
        await self.announcer.tell_what_waits()
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

    async def _messages(self, agents: Succession, parts: TurnParts) -> list[Message]:
        agents.before = await self._before(parts)
        if not agents.before:
            for text in (await parts.prompt.docs()).notices:
                await self.turn.emit(Noticed(code="workspace_docs", text=text))
        return await agents.messages()

    async def _hand_over(self, control: Handoff) -> Successor:
        assert self._agents is not None, "only an agent that has the turn hands it over"
        successor = await self._agents.hand_over(control)
        self.announcer.turn = self._agents.turn
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
                self.announcer.tell,
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
            news=self._news(),
            progress=self._progress,
        )

    def _news(self) -> TurnNews | None:
        """Return what the turn tells of what happened beside it; what is not kept tells nothing."""
        turn, desk = self.turn, self._services.news
        if desk is None or turn.begun is None:
            return None
        return TurnNews(desk, turn.conversation, turn.caller.trust)

    async def admit(self, provider: str, model: str) -> None:
        """Let the turn ask a model once more.

        Raises:
            BudgetError: When a budget is used up, or can't be held.
        """
        turn, limits = self.turn, self._services.limits
        if limits is not None:
            await limits.admit(turn.caller, turn.id, turn.conversation, provider, model)

    async def _prepare_request(self, request: ChatRequest, step: int) -> ChatRequest:
        turn = self.turn
        event = ModelRequestEvent(
            request=request,
            caller=turn.caller,
            step=step,
            conversation=turn.conversation,
            epoch=0 if turn.begun is None else turn.begun.turn.epoch,
        )
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
        user = with_news(self._user, self._progress.opening)
        return (user, *messages, *(() if marker is None else (marker,)))

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
