"""Serve a GGUF file with llama.cpp's own server: `serve_llama.py MODEL PORT CONTEXT KEY`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import xllamacpp

model, port, context, key = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path = model
params.model_alias = {"tiny"}  # its real name would say that it can't call tools
params.port = int(port)
params.n_ctx = 2 * int(context)
params.n_parallel = 2  # two prompts stay in the cache: that of a chat, and that with tools
params.sampling.temp = 0  # the same answer every time
# more threads are slower as soon as anything else runs: they wait for one another in a busy loop
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.warmup = False
params.cache_ram_mib = 0
params.ui = False
params.verbosity = 0
params.use_jinja = True
params.chat_template = Path(__file__).with_name("tools.jinja").read_text("utf-8")
if key:
    params.api_keys = [key]
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
while True:
    time.sleep(3_600)
