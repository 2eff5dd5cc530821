// Bindings of newick.hpp.
#include "tree/newick.hpp"

#include <nanobind/stl/string.h>

#include "common/bind.hpp"

namespace cladify {
namespace {

nb::dict read_newick(nb::bytes text) {
    const std::string_view view(text.c_str(), text.size());
    NewickNodes nodes;
    {
        nb::gil_scoped_release release;
        nodes = NewickReader(view).read();
        if (nodes.fault.empty() && (nodes.has_lengths || nodes.has_heights)) newick_heights(nodes);
    }
    nb::dict out;
    out["fault"] = nodes.fault;
    out["position"] = nodes.position;
    out["has_heights"] = nodes.has_lengths || nodes.has_heights;
    out["has_levels"] = nodes.has_levels;
    out["parent"] = to_numpy(std::move(nodes.parent));
    out["height"] = to_numpy(std::move(nodes.height));
    out["level"] = to_numpy(std::move(nodes.level));
    out["number"] = to_numpy(std::move(nodes.number));
    out["name_start"] = to_numpy(std::move(nodes.name_start));
    out["name_end"] = to_numpy(std::move(nodes.name_end));
    return out;
}

nb::bytes write_newick(In1<std::int64_t> parent, In1<std::int64_t> start, In1<std::int64_t> child, In1<double> height,
                       In1<std::int64_t> level, nb::bytes names, In1<std::int64_t> name_start, bool exact) {
    const std::string_view name_bytes(names.c_str(), names.size());
    std::string out;
    {
        nb::gil_scoped_release release;
        const Children children{Ids(start.data(), start.data() + start.size()),
                                Ids(child.data(), child.data() + child.size())};
        out = NewickWriter({parent.data(), parent.size()}, children, {height.data(), height.size()},
                           {level.data(), level.size()}, {name_bytes, {name_start.data(), name_start.size()}}, exact)
                  .write();
    }
    return nb::bytes(out.data(), out.size());
}

}  // namespace

void bind_newick(nb::module_& m) {
    m.def("newick_read", &read_newick, nb::arg("text"));
    m.def("newick_write", &write_newick, nb::arg("parent"), nb::arg("start"), nb::arg("child"), nb::arg("height"),
          nb::arg("level"), nb::arg("names"), nb::arg("name_start"), nb::arg("exact"));
}

}  // namespace cladify
