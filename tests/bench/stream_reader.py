"""Read a stream as a host does and print the peak memory of it in MB: `stream_reader.py URL`."""

from __future__ import annotations

import asyncio
import resource
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from providers import provider_at, read_with_us


async def read(url: str) -> None:
    """Read one stream."""
    async with provider_at(url) as provider:
        await read_with_us(provider)


asyncio.run(read(sys.argv[1]))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(peak / (1_048_576 if sys.platform == "darwin" else 1_024))  # macOS counts bytes, Linux KiB
