"""A plain function as a tool."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from pegboard.contracts.errors import ToolFailure
from pegboard.contracts.result import File, Image, Text, ToolResult
from pegboard.contracts.tool import ToolSpec
from pegboard.plugins.building.tool_schema import argument_adapter, takes_context
from pegboard.tools.argument_errors import MAX_ERRORS, signature
from pegboard.tools.argument_repair import dotted
from pegboard.tools.threads import THREADS_PER_PLUGIN, Threads

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from pegboard.contracts.context import ToolContext


class ToolCrash(Exception):
    """A tool left by an exception that would have taken the host along."""


class BadReturn(Exception):
    """A tool returned something that is no result."""


class FunctionTool:
    """Calls a function with validated arguments; `def` functions run in a thread.

    Args:
        spec: What the manifest holds.
        function: `def` or `async def`; a first parameter `ctx` receives the context.
        threads: Where the plugin's `def` functions run; None = in some of this function's own.
        available: Says why the tool can't work now; None = always.
    """

    __slots__ = ("_adapter", "_call", "_function", "_threads", "_with_context", "available", "spec")

    def __init__(
        self,
        spec: ToolSpec,
        function: Callable[..., Any],
        *,
        threads: Threads | None = None,
        available: Callable[..., str | None] | None = None,
    ) -> None:
        self.spec = spec
        self.available = available
        self._function = function
        self._threads = threads
        self._with_context = takes_context(function)
        self._adapter: TypeAdapter[Any] | None = None
        self._call = cast(
            "Callable[..., Awaitable[Any]]",
            function if inspect.iscoroutinefunction(function) else self._in_thread,
        )

    async def __call__(self, ctx: ToolContext, args: Mapping[str, Any]) -> ToolResult:
        """Call the function and make a result of what it returns.

        Raises:
            ToolFailure: When a value does not become what the function expects.
            BadReturn: When what it returns is no result.
            ToolCrash: When a function in a thread left by an exception that ends threads.
        """
        given = self._converted(args) if self.spec.convert else args
        if self._with_context:
            value = await self._call(ctx, **given)
        else:
            value = await self._call(**given)
        if type(value) is str:
            return ToolResult(value)
        return as_result(value)

    def _converted(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._adapter is None:
            self._adapter = argument_adapter(self._function)
        try:
            return cast("Mapping[str, Any]", self._adapter.validate_python(dict(args)))
        except ValueError as error:
            raise _misfit(self.spec, error) from error

    async def _in_thread(self, *args: Any, **kwargs: Any) -> Any:
        if self._threads is None:
            self._threads = Threads(THREADS_PER_PLUGIN)
        work = functools.partial(_contained, self._function, args, kwargs)
        value = await self._threads.run(work)
        # a decorator may hide that a function is async
        return await value if inspect.isawaitable(value) else value


def as_result(value: Any) -> ToolResult:
    """Make a result of what a tool returned: a result, text, parts, or a JSON value.

    Raises:
        BadReturn: When it is none of these.
    """
    if isinstance(value, ToolResult):
        return value
    if value is None:
        return ToolResult()
    if isinstance(value, str):
        return ToolResult(str(value))
    if isinstance(value, (bytes, bytearray)):
        return ToolResult(bytes(value).decode("utf-8", "replace"))
    if isinstance(value, (Text, Image, File)):
        return ToolResult((value,))
    if isinstance(value, Sequence) and value and all(_is_part(item) for item in value):
        return ToolResult(tuple(value))
    return _structured(value)


def _misfit(spec: ToolSpec, error: ValueError) -> Exception:
    """Return what a model is told of a value that its schema lets pass, such as `2024-13-45`."""
    details = getattr(error, "errors", None)  # pydantic is not imported for its exception alone
    if details is None:
        return error
    found = details(include_url=False, include_context=False, include_input=False)
    listed = "\n".join(f"- {dotted(item['loc'])}: {item['msg']}" for item in found[:MAX_ERRORS])
    return ToolFailure(
        f"The arguments of {spec.name} do not fit:\n{listed}",
        code="invalid_arguments",
        fix=f"Call {spec.name} again with one JSON object of: {signature(spec.parameters)}.",
    )


def _structured(value: Any) -> ToolResult:
    try:
        text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadReturn(
            f"it returned a {type(value).__name__} that is no JSON value: {error}"
        ) from error
    return ToolResult(text, structured=value)


def _is_part(item: object) -> bool:
    return isinstance(item, (Text, Image, File))


def _contained(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    # what would end the thread or confuse a future is named instead; Exceptions pass as they are
    try:
        return function(*args, **kwargs)
    except StopIteration as error:
        raise ToolCrash("it raised StopIteration") from error
    except Exception:
        raise
    except BaseException as error:
        raise ToolCrash(f"it raised {type(error).__name__}") from error
