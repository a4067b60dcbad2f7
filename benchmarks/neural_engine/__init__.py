"""Local training of networks and whole rounds, against a loop over the clients and against a round by hand."""
