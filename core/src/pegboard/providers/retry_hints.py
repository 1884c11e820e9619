"""When a provider says that it may be asked again: read from headers and error bodies. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

_UNIT_S: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_IN_TEXT: Final = re.compile(
    r"(?:retry|try again|retrying|reset)s?\s+(?:in|after)\s+"
    r"((?:\d+(?:\.\d+)?\s*(?:ms|s|m|h|d)[a-z]*\s*)+)",
    re.IGNORECASE,
)
_LONGEST_S: Final = 366 * 86_400.0


def retry_after(headers: Mapping[str, str], body: Any, *, now: float) -> float | None:
    """Return the seconds after which a provider may be asked again, or None when it does not say.

    The first of these counts: `retry-after-ms`, `retry-after` (seconds or a date), the
    `retryDelay` of a `google.rpc.RetryInfo`, "retry in 55.57s" in a text, the reset time of the
    bucket that is empty.

    Args:
        headers: Response headers, names lower-cased.
        body: The parsed body of the error, or its text.
        now: Seconds since the epoch.
    """
    for seconds in (
        _milliseconds(headers.get("retry-after-ms", "")),
        _seconds_or_date(headers.get("retry-after", ""), now),
        *(_duration(delay) for delay in _retry_delays(body)),
        *(_in_text(text) for text in _texts(body)),
        *_exhausted(headers, now),
    ):
        if seconds is not None and 0 <= seconds <= _LONGEST_S:
            return seconds
    return None


def _milliseconds(text: str) -> float | None:
    number = _number(text)
    return None if number is None else number / 1000


def _seconds_or_date(text: str, now: float) -> float | None:
    number = _number(text)
    if number is not None or not text:
        return number
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)  # such dates are in GMT, said or not
    return max(0.0, at.timestamp() - now)


def _duration(text: str) -> float | None:
    """Return the seconds of `6m0s`, `120ms` or `1.5s`; None when it is no duration."""
    plain = re.sub(r"\s+", "", text.lower())
    if not plain or _DURATION.sub("", plain):
        return None
    return sum(float(number) * _UNIT_S[unit] for number, unit in _DURATION.findall(plain))


def _in_text(text: str) -> float | None:
    found = _IN_TEXT.search(text[:10_000])
    if found is None:
        return None
    short = re.sub(r"(ms|s|m|h|d)[a-z]*", r"\1", re.sub(r"\s+", "", found[1].lower()))
    return _duration(short)


def _retry_delays(body: Any) -> Iterator[str]:
    for item in _error_details(body):
        delay = item.get("retryDelay")
        if isinstance(delay, str):
            yield delay


def _error_details(body: Any) -> Iterator[Mapping[str, Any]]:
    error = body.get("error") if isinstance(body, Mapping) else None
    details = error.get("details") if isinstance(error, Mapping) else None
    if isinstance(details, list):
        yield from (item for item in details if isinstance(item, Mapping))


def _texts(body: Any) -> Iterator[str]:
    if isinstance(body, str):
        yield body
    elif isinstance(body, Mapping):
        error = body.get("error", body)
        message = error.get("message") if isinstance(error, Mapping) else error
        if isinstance(message, str):
            yield message


def _exhausted(headers: Mapping[str, str], now: float) -> Iterator[float | None]:
    """Yield the time until each empty bucket is filled; without such a bucket, nothing."""
    for name, left in headers.items():
        if _number(left) != 0:
            continue
        if name.startswith("anthropic-ratelimit-") and name.endswith("-remaining"):
            yield _until(headers.get(name.removesuffix("remaining") + "reset", ""), now)
        elif name.startswith("x-ratelimit-remaining"):
            reset = headers.get(name.replace("remaining", "reset"), "")
            number = _number(reset)
            yield _duration(reset) if number is None else number


def _until(text: str, now: float) -> float | None:
    try:
        at = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return max(0.0, at.timestamp() - now)


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d{1,15}(?:\.\d{1,9})?", text.strip()) else None
