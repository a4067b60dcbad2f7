"""ProxSkip with one coin for all clients: its identity, the printed rate and the sharp one."""
