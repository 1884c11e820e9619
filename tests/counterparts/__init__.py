"""Servers that nobody here wrote, for tests of providers: they speak the vendors' dialects.

`chaos` is llmock, which breaks its answers on request and judges what a client does then; `journal`
is aimock, which tells what it was sent; `llama` is llama.cpp's own server with a small real model.
`ScriptedServer` is ours: it answers with given bytes. All listen on this machine only.

Tests get them as fixtures (`fixtures.py`); where one is not installed, its tests are skipped and
say so. `python tests/counterparts/install.py` installs what pip does not.
"""

from __future__ import annotations

from counterparts.asking import ECHO, Heard, Kept, answered, ask, asking, called, shown_twice
from counterparts.chaos import Chaos
from counterparts.doubling import MATHS
from counterparts.journal import Journal, Sent
from counterparts.llama import Llama
from counterparts.scripted import Answer, Request, ScriptedServer, scripted

__all__ = [
    "ECHO",
    "MATHS",
    "Answer",
    "Chaos",
    "Heard",
    "Journal",
    "Kept",
    "Llama",
    "Request",
    "ScriptedServer",
    "Sent",
    "answered",
    "ask",
    "asking",
    "called",
    "scripted",
    "shown_twice",
]
