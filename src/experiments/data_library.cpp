#include "couplet/experiments/data_library.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/data/data_file.hpp"
#include "couplet/data/diabetes.hpp"
#include "couplet/data/ecg.hpp"
#include "couplet/data/ehr.hpp"
#include "couplet/data/synthetic.hpp"
#include "couplet/experiments/scale.hpp"

namespace couplet {
namespace {

namespace fs = std::filesystem;

/// Sizes by effort. What the paper fixes is in the last column.
struct Sizes {
    const char* synthetic3;
    const char* synthetic4;
    Index beats;
    Index points;
    Index people;
    Index codes;
};

Sizes sizes(Effort effort) {
    switch (effort) {
        case Effort::tiny:
            return {"48x8x7:rank=6", "40x6x5x4:rank=5,density=0.5", 40, 8, 80, 10};
        case Effort::quick:
            return {"200x30x30", "200x12x12x12", 240, 40, 1000, 20};
        case Effort::full:
            break;
    }
    return {"200x30x30", "200x20x20x20", 1000, 110, 1000, 40};
}

Index rank_of(DataId id, Effort effort) {
    switch (id) {
        case DataId::synthetic3:
        case DataId::synthetic4:
            return effort == Effort::tiny ? 4 : 20;
        case DataId::ecg:
            return effort == Effort::tiny ? 4 : effort == Effort::quick ? 24 : 100;
        case DataId::diabetes:
            return effort == Effort::tiny ? 6 : 50;
        case DataId::cms:
            break;
    }
    return effort == Effort::tiny ? 6 : effort == Effort::quick ? 30 : 50;
}

std::optional<DataFile> file_of(DataId id) {
    switch (id) {
        case DataId::ecg:
            return DataFile::ecg;
        case DataId::diabetes:
            return DataFile::diabetes;
        case DataId::cms:
            return DataFile::cms;
        case DataId::synthetic3:
        case DataId::synthetic4:
            break;
    }
    return std::nullopt;
}

/// Records without which a client could not give the rank in `heldout`. The other data sets are drawn to a size that
/// all can use.
Index records_needed(Index rank) {
    Index each = rank;
    while (each - std::llround(heldout_fraction * static_cast<double>(each)) < rank) ++each;
    return heldout_clients * each;
}

void require_people(const ExperimentData& data) {
    const Index found = data.dataset.tensor.shape()[0];
    const Index needed = data.id == DataId::cms ? records_needed(data.rank) : 1;
    if (found >= needed) return;
    throw InputError({data.dataset.source,
                      fmt::format("{} people with a frequent diagnosis and a frequent medication, in {} rows", found,
                                  short_number(static_cast<double>(data.dataset.records))),
                      fmt::format("at least {}: {} clients, rank {}, {:.0f}% held out", needed, heldout_clients,
                                  data.rank, 100 * heldout_fraction),
                      "Check that the file is complete."});
}

void require_folder(const fs::path& folder, const std::string& name) {
    std::error_code ignored;
    if (fs::is_directory(folder, ignored)) return;
    throw InputError({name, fs::exists(folder, ignored) ? "not a folder" : "no such folder",
                      "the folder of the public data", "Check the path."});
}

}  // namespace

std::string_view to_string(Effort effort) noexcept {
    switch (effort) {
        case Effort::tiny:
            return "tiny";
        case Effort::quick:
            return "quick";
        case Effort::full:
            break;
    }
    return "full";
}

std::string_view data_title(DataId id) noexcept {
    switch (id) {
        case DataId::synthetic3:
            return "Synthetic, order 3";
        case DataId::synthetic4:
            return "Synthetic, order 4";
        case DataId::ecg:
            return "ECG";
        case DataId::diabetes:
            return "Diabetes";
        case DataId::cms:
            break;
    }
    return "CMS records";
}

bool is_public(DataId id) noexcept { return file_of(id).has_value(); }

std::string unlike_published(DataId id, const std::string& file, Index rows) {
    const auto which = file_of(id);
    const auto published = which ? published_rows(*which) : std::nullopt;
    if (!published || rows == *published) return "";
    return fmt::format("{}: {} has {} rows; the published file has {}.", data_title(id), file,
                       short_number(static_cast<double>(rows)), short_number(static_cast<double>(*published)));
}

MemorySource ExperimentData::split(Index clients) const {
    return MemorySource(split_rows(dataset.tensor.view(), clients));
}

DataLibrary::DataLibrary(std::optional<fs::path> place, Effort effort, Spelling spelling)
    : place_(std::move(place)), effort_(effort), spelling_(std::move(spelling)) {
    const char* variable = std::getenv("COUPLET_DATA");
    if (place_) {
        require_folder(*place_, place_->string());
    } else if (variable != nullptr && *variable != '\0') {
        require_folder(variable, "COUPLET_DATA=" + std::string(variable));
    }
}

std::string DataLibrary::absent(DataId id) const {
    const auto file = file_of(id);
    if (!file) return "";
    try {
        find_data_file(*file, place_);
        return "";
    } catch (const InputError& error) {
        const ErrorParts parts = spelled(error.parts(), spelling_);
        return std::string(data_title(id)) + ": " + parts.where + ": " + parts.found + ". " + parts.remedy;
    }
}

std::optional<DataOrigin> DataLibrary::origin(DataId id) {
    const auto which = file_of(id);
    if (!which || !absent(id).empty()) return std::nullopt;
    const fs::path file = find_data_file(*which, place_);
    auto known = contents_.find(file);
    if (known == contents_.end()) known = contents_.emplace(file, content_of(file)).first;
    const auto opened = latest_.find(id);
    return DataOrigin{.file = file.string(),
                      .content = known->second,
                      .rows = opened == latest_.end() ? 0 : opened->second.second->dataset.records};
}

Dataset DataLibrary::load(DataId id, std::uint64_t seed) const {
    const Sizes size = sizes(effort_);
    switch (id) {
        case DataId::synthetic3:
        case DataId::synthetic4: {
            const char* spec = id == DataId::synthetic3 ? size.synthetic3 : size.synthetic4;
            return {.tensor = SyntheticClients(parse_synthetic(spec, seed), 1).client(0)};
        }
        case DataId::ecg:
            return load_ecg(find_data_file(DataFile::ecg, place_),
                            {.count = size.beats, .points = size.points, .seed = seed});
        case DataId::diabetes:
            return load_diabetes(find_data_file(DataFile::diabetes, place_), {.count = size.people, .seed = seed});
        case DataId::cms:
            break;
    }
    return load_cms(find_data_file(DataFile::cms, place_), {.diagnoses = size.codes, .medications = size.codes});
}

std::shared_ptr<const ExperimentData> DataLibrary::open(DataId id, std::uint64_t seed) {
    if (!absent(id).empty()) return nullptr;
    const auto kept = latest_.find(id);
    if (kept != latest_.end() && kept->second.first == seed) return kept->second.second;
    latest_.erase(id);  // two of the larger ones are a quarter of a GiB
    try {
        auto data = std::make_shared<ExperimentData>();
        data->id = id;
        data->title = data_title(id);
        data->dataset = load(id, seed);
        data->rank = rank_of(id, effort_);
        require_people(*data);
        latest_[id] = {seed, data};
        return data;
    } catch (const InputError& error) {
        const auto file = file_of(id);
        if (!file) throw;
        ErrorParts parts = error.parts();
        if (!parts.remedy.empty()) parts.remedy += " ";
        parts.remedy += "The public file: " + data_file_origin(*file) + ".";
        throw InputError(std::move(parts));
    }
}

}  // namespace couplet
