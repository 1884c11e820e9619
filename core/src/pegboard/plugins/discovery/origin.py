"""Where an installed distribution came from, and who ships it: what to do about it depends on that.

pip writes `direct_url.json` beside the metadata of what it did not take from an index.
"""

from __future__ import annotations

import json
import os
from typing import Any, Final, Literal, NamedTuple

from pegboard.plugins.discovery.dist_info import read_bytes
from pegboard.plugins.discovery.scan import FoundPlugin

_FILE: Final = "direct_url.json"
_PEOPLE: Final = ("author", "author-email", "maintainer", "maintainer-email")
_PLACES: Final = ("home-page", "project-url")

Kind = Literal["index", "editable", "folder", "file", "repository"]


class Origin(NamedTuple):
    """Where a distribution came from.

    Args:
        kind: `editable` and `folder` are source folders of this machine, `file` is a wheel or an
            archive, `repository` a version control system; all else is `index`.
        place: The folder as a path, or what pip takes to install it again; "" for an index.
    """

    kind: Kind
    place: str = ""


class Shipper(NamedTuple):
    """Who ships a distribution, as its METADATA says; a value is "" where it says nothing."""

    name: str
    link: str


def origin_of(found: FoundPlugin) -> Origin:
    """Return where the distribution of a plugin came from."""
    try:
        data = json.loads(read_bytes(f"{found.folder}{os.sep}{_FILE}"))
        url = str(data["url"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return Origin("index")
    path = _path_of(url)
    if isinstance(data.get("dir_info"), dict) and path:
        return Origin("editable" if data["dir_info"].get("editable") is True else "folder", path)
    if isinstance(data.get("vcs_info"), dict):
        return Origin("repository", _repository(found.dist, url, data["vcs_info"]))
    if path and not os.path.exists(path):  # noqa: PTH110
        return Origin("index")  # `pegboard plugins install NAME` looked into it in a passing folder
    return Origin("file", path or url)


def shipper_of(found: FoundPlugin) -> Shipper:
    """Return who ships the distribution of a plugin."""
    people: dict[str, str] = {}
    links: list[str] = []
    try:
        text = read_bytes(f"{found.folder}{os.sep}METADATA", head=True).decode("utf-8", "replace")
    except OSError:
        text = ""
    for line in text.partition("\n\n")[0].splitlines():
        key, _, value = line.partition(":")
        key, value = key.lower(), value.strip()
        if key in _PEOPLE and value and value != "UNKNOWN":
            people.setdefault(key, value)
        elif key in _PLACES and value and value != "UNKNOWN":
            links.append(value.rpartition(",")[2].strip())
    return Shipper(next((people[key] for key in _PEOPLE if key in people), ""), "".join(links[:1]))


def _path_of(url: str) -> str:
    """Return the path of a `file:` address, else ""."""
    if not url.startswith("file:"):
        return ""
    from urllib.request import url2pathname

    return url2pathname(url.removeprefix("file:").removeprefix("//"))


def _repository(dist: str, url: str, vcs: dict[str, Any]) -> str:
    wanted = vcs.get("requested_revision")
    return f"{dist} @ {vcs.get('vcs', 'git')}+{url}" + (f"@{wanted}" if wanted else "")
