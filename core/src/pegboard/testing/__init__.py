"""The kit for plugin authors: an isolated host, a scripted model, and a contract suite per kind.

Importing it costs next to nothing; each name is loaded when it is first used. pytest finds the
fixtures by itself (`pytest_plugin`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pegboard.testing.clock import FakeClock
    from pegboard.testing.contracts.backend import BackendContract
    from pegboard.testing.contracts.channel import ChannelContract
    from pegboard.testing.contracts.guard import GuardContract
    from pegboard.testing.contracts.inbox import RecordingInbox
    from pegboard.testing.contracts.plugin import PluginContract
    from pegboard.testing.contracts.provider import ProviderContract
    from pegboard.testing.contracts.sandbox import SandboxContract
    from pegboard.testing.contracts.sandbox_probes import SandboxProbes
    from pegboard.testing.contracts.skill_source import SkillSourceContract
    from pegboard.testing.contracts.tool import ToolContract
    from pegboard.testing.dists import Dist, make_dist
    from pegboard.testing.faults import FAULTS, Fault
    from pegboard.testing.host import HostFactory, HostUnderTest
    from pegboard.testing.model import Answer, Call, Cut, Fail, ScriptedModel
    from pegboard.testing.recorder import Recorder
    from pegboard.testing.recordings import replay

_MODULES: Final = {
    "clock": "FakeClock",
    "contracts.backend": "BackendContract",
    "contracts.channel": "ChannelContract",
    "contracts.guard": "GuardContract",
    "contracts.inbox": "RecordingInbox",
    "contracts.plugin": "PluginContract",
    "contracts.provider": "ProviderContract",
    "contracts.sandbox": "SandboxContract",
    "contracts.sandbox_probes": "SandboxProbes",
    "contracts.skill_source": "SkillSourceContract",
    "contracts.tool": "ToolContract",
    "dists": "Dist make_dist",
    "faults": "FAULTS Fault",
    "host": "HostFactory HostUnderTest",
    "model": "Answer Call Cut Fail ScriptedModel",
    "recorder": "Recorder",
    "recordings": "replay",
}
_WHERE: Final = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [
    "FAULTS",
    "Answer",
    "BackendContract",
    "Call",
    "ChannelContract",
    "Cut",
    "Dist",
    "Fail",
    "FakeClock",
    "Fault",
    "GuardContract",
    "HostFactory",
    "HostUnderTest",
    "PluginContract",
    "ProviderContract",
    "Recorder",
    "RecordingInbox",
    "SandboxContract",
    "SandboxProbes",
    "ScriptedModel",
    "SkillSourceContract",
    "ToolContract",
    "make_dist",
    "replay",
]


def __getattr__(name: str) -> Any:
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module 'pegboard.testing' has no attribute {name!r}")
    value = getattr(import_module(f"pegboard.testing.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
