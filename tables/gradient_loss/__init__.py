"""Curves of GL-CFL."""
