#include "couplet/data/client_files.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/data/client_folder.hpp"
#include "couplet/io/atomic_file.hpp"
#include "couplet/io/file_lock.hpp"
#include "couplet/io/made_folder.hpp"
#include "couplet/io/npy.hpp"
#include "couplet/io/staged_files.hpp"

namespace couplet {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* manifest_name = "manifest.json";

std::string client_name(Index k) { return "client_" + std::to_string(k + 1) + ".npy"; }
std::string labels_name(Index k) { return "labels_" + std::to_string(k + 1) + ".npy"; }

/// Whether a file name is one that write_clients() gives, for any number of clients.
bool is_ours(std::string_view name) {
    if (name == manifest_name) return true;
    constexpr std::string_view ending = ".npy";
    if (!name.ends_with(ending)) return false;
    name.remove_suffix(ending.size());
    for (const std::string_view front : {"client_", "labels_"}) {
        if (!name.starts_with(front)) continue;
        const std::string_view number = name.substr(front.size());
        return !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
    }
    return false;
}

std::vector<fs::path> files_of_ours(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code failed;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
        if (is_ours(entry->path().filename().string())) files.push_back(entry->path());
    }
    if (failed) {
        throw InputError({folder.string(), failed.message(), "a folder that can be read", "Check its permissions."});
    }
    return files;
}

void prepare(const fs::path& folder, bool overwrite) {
    const std::vector<fs::path> old = files_of_ours(folder);
    if (!old.empty() && !overwrite) {
        throw InputError({old.front().string(), "the file exists", "a folder without clients",
                          "Choose another output folder, or use `force` to replace them."});
    }
    // A file that only looks like one of ours is somebody's.
    std::set<std::string> listed{manifest_name};
    for (const ListedClient& client : listed_clients(folder)) listed.insert({client.file, client.labels});
    for (const fs::path& file : old) {
        // Without a manifest they are what an interrupted run left.
        if (listed.size() == 1 || listed.contains(file.filename().string())) continue;
        throw InputError({file.string(), "a file that the folder's manifest does not list",
                          "a folder whose clients may be replaced", "Move it, or choose another output folder."});
    }
}

void write_labels(const fs::path& path, std::span<const std::int64_t> labels) {
    AtomicFile file(path, false);
    const std::string header = encode_npy_header("<i8", Shape{static_cast<Index>(labels.size())});
    file.write(std::as_bytes(std::span(header)));
    file.write(std::as_bytes(labels));
    file.commit();
}

void write_text(const fs::path& path, const std::string& text) {
    AtomicFile file(path, false);
    file.write(std::as_bytes(std::span(text)));
    file.commit();
}

void check_client(const Dataset& client, const Shape& first, Index k) {
    const Shape& shape = client.tensor.shape();
    const std::string where = "client " + std::to_string(k + 1);
    if (shape.order() < 1) throw InputError({where, "a scalar", "a tensor", ""});
    const auto features = [](const Shape& s) { return s.sizes().subspan(1); };
    if (!std::ranges::equal(features(shape), features(first))) {
        throw InputError({where, shape.to_string(), "the feature sizes of client 1, " + first.to_string(), ""});
    }
    if (!client.labels.empty() && static_cast<Index>(client.labels.size()) != shape[0]) {
        throw InputError({where, std::to_string(client.labels.size()) + " labels",
                          std::to_string(shape[0]) + ", one per index of mode 1", ""});
    }
}

Json mode_labels(const Labels& labels) {
    Json modes = Json::array();
    for (const ModeLabels& mode : labels) {
        Json one{{"name", mode.name}, {"entries", mode.entries}};
        if (!mode.units.empty()) one["units"] = mode.units;
        modes.push_back(std::move(one));
    }
    return modes;
}

/// Writes one client after the other; all of them, and the manifest last, get their names by finish().
class FolderWriter {
  public:
    FolderWriter(const fs::path& folder, const Manifest& manifest, bool overwrite)
        : folder_(folder),
          lock_(lock_folder(folder)),
          overwrite_(overwrite),
          about_{{"kind", manifest.kind}, {"spec", manifest.spec}, {"seed", manifest.seed}} {
        prepare(folder, overwrite);
        files_.emplace(folder);
    }
    FolderWriter(const FolderWriter&) = delete;
    FolderWriter& operator=(const FolderWriter&) = delete;

    void add(const Dataset& client) {
        const Index k = static_cast<Index>(clients_.size());
        if (k == 0) {
            first_ = client.tensor.shape();
            about_["source"] = client.source;
            about_["shape"] = first_.sizes();
            about_["mode_labels"] = mode_labels(client.tensor.labels());
        }
        check_client(client, first_, k);
        const Index rows = client.tensor.shape()[0];
        rows_ += rows;
        Json entry{{"file", client_name(k)}, {"rows", rows}, {"labels", nullptr}};
        write_npy(files_->add(client_name(k)), client.tensor.view(), false);
        if (!client.labels.empty()) {
            write_labels(files_->add(labels_name(k)), client.labels);
            entry["labels"] = labels_name(k);
        }
        clients_.push_back(std::move(entry));
    }

    void finish() {
        about_["shape"][0] = rows_;
        about_["clients"] = std::move(clients_);
        const std::string text = about_.dump(2, ' ', false, Json::error_handler_t::replace);
        write_text(files_->add(manifest_name), text + "\n");
        files_->commit(overwrite_, overwrite_ ? stale() : std::vector<fs::path>());
    }

  private:
    /// What only the folder before had, and its manifest: a folder without one is known to be incomplete.
    std::vector<fs::path> stale() const {
        const std::set<std::string> names(files_->names().begin(), files_->names().end());
        std::vector<fs::path> files{folder_.path() / manifest_name};
        for (const fs::path& file : files_of_ours(folder_.path())) {
            if (!names.contains(file.filename().string())) files.push_back(file);
        }
        return files;
    }

    MadeFolder folder_;
    FileLock lock_;
    bool overwrite_;
    Json about_;
    Json clients_ = Json::array();
    Shape first_;
    Index rows_ = 0;
    std::optional<StagedFiles> files_;
};

void require_clients(Index clients) {
    if (clients < 1) throw InputError({"clients", std::to_string(clients), "at least 1", ""});
}

}  // namespace

void write_clients(const fs::path& folder, const Manifest& manifest, Index clients,
                   const std::function<Dataset(Index)>& client, bool overwrite) {
    require_clients(clients);
    FolderWriter writer(folder, manifest, overwrite);
    for (Index k = 0; k < clients; ++k) writer.add(client(k));
    writer.finish();
}

void write_clients(const fs::path& folder, const Manifest& manifest, std::span<const Dataset> clients, bool overwrite) {
    require_clients(static_cast<Index>(clients.size()));
    FolderWriter writer(folder, manifest, overwrite);
    for (const Dataset& client : clients) writer.add(client);
    writer.finish();
}

}  // namespace couplet
