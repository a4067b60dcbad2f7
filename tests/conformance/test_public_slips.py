"""Mistakes of public code, made as changes of the text of independent PyTorch implementations in float32."""

import types
from pathlib import Path
from typing import Any

import pytest
from tiers import slow_after

pytest.importorskip("torch")

from clusterproof.conformance import DEFINITIONS, check_names, conform
from clusterproof.conformance.further_checks import CHECKS

SOURCE = Path(__file__).with_name("torch_federated.py").read_text()

STEP_SIZE = """        self.t = getattr(self, "t", {}) + 1
        eta = s["eta"] * (1 - s["beta2"] ** self.t) ** 0.5 / (1 - s["beta1"] ** self.t)
        new = x + eta"""
"""Adam's bias correction as a factor of the step size, where t starts at 0 (or later)."""

# implementation: text, text with the mistake, and slips of which one must be named
MISTAKES: dict[str, list[tuple[str, str, str | None]]] = {
    "FedAvg": [
        ("optimizer.zero_grad()\n            self.criterion", "self.criterion", "gradients-not-zeroed"),
        ("nn.MSELoss()", "nn.MSELoss(reduction='sum')", "loss-summed-over-outputs"),
        (
            "            model = copy.deepcopy(self.net)\n            client.train(model)",
            "            model = copy.deepcopy(self.net) if not models else copy.deepcopy(models[-1])\n            client.train(model)",
            "clients-in-a-row",
        ),
        (
            "model = copy.deepcopy(self.net)\n            client.train(model)",
            "model = self.net\n            client.train(model)",
            "server-model-trained-in-place",
        ),
        ('range(self.settings["local_epochs"])', "range(1)", "epochs-ignored"),
        (
            "                yield x, y",
            "                yield x, y\n                break",
            "first-batch-only",
        ),
        (
            "size / sum(sizes) for size in sizes",
            "size / sum(c.samples for c in self.clients) for size in sizes",
            "absent-counted",
        ),
        ("size / sum(sizes) for size in sizes", "1.0 for size in sizes", "sum-for-mean"),
        ("delta += weight", "delta = weight", "last-change-only"),
        ("p.add_(gamma * delta)", "p.add_(delta)", "server-step-ignored"),
        ("p.add_(gamma * delta)", "p.add_(gamma * gamma * delta)", "server-step-twice"),
        ("p.add_(gamma * delta)", "p.add_(delta).mul_(gamma)", "server-step-on-model"),
    ],
    "FedProx": [
        ('["proximal"] / 2 * proximal', '["proximal"] * proximal', "prox-doubled"),
        ("((p - q) ** 2).sum()", "(p - q).norm()", "norms-not-squared"),
        ("proximal += ((p", "proximal = ((p", "prox-last-tensor-only"),
        ('loss = loss + self.settings["proximal"]', 'loss = loss - self.settings["proximal"]', "prox-sign"),
        ('self.settings["proximal"] / 2', "1 / 2", "mu-taken-as-one"),
        ("((p - q) ** 2).sum()", "(p**2).sum()", "prox-to-zero"),
        ("((p - q) ** 2).sum()", "((p - q).detach() ** 2).sum()", "prox-zero"),
    ],
    "Scaffold": [
        ("p.grad - ci + c)", "p.grad + ci - c)", "correction-sign"),
        ("p.grad - ci + c)", "p.grad - ci)", "correction-without-server"),
        (
            "            steps += 1\n        with",
            "            steps = len(client.loader)\n        with",
            "K-counts-batches",
        ),
        ("(steps * eta)", '(self.settings["local_epochs"] * eta)', "K-counts-epochs"),
        ("/ (steps * eta)", "/ steps", "step-missing-in-control"),
        ("ci - c + (q - p)", "ci + (q - p)", "server-control-not-subtracted"),
        ("d / len(self.clients)", "d / len(selected)", "controls-averaged-over-participants"),
        ("d / len(self.clients)", "d", "server-control-summed"),
        (
            "for change in changes:\n            self.c = [c + d / len(self.clients) for c, d in zip(self.c, change)]",
            "self.c = [sum(ci) / len(ci) for ci in zip(*(client.control for client in selected))]",
            "server-control-from-participants",
        ),
        ("        client.control = new\n", "", "own-control-not-stored"),
        (
            "change = [n - ci for n, ci in zip(new, client.control)]\n        client.control = new",
            "client.control = new\n        change = [n - ci for n, ci in zip(new, client.control)]",
            "change-always-zero",
        ),
        ("change = [n - ci for", "change = [n for", "new-control-sent-for-change"),
        (
            "            models.append(model)\n        self.aggregate(models, self.weights(selected))\n        for change in changes:\n    ",
            "            models.append(model)\n            change = changes[-1]\n            self.c = [c + d / len(self.clients) for c, d in zip(self.c, change)]\n        self.aggregate(models, self.weights(selected))\n        for _ in ():\n    ",
            "server-control-updated-in-loop",
        ),
        (
            "client.criterion(self.net(x), y).backward()\n                new = [p.grad.clone() for p in self.net.parameters()]",
            "model.zero_grad()\n                    client.criterion(model(x), y).backward()\n                new = [p.grad.clone() for p in model.parameters()]",
            "option-I-at-local-model",
        ),
    ],
    "FedNova": [
        ("- x) / steps", '- x) / self.settings["local_epochs"]', None),
        ("tau += weight * steps", "tau += steps / len(selected)", "tau-unweighted"),
        (" * tau * total", " * total", "tau-effective-one"),
    ],
    "FedDyn": [
        ("loss - torch.dot", "loss + torch.dot", "linear-sign"),
        ("(theta - x) ** 2", "(theta - x).detach() ** 2", "quadratic-missing"),
        ("alpha / len(self.clients)", "alpha / len(selected)", "h-over-participants"),
        ("sum(m - x for m in models)", "(sum(models) - x)", "sum-of-models-minus-model"),
        ("mean - self.h / alpha", "mean - self.h", "h-not-over-alpha"),
        ("= client.lagrange - alpha", "= -alpha", "linear-not-kept"),
        (
            "loss = loss - torch.dot(client.lagrange, theta)\n                loss",
            "if not client.lagrange.any():\n                    pass\n                else:\n"
            "                    loss = loss - torch.dot(client.lagrange, theta)\n                    loss",
            "first-round-plain",
        ),
        (
            "loss = loss - torch.dot(client.lagrange, theta)\n                loss = loss + alpha / 2",
            "share = client.samples / sum(c.samples for c in self.clients) * len(self.clients)\n"
            "                loss = loss - torch.dot(client.lagrange, theta) / share\n"
            "                loss = loss + alpha / share / 2",
            "alpha-by-samples",
        ),
    ],
    "Ditto": [
        (
            "        received = [p.detach().clone() for p in self.net.parameters()]\n        super().round(participants)\n",
            "        super().round(participants)\n        received = [p.detach().clone() for p in self.net.parameters()]\n",
            "prox-to-new-model",
        ),
        (
            "            optimizer = torch.optim.SGD(client.personal",
            "            client.personal.load_state_dict(dict(zip(client.personal.state_dict(), received)))\n            optimizer = torch.optim.SGD(client.personal",
            "personal-restarts",
        ),
        ("(p.detach() - q)", "(q - p.detach())", "lambda-sign"),
    ],
    "FedAvgM": [
        ("* self.v + delta", '* self.v + (1 - self.settings["momentum"]) * delta', "momentum-damped"),
    ],
    "FedAdam": [
        ('torch.sqrt(self.v) + s["tau"]', 'torch.sqrt(self.v + s["tau"])', "tau-inside-root"),
        ('        new = x + s["eta"]', STEP_SIZE.format(1), "bias-correction-one-round-ahead"),
    ],
    "PerFedAvg": [
        (
            "for p, g in zip(parameters.values(), outer):\n                        p.copy_(p - ",
            "for p, f, g in zip(parameters.values(), fast.values(), outer):\n                        p.copy_(f - ",
            "steps-from-adapted-model",
        ),
    ],
    "PFedMe": [
        ("results.append(w)", "results.append(torch.tensor(flat(theta)))", "theta-sent"),
        ('s["outer_step_size"] * s["lam"]', 's["outer_step_size"]', "outer-lambda-missing"),
        ('(1 - s["mix"]) * x + s["mix"] * mean', "mean", "mix-ignored"),
    ],
    "IFCA": [
        (
            "            if members:\n",
            "            for p in () if members else net.parameters():\n                p.data *= float('nan')\n"
            "            if members:\n",
            "empty-cluster-to-nan",
        ),
        ("np.argmin(losses)", "np.argmax(losses)", "worst-cluster-chosen"),
        (
            "for i in members)\n                new",
            "for i in participants)\n                new",
            "weights-of-all-clusters",
        ),
    ],
}
SETTINGS = {"option-I-at-local-model": {"option": "I"}, "IFCA": {"weighting": "samples"}}


def implementation(name: str, text: str, changed: str) -> type:
    assert text in SOURCE, text
    module = types.ModuleType("mutant")
    exec(compile(SOURCE.replace(text, changed), "mutant.py", "exec"), module.__dict__)
    return getattr(module, name)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("name", "text", "changed", "slip"),
    slow_after(
        12,
        "each takes a third of a second",
        [(name, *each) for name, many in MISTAKES.items() for each in many],
    ),
)
def test_the_mistake_is_found_and_named(name: str, text: str, changed: str, slip: str | None) -> None:
    algorithm = {"PerFedAvg": "per-fedavg"}.get(name, name.lower())
    probes = check_names(DEFINITIONS[algorithm])[: -len(CHECKS)]
    settings = SETTINGS.get(slip or "", SETTINGS.get(name, {}))
    report = conform(implementation(name, text, changed), algorithm, settings=settings, checks=probes)
    assert report.verdict == "differs", str(report)
    named = {hypothesis.slips for hypothesis in report.likely}
    # None: outside the bank, or with an undefined gradient; nothing may be named
    assert named == set() if slip is None else (slip,) in named, str(report)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("name", "text", "changed", "form"),
    [
        ("FedAdam", '        new = x + s["eta"]', STEP_SIZE.format(0), {"bias_correction": "step-size"}),
        ("PerFedAvg", "create_graph=True", "create_graph=False", {"gradient": "first-order"}),
        (
            "FedAvgM",
            '["server_step_size"] * self.v',
            '["server_step_size"] * (delta + self.settings["momentum"] * self.v)',
            {"nesterov": True},
        ),
    ],
)
def test_an_admissible_form_in_public_code_is_a_variant(
    name: str, text: str, changed: str, form: dict[str, Any]
) -> None:
    algorithm = {"PerFedAvg": "per-fedavg"}.get(name, name.lower())
    start = implementation(name, text, changed)
    report = conform(start, algorithm, settings={"weighting": "samples"})
    assert (report.verdict, report.changed) == ("variant", form), str(report)
    assert conform(start, algorithm, settings={"weighting": "samples", **form}).verdict == "conforms"
