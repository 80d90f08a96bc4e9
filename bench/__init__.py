"""Speed, scale, accuracy and fuzzing of torchlint, next to the tools people use today. Not installed with the package."""
