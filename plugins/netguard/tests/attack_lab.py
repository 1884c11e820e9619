"""Run in a network namespace of its own, in which every address is this machine.

Prints one line of JSON: which bad URLs got through, and which good ones did not.
"""

from __future__ import annotations

import asyncio
import http.server
import json
import os
import socket
import subprocess
import threading
from collections.abc import Callable
from typing import Any

PUBLIC, PUBLIC6 = "93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"
NAMES = {
    "pub.test": [PUBLIC],
    "pub6.test": [PUBLIC6],
    "xn--e1afmkfd.test": [PUBLIC],
    "priv.test": ["10.0.0.1"],
    "mixed.test": [PUBLIC, "127.0.0.1"],
    "mixed2.test": ["127.0.0.1", PUBLIC],
    "mapped.test": ["::ffff:127.0.0.1"],
    "nat64.test": ["64:ff9b::a9fe:a9fe"],
    "meta.test": ["169.254.169.254"],
    "ula.test": ["fd00::1"],
    "localhost": ["127.0.0.1"],
    "foo.localhost": ["127.0.0.1"],
    "metadata.google.internal": ["169.254.169.254"],
}
BAD_HOSTS = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "017700000001",
    "127.0.0.1.",
    "localhost",
    "localhost.",
    "foo.localhost",
    "0.0.0.0",
    "0",
    "[::]",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b::169.254.169.254]",
    "[64:ff9b:1::a9fe:a9fe]",
    "[2002:7f00:1::]",
    "[2002:a9fe:a9fe::1]",
    "[2001:0:a9fe:a9fe::1]",
    "[fe80::1]",
    "[fe80::1%25lo]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fec0::1]",
    "[ff02::1]",
    "[2001:db8::1]",
    "[3fff::1]",
    "[100::1]",
    "[5f00::1]",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "169.254.169.254",
    "169.254.170.2",
    "192.0.0.192",
    "192.0.2.1",
    "198.18.0.1",
    "203.0.113.1",
    "192.88.99.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "168.63.129.16",
    "①②⑦.⓪.⓪.①",
    "\uff11\uff12\uff17.0.0.1",
    "127。0。0。1",
    "127.0.0.%31",
    "priv.test",
    "mixed.test",
    "mixed2.test",
    "mapped.test",
    "nat64.test",
    "meta.test",
    "ula.test",
    "metadata.google.internal",
    "u:p@127.0.0.1",
    "pub.test@127.0.0.1",
    "pub.test:80\\@127.0.0.1",
]
BAD = [f"http://{host}/" for host in BAD_HOSTS] + [
    "http://pub.test/r?http://127.0.0.1/",
    "http://pub.test/r?http://priv.test/",
    "http://pub.test/r?//127.0.0.1/",
    "http://pub.test/r?http://2130706433/",
    "http://pub.test/r?file:///etc/passwd",
    "http://pub.test/r?http://[::ffff:127.0.0.1]/",
    "http://pub.test/r?http://pub.test/r?http://127.0.0.1/",
    "http://rebind.test/",
    "http://pub.test:6379/",
    "file:///etc/passwd",
    "gopher://127.0.0.1/",
    "ftp://127.0.0.1/",
    "http:///x",
    "http://",
    "data:text/plain,x",
    "http://127.0.0.1\t/",
    "http://pub.test\r\nX: y/",
]
GOOD = [
    "http://pub.test/",
    "http://pub6.test/",
    f"http://{PUBLIC}/",
    f"http://[{PUBLIC6}]/",
    "http://pub.test./",
    "http://pub.test/r?/x",
    "http://\u043f\u0440\u0438\u043c\u0435\u0440.test/",
]

hits: list[str] = []
rebinds: list[str] = []
look_up = socket.getaddrinfo


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        hits.append(self.connection.getsockname()[0])
        if self.path.startswith("/r?"):
            self.send_response(302)
            self.send_header("Location", self.path[3:])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Server6(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6

    def server_bind(self) -> None:
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        super().server_bind()


def answer_everywhere() -> None:
    for command in (
        "ip link set lo up",
        "ip route add local 0.0.0.0/0 dev lo",
        "ip -6 route add local ::/0 dev lo",
    ):
        subprocess.run(command.split(), check=True)
    for kind, address in (
        (http.server.ThreadingHTTPServer, ("0.0.0.0", 80)),
        (http.server.ThreadingHTTPServer, ("0.0.0.0", 6379)),
        (Server6, ("::", 80)),
    ):
        server = kind(address, Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()


def names(host: Any, port: Any, family: int = 0, kind: int = 0, *rest: int, **more: int) -> Any:
    """Stand in for a name server; addresses in any form are the system's to read."""
    text = host.decode() if isinstance(host, bytes) else str(host)
    plain = text.rstrip(".").lower()
    if plain == "rebind.test":
        rebinds.append(plain)
        answers = [PUBLIC] if len(rebinds) == 1 else ["127.0.0.1"]
    elif plain in NAMES:
        answers = NAMES[plain]
    elif plain.endswith(".test"):
        raise socket.gaierror(socket.EAI_NONAME, "no such name")
    else:
        return look_up(host, port, family, socket.SOCK_STREAM, *rest, **more)
    stream = socket.SOCK_STREAM
    return [
        (socket.AF_INET6, stream, 6, "", (ip, int(port), 0, 0))
        if ":" in ip
        else (socket.AF_INET, stream, 6, "", (ip, int(port)))
        for ip in answers
    ]


async def reached(ask: Callable[[str], Any], url: str) -> tuple[bool, bool]:
    """Return whether a URL was answered, and whether something closed was touched."""
    hits.clear()
    rebinds.clear()
    try:
        await asyncio.wait_for(ask(url), 8)
        answered = True
    except Exception:
        answered = False
    return answered, any(hit not in (PUBLIC, PUBLIC6) for hit in hits)


async def main() -> None:
    from pegboard_netguard import fetch

    socket.getaddrinfo = names  # type: ignore[assignment]
    leaks = []
    for url in BAD:
        answered, touched = await reached(fetch, url)
        # rebinding: the first answer is public, and going there is right
        if touched or (answered and "rebind" not in url):
            leaks.append(url)
    refused = [url for url in GOOD if (await reached(fetch, url)) != (True, False)]
    naked = sum([(await reached(unguarded, url))[0] for url in BAD])
    print(
        json.dumps(
            {
                "bad": len(BAD),
                "good": len(GOOD),
                "leaks": leaks,
                "refused": refused,
                "unguarded": naked,
            }
        )
    )


async def unguarded(url: str) -> None:
    """Ask as a plain client would: shows that the lab can tell the difference."""
    import httpx

    async with httpx.AsyncClient(follow_redirects=True, timeout=5, trust_env=False) as client:
        await client.get(url)


if __name__ == "__main__":
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]
    answer_everywhere()
    asyncio.run(main())
