"""Names that papers, PFLlib, FedLab, FedML, Flower and PyTorch give to options, and the names that they have here."""

from __future__ import annotations

from collections.abc import Callable, Collection

_NAMES = {
    "the number of seeds (-t of PFLlib) is {seeds}, that of communication rounds (T) {rounds}": "t",
    "the network (-m of PFLlib) is {network}, the number of clients (m) {clients}": "m",
    "the step size is {step_size}": "lr local_lr client_lr learning_rate local_learning_rate eta eta_l",
    "the server's step size is {server_step_size}": "server_lr global_lr server_learning_rate eta_g eta_s",
    "the factor on the step size after each round is {step_size_decay}": "lr_decay gamma "
    "learning_rate_decay learning_rate_decay_gamma ld ldg",
    "local epochs are {local_steps} with {local_unit} epoch": "epochs epoch local_epochs local_epoch num_epochs "
    "n_epochs local_ep ls e",
    "the number of local epochs is {local_epochs}": "epochs epoch num_epochs n_epochs local_epoch local_ep e",
    "the number of local steps is {local_steps}": "local_iterations local_iters local_updates tau inner_steps "
    "epochs epoch local_epochs num_epochs k",
    "the number of communication rounds is {rounds}": "global_rounds global_epochs num_rounds n_rounds gr "
    "num_server_rounds comm_round comm_rounds com_round communication_rounds t",
    "the number of clients is {clients}": "num_clients n_clients nb_clients nc total_clients num_users "
    "client_num_in_total total_client_num num_supernodes num_partitions m n",
    "the number of true clusters is {clusters}, that of the algorithm's models {models}": "num_clusters n_clusters "
    "nb_clusters cluster_num k p",
    "the number of models is {clusters}": "num_clusters n_clusters cluster_num models k p",
    "the batch size is {batch_size}": "batch bs b local_bs local_batch_size train_batch_size lbs",
    "the number of samples of a client's gradient is {samples}": "batch batch_size bs local_bs local_batch_size",
    "the share of clients in a round is {participation}": "join_ratio jr frac fraction fraction_fit fraction_train "
    "sample_ratio client_fraction participation_rate sampling_rate c clients_per_round client_num_per_round "
    "num_join_clients num_per_round",
    "FedProx's proximal strength is {proximal}": "mu proximal_mu prox_mu",
    "the momentum is {momentum}": "beta bt beta1 momentum_factor momentum_beta momentum_coefficient",
    "a local step is plain gradient descent with {step_size}; another optimiser is an algorithm of your own": ""
    "optimizer optimiser optim opt client_optimizer weight_decay wd",
    "the concentration of the partition dirichlet is {concentration}": "alpha dir_alpha dirichlet_alpha "
    "partition_alpha phi",
    "the strength of FPFC's penalty is {strength}": "lambda lmbda",
    "FedDyn's alpha is {alpha}": "feddyn_alpha",
    "the network is {network}": "model model_name arch architecture net",
    "the data set is {data}": "data dataset data_name",
    "the number of classes is that of {data}": "num_classes n_classes nb_classes ncl nb",
    "the partition is {partition}": "partition_method partition_type split dist heterogeneity "
    "non_iid noniid niid",
    "the algorithm is {algorithm}": "algo method strategy federated_optimizer",
    "the rounds between two evaluations are {evaluate_every}": "eval_gap eval_every eval_interval test_interval eg "
    "frequency_of_the_test",
    "the folder of the run is {out}": "output output_dir out_dir save_dir save_folder save_folder_name log_dir "
    "logdir goal go",
    "the number of seeds is {seeds}": "times repeats num_seeds n_seeds",
    "the number of parallel processes is {jobs}": "num_workers n_workers workers n_jobs num_processes",
    "the seed is {seed}": "random_seed random_state manual_seed",
    "the device is {device}": "gpu cuda device_id did",
}
"""The names elsewhere by the sentence that answers them; the first sentence whose options exist is given."""


def name_here(name: str, known: Collection[str], spell: Callable[[str], str] = str) -> str | None:
    """Return a sentence with the name that an option of other libraries has here; None if there is none.

    Parameters
    ----------
    name
        Name as it was given.
    known
        Names of the options that exist.
    spell
        Writes the name of an option, such as ``"--step-size"`` for ``"step_size"``.
    """
    word = name.strip("-").replace("-", "_").lower()
    options = {option.strip("-").replace("-", "_"): spell(option) for option in known}
    for sentence, names in _NAMES.items():
        if word in names.split():
            try:
                return sentence.format_map(options)
            except KeyError:  # of other commands
                continue
    return None
