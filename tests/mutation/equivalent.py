"""Mutants that change nothing but speed, each with the reason why no test can notice them.

A key is `module:place: before -> after`, as `make mutate` prints it. An entry that does not survive
any more has to go; there shall be few.
"""

from __future__ import annotations

from typing import Final

_SHORTCUT: Final = "a shortcut: what is skipped would find nothing, "

EQUIVALENT: Final[dict[str, str]] = {
    "decide:Gate._judge: self._bound or spec.control is not None or spec.capability is not None"
    " -> True": _SHORTCUT + "for lacking() refuses only runs that are bound and tools that say so",
    "decide:Gate.judge: self._rules and (access is not None and arguments is not None and "
    "self._reads_arguments(tool)) -> access is not None and arguments is not None and "
    "self._reads_arguments(tool)": _SHORTCUT + "for of no rules none reads arguments",
    "decide:Gate._ruled: not self._rules -> False": _SHORTCUT + "for of no rules none matches",
    "filters:excluded_name: not names or names.isdisjoint((tool.spec.name, tool.canonical, "
    "tool.wire_name, *tool.spec.aliases)) -> names.isdisjoint((tool.spec.name, tool.canonical, "
    "tool.wire_name, *tool.spec.aliases))": _SHORTCUT + "for nothing is among no names",
    "redaction:Redactor.__call__: any((form in text for form in forms)) -> True": _SHORTCUT
    + "for the pattern of the forms matches nothing that holds none of them",
    "redaction:Redactor.__call__: any((mark in lower for mark in _MARKS)) -> True": _SHORTCUT
    + "for each shape holds one of its marks",
}
