#include "common/bind.hpp"

NB_MODULE(CLADIFY_MODULE, m) {
    using namespace cladify;
    // python_wants_stop has set the Python error (KeyboardInterrupt) already: hand that one on.
    nb::register_exception_translator([](const std::exception_ptr& p, void*) {
        try {
            std::rethrow_exception(p);
        } catch (const Interrupted&) {
            if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
        }
    });
    bind_cpu(m);
    bind_alloc(m);
    bind_linkage(m);
    bind_contract(m);
    bind_graph(m);
    bind_hac(m);
    bind_hyperbolic(m);
    bind_leaf_order(m);
    bind_metrics(m);
    bind_online(m);
    bind_hac_matrix(m);
    bind_live(m);
    bind_divide(m);
    bind_newick(m);
    bind_norms(m);
    bind_objectives(m);
    bind_pairs(m);
    bind_random_trees(m);
    bind_reach(m);
    bind_cell_lists(m);
    bind_sparse(m);
    bind_topk(m);
    bind_tree(m);
    bind_overlap(m);
    bind_reading(m);
    bind_refine(m);
}
