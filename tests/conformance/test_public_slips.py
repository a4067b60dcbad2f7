"""Mistakes of public code, made as changes of the text of independent PyTorch implementations in float32."""

import types
from pathlib import Path

import pytest
from tiers import slow_after

pytest.importorskip("torch")

from clusterproof.conformance import DEFINITIONS, check_names, conform
from clusterproof.conformance.checks import CHECKS

SOURCE = Path(__file__).with_name("torch_federated.py").read_text()

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
        ("((p - q) ** 2).sum()", "(p - q).norm()", None),
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
        (
            '["server_step_size"] * self.v',
            '["server_step_size"] * (delta + self.settings["momentum"] * self.v)',
            "momentum-nesterov",
        ),
    ],
    "FedAdam": [
        ('torch.sqrt(self.v) + s["tau"]', 'torch.sqrt(self.v + s["tau"])', "tau-inside-root"),
    ],
    "PFedMe": [
        ("results.append(w)", "results.append(torch.tensor(flat(theta)))", "theta-sent"),
        ('s["outer_step_size"] * s["lam"]', 's["outer_step_size"]', "outer-lambda-missing"),
        ('(1 - s["mix"]) * x + s["mix"] * mean', "mean", "mix-ignored"),
    ],
    "IFCA": [
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


@pytest.mark.parametrize(
    ("name", "text", "changed", "slip"),
    slow_after(
        12,
        "each takes a third of a second",
        [(name, *each) for name, many in MISTAKES.items() for each in many],
    ),
)
def test_the_mistake_is_found_and_named(name: str, text: str, changed: str, slip: str | None) -> None:
    algorithm = name.lower()
    probes = check_names(DEFINITIONS[algorithm])[: -len(CHECKS)]
    settings = SETTINGS.get(slip or "", SETTINGS.get(name, {}))
    report = conform(implementation(name, text, changed), algorithm, settings=settings, checks=probes)
    assert report.verdict == "differs", str(report)
    named = {hypothesis.slips for hypothesis in report.likely}
    # None: outside the bank, or with an undefined gradient; nothing may be named
    assert named == set() if slip is None else (slip,) in named, str(report)
