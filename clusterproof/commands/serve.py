"""The command ``serve``: an agent's door, by the Model Context Protocol over standard input and output."""


def serve() -> int:
    """Answer an agent's calls of five commands, by the Model Context Protocol, until input ends.

    The commands are check, show, run, conform and improve. Standard input and output carry the protocol (JSON-RPC, a
    message a line), so that a program starts this command, not a person. It executes what it is given, with the rights
    of the user who starts it. One call at a time is carried out, in a process of its own, which a cancelled call ends.
    """
    from clusterproof.commands.agent_tools import (
        server,
    )  # needs an extra, which a list of all commands does not

    server().run("stdio")
    return 0
