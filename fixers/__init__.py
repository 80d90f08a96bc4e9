"""Verbs that turn an intention into text edits; they know no rule."""
