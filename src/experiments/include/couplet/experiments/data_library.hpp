#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "couplet/core/spelling.hpp"
#include "couplet/data/dataset.hpp"
#include "couplet/data/file_content.hpp"
#include "couplet/sim/source.hpp"

namespace couplet {

/// How much of an experiment is computed: what the paper did, a version of minutes on smaller data and fewer places, or
/// one of milliseconds that only shows that everything works.
enum class Effort { tiny, quick, full };

std::string_view to_string(Effort effort) noexcept;

/// How `heldout` parts people; it asks the most of them, so data sets must have enough for it.
inline constexpr Index heldout_clients = 4;
inline constexpr double heldout_fraction = 0.2;

enum class DataId { synthetic3, synthetic4, ecg, diabetes, cms };

/// The tensor of an experiment before its rows are dealt to clients.
struct ExperimentData {
    DataId id = DataId::synthetic3;
    std::string title = {};  ///< "Diabetes"
    Dataset dataset = {};
    Index rank = 1;  ///< R1 that the paper chose for it, or a smaller one for less data

    /// The rows over K clients, in order.
    MemorySource split(Index clients) const;
};

std::string_view data_title(DataId id) noexcept;

/// Whether a data set comes from a public file; others are generated.
bool is_public(DataId id) noexcept;

/// A sentence for a file with another number of rows than the published one; empty for the same.
std::string unlike_published(DataId id, const std::string& file, Index rows);

/// The file behind a data set.
struct DataOrigin {
    std::string file = {};
    FileContent content = {};
    Index rows = 0;  ///< of data; 0 before the data set was opened
    friend bool operator==(const DataOrigin&, const DataOrigin&) = default;
};

/// Opens the data sets of the experiments. Files that are not there are no error: they are asked for in words.
class DataLibrary {
  public:
    /// `place`: the folder of the public data; without, COUPLET_DATA. Throws InputError when either is given and is no
    /// folder. `spelling`: how those who read absent() write parameters.
    explicit DataLibrary(std::optional<std::filesystem::path> place = {}, Effort effort = Effort::full,
                         Spelling spelling = {});

    /// The data set, drawn with this seed; the latest of each kind is kept. Null when its file is not there: then
    /// absent(id) says what is missing. Throws InputError, which names file, column and where the file comes from, when
    /// it is there and is not what it should be, or has too few people for the experiments.
    std::shared_ptr<const ExperimentData> open(DataId id, std::uint64_t seed);
    /// What is missing for a data set and where one gets it; empty when nothing is.
    std::string absent(DataId id) const;
    /// The file that is used for a data set, read once; nothing when it is absent or generated. Throws InputError when
    /// it cannot be read.
    std::optional<DataOrigin> origin(DataId id);
    Effort effort() const noexcept { return effort_; }

  private:
    Dataset load(DataId id, std::uint64_t seed) const;

    std::optional<std::filesystem::path> place_;
    Effort effort_;
    Spelling spelling_;
    std::map<DataId, std::pair<std::uint64_t, std::shared_ptr<const ExperimentData>>> latest_;
    std::map<std::filesystem::path, FileContent> contents_;
};

}  // namespace couplet
