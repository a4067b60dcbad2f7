"""The papers' ways to divide a data set among clients, one recipe per function."""
