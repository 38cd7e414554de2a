#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "attend.hpp"
#include "couplet/data/data_file.hpp"
#include "couplet/data/diabetes.hpp"
#include "couplet/data/ecg.hpp"
#include "couplet/data/ehr.hpp"
#include "couplet/data/hidden.hpp"
#include "couplet/data/split.hpp"
#include "couplet/data/synthetic.hpp"
#include "labels.hpp"
#include "module.hpp"
#include "text.hpp"

namespace couplet::python {
namespace {

/// What all builders are told.
struct Dealing {
    Index clients = 1;
    std::uint64_t seed = 0;
    bool shuffle = false;
    double missing = 0;
    std::string missing_as = "nan";

    HiddenEntries hidden(Index first_patient) const {
        return {.fraction = missing,
                .as = missing_as == "zero" ? MissingAs::zero : MissingAs::nan,
                .seed = seed,
                .first_patient = first_patient};
    }
};

Dealing dealing(const nb::dict& how) {
    return {.clients = nb::cast<Index>(how["clients"]),
            .seed = nb::cast<std::uint64_t>(how["seed"]),
            .shuffle = nb::cast<bool>(how["shuffle"]),
            .missing = nb::cast<double>(how["missing"]),
            .missing_as = nb::cast<std::string>(how["missing_as"])};
}

nb::object class_array(const std::vector<std::int64_t>& labels) {
    if (labels.empty()) return nb::none();
    auto* kept = new std::vector<std::int64_t>(labels);
    const nb::capsule free(kept, [](void* p) noexcept { delete static_cast<std::vector<std::int64_t>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, std::int64_t>(kept->data(), {kept->size()}, free));
}

/// Tensors, classes (or None) of each client, labels of the modes, and the source.
nb::tuple to_python(std::vector<Dataset> clients) {
    nb::list tensors;
    nb::list classes;
    const Labels labels = clients.front().tensor.labels();
    const std::string source = clients.front().source;
    const Index available = clients.front().available;
    for (Dataset& client : clients) {
        classes.append(class_array(client.labels));
        tensors.append(to_array(std::move(client.tensor)));
    }
    return nb::make_tuple(tensors, classes, to_tuples(labels), to_text(source), available);
}

template <class Load>
nb::tuple deal(const nb::dict& how, const nb::object& watcher, Load load) {
    const Dealing to = dealing(how);
    return to_python(attended(watcher, {}, [to, load](const Voice&) {
        Dataset all = load(to.seed);
        hide_entries(all.tensor.view(), to.hidden(0));
        std::optional<std::uint64_t> shuffle;
        if (to.shuffle) shuffle = to.seed;
        return split_dataset(all, to.clients, shuffle);
    }));
}

using Place = std::optional<nb::bytes>;

/// Before the work starts: its thread must not touch what is Python's.
std::optional<std::filesystem::path> path_of(const Place& place) {
    return place ? std::optional<std::filesystem::path>(from_bytes(*place)) : std::nullopt;
}

nb::tuple synthetic(const std::string& spec, const nb::dict& how, const nb::object& watcher) {
    const Dealing to = dealing(how);
    return to_python(attended(watcher, {}, [to, spec](const Voice& voice) {
        const SyntheticClients made(parse_synthetic(spec, to.seed), to.clients);
        std::vector<Dataset> clients;
        Index first_patient = 0;
        for (Index k = 0; k < to.clients; ++k) {
            report(voice.progress, "clients", k, to.clients);
            clients.push_back({.tensor = made.client(k)});
            hide_entries(clients.back().tensor.view(), to.hidden(first_patient));
            first_patient += clients.back().tensor.shape()[0];
        }
        report(voice.progress, "clients", to.clients, to.clients);
        return clients;
    }));
}

nb::tuple ecg(const Place& data, std::optional<Index> count, Index points, const std::string& embedding,
              const std::string& classes, const nb::dict& how, const nb::object& watcher) {
    const auto place = path_of(data);
    return deal(how, watcher, [=](std::uint64_t seed) {
        EcgOptions options{.count = count, .points = points, .seed = seed};
        if (embedding == "lag") options.embedding = EcgEmbedding::lag;
        if (classes == "five") options.classes = find_data_file(DataFile::ecg_classes, place);
        return load_ecg(find_data_file(DataFile::ecg, place), options);
    });
}

nb::tuple diabetes(const Place& data, std::optional<Index> count, const nb::dict& how, const nb::object& watcher) {
    const auto place = path_of(data);
    return deal(how, watcher, [=](std::uint64_t seed) {
        return load_diabetes(find_data_file(DataFile::diabetes, place), {.count = count, .seed = seed});
    });
}

nb::tuple cms(const Place& data, Index diagnoses, Index medications, const std::string& duplicates,
              const std::string& frequent_by, const nb::dict& how, const nb::object& watcher) {
    const auto place = path_of(data);
    return deal(how, watcher, [=](std::uint64_t) {
        return load_cms(find_data_file(DataFile::cms, place),
                        {.diagnoses = diagnoses,
                         .medications = medications,
                         .duplicates = duplicates == "sum" ? Duplicates::sum : Duplicates::clip,
                         .frequent_by = frequent_by == "patients" ? FrequentBy::patients : FrequentBy::records});
    });
}

nb::tuple synthea(const Place& data, Index conditions, Index medications, const nb::dict& how,
                  const nb::object& watcher) {
    const auto place = path_of(data);
    return deal(how, watcher, [=](std::uint64_t) {
        return load_synthea({.patients = find_data_file(DataFile::synthea_patients, place),
                             .conditions = find_data_file(DataFile::synthea_conditions, place),
                             .medications = find_data_file(DataFile::synthea_medications, place)},
                            {.conditions = conditions, .medications = medications});
    });
}

}  // namespace

void add_data(nb::module_& module) {
    module.def("synthetic", &synthetic, nb::arg("spec"), nb::arg("how"), nb::arg("watcher"));
    module.def("ecg", &ecg, nb::arg("data").none(), nb::arg("count").none(), nb::arg("points"), nb::arg("embedding"),
               nb::arg("classes"), nb::arg("how"), nb::arg("watcher"));
    module.def("diabetes", &diabetes, nb::arg("data").none(), nb::arg("count").none(), nb::arg("how"),
               nb::arg("watcher"));
    module.def("cms", &cms, nb::arg("data").none(), nb::arg("diagnoses"), nb::arg("medications"), nb::arg("duplicates"),
               nb::arg("frequent_by"), nb::arg("how"), nb::arg("watcher"));
    module.def("synthea", &synthea, nb::arg("data").none(), nb::arg("conditions"), nb::arg("medications"),
               nb::arg("how"), nb::arg("watcher"));
}

}  // namespace couplet::python
