"""Images and files of messages."""

from __future__ import annotations

import base64

import pytest
from counterparts import Kept
from pegboard_provider_http.attachments import encoded, told

from pegboard import BlobRef, File, Image

pytestmark = pytest.mark.anyio


PNG = Image(BlobRef("a", "image/png", 3, "cat.png"), alt="a cat")


async def test_an_image_is_sent_as_base64() -> None:
    made = await encoded(PNG, Kept(a=b"png"))
    assert made is not None
    assert base64.b64decode(made.data) == b"png"
    assert made.url == f"data:image/png;base64,{made.data}"


@pytest.mark.parametrize(
    "part",
    [
        Image(BlobRef("gone", "image/png", 3)),
        Image(BlobRef("a", "image/tiff", 3)),
        Image(BlobRef("a", "image/png", 10**9)),
        File(BlobRef("a", "application/zip", 3)),
    ],
)
async def test_what_can_not_be_sent_is_left_to_words(part: Image | File) -> None:
    assert await encoded(part, Kept(a=b"png")) is None
    assert "not shown" in told(part)


async def test_without_a_place_for_bytes_nothing_is_sent() -> None:
    assert await encoded(PNG, None) is None


def test_an_image_in_words_says_what_it_is() -> None:
    assert told(PNG) == "[image a cat, image/png, 3 bytes: not shown to you]"
