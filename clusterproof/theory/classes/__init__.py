"""Theorems about every function, operator or set of a class: worst cases, certificates and explicit functions."""
