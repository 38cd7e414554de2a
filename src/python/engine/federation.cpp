#include <nanobind/stl/pair.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "attend.hpp"
#include "audit.hpp"
#include "couplet/consensus/graph_builders.hpp"
#include "couplet/core/error.hpp"
#include "couplet/ctt/project.hpp"
#include "couplet/io/schema_file.hpp"
#include "couplet/sim/centring_file.hpp"
#include "labels.hpp"
#include "module.hpp"
#include "simulate.hpp"
#include "text.hpp"

namespace couplet::python {
namespace {

using Client = std::shared_ptr<const Tensor<double>>;

/// The federation keeps its clients for longer than a call may, so it gets them as its own.
Client client_of(const ArrayIn<double>& x, const LabelTuples& labels) {
    auto tensor = Tensor<double>::copy(view_of<double>(x));
    tensor.set_labels(to_labels(labels));
    return std::make_shared<const Tensor<double>>(std::move(tensor));
}

/// A verb's call, as Python makes it.
cli::EmbeddedCall call_of(const std::vector<nb::bytes>& words, const std::vector<ArrayIn<double>>& tensors,
                          const std::vector<LabelTuples>& labels, const std::vector<std::string>& names) {
    if (labels.size() != tensors.size()) {
        throw InputError(
            {"labels", std::to_string(labels.size()), std::to_string(tensors.size()) + ", one per client", ""});
    }
    cli::EmbeddedCall call{.names = names};
    for (const nb::bytes& word : words) call.arguments.push_back(from_bytes(word));
    for (std::size_t k = 0; k < tensors.size(); ++k) call.clients.push_back(client_of(tensors[k], labels[k]));
    return call;
}

/// What --json prints, as text; cores of the features or None; weight of each direction; personal cores; labels of the
/// feature modes; as text what features.npz holds of the result.
nb::tuple simulate(const std::vector<nb::bytes>& words, const std::vector<ArrayIn<double>>& tensors,
                   const std::vector<LabelTuples>& labels, const std::vector<std::string>& names,
                   const nb::object& watcher) {
    auto result = attended(watcher, {}, [call = call_of(words, tensors, labels, names)](const Voice& voice) mutable {
        call.listener = {voice.progress, voice.note};
        return cli::run_simulation(std::move(call));
    });
    nb::list personal;
    for (auto& core : result.personal) personal.append(to_array(std::move(core)));
    nb::object features = nb::none();
    std::vector<double> weights;
    bool orthonormal = false;
    if (result.features) {
        weights = result.features->sigma;
        orthonormal = result.features->orthonormal;
        features = to_arrays(std::move(result.features->train));
    }
    return nb::make_tuple(to_text(result.json.dump(-1, ' ', false, cli::Json::error_handler_t::replace)), features,
                          weights, orthonormal, personal, to_tuples(result.feature_labels),
                          to_text(result.metadata.dump()));
}

/// (name, whether it takes a value) of every flag of `couplet simulate`.
std::vector<std::pair<std::string, bool>> simulate_flags() {
    std::vector<std::pair<std::string, bool>> flags;
    for (const cli::EmbeddedFlag& flag : cli::simulation_flags()) flags.emplace_back(flag.name, flag.takes_value);
    return flags;
}

/// What `couplet audit --json` prints, as text.
nb::object audit(const std::vector<nb::bytes>& words, const std::vector<ArrayIn<double>>& tensors,
                 const std::vector<LabelTuples>& labels, const std::vector<std::string>& names,
                 const nb::object& watcher) {
    const auto json =
        attended(watcher, {}, [call = call_of(words, tensors, labels, names)](const Voice& voice) mutable {
            call.listener = {voice.progress, voice.note};
            return cli::run_audit(std::move(call));
        });
    return to_text(json.dump(-1, ' ', false, cli::Json::error_handler_t::replace));
}

/// `metadata`: JSON, that of the features, which may say how data is centred. Personal core of new patients, its error,
/// in words what was put in the features' order, the part of the entries that are not known, and the patients of whom
/// little and nothing is known.
nb::tuple project_on(const std::vector<ArrayIn<double>>& cores, const LabelTuples& feature_labels,
                     const ArrayIn<double>& x, const LabelTuples& labels, const std::string& unnamed, bool incomplete,
                     const std::string& metadata, const nb::object& watcher) {
    auto features = std::make_shared<TensorTrain<double>>(to_train<double>(cores));
    const auto view = view_of<double>(x);
    const Schema job = make_schema(features->shape(), to_labels(feature_labels), "features");
    const Schema mine = make_schema(features->shape(), to_labels(labels), "x");
    const Alignment alignment = align(job, mine, parse_unnamed(unnamed), "x", "features");
    const Centring centring = read_centring(nlohmann::json::parse(metadata), "features");
    auto fit = attended(watcher, {nb::cast(x)}, [features, view, alignment, incomplete, centring](const Voice&) {
        const auto embed = incomplete ? &project_incomplete : &project;
        if (alignment.empty() && centring.empty()) return embed(*features, view, "x");
        auto moved = alignment.empty() ? Tensor<double>::copy(view) : reordered(view, alignment);
        if (!centring.empty()) moved = centred(moved.view(), centring, "x");
        return embed(*features, moved.view(), "x");
    });
    return nb::make_tuple(to_array(std::move(fit.personal)), fit.rse, to_text(describe(alignment, job)), fit.missing,
                          fit.loose, fit.unknown);
}

Schema schema_of(const std::vector<Index>& sizes, const LabelTuples& modes) {
    return make_schema(Shape(sizes), to_labels(modes), "schema");
}

/// Sizes and labels of the feature modes.
nb::tuple schema_of_file(const nb::bytes& path) {
    const Schema schema = read_schema(from_bytes(path));
    const auto sizes = schema.features.sizes();
    return nb::make_tuple(std::vector<Index>(sizes.begin(), sizes.end()), to_tuples(schema.modes));
}

void write_schema(const nb::bytes& path, const std::vector<Index>& sizes, const LabelTuples& modes, bool force) {
    save_schema(from_bytes(path), schema_of(sizes, modes), force);
}

/// (found, expected, one side says nothing, only the order differs) for every difference.
nb::list compare_schemas(const std::vector<Index>& sizes_a, const LabelTuples& a, const std::vector<Index>& sizes_b,
                         const LabelTuples& b) {
    nb::list differences;
    for (const SchemaDifference& one : compare(schema_of(sizes_a, a), schema_of(sizes_b, b))) {
        differences.append(nb::make_tuple(to_text(one.found), to_text(one.expected), one.unnamed, one.reorders));
    }
    return differences;
}

/// Links of the graph that `--graph` names, as pairs of nodes counted from 0.
std::vector<std::pair<Index, Index>> graph_links(const std::string& graph, Index nodes, std::uint64_t seed) {
    std::vector<std::pair<Index, Index>> links;
    const Graph made = make_graph(graph, nodes, seed);
    for (const Edge& edge : made.edges()) links.emplace_back(edge.a, edge.b);
    return links;
}

}  // namespace

void add_federation(nb::module_& module) {
    module.def("simulate", &simulate, nb::arg("arguments"), nb::arg("tensors").noconvert(), nb::arg("labels"),
               nb::arg("names"), nb::arg("watcher"));
    module.def("simulate_flags", &simulate_flags);
    module.def("audit", &audit, nb::arg("arguments"), nb::arg("tensors").noconvert(), nb::arg("labels"),
               nb::arg("names"), nb::arg("watcher"));
    module.def("read_schema", &schema_of_file, nb::arg("path"));
    module.def("save_schema", &write_schema, nb::arg("path"), nb::arg("sizes"), nb::arg("modes"), nb::arg("force"));
    module.def("compare_schemas", &compare_schemas, nb::arg("sizes_a"), nb::arg("a"), nb::arg("sizes_b"), nb::arg("b"));
    module.def("graph_links", &graph_links, nb::arg("graph"), nb::arg("nodes"), nb::arg("seed"));
    module.def("project", &project_on, nb::arg("cores").noconvert(), nb::arg("feature_labels"),
               nb::arg("x").noconvert(), nb::arg("labels"), nb::arg("unnamed"), nb::arg("incomplete"),
               nb::arg("metadata"), nb::arg("watcher"));
}

}  // namespace couplet::python
