"""Data to try things on: a real corpus, and sets with known results for some methods."""

from cladify.datasets._planted import Planted
from cladify.datasets.btgm import Btgm, btgm
from cladify.datasets.docstrings import Docstrings, load_docstrings
from cladify.datasets.hard import make_graph_vectors, make_hard_grid, make_hard_line
from cladify.datasets.latent import make_chains, make_model_separated, make_noisy_separated
from cladify.datasets.mixtures import make_dirichlet_mixture
from cladify.datasets.orders import arrival_order
from cladify.datasets.separated import make_delta_separated, make_strictly_separated

__all__ = [
    "Btgm",
    "Docstrings",
    "Planted",
    "arrival_order",
    "btgm",
    "load_docstrings",
    "make_chains",
    "make_delta_separated",
    "make_dirichlet_mixture",
    "make_graph_vectors",
    "make_hard_grid",
    "make_hard_line",
    "make_model_separated",
    "make_noisy_separated",
    "make_strictly_separated",
]
