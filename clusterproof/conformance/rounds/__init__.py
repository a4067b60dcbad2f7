"""Rounds for ``conform``, if a method's own text has no place for a mistake; tests compare both texts."""
