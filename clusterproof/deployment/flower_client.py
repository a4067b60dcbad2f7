"""A Flower client: a ``ClientApp`` that answers with the data of its node."""

from __future__ import annotations

from collections.abc import Callable

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

from clusterproof.algorithms import Randomness
from clusterproof.deployment.client import OwnData, answer
from clusterproof.deployment.flower_records import load_name, read_options, read_request, reply_record
from clusterproof.deployment.messages import Reply, Request


def client_app(reply: Callable[[OwnData, Request, Randomness], Reply] = answer) -> ClientApp:
    """Make the app of all clients.

    Each SuperNode is told which client it is (``--node-config 'client=3'``). Its data are what the run's ``data``
    gives, ``MODULE:NAME`` of a function of that number and the run's ``data-options`` which is installed there.

    Parameters
    ----------
    reply
        What answers a question.
    """
    app = ClientApp()

    @app.query()
    def who(message: Message, context: Context) -> Message:
        facts = ConfigRecord({"client": _client(context)})
        return Message(RecordDict({"facts": facts}), reply_to=message)

    @app.train()
    def train(message: Message, context: Context) -> Message:
        request, number = read_request(message.content)
        config, client = context.run_config, _client(context)
        make = load_name("data", str(config["data"]))
        data = make(client, **read_options(config, "data-options"))
        axes = ("client", client, number, request.turn)
        stream = Randomness.from_seed(int(config["seed"]), *axes)  # type: ignore[arg-type]
        return Message(reply_record(reply(data, request, stream)), reply_to=message)

    return app


def _client(context: Context) -> int:
    return int(context.node_config["client"])  # type: ignore[arg-type]
