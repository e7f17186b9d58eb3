"""Programs that compile kernels in processes of their own, without the start of such a process.

Each is forked from one that has imported numba and the plumbing of kernels, and has compiled
nothing. To import numba takes longer than to load a kernel, and as long as to compile a small one.
"""

from __future__ import annotations

import os
from functools import cache

from tests.helpers import KERNELS_ONLY, environment
from tests.helpers.forked_treesweep import send_request, start_server

SERVER = """
import numba
import solver.kernels.jit
from tests.helpers.forked_treesweep import end, serve

serve(sys.argv[1], "-c")
numba.config.reload_config()  # the environment is another one
exec(sys.argv[1])
end(0)
"""


@cache
def _server() -> str:
    return start_server(["-c", KERNELS_ONLY + SERVER], environment())


class ForkedProgram:
    """The process of a program. It writes less than a pipe holds."""

    returncode: int

    def __init__(self, program: str, variables: dict[str, str]) -> None:
        pipes = [os.pipe(), os.pipe()]
        request = {"arguments": [program], "folder": os.getcwd(), "environment": variables,
                   "group": None}  # fmt: skip
        with open(os.devnull) as nothing:
            streams = [nothing.fileno(), *(write for _, write in pipes)]
            self._connection = send_request(_server(), request, streams)
        for _, write in pipes:
            os.close(write)
        self._said = [os.fdopen(read) for read, _ in pipes]

    def communicate(self) -> tuple[str, str]:
        """Wait for its end; what it wrote."""
        with self._connection, self._connection.makefile("r") as answers:
            self.returncode = int(answers.read().split()[1])
        texts = []
        for stream in self._said:
            with stream:
                texts.append(stream.read())
        return texts[0], texts[1]
