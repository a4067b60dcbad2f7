"""SoFL once more, straight from the paper: one client, one neuron and one partition after the other.

Nothing here is shared with the package but the order in which its random numbers are drawn.
"""

import numpy as np
from plain_loops import gradient


def descend(algorithm, task, client, model):
    """A client's update: local steps of FedAvg, FedProx or first-order Per-FedAvg."""
    point = model
    for _ in range(algorithm.local_steps):
        ahead = point
        if algorithm.method == "per-fedavg":
            ahead = point - algorithm.step_size / 2 * gradient(task, client, point)
        pull = algorithm.proximal * (point - model)
        point = point - algorithm.step_size * (gradient(task, client, ahead) + pull)
    return point - model


def train_map(algorithm, data, stream):
    """The trained neurons, in row-major order."""
    grid, count = algorithm.grid, len(data)
    if algorithm.initialisation == "sample":
        neurons = [data[i].copy() for i in stream.integers(count, size=(grid, grid)).ravel()]
    else:
        drawn = 2 * stream.random((grid, grid, data.shape[1])) - 1
        neurons = [neuron / np.linalg.norm(neuron) for neuron in drawn.reshape(grid**2, -1)]
    order = [update % count for update in range(algorithm.updates)]
    stream.shuffle(order)
    for update, i in enumerate(order):
        time = algorithm.updates / 2 if algorithm.schedule == "as-printed" else 60
        rate, radius = (start / (1 + update / time) for start in (algorithm.learning_rate, algorithm.radius))
        winner = nearest(neurons, data[i])
        for place, neuron in enumerate(neurons):
            apart = (place // grid - winner // grid) ** 2 + (place % grid - winner % grid) ** 2
            neuron += rate * np.exp(-apart / (2 * radius**2)) * (data[i] - neuron)
    return neurons


def cosine_distance(first, second):
    return 1 - first @ second / (np.linalg.norm(first) * np.linalg.norm(second) + 1e-8)


def nearest(neurons, sample):
    distances = [cosine_distance(neuron, sample) for neuron in neurons]
    return distances.index(min(distances))


def partitions(points):
    """All partitions of a list, as lists of lists."""
    if not points:
        yield []
        return
    for smaller in partitions(points[1:]):
        yield [[points[0]], *smaller]
        for index, group in enumerate(smaller):
            yield [*smaller[:index], [points[0], *group], *smaller[index + 1 :]]


def best_partitions(points):
    """For every number of groups the partition of least sum of squares, and that sum."""
    best = {}
    for groups in partitions(list(range(len(points)))):
        total = sum(((points[group] - points[group].mean(axis=0)) ** 2).sum() for group in groups)
        if len(groups) not in best or total < best[len(groups)][0]:
            best[len(groups)] = (total, groups)
    return best


def silhouette(data, labels):
    """Return the mean of (b - a) / max(a, b) over clients, 0 for one that is alone."""
    scores = []
    for i in range(len(data)):
        means = {}
        for label in set(labels):
            others = [j for j in range(len(data)) if j != i and labels[j] == label]
            if others:
                means[label] = np.mean([cosine_distance(data[i], data[j]) for j in others])
        inside = means.pop(labels[i], None)
        outside = min(means.values())
        scores.append(0.0 if inside is None else (outside - inside) / max(inside, outside))
    return np.mean(scores)


def cluster(algorithm, updates, stream):
    """Cluster of every client, by first appearance."""
    data = updates / max(np.linalg.norm(update) for update in updates)
    neurons = train_map(algorithm, data, stream)
    won = [nearest(neurons, sample) for sample in data]
    winners = sorted(set(won))
    stream.integers(2**31)  # a seed for k-means, which is found by enumeration here
    best = best_partitions(np.array([neurons[winner] for winner in winners]))

    def labels_of(count):
        owner = {winners[i]: number for number, group in enumerate(best[count][1]) for i in group}
        return [owner[winner] for winner in won]

    if algorithm.cluster_count == "elbow":
        curve = [best[count][0] for count in range(1, len(winners) + 1)]
        chord = np.linspace(curve[0], curve[-1], len(curve))
        labels = labels_of(1 + int(np.argmax(chord - curve)))
    else:
        scores = {count: silhouette(data, labels_of(count)) for count in range(2, len(winners) + 1)}
        count = max(scores, key=scores.get)
        labels = labels_of(count) if scores[count] >= 0.25 else [0] * len(data)
    first = list(dict.fromkeys(labels))
    return [first.index(label) for label in labels]


def replay(algorithm, task, start, rounds, participants, stream):
    """Return the models (rounds + 1, m, d) and clusters (rounds, m); ``participants`` gives those of the next round."""
    sizes = task.client_samples if algorithm.weighting == "samples" else np.ones(task.clients)
    models, labels, clustered = [start] * task.clients, [0] * task.clients, False
    history, chosen = [np.array(models)], []
    for done in range(rounds):
        due = done >= algorithm.pretraining and not clustered
        present = range(task.clients) if due else participants()
        updates = {i: descend(algorithm, task, i, models[i]) for i in present}
        if due:
            sent = np.array([updates[i] for i in range(task.clients)])
            longest = max(np.linalg.norm(update) for update in sent)
            if algorithm.trigger == "round" or np.linalg.norm(sent.mean(axis=0)) < longest / 10:
                labels, clustered = cluster(algorithm, sent, stream), True
        moved = {}
        for label in set(labels):
            heard = [i for i in present if labels[i] == label]
            mean = sum(sizes[i] * updates[i] for i in heard) / sum(sizes[heard]) if heard else 0
            moved |= {i: models[i] + mean for i in range(task.clients) if labels[i] == label}
        models = [moved[i] for i in range(task.clients)]
        history.append(np.array(models))
        chosen.append(labels)
    return np.array(history), np.array(chosen)
