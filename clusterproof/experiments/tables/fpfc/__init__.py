"""Tables and curves of FPFC."""
