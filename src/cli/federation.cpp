#include "federation.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <map>
#include <regex>
#include <set>
#include <utility>

#include "command.hpp"
#include "couplet/data/synthetic.hpp"
#include "couplet/io/data_print.hpp"
#include "format.hpp"
#include "inputs.hpp"

namespace couplet::cli {
namespace {

constexpr Index default_clients = 4;

[[noreturn]] void refuse(const std::string& where, const std::string& found, const std::string& expected,
                         const std::string& remedy) {
    throw InputError({where, found, expected, remedy});
}

void warn_of_twins(const std::vector<std::string>& files, const Session& session) {
    std::map<std::pair<dev_t, ino_t>, std::string> seen;
    for (const std::string& file : files) {
        struct stat about {};
        if (::stat(file.c_str(), &about) != 0) continue;
        const auto [first, is_new] = seen.emplace(std::pair{about.st_dev, about.st_ino}, file);
        if (is_new) continue;
        session.note(
            first->second == file
                ? fmt::format("warning: {} is given twice; its patients count twice", file)
                : fmt::format("warning: {} and {} are the same file; its patients count twice", first->second, file));
    }
}

void require_modes(const Tensor<double>& x, const std::string& name) {
    if (x.shape().order() >= 2) return;
    refuse(name, fmt::format("a tensor of order {}", x.shape().order()), "at least two modes: patients and a feature",
           "");
}

Tensor<double> read_client(const std::string& path, const FederationInput& input, const Session& session) {
    TensorFile file = input.missing ? read_incomplete_tensor(path) : read_tensor(path, input.missing_remedy);
    tell_oddities(file, session);
    Tensor<double> x = std::move(file).take<double>();
    require_modes(x, path);
    return x;
}

ModeLabels patients_of(const Tensor<double>& x) { return x.labels().empty() ? ModeLabels{} : x.labels().front(); }

/// The file itself, however it is named from here.
std::string normal(const std::string& file) {
    std::error_code failed;
    const auto path = std::filesystem::weakly_canonical(file, failed);
    return failed ? std::filesystem::path(file).lexically_normal().string() : path.string();
}

/// An identity: of all patients of something, or of one of several parts.
struct Origin {
    std::string what;
    Index parts = 1;
};

std::string part_of(const std::string& what, std::size_t part, Index parts) {
    return fmt::format("{} part {} of {}", what, part, parts);
}

Origin origin_of(const std::string& identity) {
    static const std::regex pattern("(.*) part [0-9]+ of ([0-9]{1,18})");
    std::smatch found;
    if (!std::regex_match(identity, found, pattern)) return {identity};
    return {found[1].str(), std::stoll(found[2].str())};
}

/// A file given twice is two clients.
std::string identity_of(const std::string& file, const std::vector<std::string>& before) {
    std::string name = normal(file);
    for (int again = 2; std::find(before.begin(), before.end(), name) != before.end(); ++again) {
        name = fmt::format("{} ({})", normal(file), again);
    }
    return name;
}

Shape without_first(const Shape& shape) {
    const auto sizes = shape.sizes().subspan(1);
    return Shape(std::vector<Index>(sizes.begin(), sizes.end()));
}

/// What a path says about whose file it is.
std::string site_of(const std::string& file) {
    const auto path = std::filesystem::path(file).lexically_normal();
    const bool table = path.stem() == "tensor" && path.parent_path().has_filename();
    return table ? path.parent_path().filename().string() : path.stem().string();
}

/// All of them or none: a mixture of short and long names would suggest a difference.
std::vector<std::string> sites_of(const std::vector<std::string>& files) {
    std::vector<std::string> sites;
    for (const std::string& file : files) sites.push_back(site_of(file));
    const std::set<std::string> different(sites.begin(), sites.end());
    return different.size() == sites.size() ? sites : files;
}

Federation from_files(const FederationInput& input, const Session& session) {
    const auto& files = input.files;
    warn_of_twins(files, session);
    Federation federation;
    std::vector<Tensor<double>> tensors;
    for (const std::string& file : files) {
        tensors.push_back(read_client(file, input, session));
        federation.personal_labels.push_back(patients_of(tensors.back()));
        federation.identities.push_back(identity_of(file, federation.identities));
        federation.rows.push_back(tensors.back().shape()[0]);
    }
    federation.features = without_first(tensors.front().shape());
    federation.names = files;
    federation.sites = sites_of(files);
    federation.description = files.size() == 1 ? files.front() : fmt::format("{} files", files.size());
    federation.source = std::make_unique<MemorySource>(std::move(tensors));
    federation.are_whole = true;
    return federation;
}

/// Clients that another program holds: nothing is copied.
Federation from_memory(const FederationInput& input) {
    Federation federation;
    federation.names = input.names;
    for (std::size_t k = 0; k < input.tensors.size(); ++k) {
        const Tensor<double>& x = *input.tensors[k];
        const std::string name = input.names.empty() ? fmt::format("client {}", k + 1) : input.names[k];
        require_modes(x, name);
        if (!input.missing) require_finite(x.view(), name);
        federation.personal_labels.push_back(patients_of(x));
        federation.identities.push_back(name);
        federation.rows.push_back(x.shape()[0]);
    }
    federation.features = without_first(input.tensors.front()->shape());
    federation.description = "memory";
    federation.source = std::make_unique<MemorySource>(MemorySource::sharing(input.tensors));
    federation.are_whole = true;
    return federation;
}

/// `source` is where the tensor came from, `identity` what it is known by.
Federation from_split(const Tensor<double>& x, Index clients, const std::string& source, const std::string& identity) {
    Federation federation;
    auto parts = split_rows(x.view(), clients);
    const ModeLabels all = patients_of(x);
    std::size_t first = 0;
    for (auto& part : parts) {
        const auto count = static_cast<std::size_t>(part.shape()[0]);
        ModeLabels own{all.name, {}};
        if (!all.entries.empty()) {
            const auto begin = all.entries.begin() + static_cast<std::ptrdiff_t>(first);
            own.entries.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
        }
        if (Labels labels = x.labels(); !labels.empty()) {
            labels.front() = own;
            part.set_labels(std::move(labels));
        }
        federation.personal_labels.push_back(std::move(own));
        federation.identities.push_back(part_of(identity, federation.identities.size() + 1, clients));
        federation.rows.push_back(part.shape()[0]);
        first += count;
    }
    federation.features = without_first(x.shape());
    federation.description = fmt::format("the rows of {}", source);
    federation.source = std::make_unique<MemorySource>(std::move(parts));
    return federation;
}

Federation from_recipe(const std::string& text, Index clients, const Session& session) {
    Federation federation;
    auto spec = parse_synthetic(text, session.seed());
    // Fewer patients than clients cannot be divided: the other reading is the only one there is.
    if (text.find("patients=") == std::string::npos && spec.shape[0] < clients) {
        spec.patients = PatientCount::each;
        session.note(fmt::format("note: {} patients are fewer than {} clients: every client gets {} (patients=each)",
                                 spec.shape[0], clients, spec.shape[0]));
    }
    auto made = std::make_shared<const SyntheticClients>(std::move(spec), clients);
    for (Index k = 0; k < clients; ++k) federation.rows.push_back(made->patients(k));
    federation.features = without_first(made->spec().shape);
    federation.description = "synthetic " + to_string(made->spec());
    for (Index k = 0; k < clients; ++k) {
        const std::string all = fmt::format("{} seed {}", federation.description, session.seed());
        federation.identities.push_back(part_of(all, static_cast<std::size_t>(k) + 1, clients));
    }
    federation.source = std::make_unique<LazySource>(clients, [made](Index k) { return made->client(k); });
    return federation;
}

}  // namespace

void require_same_parts(const std::vector<std::string>& identities, const std::vector<std::string>& merged,
                        const std::string& merge) {
    const auto in_parts = [](Index parts) {
        return parts == 1 ? std::string("whole") : fmt::format("in {} parts", parts);
    };
    std::map<std::string, Index> known;
    for (const std::string& identity : merged) {
        const Origin origin = origin_of(identity);
        known.emplace(origin.what, origin.parts);
    }
    for (const std::string& identity : identities) {
        const Origin origin = origin_of(identity);
        const auto at = known.find(origin.what);
        if (at == known.end() || at->second == origin.parts) continue;
        refuse(origin.what, in_parts(origin.parts), fmt::format("{}, as {} has it", in_parts(at->second), merge),
               "The same patients would count twice: divide it as before, so that it replaces what it sent, or begin a "
               "new merge.");
    }
}

std::string Federation::name(Index k) const {
    return names.empty() ? fmt::format("client {}", k + 1) : names[static_cast<std::size_t>(k)];
}

std::string Federation::print_of(Index k) const {
    return are_whole ? data_print(source->client(k)->view()) : std::string();
}

std::string Federation::site(Index k) const { return sites.empty() ? name(k) : sites[static_cast<std::size_t>(k)]; }

InputError Federation::named(const InputError& error) const {
    ErrorParts parts = error.parts();
    constexpr std::string_view front = "client ";
    if (names.empty() || !parts.where.starts_with(front)) return InputError(parts);
    Index k = 0;
    const char* end = parts.where.data() + parts.where.size();
    const auto [rest, code] = std::from_chars(parts.where.data() + front.size(), end, k);
    if (code == std::errc() && rest == end && k >= 1 && k <= clients()) {
        parts.where = fmt::format("{} (client {})", name(k - 1), k);
        const std::string as = "as client ";
        if (const auto at = parts.expected.find(as); at != std::string::npos) {
            const auto digits = at + as.size();
            Index other = 0;
            const auto last =
                std::from_chars(parts.expected.data() + digits, parts.expected.data() + parts.expected.size(), other)
                    .ptr;
            if (other >= 1 && other <= clients()) {
                const auto length = static_cast<std::size_t>(last - (parts.expected.data() + at));
                parts.expected.replace(at, length, "as " + name(other - 1));
            }
        }
    }
    return InputError(parts);
}

Federation open_federation(const FederationInput& input, const Session& session) {
    if (input.synthetic) {
        if (!input.tensors.empty()) refuse("--synthetic", "given with tensors", "one or the other", "");
        if (!input.files.empty()) {
            refuse(input.files.front(), "a file together with --synthetic", "one or the other", "");
        }
        if (input.split) refuse("--split", "given with --synthetic", "--clients K", "");
        return from_recipe(*input.synthetic, input.clients.value_or(default_clients), session);
    }
    if (input.clients) {
        refuse("--clients", "given with files or tensors", "it with --synthetic only",
               "Every file is a client; --split K deals the rows of one file to K clients.");
    }
    if (!input.tensors.empty()) {
        if (!input.split) return from_memory(input);
        if (input.tensors.size() > 1) {
            refuse("--split", fmt::format("{} tensors", input.tensors.size()), "one tensor to split", "");
        }
        require_modes(*input.tensors.front(), "tensor");
        if (!input.missing) require_finite(input.tensors.front()->view(), "tensor");
        const std::string name = input.names.empty() ? "one tensor" : input.names.front();
        return from_split(*input.tensors.front(), *input.split, "one tensor", name);
    }
    if (input.files.empty()) {
        refuse("FILES...", "no clients", "one tensor file per client, or --synthetic SPEC",
               "For example: couplet simulate a.npy b.npy c.npy --rank 10");
    }
    if (!input.split) return from_files(input, session);
    if (input.files.size() > 1) {
        refuse("--split", fmt::format("{} files", input.files.size()), "one file to split",
               "Without --split every file is a client.");
    }
    const std::string& file = input.files.front();
    return from_split(read_client(file, input, session), *input.split, file, normal(file));
}

void add_federation_input(Command& app, FederationInput& input) {
    app.add_option("FILES...", input.files,
                   "A tensor per client: .npy, .npz, .csv, .csv.gz or .tns; the first mode counts patients")
        .type("FILE");
    add_text(app, "--split", "K", "", "Deal the rows of one file to K clients, in order", [&input](const auto& text) {
        input.split =
            parse_count({"--split", "K", 1, std::numeric_limits<Index>::max(), "It is the number of clients."}, text);
    });
    add_text(
        app, "--synthetic", "SPEC", "",
        "Generate the clients, each when it is needed: 200x30x30, or a shape with options as in couplet data --help",
        [&input](const auto& text) { input.synthetic = text; });
    add_text(app, "--clients", "K", "4", "Clients that --synthetic makes", [&input](const auto& text) {
        input.clients = parse_count({"--clients", "K", 1, 1'000'000, "It is the number of clients."}, text);
    });
}

}  // namespace couplet::cli
