"""Settings of a plugin or an instance, as the author's own pydantic model."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pegboard.config.nearest import did_you_mean
from pegboard.contracts.errors import BuildError, ConfigError

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError


def load_model(ref: str) -> type[BaseModel]:
    """Import the pydantic model `module:Class`.

    Raises:
        BuildError: When it does not exist or is no pydantic model.
    """
    from pydantic import BaseModel, RootModel

    module_name, _, name = ref.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise BuildError(f"config {ref!r}: {error}", fix='write config="module:Class"') from error
    except ValueError as error:
        raise BuildError(
            f"config {ref!r} is no reference", fix='write config="module:Class"'
        ) from error
    model = getattr(module, name, None)
    if model is None:
        raise BuildError(
            f"config {ref!r}: {module_name} has no {name!r}{did_you_mean(name, vars(module))}"
        )
    if not (isinstance(model, type) and issubclass(model, BaseModel)) or issubclass(
        model, RootModel
    ):
        raise BuildError(f"config {ref!r} is no pydantic model of a table")
    return model


def build_settings(ref: str | None, data: Mapping[str, Any], where: str) -> Any:
    """Return `data` as an instance of the model, or a plain dict when there is no model.

    Args:
        ref: `module:Class`, or None.
        data: The configured table.
        where: Its name in the config file (`plugins.files`), for the message.

    Raises:
        ConfigError: With one line for each wrong value.
    """
    if ref is None:
        return dict(data)
    from pydantic import ValidationError

    model = load_model(ref)
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        lines = problem_lines(error, where)
        raise ConfigError(
            "; ".join(lines) if len(lines) == 1 else f"[{where}]:\n  " + "\n  ".join(lines),
            fix=f"mend [{where}] in the config file, then `pegboard config check`",
            problems=lines,
        ) from None  # pydantic's own words show the values, which may be secrets


def problem_lines(error: ValidationError, where: str) -> list[str]:
    """Return one line for each wrong value: its dotted key, and what is wrong."""
    lines = []
    for item in error.errors(include_url=False, include_context=False):
        key = ".".join([where, *(str(part) for part in item["loc"])])
        if item["type"] in ("missing", "extra_forbidden"):
            lines.append(f"{key}: {item['msg'].lower()}")
            continue
        # never the value itself: it may be a secret
        lines.append(f"{key}: {item['msg'].removeprefix('Value error, ')}")
    return lines
