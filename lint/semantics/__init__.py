"""What the code means: names, scopes, values, kinds, flow, and facts from other files."""
