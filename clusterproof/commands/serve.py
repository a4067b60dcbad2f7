"""The command ``serve``: answer an agent in the Model Context Protocol over standard input and output."""


def serve() -> int:
    """Answer an agent's calls of five commands, in the Model Context Protocol, until input ends.

    The commands are check, show, run, conform and improve. Standard input and output carry the protocol (JSON-RPC, one
    message per line), so a program starts this command, not a person. The command executes the code that it receives,
    with the rights of the user who starts it. Calls run one at a time, each in its own process; cancelling a call ends
    the process.
    """
    from clusterproof.commands.agent_tools import (
        server,
    )  # needs an extra, which a list of all commands does not need

    server().run("stdio")
    return 0
