"""What a person reads when a run ends without an answer."""

from __future__ import annotations

from typing import Any, Final

from pegboard.contracts.provider import ProviderError
from pegboard.providers.retry import limit_sentence

NO_ANSWER: Final = "I got no answer from the model. Please try again."
REFUSED: Final = "The model declined to answer this."
REFUSED_TOO_OFTEN: Final = (
    "I stopped: too many tool calls in a row were refused, and nobody is there to ask."
)
ALLOW: Final = "See what was refused with pegboard audit list, and allow it if it is right."
TOO_LONG: Final = "This conversation no longer fits the model's context window."
MAKE_ROOM: Final = "Send /compact to have it summarised, or /new to begin a new one."


def step_limit(steps: int) -> str:
    """Return the sentence for a run that used up its steps."""
    return (
        f"I reached the step limit ({steps} steps) before this request was finished. Try a "
        "narrower request, or go on from here with the next part of it."
    )


def repetition(what: str) -> str:
    """Return the sentence for a run that made the same calls again and again."""
    return (
        f"I stopped because I was repeating the same tool calls without getting anywhere: {what}. "
        "Try asking in another way."
    )


def provider_failure(error: ProviderError, now: float) -> str:
    """Return the sentence for a request that no provider answered.

    Args:
        error: The last failure; `details["provider"]` is the provider's name for people.
        now: Seconds since the epoch.
    """
    title = str(error.details.get("provider", "the model provider"))
    limit = limit_sentence(error, title, now)
    if limit:
        return limit
    if error.kind == "context_overflow":
        return TOO_LONG
    return f"{title} could not answer: {error.message}"


def provider_facts(error: ProviderError, sentence: str) -> dict[str, Any]:
    """Return the failure as JSON-serialisable data, with the sentence the person reads."""
    overflow = error.kind == "context_overflow" and error.fix is None
    return {
        "code": error.code,
        "message": sentence,
        "fix": MAKE_ROOM if overflow else error.fix,
        "kind": error.kind,
        "status": error.status,
        "cause": error.message,
    }
