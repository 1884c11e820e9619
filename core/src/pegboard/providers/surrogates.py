"""Characters that a stream tore into two halves."""

from __future__ import annotations


def is_high(character: str) -> bool:
    """Return True for the first half of a character outside the basic plane."""
    return "\ud800" <= character <= "\udbff"


def repaired(text: str) -> str:
    """Return `text` with halves joined to characters and lone halves replaced.

    JSON may write `🧩` as two escapes; a server that cuts between them sends two halves, which no
    terminal, file or next request can encode.
    """
    if text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class TextJoiner:
    """Holds back half a character until its other half arrives."""

    def __init__(self) -> None:
        self._held = ""

    def add(self, text: str) -> str:
        """Return what can be shown now."""
        if self._held:
            text, self._held = self._held + text, ""
        if text and is_high(text[-1]):
            text, self._held = text[:-1], text[-1]
        return repaired(text)

    def rest(self) -> str:
        """Return what is left when nothing more comes: half a character is lost, and seen."""
        held, self._held = self._held, ""
        return repaired(held)
