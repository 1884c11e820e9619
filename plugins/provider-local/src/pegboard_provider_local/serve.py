"""Serve one model until standard input ends: llama.cpp's own server, in a process of its own.

It is started as a file, with its settings as the first line of standard input (a key in the
arguments could be read by every user of the machine), and answers with one line: `{"url": ...}` or
`{"error": ...}`. A model that breaks llama.cpp so takes only this process with it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request
from importlib import import_module
from typing import Any

_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def main() -> None:
    """Serve."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what llama.cpp prints is no answer
    settings = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        server = start(settings)
        url = server.listening_address
        _await(url)
        answer = {"url": url}
    except Exception as error:
        answer = {"error": str(error) or type(error).__name__}
    answers.write(json.dumps(answer) + "\n")
    answers.flush()
    threading.Event().wait()  # until the input ends


def start(settings: dict[str, Any]) -> Any:
    """Return a running server.

    Args:
        settings: path, alias, key, context, max_output, threads, template, temperature.
    """
    xllamacpp = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.model_alias = {settings["alias"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [settings["key"]]
    params.n_ctx = settings["context"]
    params.n_predict = settings["max_output"]
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.use_jinja = True
    if settings["template"] is not None:
        params.chat_template = settings["template"]
    if settings["temperature"] is not None:
        params.sampling.temp = settings["temperature"]
    params.warmup = False
    params.cache_ram_mib = 0  # else up to 8 GiB of old prompts
    params.ui = False
    params.verbosity = 1
    return xllamacpp.Server(params)


def _await(url: str) -> None:
    """Wait until the model is loaded; whoever started this decides how long that may take."""
    while True:
        try:
            with _DIRECT.open(f"{url}/health", timeout=10):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)


def _end_with_input() -> None:
    while sys.stdin.read(1):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
