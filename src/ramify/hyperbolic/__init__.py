"""Trees by gradient descent: `HypHC`, and the methods it is compared with, `GHHC` and `UFit`.

The loss and its gradient are native and need no PyTorch; :mod:`ramify.hyperbolic.torch` wraps them for training end to
end.
"""

from ramify.hyperbolic.decode import decode
from ramify.hyperbolic.embed import embed_tree
from ramify.hyperbolic.geometry import lca_depth, triplet_loss
from ramify.hyperbolic.ghhc import GHHC
from ramify.hyperbolic.hyphc import HypHC
from ramify.hyperbolic.ufit import UFit

__all__ = ["GHHC", "HypHC", "UFit", "decode", "embed_tree", "lca_depth", "triplet_loss"]
