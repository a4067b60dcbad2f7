"""``python -m benchmarks.neural_engine``; with the word ``round`` or ``compile``, that part alone."""

from __future__ import annotations

import sys
import time

import numpy as np
import torch

from benchmarks.neural_engine.compiled_step import compiled
from benchmarks.neural_engine.local_training import Ours, busy_share, compare, products_alone, waiting
from benchmarks.neural_engine.whole_round import round_of_convolutions, whole_round
from benchmarks.neural_engine.work import CNN_WORK, MLP_WORK, MOMENTUM_WORK, images
from benchmarks.timing import median_seconds, report_target


def on_the_cpu() -> None:
    one = compare(MLP_WORK, ("gram", "batched", "serial"), "cpu", 1, 9)
    compare(MOMENTUM_WORK, ("gram", "batched", "serial"), "cpu", 1, 9)
    two = compare(MLP_WORK, ("gram", "batched", "serial"), "cpu", 2, 9)
    cnn = compare(CNN_WORK, ("batched", "serial"), "cpu", 1, 5)
    torch.set_num_threads(1)
    work = CNN_WORK
    trainer = Ours(work, images(work), "cpu", "auto")
    start = trainer.task.initial_models(1, (), np.random.default_rng(1))[0]
    alone = median_seconds(
        {"products": products_alone(work.batch_size or 0), "ours": waiting(trainer.round, start, "cpu")},
        5,
        clock=time.process_time,
    )
    share = alone["products"] * work.clients * work.steps / alone["ours"]
    print(f"its convolutions and products alone: {1e3 * alone['products']:.3f} ms a client-step\n")
    rounds_by_hand()
    whole = round_of_convolutions(5, "cpu")
    report_target("MLP, loop / auto, one thread", one["loop"] / one["auto"], 4)
    report_target("MLP, loop / auto, two threads", two["loop"] / two["auto"], 6)
    report_target("CNN, loop / auto, one thread", cnn["loop"] / cnn["auto"], 1.2)
    report_target("CNN, a loop's whole round / ours, one thread", whole, 1.2)
    report_target("CNN, share of the time that is convolutions and products", share, 0.7)


def rounds_by_hand() -> None:
    ratio = whole_round(15)
    report_target("a whole round of CFL-MGD over one by hand", ratio, 1.1, at_most=True)


def on_the_gpu() -> None:
    for work, target in ((MLP_WORK, 50), (CNN_WORK, 15)):
        seconds = compare(work, ("batched", "serial"), "cuda", 1, 9)
        trainer = Ours(work, images(work), "cuda", "auto")
        start = trainer.task.initial_models(1, (), np.random.default_rng(1))[0]
        report_target(f"{work.name}, loop / auto, GPU", seconds["loop"] / seconds["auto"], target)
        busy = busy_share(waiting(trainer.round, start, "cuda"))
        report_target(f"{work.name}, share of our time in which the GPU computes", busy, 0.6)
    report_target("CNN, a loop's whole round / ours, GPU", round_of_convolutions(9, "cuda"), 15)


def main() -> None:
    on_the_cpu()
    if torch.cuda.is_available():
        on_the_gpu()
    else:
        print("no GPU here: that part was not run")


if __name__ == "__main__":
    {"compile": compiled, "round": rounds_by_hand, "": main}["".join(sys.argv[1:])]()
