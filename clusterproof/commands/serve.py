"""The command ``serve``: answer an agent in the Model Context Protocol over standard input and output."""


def serve() -> int:
    """Answer the calls of an agent in the Model Context Protocol until the input ends.

    An agent can call the commands check, show, run, conform and improve. The messages of the protocol (JSON-RPC, one
    per line) use standard input and output, so the agent's program should start this command. The server executes the
    code that it receives, with the rights of the user who starts it. It processes one call at a time, each in a
    separate process. If the agent cancels a call, the process is terminated.
    """
    from clusterproof.commands.agent_tools import (
        server,
    )  # needs an extra, which a list of all commands does not need

    server().run("stdio")
    return 0
