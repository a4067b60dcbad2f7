"""Rounds whose texts ``conform`` changes where a method's own text has no place for a mistake; tests compare both."""
