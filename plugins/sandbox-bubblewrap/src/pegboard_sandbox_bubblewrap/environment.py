"""The environment of a confined command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from pegboard.sandboxes import command_environment
from pegboard_sandbox_bubblewrap.host_system import user_name

DEFAULT_PATH: Final = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
_NOT_INSIDE: Final = ("XDG_RUNTIME_DIR", "SHELL")
_PROXY_NAMES: Final = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_NO_PROXY: Final = "localhost,127.0.0.1,::1"


def inner_environment(
    names: Iterable[str],
    extra: Mapping[str, str],
    *,
    visible: Iterable[str],
    home: str,
    tmp: str,
    proxy: str = "",
) -> dict[str, str]:
    """Return the environment of a command.

    Args:
        names: Variables of the host that the operator lets through.
        extra: Variables that the caller of the command sets.
        visible: Folders that it sees; of PATH only what is below them is kept.
        home: Its home folder.
        tmp: Its folder for temporary files.
        proxy: URL of its only way out; "" = none.
    """
    found = command_environment(names)
    for name in _NOT_INSIDE:
        if name not in names:
            found.pop(name, None)
    found["PATH"] = _visible_path(found["PATH"], tuple(visible))
    found |= {"HOME": home, "TMPDIR": tmp, "USER": user_name(), "LOGNAME": user_name()}
    if proxy:
        found |= dict.fromkeys(_PROXY_NAMES, proxy)
        found |= {"no_proxy": _NO_PROXY, "NO_PROXY": _NO_PROXY}
    return {**found, **extra}


def _visible_path(path: str, visible: tuple[str, ...]) -> str:
    kept = [
        folder
        for folder in path.split(":")
        if any(folder == place or folder.startswith(f"{place}/") for place in visible)
    ]
    missing = [folder for folder in DEFAULT_PATH.split(":") if folder not in kept]
    return ":".join([*kept, *missing])
