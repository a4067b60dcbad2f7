"""Clients on machines of their own: the algorithms' own code on the server, its questions as messages.

The algorithms ask a task; here the task asks the clients. ``remote_task`` turns each question into one request a
client and checks what comes back, ``client`` answers with a client's own data, ``federation`` carries out rounds with
those who are there. None of these knows how messages travel; ``flower_server`` and ``flower_client`` carry them by
Flower, and ``python -m clusterproof.deployment`` starts a federation on this machine.
"""
