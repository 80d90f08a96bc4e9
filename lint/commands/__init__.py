"""One module for each command; ``command(name)`` gives the click command."""
