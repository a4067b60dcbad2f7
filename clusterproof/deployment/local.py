"""A whole federation on this machine, over loopback with TLS: SuperLink, SuperNodes, runs, and their end."""

from __future__ import annotations

import datetime
import ipaddress
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil

from clusterproof.algorithms import InvalidArgument

CONFIG: dict[str, Any] = {
    "algorithm": "ifca",
    "parameters": '{"step_size": 0.2}',
    "clients": 6,
    "clusters": 2,
    "dimension": 5,
    "rounds": 3,
    "seed": 0,
    "task": "deployment",
    "data": "clusterproof.deployment.example:own_data",
    "data-options": '{"clusters": 2, "clients": 6, "dimension": 5, "seed": 0}',
    "reply-seconds": 60.0,
    "patience-seconds": 300.0,
    "fewest": 6,
    "at-once": 1000,
    "out": "",
}
"""What a run can be told: algorithm and its parameters, sizes (m, P, d), rounds and seed; where a client's data come
from; how long a reply may take, how long to wait for clients, how many are needed, how many are asked at a time; the
folder for what comes out.
``parameters`` and ``data-options`` are objects in JSON."""

SERVER = "from clusterproof.deployment.flower_server import app\n\n__all__ = ['app']\n"
CLIENT = "from clusterproof.deployment.flower_client import client_app\n\napp = client_app()\n"

QUIET = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}
"""Nothing is told to anybody."""


def write_app(folder: Path, config: Mapping[str, Any], client: str = CLIENT) -> None:
    """Write a Flower app, for ``flwr run``: two modules of two lines, and its configuration.

    Parameters
    ----------
    folder
        Made where it is missing.
    config
        Entries other than those of ``CONFIG``.
    client
        Source of the clients' module, which has an ``app``.

    Raises
    ------
    InvalidArgument
        If there is no such entry.
    """
    for name in config:
        if name not in CONFIG:
            raise InvalidArgument(name, config[name], "is no entry of a run", f"such as {', '.join(CONFIG)}")
    package = folder / "clusterproof_federation"
    package.mkdir(parents=True, exist_ok=True)
    for name, text in (("__init__", ""), ("server", SERVER), ("client", client)):
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    entries = "\n".join(f"{name} = {json.dumps(value)}" for name, value in {**CONFIG, **config}.items())
    (folder / "pyproject.toml").write_text(
        f"""[project]
name = "clusterproof-federation"
version = "1.0.0"
description = "Clustered federated learning"
license = "Apache-2.0"
dependencies = []

[tool.flwr.app]
publisher = "clusterproof"

[tool.flwr.app.components]
serverapp = "clusterproof_federation.server:app"
clientapp = "clusterproof_federation.client:app"

[tool.flwr.app.config]
{entries}
""",
        encoding="utf-8",
    )


def write_certificates(folder: Path) -> None:
    """Write ``ca.crt``, ``server.pem`` and ``server.key`` for 127.0.0.1, valid for a day."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    def name(common: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common)])

    now = datetime.datetime.now(datetime.UTC)
    keys = {who: ec.generate_private_key(ec.SECP256R1()) for who in ("ca", "server")}

    def certificate(who: str) -> x509.CertificateBuilder:
        built = x509.CertificateBuilder().subject_name(name(f"clusterproof {who}"))
        built = built.issuer_name(name("clusterproof ca")).public_key(keys[who].public_key())
        built = built.serial_number(x509.random_serial_number())
        built = built.not_valid_before(now - datetime.timedelta(minutes=5))
        return built.not_valid_after(now + datetime.timedelta(days=1))

    authority = certificate("ca").add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    places = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")]
    server = certificate("server").add_extension(x509.SubjectAlternativeName(places), critical=False)
    pem = serialization.Encoding.PEM
    for file, built in (("ca.crt", authority), ("server.pem", server)):
        (folder / file).write_bytes(built.sign(keys["ca"], hashes.SHA256()).public_bytes(pem))
    secret = keys["server"].private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "server.key").touch(mode=0o600)
    (folder / "server.key").write_bytes(secret)


class LocalFederation:
    """SuperLink and SuperNodes on this machine; leaving the block ends them all.

    Parameters
    ----------
    folder
        For certificates, apps, logs and Flower's own files.
    clients
        How many SuperNodes.
    client
        Source of the clients' module.
    node_configs
        What is told to single nodes beside their number, such as ``{3: "colour='red'"}``.
    """

    def __init__(
        self,
        folder: Path,
        clients: int,
        *,
        client: str = CLIENT,
        node_configs: Mapping[int, str] | None = None,
    ) -> None:
        self.folder = folder.resolve()
        self.clients = clients
        self._client = client
        self._node_configs = dict(node_configs or {})
        self._processes: list[subprocess.Popen[bytes]] = []
        self.nodes: dict[int, subprocess.Popen[bytes]] = {}
        self._environment = {**os.environ, **QUIET, "FLWR_HOME": str(self.folder / "flower")}
        # what one thread computes in no time: the nodes of one machine must not fight for its cores
        self._environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._environment["PATH"] = os.pathsep.join(
            [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
        )

    def __enter__(self) -> LocalFederation:
        """Start SuperLink and SuperNodes."""
        if shutil.which("flower-superlink", path=self._environment["PATH"]) is None:
            raise InvalidArgument(
                "deployment",
                None,
                "needs Flower",
                "install it as the README says, in an environment of its own",
            )
        for name in ("flower", "logs"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        write_certificates(self.folder)
        self.port = free_port()
        (self.folder / "flower" / "config.toml").write_text(
            '[superlink]\ndefault = "here"\n\n[superlink.here]\n'
            f'address = "127.0.0.1:{self.port}"\nroot-certificates = {json.dumps(str(self.folder / "ca.crt"))}\n',
            encoding="utf-8",
        )
        try:
            self._start(
                "superlink",
                [
                    *("flower-superlink", "--host", "127.0.0.1", "--port", str(self.port)),
                    *("--disable-runtime-dependency-installation", *self._tls()),
                ],
            )
            wait_for_port(self.port)
            for client in range(self.clients):
                self.start_node(client)
        except BaseException:  # Ctrl-C, too, must leave no process behind; it is raised again
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End everything that was started, and what that started."""
        for process in reversed(self._processes):
            end_tree(process)

    def start_node(self, client: int) -> None:
        """Start the SuperNode of a client."""
        more = self._node_configs.get(client, "")
        self.nodes[client] = self._start(
            f"node-{client}",
            [
                *("flower-supernode", "--superlink", f"127.0.0.1:{self.port}"),
                *("--root-certificates", str(self.folder / "ca.crt")),
                *("--host", "127.0.0.1", "--port", str(free_port()), *self._tls()),
                *("--node-config", f"client={client} {more}".strip()),
            ],
        )

    def kill_node(self, client: int) -> None:
        """Kill the SuperNode of a client, at once."""
        end_tree(self.nodes.pop(client))

    def submit(self, name: str, config: Mapping[str, Any]) -> Path:
        """Submit a run, as ``flwr run`` does.

        Parameters
        ----------
        name
            Of the run's folder.
        config
            Of the run, see ``CONFIG``; ``out`` is given here.

        Returns
        -------
        pathlib.Path
            Where its outcome will be.

        Raises
        ------
        InvalidArgument
            If the SuperLink does not take it.
        """
        app, out = self.folder / name / "app", self.folder / name / "out"
        out.mkdir(parents=True)
        # a node starts a process for each message: more of them at once than cores only make each slower, and Flower
        # takes one that needs a minute to start for dead and starts another
        local = {"clients": self.clients, "at-once": os.cpu_count() or 1, "out": str(out)}
        write_app(app, {**config, **local}, self._client)
        done = subprocess.run(
            ["flwr", "run", str(app), "here"],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=self.folder,
        )
        if done.returncode:
            said = " ".join((done.stdout + done.stderr).split())
            raise InvalidArgument("app", str(app), f"is not taken ({said})", "see the logs")
        return out

    def wait(self, out: Path, seconds: float) -> dict[str, Any]:
        """Wait for the end of a run, and give its record.

        Raises
        ------
        InvalidArgument
            If it fails, or does not end in time.
        """
        deadline = time.monotonic() + seconds
        while not (out / "record.json").exists():
            if time.monotonic() > deadline:
                raise InvalidArgument(
                    "seconds", seconds, "is over, and the run has not ended", f"see {self.folder / 'logs'}"
                )
            time.sleep(0.2)
        record: dict[str, Any] = json.loads((out / "record.json").read_bytes())
        if "error" in record:
            raise InvalidArgument("run", str(out), f"failed ({record['error']})", "see the logs")
        return record

    def wait_for_round(self, out: Path, number: int, seconds: float) -> None:
        """Wait until a round of a run has ended, or the run with it.

        Raises
        ------
        InvalidArgument
            If that is not so in time.
        """
        deadline = time.monotonic() + seconds
        log = out / "log.txt"
        while not (log.exists() and f"round {number} of" in log.read_text(encoding="utf-8")):
            if (out / "record.json").exists():
                return
            if time.monotonic() > deadline:
                rule = f"is over, and round {number} has not ended"
                raise InvalidArgument("seconds", seconds, rule, f"see {self.folder / 'logs'}")
            time.sleep(0.1)

    def log(self) -> str:
        """What the SuperLink and the server apps have said."""
        return (self.folder / "logs" / "superlink.log").read_text(encoding="utf-8", errors="replace")

    def _tls(self) -> list[str]:
        return [
            "--ssl-ca-certfile", str(self.folder / "ca.crt"),
            "--ssl-certfile", str(self.folder / "server.pem"),
            "--ssl-keyfile", str(self.folder / "server.key"),
        ]  # fmt: skip

    def _start(self, name: str, command: Sequence[str]) -> subprocess.Popen[bytes]:
        with open(self.folder / "logs" / f"{name}.log", "ab") as log:
            process = subprocess.Popen(
                command,
                env=self._environment,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self.folder,
            )
        self._processes.append(process)
        return process


def free_port() -> int:
    """Find a port of 127.0.0.1 that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_port(port: int, seconds: float = 60.0) -> None:
    """Wait until somebody listens at a port.

    Raises
    ------
    InvalidArgument
        If nobody does.
    """
    deadline = time.monotonic() + seconds
    while True:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        if time.monotonic() > deadline:
            raise InvalidArgument("port", port, f"has nobody listening after {seconds:g} s", "see the logs")
        time.sleep(0.1)


def end_tree(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all that it started, and wait for their end."""
    with suppress(psutil.NoSuchProcess):
        family = psutil.Process(process.pid)
        members = [*family.children(recursive=True), family]
        for member in members:
            with suppress(psutil.NoSuchProcess):
                member.kill()
        psutil.wait_procs(members, timeout=10)
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=10)
