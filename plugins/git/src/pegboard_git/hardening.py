"""What keeps git from running programs that a repository names.

A repository's own configuration can make nearly every command of git run something: hooks, filters,
monitors, pagers. Git has no switch against it, so each call gives it an environment in which every
known key is answered, and every key that the repository itself sets and that could run a program is
answered as well. It is the second line: git runs in the sandbox all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

Pairs = tuple[tuple[str, str], ...]

ENVIRONMENT: Final[Mapping[str, str]] = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "PAGER": "cat",
    # git takes a colon for "leave the text as it is" and starts nothing
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_ASKPASS": "false",
    "SSH_ASKPASS": "false",
    "GIT_SSH_COMMAND": "false",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_MERGE_AUTOEDIT": "no",
    "GIT_ADVICE": "0",
    "LC_ALL": "C.UTF-8",
}
"""Set for every call, in the words of git's manual."""

REMOVED: Final = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"),
    *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS"),
    *("GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS", "GIT_SSH"),
    *("GIT_PROXY_COMMAND", "GIT_TRACE", "GIT_TRACE2", "GIT_TRACE2_EVENT", "GIT_TRACE2_PERF"),
    *("GIT_TRACE_SETUP", "GIT_TRACE_PACKET", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_PREFIX"),
    *("GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS"),
    *("GIT_ICASE_PATHSPECS", "GIT_REPLACE_REF_BASE", "GIT_DEFAULT_HASH", "EMAIL"),
)
"""Removed for every call, wherever they come from."""

_COLOURED: Final = ("ui", "branch", "diff", "grep", "interactive", "status", "push", "remote")

FIXED: Final[Pairs] = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.editor", ":"),
    ("sequence.editor", ":"),
    ("core.sshCommand", "false"),
    ("core.askPass", "false"),
    ("core.gitProxy", ""),
    ("core.alternateRefsCommand", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("core.protectHFS", "true"),
    ("core.protectNTFS", "true"),
    ("core.quotePath", "false"),
    ("core.abbrev", "auto"),
    ("core.commentChar", "#"),
    ("credential.helper", ""),
    ("protocol.allow", "never"),
    ("safe.bareRepository", "explicit"),
    ("init.templateDir", ""),
    ("interactive.diffFilter", "cat"),
    ("diff.external", ""),
    ("diff.orderFile", "/dev/null"),
    ("diff.noprefix", "false"),
    ("diff.mnemonicPrefix", "false"),
    ("diff.submodule", "short"),
    ("diff.srcPrefix", "a/"),
    ("diff.dstPrefix", "b/"),
    ("diff.algorithm", "default"),
    ("diff.context", "3"),
    ("diff.interHunkContext", "0"),
    ("diff.renames", "true"),
    ("diff.relative", "false"),
    ("diff.suppressBlankEmpty", "false"),
    ("diff.indentHeuristic", "true"),
    ("diff.statGraphWidth", "-1"),
    ("diff.ignoreSubmodules", "dirty"),
    ("status.renames", "true"),
    ("status.aheadBehind", "true"),
    ("status.submoduleSummary", "false"),
    ("status.relativePaths", "false"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("log.showSignature", "false"),
    ("log.mailmap", "false"),
    ("log.date", "default"),
    ("log.follow", "false"),
    ("log.decorate", "short"),
    ("log.showRoot", "true"),
    ("log.diffMerges", "separate"),
    ("format.pretty", "medium"),
    ("mailmap.file", "/dev/null"),
    ("blame.ignoreRevsFile", ""),
    ("gpg.program", "false"),
    ("commit.gpgSign", "false"),
    ("commit.verbose", "false"),
    ("commit.status", "false"),
    ("tag.gpgSign", "false"),
    ("tag.forceSignAnnotated", "false"),
    ("merge.verifySignatures", "false"),
    ("merge.ff", "true"),
    ("merge.log", "false"),
    ("merge.renames", "true"),
    ("merge.conflictStyle", "merge"),
    ("rerere.enabled", "false"),
    ("merge.tool", ""),
    ("rebase.autoStash", "false"),
    ("rebase.updateRefs", "false"),
    ("rebase.missingCommitsCheck", "ignore"),
    ("rebase.instructionFormat", "%s"),
    ("branch.autoSetupMerge", "false"),
    ("branch.autoSetupRebase", "never"),
    ("checkout.guess", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("receive.autoGc", "false"),
    *((f"color.{part}", "never") for part in _COLOURED),
    ("column.ui", "never"),
    ("i18n.logOutputEncoding", "UTF-8"),
    ("i18n.commitEncoding", "UTF-8"),
    ("advice.detachedHead", "false"),
    ("advice.addEmbeddedRepo", "false"),
    ("user.useConfigOnly", "true"),
)
"""Answers to every key that can run a program, read or write a file elsewhere, or change what we
parse."""

_OWN_MERGE: Final = "git merge-file --marker-size=%L %A %O %B"
"""A driver that is empty would keep one side and call it merged; this one merges as git does."""

_ANSWERS: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), answer)
    for pattern, answer in (
        (r"filter\..*\.(clean|smudge|process)", ""),
        (r"filter\..*\.required", "false"),
        (r"diff\..*\.textconv", "cat"),  # blame fails on an empty one
        (r"diff\..*\.cachetextconv", "false"),
        (r"merge\..*\.driver", _OWN_MERGE),
        (r"(remote|http)\.(.*\.)?(proxy|vcs|uploadpack|receivepack)", ""),
        (r"submodule\..*\.update", "none"),
        (r"branch\..*\.mergeoptions", ""),
        (r"submodule\..*\.ignore", "dirty"),
        (r"submodule\..*\.fetchrecursesubmodules", "false"),
        (r"alias\..*|pager\..*|credential\..*|(mergetool|difftool|guitool)\..*", ""),
        (r".*\.(command|cmd|program|helper|defaultkeycommand)", ""),
    )
)
_FILTER: Final = re.compile(r"filter\.(.*)\.(?:clean|smudge|process|required)", re.I | re.S)
_HOOK: Final = re.compile(r"hook\.(.*)\.(?:command|event)", re.I | re.S)


def answers(keys: Iterable[str]) -> Pairs:
    """Return an answer to each key of a repository's configuration that could run a program.

    Args:
        keys: All that it sets, as `git config --list` names them.
    """
    found: dict[str, str] = {}
    for key in keys:
        for pattern, answer in _ANSWERS:
            if pattern.fullmatch(key) is not None:
                found[key] = answer
                break
        filtered, hooked = _FILTER.fullmatch(key), _HOOK.fullmatch(key)
        if filtered is not None:
            # a filter is only left out when it is not required
            found[f"filter.{filtered[1]}.required"] = "false"
        if hooked is not None:
            found[f"hook.{hooked[1]}.enabled"] = "false"
    return tuple(found.items())


def submodule_answers(names: Iterable[str]) -> Pairs:
    """Return what keeps git from entering submodules, whose configuration it would then obey."""
    return tuple((f"submodule.{name}.ignore", "dirty") for name in names)


def filters(keys: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the filters that a configuration sets."""
    found = (_FILTER.fullmatch(key) for key in keys)
    return tuple(dict.fromkeys(match[1] for match in found if match is not None))


def environment(pairs: Iterable[tuple[str, str]], extra: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of one call.

    Args:
        pairs: Keys of configuration with their answers; they win over every file.
        extra: Further variables.
    """
    return {**ENVIRONMENT, **extra, **dict(_counted(tuple(pairs)))}


def _counted(pairs: Pairs) -> Iterator[tuple[str, str]]:
    yield "GIT_CONFIG_COUNT", str(len(pairs))
    for number, (key, value) in enumerate(pairs):
        yield f"GIT_CONFIG_KEY_{number}", key
        yield f"GIT_CONFIG_VALUE_{number}", value
