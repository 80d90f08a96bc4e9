"""The language server: what ``torchlint check`` says, while the file is being written."""

from __future__ import annotations

from collections.abc import Sequence

USAGE = """Usage: torchlint server [--stdio]

Speaks the Language Server Protocol on standard input and output; editors start it.
docs/editors.md shows the settings for VS Code, Neovim, Helix and others.
"""


def main(argv: Sequence[str]) -> int:
    """Serve one editor until it says goodbye; the exit code is 1 when it leaves without."""
    import os
    import sys

    if any(argument in ("-h", "--help") for argument in argv):
        print(USAGE, end="")
        return 0
    unknown = [argument for argument in argv if argument != "--stdio"]  # generic clients add it
    if unknown:
        print(f"torchlint server: unknown argument {unknown[0]!r}\n{USAGE}", end="", file=sys.stderr)
        return 2
    from torchlint.server.app import create_server

    # The editor reads nothing but messages: what a library prints by mistake goes to standard error.
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    sys.stdout = sys.stderr
    server = create_server()
    server.start_io(stdout=channel)
    return 0 if server.ended else 1
