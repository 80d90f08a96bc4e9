"""The entry point: whatever happens, users see sentences and an exit code, never a traceback."""

from __future__ import annotations

import contextlib
import os
import sys


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit code is 0 (clean), 1 (findings), 2 (error) or 130 (interrupted)."""
    import click

    from torchlint.cli import cli

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = cli.main(arguments, prog_name="torchlint", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return 2
    except (KeyboardInterrupt, click.Abort):
        _say("interrupted")
        return 130
    except BrokenPipeError:
        # The reader, such as ``head``, has left. What is still buffered must not fail once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except Exception as error:
        if os.environ.get("TORCHLINT_DEBUG"):
            raise
        place = _place(error)
        _say(
            f"internal error: {type(error).__name__}: {error}{place}; please report it "
            "(TORCHLINT_DEBUG=1 shows where it comes from)"
        )
        return 2


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    return f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno})"


def _say(message: str) -> None:
    with contextlib.suppress(OSError):
        print(f"torchlint: {message}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
