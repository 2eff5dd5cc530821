// Bindings of the tree that changes. Python asks before it calls: a node that is not there is an error, not a crash.
#include "common/bind.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>

#include "mutable/tree.hpp"

namespace cladify {
namespace {
using live::Node;
using live::Tree;

void require(bool good, const char* message) {
    if (!good) throw nb::value_error(message);
}
void require_node(const Tree& tree, Node v) { require(tree.is_alive(v), "no such node"); }
void require_inner(const Tree& tree, Node v) {
    require_node(tree, v);
    require(!tree.is_leaf(v), "a leaf has no children");
}

Node make_leaf(Tree& tree, double weight, In1<double> row) {
    require(row.size() == tree.width(), "the row has another length than the sums");
    require(tree.capacity() < std::numeric_limits<Node>::max(), "the tree is full");
    return tree.make_leaf(weight, row.data());
}
// Hanging nowhere: made or detached, and neither the root nor below anything.
void require_loose(const Tree& tree, Node v) {
    require_node(tree, v);
    require(v != tree.root && tree.parent[v] == live::kNone, "the node hangs in the tree already");
}
Node join(Tree& tree, Node u, Node v) {
    require_node(tree, u);
    require_loose(tree, v);
    return tree.join(u, v);
}
void append(Tree& tree, Node p, Node v) {
    require_inner(tree, p);
    require_loose(tree, v);
    tree.append(p, v);
}
void detach(Tree& tree, Node v) {
    require_node(tree, v);
    require(v != tree.root, "the root cannot be detached");
    tree.detach(v);
}
void remove(Tree& tree, Node v) {
    require_node(tree, v);
    tree.remove(v);
}
Node move(Tree& tree, Node v, Node u) {
    require_node(tree, v);
    require_node(tree, u);
    require(v != tree.root && !tree.holds(v, u), "a subtree moves to a place outside of it");
    return tree.move(v, u);
}
void swap(Tree& tree, Node a, Node b) {
    require_node(tree, a);
    require_node(tree, b);
    require(!tree.holds(a, b) && !tree.holds(b, a), "of two nodes that change places, neither is below the other");
    tree.swap(a, b);
}
Node group(Tree& tree, const std::vector<Node>& children) {
    require(children.size() >= 2, "a group has at least two nodes");
    for (const Node v : children) require_node(tree, v);
    const Node p = tree.parent[children[0]];
    require(p != live::kNone, "the root has no siblings");
    std::size_t count = 0;
    for (Node c = tree.left[p]; c != live::kNone; c = tree.after[c]) ++count;
    for (std::size_t i = 0; i < children.size(); ++i) {
        require(tree.parent[children[i]] == p, "a group has one parent");
        require(std::find(children.begin() + i + 1, children.end(), children[i]) == children.end(), "a node twice");
    }
    require(children.size() < count, "a group leaves a sibling out");
    return tree.group(children);
}
std::vector<Node> children(const Tree& tree, Node v) {
    require_node(tree, v);
    std::vector<Node> out;
    for (Node c = tree.left[v]; c != live::kNone; c = tree.after[c]) out.push_back(c);
    return out;
}
nb::tuple freeze(const Tree& tree, In1<Node> order) {
    require(std::ssize(tree.leaf_ids()) == static_cast<std::int64_t>(order.size()), "every leaf has one place");
    Tree::Frozen out = tree.freeze({order.data(), order.size()});
    return nb::make_tuple(to_numpy(std::move(out.parent)), to_numpy(std::move(out.node)));
}
nb::tuple changes(const Tree& tree, std::int64_t since) {
    require(since >= tree.log().oldest() && since <= tree.log().version(), "that version is not in the log");
    live::Changes out = tree.log().since(since, tree, [&](Node v) { return tree.is_alive(v); });
    return nb::make_tuple(to_numpy(std::move(out.made)), to_numpy(std::move(out.removed)),
                          to_numpy(std::move(out.moved)), to_numpy(std::move(out.touched)));
}
std::vector<double> sums(const Tree& tree, Node v) {
    require_node(tree, v);
    return {tree.sums(v), tree.sums(v) + tree.width()};
}
template <typename T>
std::vector<T> copy(const In1<T>& a) {
    return {a.data(), a.data() + a.size()};
}
// Everything a tree is, as arrays; `restore` makes it again.
nb::tuple state(const Tree& t) {
    const std::size_t n = static_cast<std::size_t>(t.capacity()) * t.width();
    return nb::make_tuple(to_numpy(t.parent), to_numpy(t.left), to_numpy(t.right), to_numpy(t.before),
                          to_numpy(t.after), to_numpy(t.states()), to_numpy(t.free_ids()), to_numpy(t.size),
                          to_numpy(t.cross), to_numpy(std::vector<double>(t.sums(0), t.sums(0) + n)), t.root,
                          t.log().version());
}
Tree restore(std::size_t width, std::size_t log_limit, In1<Node> parent, In1<Node> left, In1<Node> right,
             In1<Node> before, In1<Node> after, In1<std::int8_t> states, In1<Node> free_ids, In1<double> size,
             In1<double> cross, In1<double> sums, Node root, std::int64_t version) {
    const std::size_t n = parent.size();
    require(left.size() == n && right.size() == n && before.size() == n && after.size() == n && states.size() == n &&
                size.size() == n && cross.size() == n && sums.size() == n * width,
            "the arrays of the tree do not fit each other");
    live::Links links;
    links.root = root;
    links.parent = copy(parent);
    links.left = copy(left);
    links.right = copy(right);
    links.before = copy(before);
    links.after = copy(after);
    for (const auto* column : {&links.parent, &links.left, &links.right, &links.before, &links.after})
        for (const Node v : *column) require(v >= -1 && v < static_cast<Node>(n), "a link leads nowhere");
    require(root >= -1 && root < static_cast<Node>(n), "a link leads nowhere");
    for (std::size_t i = 0; i < free_ids.size(); ++i)
        require(free_ids.data()[i] >= 0 && free_ids.data()[i] < static_cast<Node>(n), "a link leads nowhere");
    const std::string broken = Tree::broken_links(links, {states.data(), n}, {free_ids.data(), free_ids.size()});
    if (!broken.empty()) throw nb::value_error(broken.c_str());
    return Tree::restore(width, log_limit, std::move(links), {states.data(), n}, {free_ids.data(), free_ids.size()},
                         copy(size), copy(cross), copy(sums), version);
}
// Runs f(tree, v) on a node that is there.
template <typename F>
auto of_node(F f) {
    return [f](const Tree& tree, Node v) {
        require_node(tree, v);
        return f(tree, v);
    };
}
}  // namespace

void bind_mutable(nb::module_& m) {
    nb::class_<Tree>(m, "MutableTree")
        .def(nb::init<std::size_t, std::size_t>(), nb::arg("width"), nb::arg("log_limit"))
        .def_prop_ro("root", [](const Tree& t) { return t.root; })
        .def_prop_ro("width", &Tree::width)
        .def_prop_ro("n_leaves", &Tree::leaves)
        .def_prop_ro("n_nodes", &Tree::nodes)
        .def_prop_ro("capacity", &Tree::capacity)
        .def_prop_ro("version", [](const Tree& t) { return t.log().version(); })
        .def_prop_ro("oldest_version", [](const Tree& t) { return t.log().oldest(); })
        .def("make_leaf", &make_leaf, nb::arg("weight"), nb::arg("row"))
        .def("join", &join, nb::arg("u"), nb::arg("v"))
        .def("append", &append, nb::arg("parent"), nb::arg("v"))
        .def("detach", &detach, nb::arg("v"))
        .def("remove", &remove, nb::arg("v"))
        .def("move", &move, nb::arg("v"), nb::arg("beside"))
        .def("swap", &swap, nb::arg("a"), nb::arg("b"))
        .def("group", &group, nb::arg("children"))
        .def("refresh", &Tree::refresh)
        .def("is_alive", &Tree::is_alive, nb::arg("v"))
        .def("is_leaf", of_node([](const Tree& t, Node v) { return t.is_leaf(v); }), nb::arg("v"))
        .def("parent", of_node([](const Tree& t, Node v) { return t.parent[v]; }), nb::arg("v"))
        .def("size", of_node([](const Tree& t, Node v) { return t.size[v]; }), nb::arg("v"))
        .def("cross", of_node([](const Tree& t, Node v) { return t.cross[v]; }), nb::arg("v"))
        .def("children", &children, nb::arg("v"))
        .def("sums", &sums, nb::arg("v"))
        .def(
            "lca",
            [](Tree& t, Node a, Node b) {
                require_node(t, a);
                require_node(t, b);
                return t.lca(a, b);
            },
            nb::arg("a"), nb::arg("b"))
        .def("leaves", [](const Tree& t) { return to_numpy(t.leaf_ids()); })
        .def("freeze", &freeze, nb::arg("order"))
        .def("changes", &changes, nb::arg("since"))
        .def("state", &state)
        .def_static("restore", &restore)
        .def("broken_rule", &Tree::broken_rule, nb::arg("tolerance") = 1e-4);
}

}  // namespace cladify
