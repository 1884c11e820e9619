"""Take the text out of a PDF: a program of its own, so that a bad file harms nobody but itself.

The file comes on standard input; a JSON object goes to standard output. Started by `pdf_text`.
"""

from __future__ import annotations

import io
import json
import logging
import sys
from typing import Any, Final

_MEMORY: Final = 2 << 30
_CPU_S: Final = 120


def limit_resources() -> None:
    """Keep this process from taking all memory or all time; a no-op where that is unknown."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S, _CPU_S))


def page_texts(data: bytes, first: int, last: int, max_chars: int) -> dict[str, Any]:
    """Return the text of pages, and how many the document has.

    Args:
        data: The document.
        first, last: Numbers of pages, from 1.
        max_chars: Characters after which no further page is begun.
    """
    import pypdf

    logging.disable()  # its warnings are about faults in the file that it got over
    reader = pypdf.PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        return {"encrypted": True}
    total = len(reader.pages)
    texts: list[str] = []
    room = max_chars
    for number in range(first, min(last, total) + 1):
        if room <= 0:
            break
        texts.append(reader.pages[number - 1].extract_text())
        room -= len(texts[-1])
    return {"total": total, "texts": texts}


def main() -> None:
    """Read standard input, write standard output."""
    limit_resources()
    first, last, max_chars = (int(value) for value in sys.argv[1:4])
    try:
        answer = page_texts(sys.stdin.buffer.read(), first, last, max_chars)
    except Exception as error:  # whatever a library says of a broken file
        answer = {"error": f"{type(error).__name__}: {error}"[:500]}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
