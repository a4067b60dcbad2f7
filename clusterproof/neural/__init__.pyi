"""The public names: the one list of them, for the interpreter and for type checkers."""

from .configuration import Configuration as Configuration
from .configuration import Training as Training
from .configuration import configuration_from as configuration_from
from .data.images import Images as Images
from .data.images import ImageSet as ImageSet
from .data.loading import DATASETS as DATASETS
from .data.loading import load as load
from .networks import CNN as CNN
from .networks import MLP as MLP
from .networks import NETWORKS as NETWORKS
from .networks import Network as Network
from .networks import ResNet20 as ResNet20
from .networks import network as network
from .partitions import PARTITIONS as PARTITIONS
from .partitions import partition as partition
from .partitions.base import Partition as Partition
from .task import ImageTask as ImageTask
from .training import TrainingResult as TrainingResult
from .training import train as train
