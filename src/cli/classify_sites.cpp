#include "classify_sites.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/data/client_folder.hpp"
#include "couplet/data/split.hpp"
#include "couplet/privacy/records.hpp"
#include "couplet/sim/source.hpp"
#include "inputs.hpp"

namespace couplet::cli {
namespace {

namespace fs = std::filesystem;

// What fills them, fills all people of a client together: the test persons would have a say in what is learned.
constexpr const char* missing_remedy =
    "classify takes complete data only; leave these people or features out, or fill the entries first.";

/// One site as it was found: nobody is left out yet.
struct RawSite {
    std::string name;
    std::shared_ptr<const Tensor<double>> data;
    SiteLabels labels;
    Index rows() const { return data->shape()[0]; }
};

/// One argument: its people, and what its folder says of them.
struct Source {
    std::string path;
    Tensor<double> data;
    std::vector<std::string> labels = {};    ///< of the folder; empty: none
    std::vector<std::string> patients = {};  ///< likewise
    std::vector<Index> clients = {};         ///< people of each client of the folder
};

/// How many people each client of a folder has, by its manifest; nothing where it does not say.
std::vector<Index> rows_of_clients(const fs::path& folder, Index people) {
    std::vector<Index> rows;
    for (const ListedClient& client : listed_clients(folder)) {
        if (!client.rows) return {};
        rows.push_back(*client.rows);
    }
    const bool fits = std::all_of(rows.begin(), rows.end(), [](Index n) { return n > 0; }) &&
                      std::accumulate(rows.begin(), rows.end(), Index{0}) == people;
    return fits ? rows : std::vector<Index>{};
}

Source read_folder(const std::string& path) {
    Dataset all = read_clients(path);
    require_complete(all.tensor.view(), path, missing_remedy);
    Source source{path, std::move(all.tensor)};
    for (const Label label : all.labels) source.labels.push_back(std::to_string(label));
    const Index people = source.data.shape()[0];
    source.clients = rows_of_clients(path, people);
    const fs::path patients = fs::path(path) / "patients.csv";
    if (fs::exists(patients)) source.patients = read_patients(patients, people);
    return source;
}

Source read_source(const std::string& path) {
    if (!fs::exists(path)) {
        throw InputError({path, "no such file or folder",
                          "a folder that couplet data or couplet table wrote, or a tensor file", "Check the path."});
    }
    if (fs::is_directory(path)) return read_folder(path);
    Source source{path, read_tensor(path, missing_remedy).take<double>()};
    if (source.data.shape().order() < 2) {
        throw InputError({path, fmt::format("a tensor of order {}", source.data.shape().order()),
                          "at least two modes: people and a feature", ""});
    }
    return source;
}

void check_counts(const ClassifyInput& input, const std::vector<Source>& sources) {
    const std::size_t tables = input.labels.size();
    if (tables > 1 && tables != sources.size()) {
        throw InputError({"--labels", fmt::format("{} files for {} sites", tables, sources.size()),
                          "one for all sites, or one for each in their order", ""});
    }
    for (const Source& source : sources) {
        const bool folder = fs::is_directory(source.path);
        if (!source.labels.empty() && tables > 0) {
            throw InputError({"--labels", "given with a folder that has labels", "it with a folder or file without",
                              "The folder names the labels of its clients itself."});
        }
        if (!source.labels.empty() || tables > 0) continue;
        if (folder) {
            throw InputError({source.path, "clients without labels", "a class for every person",
                              "Name a table with --labels; couplet data ecg and couplet data diabetes write labels."});
        }
        throw InputError({"--labels", "missing", "a file with a class for every person",
                          "Or name a folder that couplet data wrote."});
    }
    if (tables == 0 && !(input.columns.label.empty() && input.columns.patient.empty())) {
        throw InputError({input.columns.label.empty() ? "--id-column" : "--label-column", "without a table",
                          "--labels FILE beside it", ""});
    }
}

/// Every source's own labels, by its folder or by a table.
std::vector<SiteLabels> labels_of(const ClassifyInput& input, const std::vector<Source>& sources) {
    std::vector<SiteLabels> all;
    std::optional<LabelTable> shared;
    if (input.labels.size() == 1 && sources.size() > 1) {
        shared = read_label_table(input.labels.front(), input.columns, -1);
        for (const Source& source : sources) {
            if (!shared->patients.empty() && !source.patients.empty()) continue;
            throw InputError({"--labels",
                              "one file for several sites, and no identifiers in " +
                                  (shared->patients.empty() ? shared->source : source.path),
                              "identifiers in the table and beside every tensor, or a file for each site",
                              "couplet table writes them to patients.csv."});
        }
    }
    for (std::size_t k = 0; k < sources.size(); ++k) {
        const Source& source = sources[k];
        const Index rows = source.data.shape()[0];
        if (!source.labels.empty()) {
            all.push_back({source.labels, source.patients});
        } else if (shared) {
            all.push_back(match_labels(*shared, source.path, source.patients, rows));
        } else {
            all.push_back(match_labels(read_label_table(input.labels[k], input.columns, rows), source.path,
                                       source.patients, rows));
        }
    }
    return all;
}

/// The name of a site: that of its folder or file, with a number where two have the same.
std::string site_name(const std::string& path, std::size_t k, std::set<std::string>& taken) {
    fs::path at = fs::path(path).lexically_normal();
    if (!at.has_filename()) at = at.parent_path();
    std::string name = fs::is_directory(path) ? at.filename().string() : at.stem().string();
    if (name.empty() || !taken.insert(name).second) name = fmt::format("{} ({})", name, k + 1);
    taken.insert(name);
    return name;
}

std::vector<RawSite> as_sites(std::vector<Source> sources, std::vector<SiteLabels> labels) {
    std::vector<Tensor<double>> data;
    for (Source& source : sources) data.push_back(std::move(source.data));
    const auto aligned = align_source(MemorySource(std::move(data)), Unnamed::refuse, {});
    std::vector<RawSite> sites;
    std::set<std::string> taken;
    for (std::size_t k = 0; k < sources.size(); ++k) {
        sites.push_back(
            {site_name(sources[k].path, k, taken), aligned.source.client(static_cast<Index>(k)), std::move(labels[k])});
    }
    return sites;
}

template <class T>
std::vector<T> part_of(const std::vector<T>& all, Index begin, Index count) {
    if (all.empty()) return {};
    return {all.begin() + begin, all.begin() + begin + count};
}

Tensor<double> rows_of(const Tensor<double>& all, const std::vector<Index>& rows) {
    std::vector<Index> sizes(all.shape().sizes().begin(), all.shape().sizes().end());
    const Index width = all.size() / sizes[0];
    sizes[0] = static_cast<Index>(rows.size());
    Tensor<double> part{Shape(std::move(sizes))};
    double* target = part.data();
    for (const Index row : rows) target = std::copy_n(all.data() + row * width, width, target);
    if (!all.labels().empty()) part.set_labels(Labels(all.labels()));
    return part;
}

/// One tensor as the clients of its folder, or dealt evenly in its order.
std::vector<RawSite> dealt(Source source, SiteLabels labels, Index deal) {
    const Index people = source.data.shape()[0];
    const Index sites = std::clamp<Index>(people / 2, 1, deal);
    const std::vector<Index> counts = source.clients.size() > 1 ? source.clients : even_parts(people, sites);
    std::vector<RawSite> all;
    Index begin = 0;
    for (const Index count : counts) {
        std::vector<Index> rows(static_cast<std::size_t>(count));
        std::iota(rows.begin(), rows.end(), begin);
        all.push_back({fmt::format("client {}", all.size() + 1),
                       std::make_shared<const Tensor<double>>(rows_of(source.data, rows)),
                       {part_of(labels.values, begin, count), part_of(labels.patients, begin, count)}});
        begin += count;
    }
    return all;
}

/// Leaves out the people whose class nobody knows.
void add_site(const RawSite& raw, ClassifyPeople& people) {
    LabelledSite site{.name = raw.name};
    PredictionSite who;
    for (Index row = 0; row < raw.rows(); ++row) {
        const auto at = static_cast<std::size_t>(row);
        const Label label = people.classes.code(raw.labels.values[at]);
        if (label < 0) continue;
        site.labels.push_back(label);
        who.rows.push_back(row);
        if (!raw.labels.patients.empty()) who.patients.push_back(raw.labels.patients[at]);
    }
    if (who.rows.size() < 2) {
        throw InputError({raw.name, fmt::format("{} people with a label", who.rows.size()), "at least two",
                          "A site learns from some and is tested on the others; leave this one out."});
    }
    site.data = rows_of(*raw.data, who.rows);
    people.unlabelled.push_back(raw.rows() - static_cast<Index>(who.rows.size()));
    people.sites.push_back(std::move(site));
    people.who.push_back(std::move(who));
}

constexpr const char* once_remedy =
    "A patient at two sites is learned from at one and tested at the other; keep each at one site. Where different "
    "people have the same number, write the site before it, in the data and in the labels.";

void refuse_same_files(const std::vector<std::string>& paths) {
    for (std::size_t k = 0; k < paths.size(); ++k) {
        for (std::size_t j = 0; j < k; ++j) {
            std::error_code unknown;
            if (!fs::equivalent(paths[j], paths[k], unknown)) continue;
            throw InputError({paths[k],
                              "named twice, as sites " + std::to_string(j + 1) + " and " + std::to_string(k + 1),
                              "every site once", "Its people would be learned from and tested."});
        }
    }
}

/// Of people with identifiers.
void refuse_patients_at_two_sites(const std::vector<PredictionSite>& sites, const std::vector<std::string>& paths) {
    std::map<std::string_view, std::size_t> site_of;
    std::map<std::size_t, Index> shared;  // by the first site that has them too
    for (std::size_t k = 0; k < sites.size(); ++k) {
        for (const std::string& patient : sites[k].patients) {
            const auto [first, is_new] = site_of.try_emplace(patient, k);
            if (!is_new) ++shared[first->second];
        }
        if (shared.empty()) continue;
        const auto& [other, count] = *shared.begin();
        throw InputError({paths[k],
                          fmt::format("{} {} of {}", count, count == 1 ? "patient" : "patients", paths[other]),
                          "every identifier at one site", once_remedy});
    }
}

std::span<const double> record_of(const LabelledSite& site, std::size_t row) {
    const auto width = static_cast<std::size_t>(site.data.size() / site.data.shape()[0]);
    return {site.data.data() + row * width, width};
}

bool is_empty(std::span<const double> record) {
    return std::all_of(record.begin(), record.end(), [](double e) { return e == 0; });
}

/// Where nobody has an identifier, people with the same record may be one patient. Empty records are nobody's.
void find_same(LabelledSite& site, Index& copies) {
    std::map<std::string, Index> first;
    for (std::size_t row = 0; row < site.labels.size(); ++row) {
        const auto own = static_cast<Index>(row);
        const auto record = record_of(site, row);
        site.same_as.push_back(
            is_empty(record) ? own : first.try_emplace(record_key(record, Likeness::exact), own).first->second);
        if (site.same_as.back() != own) ++copies;
    }
}

/// People of a site without identifiers whose record another site has as well: perhaps the same people. Sparse records
/// may be alike by chance, so that nothing is refused.
Index count_alike(const std::vector<LabelledSite>& sites, const std::vector<PredictionSite>& who) {
    constexpr std::size_t several = std::numeric_limits<std::size_t>::max();
    std::map<std::string, std::size_t> site_of;
    std::vector<std::pair<std::string, bool>> keys;
    for (std::size_t k = 0; k < sites.size(); ++k) {
        for (std::size_t row = 0; row < sites[k].labels.size(); ++row) {
            const auto record = record_of(sites[k], row);
            if (is_empty(record)) continue;
            keys.emplace_back(record_key(record, Likeness::exact), who[k].patients.empty());
            const auto [first, is_new] = site_of.try_emplace(keys.back().first, k);
            if (!is_new && first->second != k) first->second = several;
        }
    }
    return std::count_if(keys.begin(), keys.end(),
                         [&](const auto& key) { return key.second && site_of.at(key.first) == several; });
}

double largest(std::span<const double> values) {
    double most = 0;
    for (const double e : values) most = std::max(most, std::abs(e));
    return most;
}

/// The largest number of a person of a site, of most of them who have any; 0 where nobody has.
double usual_size(const LabelledSite& site) {
    const auto width = static_cast<std::size_t>(site.data.size() / site.data.shape()[0]);
    std::vector<double> sizes;
    for (std::size_t row = 0; row < site.labels.size(); ++row) {
        const double size = largest({site.data.data() + row * width, width});
        if (size > 0) sizes.push_back(size);
    }
    if (sizes.empty()) return 0;
    const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
    std::nth_element(sizes.begin(), middle, sizes.end());
    return *middle;
}

/// What is told apart by 1e70 cannot be squared together, whatever the unit.
void refuse_far_sizes(const std::vector<LabelledSite>& sites, const LabelledSite& large, double most) {
    constexpr double far = 1e70;
    for (const LabelledSite& site : sites) {
        const double usual = usual_size(site);
        if (usual == 0 || most / far < usual) continue;
        throw InputError({large.name,
                          fmt::format("a value of about {:.0e}, where most people of {} have values up to {:.1g}", most,
                                      site.name, usual),
                          "magnitudes that differ by less than 1e70",
                          "Look for values that stand for something else, or bring all sites to the same units."});
    }
}

/// Classes do not depend on the unit of all data together, but a decomposition cannot square numbers like 1e160: they
/// are brought near one by a power of two, which changes no digit.
void bring_near_one(std::vector<LabelledSite>& sites) {
    const auto large = std::max_element(sites.begin(), sites.end(), [](const auto& a, const auto& b) {
        return largest(a.data.elements()) < largest(b.data.elements());
    });
    const double most = largest(large->data.elements());
    if (most == 0) return;
    refuse_far_sizes(sites, *large, most);
    if (most > 1e-4 && most < 1e50) return;
    const int exponent = -std::ilogb(most);
    for (LabelledSite& site : sites) {
        for (double& e : site.data.elements()) e = std::ldexp(e, exponent);
    }
}

}  // namespace

Dataset ClassifyPeople::pooled() const {
    Dataset all;
    Index rows = 0;
    for (const LabelledSite& site : sites) rows += site.data.shape()[0];
    const auto first = sites.front().data.shape().sizes();
    std::vector<Index> sizes(first.begin(), first.end());
    sizes[0] = rows;
    all.tensor = Tensor<double>(Shape(std::move(sizes)));
    double* target = all.tensor.data();
    for (const LabelledSite& site : sites) {
        target = std::copy_n(site.data.data(), site.data.size(), target);
        all.labels.insert(all.labels.end(), site.labels.begin(), site.labels.end());
    }
    all.available = rows;
    return all;
}

ClassifyPeople read_people(const ClassifyInput& input) {
    refuse_same_files(input.data);
    std::vector<Source> sources;
    for (const std::string& path : input.data) sources.push_back(read_source(path));
    check_counts(input, sources);
    std::vector<SiteLabels> labels = labels_of(input, sources);
    std::vector<std::string> values;
    for (const SiteLabels& site : labels) values.insert(values.end(), site.values.begin(), site.values.end());
    ClassifyPeople people;
    for (std::size_t k = 0; k < sources.size(); ++k) {
        if (labels[k].unchecked) people.unchecked.push_back(sources[k].path);
    }
    people.classes = code_classes(values);
    const bool several = sources.size() > 1;
    const auto raw = several ? as_sites(std::move(sources), std::move(labels))
                             : dealt(std::move(sources.front()), std::move(labels.front()), input.deal);
    for (const RawSite& site : raw) add_site(site, people);
    if (several) refuse_patients_at_two_sites(people.who, input.data);
    people.alike = count_alike(people.sites, people.who);
    for (std::size_t k = 0; k < people.sites.size(); ++k) {
        if (people.who[k].patients.empty()) find_same(people.sites[k], people.copies);
    }
    bring_near_one(people.sites);
    return people;
}

}  // namespace couplet::cli
