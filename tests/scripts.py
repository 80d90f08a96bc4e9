"""Training scripts in random layouts, and how many findings of the five first rules each must get."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

CODES = ("TL101", "TL201", "TL301", "TL401", "TL501")

HEAD = """\
import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

# One function each; ``@`` stands for a number of its own, ``~`` for a place where a line may be broken, ``>`` for a step
# of indentation. The pitfall comes first, what looks like it and is right second.
PAIRS = {
    "TL101": (
        ["def loader_@(data):", ">return DataLoader(~data,~ batch_size=8,~ shuffle=True~)"],
        ["def loader_@(data):", ">return DataLoader(~data,~ batch_size=8,~ shuffle=True,~ num_workers=2~)"],
        ["def loader_@(data, mylib):", ">return mylib.DataLoader(~data,~ batch_size=8~)"],
    ),
    "TL201": (
        [
            "def log_@(train_loss, val_loss, epoch):",
            ">writer_@ = SummaryWriter()",
            ">writer_@.add_scalar(~'loss',~ train_loss,~ epoch~)",
            ">writer_@.add_scalar(~'loss',~ val_loss,~ epoch~)",
            ">writer_@.close()",
        ],
        [
            "def log_@(train_loss, val_loss, epoch):",
            ">writer_@ = SummaryWriter()",
            ">writer_@.add_scalar(~'train/loss',~ train_loss,~ epoch~)",
            ">writer_@.add_scalar(~'val/loss',~ val_loss,~ epoch~)",
            ">writer_@.close()",
        ],
    ),
    "TL301": (
        [
            "def infer_@(batch):",
            ">net_@ = nn.Sequential(~nn.Linear(1, 1),~ nn.Dropout()~)",
            ">net_@.train()",
            ">with torch.no_grad():",
            ">>return net_@(~batch~)",
        ],
        [
            "def infer_@(batch):",
            ">net_@ = nn.Sequential(~nn.Linear(1, 1),~ nn.Dropout()~)",
            ">net_@.eval()",
            ">with torch.no_grad():",
            ">>return net_@(~batch~)",
        ],
    ),
    "TL401": (
        ["def move_@(images, labels):", ">images = images.cuda(~)", ">labels = labels.to(~device~)", ">return images, labels"],
        ["def move_@(images, labels):", ">images = images.to(~device~)", ">labels = labels.to(~device~)", ">return images, labels"],
        ["def move_@(labels):", ">text_@ = 'images.cuda()'  # images.cuda()", ">return text_@, labels.to(~device~)"],
    ),
    "TL501": (
        ["def resume_@(net, path):", ">net.load_state_dict(~torch.load(~path,~ weights_only=True~)~)"],
        ["def resume_@(net, path):", ">net.load_state_dict(~torch.load(~path,~ map_location=device,~ weights_only=True~)~)"],
        ["def resume_@(json, path):", ">return json.load(~path~)"],
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Script:
    """A script, the code each of its functions must be reported for (none for a look-alike), and its parts."""

    text: str
    expected: tuple[str, ...]
    sound: tuple[str, ...]  # functions that nothing may change

    @property
    def codes(self) -> dict[str, int]:
        """How often each rule must report."""
        return {code: self.expected.count(code) for code in CODES if code in self.expected}


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    """One to five functions in any order, each a pitfall or a look-alike, in any layout."""
    newline = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    unit = draw(st.sampled_from(["    ", "\t", "  "]))
    breaks = st.sampled_from(["", "", "", f"{newline}        ", f"  # ü, ( \"'{newline}\t  ", " \t"])
    between = st.sampled_from(["", newline, f"{newline}# é{newline}", f"{newline}\f{newline}"])
    parts, expected, sound = [HEAD.replace("\n", newline)], [], []
    for number in range(draw(st.integers(1, 5))):
        code = draw(st.sampled_from(CODES))
        variant = draw(st.integers(0, len(PAIRS[code]) - 1))
        lines = []
        for line in PAIRS[code][variant]:
            depth = len(line) - len(line.lstrip(">"))
            pieces = line.lstrip(">").replace("@", str(number)).split("~")
            lines.append(unit * depth + pieces[0] + "".join(draw(breaks) + piece for piece in pieces[1:]))
        text = newline.join(lines)
        if variant == 0:
            expected.append(code)
        else:
            sound.append(text)
        parts += [draw(between), text, newline]
    return Script("".join(parts), tuple(expected), tuple(sound))
