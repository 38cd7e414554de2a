#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "couplet/data/dataset.hpp"
#include "couplet/sim/source.hpp"

namespace couplet {

/// How much of an experiment is computed: what the paper did, a version of minutes on smaller data and fewer places, or
/// one of milliseconds that only shows that everything works.
enum class Effort { tiny, quick, full };

std::string_view to_string(Effort effort) noexcept;

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

/// Opens the data sets of the experiments. Files that are not there are no error: they are asked for in words.
class DataLibrary {
  public:
    /// `place`: the folder of the public data; without, COUPLET_DATA. Throws InputError when `place` is given and is no
    /// folder.
    explicit DataLibrary(std::optional<std::filesystem::path> place = {}, Effort effort = Effort::full);

    /// The data set, drawn with this seed; the latest of each kind is kept. Null when its file is not there: then
    /// absent(id) says what is missing. Throws InputError, which names file, column and where the file comes from, when
    /// it is there and is not what it should be.
    std::shared_ptr<const ExperimentData> open(DataId id, std::uint64_t seed);
    /// What is missing for a data set and where one gets it; empty when nothing is.
    std::string absent(DataId id) const;
    Effort effort() const noexcept { return effort_; }

  private:
    Dataset load(DataId id, std::uint64_t seed) const;

    std::optional<std::filesystem::path> place_;
    Effort effort_;
    std::map<DataId, std::pair<std::uint64_t, std::shared_ptr<const ExperimentData>>> latest_;
};

}  // namespace couplet
