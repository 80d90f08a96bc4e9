"""One pure function per output format."""
