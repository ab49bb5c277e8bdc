"""A program: llama.cpp's server in a process of its own, on this machine's loopback address.

Run as a file by `local_server`, so it imports nothing of the project. It reads one line of JSON,
writes the server's address, and ends when its standard input closes: with its parent, however that
ends.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    settings = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = settings.pop("path")
    parameters.cpuparams.n_threads = settings.pop("threads")
    for name, value in settings.items():
        setattr(parameters, name, value)
    try:
        server = xllamacpp.Server(parameters)
    except RuntimeError as error:  # the reason is in the log
        sys.exit(str(error))
    print(server.listening_address, flush=True)
    threading.Event().wait()


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)  # the server's own shutdown can wait for its clients forever


if __name__ == "__main__":
    main()
