"""Keep secrets out of logs, error texts and the audit log. Pure, but for the logging filter.

Two ways, because neither is enough: the exact values that this host knows, in every form in which
they are usually written, and the shapes that keys of well-known services have. What a tool is
called with is never altered: it must be able to use a secret.
"""

from __future__ import annotations

import base64
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import quote, quote_plus

MASK: Final = "[redacted]"
SHORTEST: Final = 6
"""Characters of the shortest value that is looked for; a shorter one would be found everywhere."""

_SECRET_NAME: Final = re.compile(
    r"(?:^|_)(?:API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|CREDENTIALS?)$",
    re.IGNORECASE,
)
_WORD: Final = r"[A-Za-z0-9_\-]"
_SHAPES: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("sk-", "rk-"), rf"\b(?:sk|rk)-{_WORD}{{16,}}"),
    (("sk_", "rk_", "pk_"), r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{12,}"),
    (("gh", "github_pat_"), r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})"),
    (("glpat-",), rf"\bglpat-{_WORD}{{16,}}"),
    (("xox", "xapp-"), r"\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}"),
    (("akia", "asia"), r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    (("aiza",), rf"\bAIza{_WORD}{{30,}}"),
    (("gsk_", "hf_", "npm_", "pypi-"), rf"\b(?:gsk_|hf_|npm_|pypi-){_WORD}{{20,}}"),
    ((":aa",), rf"\b\d{{6,12}}:AA{_WORD}{{30,}}"),  # a Telegram bot
    (("eyj",), rf"\beyJ{_WORD}{{8,}}\.eyJ{_WORD}{{8,}}\.{_WORD}*"),  # a JSON web token
    (
        ("private key",),
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    ),
    (
        ("bearer ", "basic ", "token "),  # with a digit: words of a sentence have none
        r"(?i:(?<=\bbearer )|(?<=\bbasic )|(?<=\btoken ))(?=\S*\d)[\w.~+/=\-]{12,}",
    ),
    (("://",), r"(?<=://)[^\s/@:]*:[^\s/@]+(?=@)"),  # user:password in a URL
    (
        ("key", "token", "secret", "passw"),
        r"(?i:(?<=[?&;]key=)|(?<=api_key=)|(?<=apikey=)|(?<=api-key: )|(?<=token=)|(?<=secret=)"
        r"|(?<=password=)|(?<=passwd=))[^\s&;\"'<>]{4,}",
    ),
)
"""What a text in lower case must hold for a shape to be looked for, and the shape."""


def _any_of(shapes: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{shape})" for shape in shapes), re.DOTALL)


_NOTHING: Final = re.compile(r"(?!)")
_SHAPE: Final = _any_of(shape for _, shape in _SHAPES)
_MARKS: Final = tuple({mark: None for marks, _ in _SHAPES for mark in marks})


class Redactor:
    """Takes secrets out of texts. A text without any comes back as the same object.

    Args:
        sources: Each returns values that are secret; asked once, when first something is redacted.
    """

    def __init__(self, *sources: Callable[[], Iterable[str]]) -> None:
        self._sources = list(sources)
        self._values: set[str] = set()
        self._forms: tuple[str, ...] = ()
        self._compiled: tuple[tuple[str, ...], re.Pattern[str]] = ((), _NOTHING)

    def __call__(self, text: str) -> str:
        """Return `text` with every secret that is found in it masked."""
        self._ask_sources()
        forms = self._forms
        if any(form in text for form in forms):
            text = self._pattern(forms).sub(MASK, text)
        lower = text.lower()
        if any(mark in lower for mark in _MARKS):
            text = _SHAPE.sub(MASK, text)
        return text

    def learn(self, *values: str) -> None:
        """Remember values that are secret."""
        new = {value for value in values if len(value) >= SHORTEST} - self._values
        if new:
            self._values |= new
            forms = {*self._forms, *(form for value in new for form in written_forms(value))}
            # the longest first: a value may be part of another
            self._forms = tuple(sorted(forms, key=lambda form: (-len(form), form)))

    def add_source(self, source: Callable[[], Iterable[str]]) -> None:
        """Remember where further secret values can be learnt, when they are needed."""
        self._sources.append(source)

    def data(self, value: Any) -> Any:
        """Return JSON-like data with the secrets in its texts masked."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, Mapping):
            return {key: self.data(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.data(item) for item in value]
        return value

    def _ask_sources(self) -> None:
        sources, self._sources = self._sources, []
        for source in sources:
            self.learn(*source())

    def _pattern(self, forms: tuple[str, ...]) -> re.Pattern[str]:
        """Return the pattern of forms; kept with them, for logs are written in many threads."""
        known, pattern = self._compiled
        if known is not forms:
            pattern = re.compile("|".join(map(re.escape, forms)))
            self._compiled = (forms, pattern)
        return pattern


def written_forms(value: str) -> frozenset[str]:
    """Return the forms in which a secret appears in texts.

    As it is; in a URL; in JSON; in base64, also in the middle of a longer text that was encoded
    whole, as in a header `Authorization: Basic`.
    """
    data = value.encode("utf-8", "surrogatepass")
    escaped = quote(data, safe="")
    forms = {
        value,
        escaped,
        re.sub("%..", lambda found: found[0].lower(), escaped),
        quote(data),
        quote_plus(data),
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        repr(value)[1:-1],
    }
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for before in range(3):
            forms.add(_inner(encode, data, before))
    return frozenset(forms)


def _inner(encode: Callable[[bytes], bytes], data: bytes, before: int) -> str:
    """Return the part of an encoded text that `data` alone decides, behind `before` other bytes."""
    text = encode(bytes(before) + data)
    first = -(-before * 8 // 6)
    return text[first : (before + len(data)) * 8 // 6].decode("ascii")


def environment_secrets(env: Mapping[str, str]) -> Iterator[str]:
    """Yield the values of environment variables whose names say that they are secret."""
    for name, value in env.items():
        if len(value) >= SHORTEST and _SECRET_NAME.search(name):
            yield value


class RedactingFilter(logging.Filter):
    """Masks secrets in what a handler is about to write: the message, and a traceback with it.

    Args:
        redact: Returns a text without the secrets in it.
    """

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__()
        self._redact = redact
        self._format = logging.Formatter().formatException

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask the record; none is left out."""
        try:
            message = record.getMessage()
        except Exception:  # a record that can't be formatted is for the handler to report
            return True
        masked = self._redact(message)
        if masked is not message:
            record.msg, record.args = masked, ()
        if record.exc_info and not record.exc_text:
            record.exc_text = self._format(record.exc_info)
        if record.exc_text:
            record.exc_text = self._redact(record.exc_text)
        if record.stack_info:
            record.stack_info = self._redact(record.stack_info)
        return True


@contextmanager
def redacted_logs(redact: Callable[[str], str]) -> Iterator[None]:
    """Mask secrets in everything that is logged in the time of the block, whoever logs it.

    The filter goes to the handlers: one on a logger would not see what loggers below it write.
    """
    places: list[logging.Handler] = [
        *logging.getLogger().handlers,
        *logging.getLogger("pegboard").handlers,
    ]
    if logging.lastResort is not None:
        places.append(logging.lastResort)
    filter = RedactingFilter(redact)
    for handler in places:
        handler.addFilter(filter)
    try:
        yield
    finally:
        for handler in places:
            handler.removeFilter(filter)
