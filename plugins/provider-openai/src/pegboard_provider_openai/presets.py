"""Servers that speak Chat Completions, and what each of them does otherwise.

As of 2026-11, from the servers' own documentation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pegboard_provider_openai.config import CompatibleSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One server.

    Args:
        title: Name to show a person.
        base_url: Where it usually is; "" = anywhere, so that the settings must say.
        api_key: What its key is called, among the secrets; "" = it needs none.
        max_tokens: Name of the field for the longest answer.
        usage_asked: True when it counts tokens of a stream only on request.
        effort: True when it takes a reasoning effort.
        parallel: True when it can be told whether several calls may be asked for at once.
        nine_ids: True when ids of calls must be nine letters and digits.
        longest_id: Characters that the id of a call may have; 0 = any.
        echo_reasoning: Name of the field in which reasoning must come back with its calls, or "".
        images: True when messages may hold images.
        tells_window: True when it runs here and tells the windows of its models, which depend on
            how it was started.
        forces: True when it holds a model to the schemas of the tools where a call is required.
    """

    title: str
    base_url: str
    api_key: str = ""
    max_tokens: str = "max_tokens"
    usage_asked: bool = True
    effort: bool = False
    parallel: bool = False
    nine_ids: bool = False
    longest_id: int = 0
    echo_reasoning: str = ""
    images: bool = True
    forces: bool = False
    tells_window: bool = False


PRESETS: Final[dict[str, Preset]] = {
    "openai": Preset(
        title="OpenAI Chat Completions",
        base_url="https://api.openai.com/v1",
        api_key="openai_api_key",
        max_tokens="max_completion_tokens",
        effort=True,
        parallel=True,
        longest_id=40,
    ),
    "deepseek": Preset(
        title="DeepSeek",
        base_url="https://api.deepseek.com/v1",
        api_key="deepseek_api_key",
        echo_reasoning="reasoning_content",
        images=False,
    ),
    "groq": Preset(
        title="Groq",
        base_url="https://api.groq.com/openai/v1",
        api_key="groq_api_key",
        max_tokens="max_completion_tokens",
        parallel=True,
    ),
    "llamacpp": Preset(
        title="llama.cpp", base_url="http://127.0.0.1:8080/v1", forces=True, tells_window=True
    ),
    "lmstudio": Preset(title="LM Studio", base_url="http://127.0.0.1:1234/v1"),
    "mistral": Preset(
        title="Mistral",
        base_url="https://api.mistral.ai/v1",
        api_key="mistral_api_key",
        usage_asked=False,
        parallel=True,
        nine_ids=True,
    ),
    "ollama": Preset(title="Ollama", base_url="http://127.0.0.1:11434/v1"),
    "openrouter": Preset(
        title="OpenRouter",
        base_url="https://openrouter.ai/api/v1",
        api_key="openrouter_api_key",
        echo_reasoning="reasoning_details",
    ),
    "vllm": Preset(title="vLLM", base_url="http://127.0.0.1:8000/v1", tells_window=True),
    "other": Preset(title="Chat Completions", base_url=""),
}


def preset_of(settings: CompatibleSettings) -> Preset:
    """Return what a server does, as the operator corrected it."""
    changed: dict[str, Any] = {
        name: value
        for name in ("base_url", "max_tokens", "usage_asked", "effort")
        if (value := getattr(settings, name)) not in ("", None)
    }
    if settings.api_key is not None:
        changed["api_key"] = settings.api_key
    return replace(PRESETS[settings.server], **changed)
