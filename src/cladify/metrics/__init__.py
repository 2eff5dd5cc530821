"""How well a tree, or a cut of it, agrees with labels, with the data, or with another tree.

Labels of -1 mark points without a label: such leaves are left out as if they were not in the tree. Adjusted Rand index,
mutual information and their like are in ``sklearn.metrics`` and take the labels of ``tree.cut(...)`` as they are.

========================  =====================================================================================
`dendrogram_purity`       purity of the smallest node around two points of a class, over all such pairs
`pairwise_f1`             precision, recall and F1 of a flat clustering, over pairs of points
`best_f1`                 the best pairwise F1 among all cuts of a tree, or its heights, or its rounds
`b_cubed`                 precision and recall of the cluster of an item, for entity resolution
`ceaf_e`                  clusters and entities paired one to one
`muc`                     links between the items of an entity
`conll`                   the mean F1 of the three
`jaccard_per_label`       how well each class is found as a node (or flat cluster, or node of a DAG)
`jaccard_per_point`       the same, weighted by the size of the class
`jaccard_per_node`        how well each node is explained by a class
`jaccard_curve`           the three against the number of nodes that are kept
`label_mw`                Moseley-Wang objective of a tree under a hierarchy of labels, with its optimum
`dp_means_cost`           squared distances to cluster means and a price a cluster
`triplet_agreement`       share of triples of leaves that two trees resolve alike
`cophenetic_correlation`  correlation of the heights at which two trees join pairs
========================  =====================================================================================
"""

from cladify.metrics.agreement import cophenetic_correlation, triplet_agreement
from cladify.metrics.cost import dp_means_cost
from cladify.metrics.entities import EntityScore, b_cubed, ceaf_e, conll, muc
from cladify.metrics.estimate import Estimate
from cladify.metrics.jaccard import BudgetCurve, jaccard_curve, jaccard_per_label, jaccard_per_node, jaccard_per_point
from cladify.metrics.label_mw import LabelMW, label_mw
from cladify.metrics.pairs import BestF1, PairwiseF1, best_f1, pairwise_f1
from cladify.metrics.purity import dendrogram_purity

__all__ = [
    "BestF1",
    "BudgetCurve",
    "EntityScore",
    "Estimate",
    "LabelMW",
    "PairwiseF1",
    "b_cubed",
    "best_f1",
    "ceaf_e",
    "conll",
    "cophenetic_correlation",
    "dendrogram_purity",
    "dp_means_cost",
    "jaccard_curve",
    "jaccard_per_label",
    "jaccard_per_node",
    "jaccard_per_point",
    "label_mw",
    "muc",
    "pairwise_f1",
    "triplet_agreement",
]
