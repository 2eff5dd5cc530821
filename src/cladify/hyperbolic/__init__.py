"""Trees by gradient descent: `HypHC`, and the methods it is compared with, `GHHC` and `UFit`.

The loss and its gradient are native and need no PyTorch; :mod:`cladify.hyperbolic.torch` wraps them for training end to
end.
"""

from cladify.hyperbolic.decode import decode
from cladify.hyperbolic.embed import embed_tree
from cladify.hyperbolic.geometry import lca_depth, triplet_loss
from cladify.hyperbolic.ghhc import GHHC
from cladify.hyperbolic.hyphc import HypHC
from cladify.hyperbolic.ufit import UFit

__all__ = ["GHHC", "HypHC", "UFit", "decode", "embed_tree", "lca_depth", "triplet_loss"]
