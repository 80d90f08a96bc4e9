"""The reference trainer: one training loop for a CPU, one accelerator or many, to run and to copy from.

It imports PyTorch and never the linter. `python -m torchlint.runtime train` starts it; every module says in its first
lines which pitfall it shows the cure of. Read `trainer.py` first, then `run.py` and `checkpoint.py`.
"""
