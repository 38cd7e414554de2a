#include "couplet/explain/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/io/data_print.hpp"
#include "couplet/linalg/magnitude.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/qr.hpp"
#include "couplet/sim/centring_file.hpp"

namespace couplet {
namespace {

namespace fs = std::filesystem;

constexpr Index most_numbers = Index{1} << 28;
constexpr std::string_view personal_front = "personal_";
constexpr std::string_view loadings_front = "loadings_";

/// R1 x (I2 ... IN): the product of the cores.
Matrix<double> written_out(const TensorTrain<double>& features, const std::string& where) {
    const Index rank = features.left_rank();
    Index size = 1;
    for (const Index mode : features.shape().sizes()) {
        if (mode > most_numbers / std::max<Index>(1, size * rank)) {
            throw InputError(
                {where, "features of more than 268,435,456 numbers", "fewer", "Explain a smaller vocabulary."});
        }
        size *= mode;
    }
    Matrix<double> product_so_far = Matrix<double>::identity(rank);
    for (Index n = 0; n < features.order(); ++n) {
        const auto& core = features.core(n);
        const MatrixView<const double> unfolded(core.data(), core.shape()[0], core.shape()[1] * core.shape()[2]);
        Matrix<double> next = product<double>(product_so_far.view(), unfolded);
        next.reshape(next.size() / core.shape()[2], core.shape()[2]);
        product_so_far = std::move(next);
    }
    product_so_far.reshape(rank, size);
    return product_so_far;
}

TensorTrain<double> train_of(const Model<double>& model) {
    std::vector<Tensor<double>> cores;
    for (const auto& core : model.cores) cores.push_back(Tensor<double>::copy(core.view()));
    return TensorTrain<double>(std::move(cores));
}

fs::path features_file(const fs::path& result) {
    std::error_code ignored;
    fs::path file = fs::is_directory(result, ignored) ? result / "features.npz" : result;
    // A folder of couplet factor; beside features they are explained by their own name.
    if (!fs::exists(file, ignored) && fs::exists(result / "factors.npz", ignored)) file = result / "factors.npz";
    if (fs::exists(file, ignored)) {
        if (file.extension() == ".npz") return file;
        throw InputError({result.string(), "a file that is no .npz", "the folder of a result, or its features.npz",
                          "couplet simulate ... -o DIR writes one."});
    }
    throw InputError({result.string(), "no such file: features.npz", "the result of a federation",
                      "couplet simulate ... -o DIR writes one."});
}

/// The k of personal_<k>.npz (or of what else is before it); nothing of another file.
std::optional<Index> number_of(const fs::path& file, std::string_view front) {
    const std::string stem = file.stem().string();
    if (file.extension() != ".npz" || !stem.starts_with(front)) return std::nullopt;
    const std::string digits = stem.substr(front.size());
    const bool plain = !digits.empty() && digits.size() < 10 && digits.front() != '0' &&
                       digits.find_first_not_of("0123456789") == std::string::npos;
    return plain ? std::optional<Index>(std::stoll(digits)) : std::nullopt;
}

/// personal.npz, or personal_1.npz, personal_2.npz, ... of all clients (0: nobody knows how many there are): what some
/// describe is no share of all.
std::vector<fs::path> personal_files(const fs::path& folder, Index clients, std::string_view front) {
    std::error_code failed;
    std::set<Index> numbers;
    for (fs::directory_iterator entry(folder.empty() ? "." : folder, failed), end; !failed && entry != end;
         entry.increment(failed)) {
        if (const auto number = number_of(entry->path(), front)) numbers.insert(*number);
    }
    if (numbers.empty()) {
        const fs::path only = folder / "personal.npz";
        return front == personal_front && fs::exists(only, failed) ? std::vector{only} : std::vector<fs::path>();
    }
    const auto name = [&](Index k) { return fmt::format("{}{}.npz", front, k); };
    const Index sites = std::max(clients, *numbers.rbegin());
    std::vector<fs::path> files;
    for (Index k = 1; k <= sites; ++k) {
        if (!numbers.contains(k)) {
            throw InputError({folder.string(),
                              fmt::format("personal cores of {} of {} sites: no {}", numbers.size(), sites, name(k)),
                              "those of all sites, whose shares are told",
                              "Keep the files of one run together; features.npz in a folder of its own is explained "
                              "too, without shares."});
        }
        files.push_back(folder / name(k));
    }
    return files;
}

/// A number of the metadata; nothing where it is none.
std::optional<double> number_at(const nlohmann::json& metadata, const char* key) {
    if (!metadata.contains(key) || !metadata[key].is_number()) return std::nullopt;
    return metadata[key].get<double>();
}

/// personal_<k>.npz is taken for the core of client k: a copy of another's, or one more than there are clients, would
/// tell of somebody else.
void require_numbered(const std::vector<fs::path>& files, std::size_t k, Index clients, const nlohmann::json& mine) {
    if (files[k].filename() == "personal.npz") return;
    const auto refuse = [&](std::string found, std::string expected) {
        throw InputError({files[k].string(), std::move(found), std::move(expected),
                          "Keep the files of one run together, under their names."});
    };
    const std::size_t number = k + 1;
    if (clients > 0 && number > static_cast<std::size_t>(clients)) {
        refuse(fmt::format("a core of client {}", number),
               fmt::format("those of the {} clients of the features", clients));
    }
    const auto client = number_at(mine, "client");
    if (client && *client != static_cast<double>(number)) {
        refuse(fmt::format("the personal core of client {}", *client), fmt::format("that of client {}", number));
    }
}

Model<double> load_personal(const fs::path& file, const Model<double>& features) {
    Model<double> model = to_double(load_model(file));
    const Index rank = features.cores.front().shape()[0];
    if (!model.is_personal() || model.cores[0].shape()[2] != rank) {
        throw InputError(
            {file.string(),
             model.is_personal() ? fmt::format("a core of rank {}", model.cores[0].shape()[2]) : "no personal core",
             fmt::format("a personal core of rank {}, as the features beside it", rank),
             "Keep the files of one run together."});
    }
    return model;
}

/// Of one site in a list of the features' metadata.
template <class T>
std::optional<T> listed(const nlohmann::json& metadata, const char* key, std::size_t at) {
    if (!metadata.contains(key) || !metadata[key].is_array() || at >= metadata[key].size()) return std::nullopt;
    const auto& value = metadata[key][at];
    if constexpr (std::is_same_v<T, double>) {
        return value.is_number() ? std::optional<T>(value.template get<T>()) : std::nullopt;
    } else {
        return value.is_string() ? std::optional<T>(value.template get<T>()) : std::nullopt;
    }
}

bool flag_at(const nlohmann::json& metadata, const char* key, bool usual) {
    return metadata.contains(key) && metadata[key].is_boolean() ? metadata[key].get<bool>() : usual;
}

std::string word_at(const nlohmann::json& metadata, const char* key) {
    return metadata.contains(key) && metadata[key].is_string() ? metadata[key].get<std::string>() : std::string();
}

std::string sentence_of_messages(const nlohmann::json& metadata) {
    const std::string method = word_at(metadata, "method");
    const std::string aggregate = word_at(metadata, "aggregate");
    if (method == "centralized") return "To find these patterns all records were brought to one place.";
    if (method != "ctt") return {};
    if (aggregate == "subspace") {
        return "To find these patterns the sites sent sums over their patients; who could read them, and what sums "
               "give away, says couplet audit.";
    }
    if (aggregate == "stack" || aggregate == "average") {
        return "To find these patterns the sites sent mixtures of their patients' records, from which records may be "
               "rebuilt; couplet audit says how many.";
    }
    return {};
}

Fit fit_of(const nlohmann::json& metadata) {
    Fit fit{.scale_clients = flag_at(metadata, "scale_clients", false),
            .refit = flag_at(metadata, "refit", true),
            .clipped = flag_at(metadata, "clipped", false),
            .eps1 = number_at(metadata, "eps1"),
            .eps2 = number_at(metadata, "eps2")};
    if (const std::string method = word_at(metadata, "method"); !method.empty()) fit.method = method;
    if (const std::string name = word_at(metadata, "aggregate"); !name.empty()) fit.aggregate = parse_aggregate(name);
    return fit;
}

/// One power of two for all sites: the shares do not change, and the squares of the largest are safe.
int common_exponent(const std::vector<SiteScores>& sites) {
    double largest = 0;
    bool safe = true;
    for (const SiteScores& site : sites) {
        largest = std::max(largest, max_magnitude<double>(site.scores.view()));
        safe = safe && scaled_norm<double>(site.scores.view()).exponent == 0;
    }
    return safe ? 0 : magnitude_exponent(largest);
}

void make_shares_safe(Findings& findings, const std::vector<fs::path>& files) {
    findings.exponent = common_exponent(findings.sites);
    for (std::size_t k = 0; k < findings.sites.size(); ++k) {
        SiteScores& site = findings.sites[k];
        const double largest = max_magnitude<double>(site.scores.view());
        scale_by_power(site.scores.data(), site.scores.size(), -findings.exponent, site.scores.data());
        site.norm2 = squared_norm<double>(site.scores.view());
        if (largest == 0 || site.norm2 >= least_safe_square) continue;
        throw InputError({files[k].string(), fmt::format("coordinates of at most {:.3g}", largest),
                          "sites within 75 orders of magnitude of each other", "Scale the sites' data alike."});
    }
}

std::vector<SiteGain> gains_of(const nlohmann::json& metadata) {
    std::vector<SiteGain> gains;
    if (!metadata.contains("gain") || !metadata["gain"].is_array()) return gains;
    for (const auto& one : metadata["gain"]) {
        const auto alone = number_at(one, "alone");
        const auto together = number_at(one, "together");
        if (!alone || !together || !one.contains("client") || !one["client"].is_string()) continue;
        gains.push_back({one["client"].get<std::string>(), *alone, *together});
    }
    return gains;
}

/// Of rows that are orthonormal their singular values tell it, which are kept beside them; of others their length.
Matrix<double> energy_of(const nlohmann::json& metadata, const Matrix<double>& change) {
    Matrix<double> scaled = Matrix<double>::copy(change.view());
    const auto is_number = [](const nlohmann::json& value) { return value.is_number(); };
    const auto sigma = metadata.find("sigma");
    const bool told = sigma != metadata.end() && sigma->is_array() &&
                      static_cast<Index>(sigma->size()) == change.rows() &&
                      std::all_of(sigma->begin(), sigma->end(), is_number);
    if (!told && flag_at(metadata, "orthonormal", false)) return {};
    for (Index r = 0; told && r < scaled.rows(); ++r) {
        for (Index s = 0; s < scaled.cols(); ++s) scaled(r, s) *= (*sigma)[static_cast<std::size_t>(r)].get<double>();
    }
    return product<double>(scaled.view(), scaled.view(), Op::transpose);
}

/// What does not fit the features would be read beyond its end.
Centring weighting_of(Centring centring, const Schema& schema, const std::string& where) {
    mode_maps(centring.mean, schema.features, centring.any_at, centring.weight, centring.patients, where);
    return centring;
}

}  // namespace

bool require_same_run(const Model<double>& features, const std::string& features_file, const Model<double>& personal,
                      const std::string& personal_file) {
    const auto refuse = [&](const std::string& found, const std::string& expected) {
        throw InputError({personal_file, found, fmt::format("{}, as {}", expected, features_file),
                          "Keep the files of one run together."});
    };
    if (const std::string print = word_at(personal.metadata, "features_print"); !print.empty()) {
        const std::string theirs = features_print(features.cores);
        // Rounded features are the same directions, a little changed.
        if (print == theirs || print == word_at(features.metadata, "rounded_of")) return true;
        const std::string file = word_at(personal.metadata, "features");
        refuse(fmt::format("a personal core of the features {}{}", print, file.empty() ? "" : " (" + file + ")"),
               "one of the features " + theirs);
    }
    const std::string mine = word_at(personal.metadata, "job");
    const std::string theirs = word_at(features.metadata, "job");
    if (!mine.empty() && !theirs.empty()) {
        if (mine != theirs) refuse("a personal core of the job " + mine, "one of the job " + theirs);
        return true;
    }
    const auto client = number_at(personal.metadata, "client");
    if (!client || !features.metadata.contains("personal_norm2") || !(*client >= 1 && *client <= 1e9)) return false;
    const auto norm2 = listed<double>(features.metadata, "personal_norm2", static_cast<std::size_t>(*client) - 1);
    if (!norm2) refuse(fmt::format("a personal core of client {}", *client), "one of its clients");
    const Tensor<double>& core = personal.cores.front();
    const double found = squared_norm<double>({core.data(), core.shape()[1], core.shape()[2]});
    if (std::abs(found - *norm2) <= 1e-9 * *norm2) return true;
    refuse(fmt::format("a personal core with a sum of squares of {}", found),
           fmt::format("{} of client {}", *norm2, *client));
    return false;
}

OrthonormalRows orthonormal_rows(const TensorTrain<double>& features, const std::string& where) {
    Matrix<double> columns = transpose(written_out(features, where).view());
    if (columns.rows() < columns.cols()) {
        throw InputError({where, fmt::format("{} components of {} features", columns.cols(), columns.rows()),
                          "no more components than features", "Run the federation with a smaller `rank`."});
    }
    Matrix<double> triangle = orthonormalise_columns<double>(columns.view());
    // W = R^T Q^T: coordinates in W times R^T are coordinates in Q^T.
    return {transpose(columns.view()), transpose(triangle.view())};
}

namespace {

/// Components as a model has them: rows of norm 1, and loadings in their units.
OrthonormalRows unit_rows(const TensorTrain<double>& features, const std::string& where) {
    OrthonormalRows unit{written_out(features, where),
                         Matrix<double>::zeros(features.left_rank(), features.left_rank())};
    for (Index r = 0; r < unit.rows.rows(); ++r) {
        const double norm = scaled_norm<double>(unit.rows.view().rows_from(r, 1)).norm(where);
        unit.change(r, r) = norm;
        for (Index i = 0; i < unit.rows.cols() && norm > 0; ++i) unit.rows(r, i) /= norm;
    }
    return unit;
}

/// Where loadings were fitted to data, what they explain of it; components that are not at right angles do not say it.
void measure_sites(Findings& findings, const std::vector<std::optional<double>>& norms2,
                   const std::vector<double>& described) {
    findings.shares_of_data =
        !norms2.empty() && std::ranges::all_of(norms2, [](const auto& n) { return n.has_value(); });
    for (std::size_t k = 0; k < norms2.size(); ++k) {
        findings.sites[k].explained = findings.shares_of_data ? described[k] : 1;
        if (findings.shares_of_data) findings.sites[k].norm2 = std::ldexp(*norms2[k], -2 * findings.exponent);
    }
}

}  // namespace

Findings load_findings(const fs::path& result) {
    const fs::path file = features_file(result);
    Model<double> model = to_double(load_model(file));
    if (!model.is_features()) {
        throw InputError({file.string(), "no features of a federation", "core_2 ... core_N",
                          "couplet simulate ... -o DIR writes them as DIR/features.npz."});
    }
    Findings findings{.source = result.string()};
    const nlohmann::json& metadata = model.metadata;
    const TensorTrain<double> train = train_of(model);
    findings.schema = make_schema(train.shape(), model.labels, file.string());
    findings.model = word_at(metadata, "model");
    OrthonormalRows features =
        findings.model.empty() ? orthonormal_rows(train, file.string()) : unit_rows(train, file.string());
    findings.rows = std::move(features.rows);
    if (findings.model.empty()) findings.energy = energy_of(metadata, features.change);
    findings.rse = number_at(metadata, "rse");
    findings.gains = gains_of(metadata);
    Centring centring = read_centring(metadata, file.string());
    findings.centred = !centring.weighted() && !centring.mean.empty();
    findings.scaled = !centring.scale.empty();
    if (centring.weighted()) findings.weighting = weighting_of(std::move(centring), findings.schema, file.string());
    findings.fit = fit_of(metadata);
    findings.left_sites = sentence_of_messages(metadata);
    if (metadata.contains("client_names")) findings.clients = static_cast<Index>(metadata["client_names"].size());
    // Only of a projection the part that is not described is what the error says.
    findings.shares_of_data = findings.fit.refit;
    std::vector<double> described;
    std::vector<std::optional<double>> norms2;
    const auto files =
        personal_files(file.parent_path(), findings.clients, findings.model.empty() ? personal_front : loadings_front);
    for (std::size_t k = 0; k < files.size(); ++k) {
        const Model<double> personal = load_personal(files[k], model);
        const nlohmann::json& mine = personal.metadata;
        require_numbered(files, k, findings.clients, mine);
        if (!require_same_run(model, file.string(), personal, files[k].string())) {
            findings.unmarked.push_back(files[k].string());
        }
        const Tensor<double>& core = personal.cores.front();
        const MatrixView<const double> rows(core.data(), core.shape()[1], core.shape()[2]);
        SiteScores site{
            .name = listed<std::string>(metadata, "client_names", k).value_or(fmt::format("site {}", k + 1)),
            .scores = product<double>(rows, features.change.view())};
        if (mine.contains("data") && mine["data"].is_string()) site.data = mine["data"];
        norms2.push_back(number_at(mine, "norm2"));
        auto rse = listed<double>(metadata, "rse_per_client", k);
        if (!rse) rse = number_at(mine, "rse");
        described.push_back(rse && *rse >= 0 && *rse < 1 ? 1 - *rse : 0);
        findings.sites.push_back(std::move(site));
    }
    make_shares_safe(findings, files);
    if (!findings.model.empty()) {
        measure_sites(findings, norms2, described);
        return findings;
    }
    // Shares of the data at some sites and of something else at others would not add up.
    const bool known = std::all_of(described.begin(), described.end(), [](double part) { return part > 0; });
    findings.shares_of_data = findings.shares_of_data && known && !described.empty();
    for (std::size_t k = 0; k < described.size() && findings.shares_of_data; ++k) {
        findings.sites[k].norm2 /= described[k];
    }
    return findings;
}

}  // namespace couplet
