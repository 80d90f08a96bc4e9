"""The rules, one defect per file."""
