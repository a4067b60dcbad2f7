"""Tables of SoFL."""
