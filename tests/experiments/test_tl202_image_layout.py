"""TL202: a picture whose layout is not stated raises, and BGR is shown with its colours swapped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PICTURES = """
import json, sys
import numpy as np
from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import image

picture = np.zeros((8, 6, 3), dtype=np.uint8)
picture[:, :, 0] = 255
writer = SummaryWriter(sys.argv[1])
try:
    writer.add_image("picture", picture, 0)
    error = ""
except TypeError as caught:
    error = str(caught)
writer.add_image("picture", picture, 0, dataformats="HWC")
writer.close()

def shown(pixels):
    import io
    from PIL import Image
    data = image("p", pixels, dataformats="HWC").value[0].image.encoded_image_string
    return Image.open(io.BytesIO(data)).getpixel((0, 0))

print(json.dumps({"error": error, "rgb": shown(picture), "bgr": shown(picture[:, :, ::-1])}))
"""


def test_layout_has_to_be_stated_and_the_order_of_colours_is_taken_as_it_is(lab: Any, tmp_path: Path) -> None:
    result = lab.succeed(PICTURES, tmp_path / "runs")
    assert "Cannot handle this data type" in result["error"]
    assert result["rgb"] == [255, 0, 0]
    assert result["bgr"] == [0, 0, 255], "what was red is blue, and nothing says so"
