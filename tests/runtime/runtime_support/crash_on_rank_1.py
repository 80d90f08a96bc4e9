"""The command line of the trainer, on rank 1 and before any restart with a crash planted in the fifth step."""

from __future__ import annotations

import os
import sys

from plants import crash_at_step

from torchlint.runtime.__main__ import main

if __name__ == "__main__":
    if os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        crash_at_step(5)
    sys.exit(main(sys.argv[1:]))
