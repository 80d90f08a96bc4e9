"""The entry point: whatever happens, users see sentences and an exit code, never a traceback."""

from __future__ import annotations

import contextlib
import os
import sys


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit code is 0 (clean), 1 (findings), 2 (error), 130 (Ctrl-C) or 143 (SIGTERM)."""
    # What the caller has closed is None; it stays open to the end of the process.
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
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
    except (KeyboardInterrupt, click.Abort) as stop:
        _say("interrupted")
        code = getattr(stop.__cause__ or stop, "code", 130)  # 143 if it was SIGTERM
        if (
            arguments is None
        ):  # the program itself: threads that still serve ended workers must not keep it, or complain
            os._exit(code)
        return int(code)
    except BrokenPipeError:  # the reader, such as ``head``, has left
        _forget_output()
        return 1
    except OSError as error:
        _forget_output()
        _say(f"the report cannot be written: {error.strerror or error}")
        return 2
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


def _forget_output() -> None:
    """What is still buffered must not fail once more at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
