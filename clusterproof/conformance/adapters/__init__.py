"""Adapters for other libraries. Each adapter imports the other library only when you use the adapter."""
