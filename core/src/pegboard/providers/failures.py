"""What a failed request means: its kind, what to tell a person, when to ask again. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from pegboard.contracts.provider import ErrorKind, ProviderError
from pegboard.providers.retry_hints import retry_after

MAX_TOLD: Final = 500
"""Characters of a provider's own words that are repeated."""
_LONG_S: Final = 3_600.0
_OVERFLOW: Final = re.compile(
    r"context[ _](?:length|limit|window|size)|maximum context|too many (?:input )?tokens"
    r"|(?:prompt|input|request)(?: \(\d+ tokens\))? (?:is|was|exceeds|are) "
    r"[^.]*?(?:too long|token|context)"
    r"|exceeds? the (?:available |maximum )?(?:context|number of tokens|input token)"
    r"|reduce the length|string_above_max_length|context_length_exceeded",
    re.IGNORECASE,
)
_BILLING: Final = re.compile(
    r"insufficient[ _](?:quota|funds|balance)|credit balance|billing|payment required"
    r"|exceeded your current quota|out of credits",
    re.IGNORECASE,
)
_BAD_KEY: Final = re.compile(r"api key (?:expired|not found|not valid)", re.IGNORECASE)
_OVERLOADED: Final = re.compile(r"overloaded|at capacity|model is loading|unavailable_error", re.I)
_BY_STATUS: Final[Mapping[int, ErrorKind]] = {
    401: "auth",
    402: "billing",
    403: "permission",
    404: "not_found",
    408: "timeout",
    413: "context_overflow",
    429: "rate_limit",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}
_BY_CODE: Final[Mapping[str, ErrorKind]] = {
    "authentication_error": "auth",
    "billing_error": "billing",
    "context_length_exceeded": "context_overflow",
    "exceed_context_size_error": "context_overflow",
    "insufficient_quota": "billing",
    "invalid_api_key": "auth",
    "model_not_found": "not_found",
    "not_found_error": "not_found",
    "overloaded_error": "overloaded",
    "permission_error": "permission",
    "rate_limit_error": "rate_limit",
    "rate_limit_exceeded": "rate_limit",
    "request_too_large": "context_overflow",
    "RESOURCE_EXHAUSTED": "rate_limit",
    "PERMISSION_DENIED": "permission",
    "UNAUTHENTICATED": "auth",
    "UNAVAILABLE": "overloaded",
    "DEADLINE_EXCEEDED": "timeout",
    "INTERNAL": "server",
    "api_error": "server",
    "server_error": "server",
    "timeout_error": "timeout",
}


def failure(
    provider: str,
    *,
    status: int | None,
    body: Any,
    headers: Mapping[str, str] | None = None,
    now: float,
    secrets: Iterable[str] = (),
) -> ProviderError:
    """Return the error of a response, or of an error event in a stream.

    Args:
        provider: Name to show a person.
        status: HTTP status; None for an event in a stream.
        body: The parsed body or event, or its text.
        headers: Response headers, names lower-cased.
        now: Seconds since the epoch.
        secrets: Values that no message may hold: servers echo keys.
    """
    if isinstance(body, str):
        body = _parsed(body)
    if isinstance(body, list) and body:
        body = body[0]  # Gemini answers a stream with a list
    message = told(body, secrets)
    wait = retry_after(headers or {}, body, now=now)
    kind = kind_of(status, body, wait)
    said = f": {message}" if message else "."
    return ProviderError(
        f"{provider} {_WHAT[kind]}{said}",
        kind=kind,
        fix=_FIX.get(kind),
        status=status,
        retry_after=wait,
        reset_at=None if wait is None else now + wait,
    )


def kind_of(status: int | None, body: Any, wait: float | None = None) -> ErrorKind:
    """Return the class of a failure.

    Args:
        status: HTTP status; None for an event in a stream.
        body: The parsed body or event, or its text.
        wait: Seconds until the provider may be asked again, as it said.
    """
    codes = tuple(_codes(body))  # in order: the most exact first
    text = message_of(body)
    limited = status == 429 or not {"rate_limit_error", "RESOURCE_EXHAUSTED"}.isdisjoint(codes)
    # a quota of the day that is filled again in a minute is a limit like any other
    if (limited or status in (400, 402, 403, None)) and _out_of_money(codes, text, wait):
        return "billing"
    if status in (None, 400, 413, 500) and not limited and _OVERFLOW.search(text):
        return "context_overflow"
    if status == 400 and _BAD_KEY.search(text):
        return "auth"
    for code in codes:
        known = _BY_CODE.get(code)
        # a code that says no more than "it failed" says less than the status
        if known is not None and not (known == "server" and status in _BY_STATUS):
            return known
    if status is not None and status in _BY_STATUS:
        return _BY_STATUS[status]
    if _OVERLOADED.search(text):
        return "overloaded"
    if status is None:  # an event in a stream, whose code says all there is
        return "bad_request" if any(code.startswith("invalid_") for code in codes) else "server"
    return "server" if status >= 500 else "bad_request"


def message_of(body: Any) -> str:
    """Return a provider's own words, or ""."""
    if isinstance(body, str):
        return body
    if isinstance(body, list) and body:
        return message_of(body[0])
    if not isinstance(body, Mapping):
        return ""
    error = body.get("error", body)
    if isinstance(error, str):
        return error
    if isinstance(error, Mapping):
        for key in ("message", "detail", "msg"):
            if isinstance(error.get(key), str):
                return str(error[key])
    return str(body["detail"]) if isinstance(body.get("detail"), str) else ""


def told(body: Any, secrets: Iterable[str] = ()) -> str:
    """Return a provider's own words on one line, short and without secrets."""
    text = message_of(body)
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[redacted]")
    line = " ".join(text.split())
    return line if len(line) <= MAX_TOLD else f"{line[:MAX_TOLD]}…"


def _out_of_money(codes: Iterable[str], text: str, wait: float | None) -> bool:
    if not {"insufficient_quota", "billing_error"}.isdisjoint(codes):
        return True
    if wait is not None and wait < _LONG_S:
        return False
    return bool(_BILLING.search(text)) or (wait is not None and "PerDay" in text)


def _codes(body: Any) -> Iterable[str]:
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, Mapping):
        return
    error = body.get("error", body)
    if isinstance(error, Mapping):
        for key in ("code", "type", "status"):
            if isinstance(error.get(key), str):
                yield error[key]


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


_WHAT: Final[Mapping[ErrorKind, str]] = {
    "network": "can't be reached",
    "protocol": "sent what is no answer",
    "empty_stream": "sent an empty answer",
    "timeout": "took too long",
    "overloaded": "is overloaded",
    "server": "failed",
    "rate_limit": "is limiting requests",
    "billing": "asks for payment, or its quota is used up",
    "auth": "did not accept the key",
    "permission": "does not permit this",
    "not_found": "does not know this model or address",
    "context_overflow": "can't take a conversation this long",
    "bad_request": "refused the request",
    "malformed_tool_call": "sent a tool call that can't be read",
    "refusal": "declined to answer",
}
_FIX: Final[Mapping[ErrorKind, str]] = {
    "auth": "pegboard secret set NAME",
    "billing": "look at the account's balance and limits",
    "not_found": "pegboard models list",
    "network": "look at the address of the provider in its configuration",
}
