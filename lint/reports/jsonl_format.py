"""One JSON object on each line, printed as soon as its file is done."""

from __future__ import annotations

import json

from torchlint.findings import Finding
from torchlint.reports.json_format import as_dict
from torchlint.reports.view import View


def show(finding: Finding, view: View) -> str:
    """The keys of the ``json`` format on one line."""
    return json.dumps(as_dict(finding, view), sort_keys=True, separators=(",", ":")) + "\n"
