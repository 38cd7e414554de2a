#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "couplet/data/dataset.hpp"

namespace couplet {

/// outer: X[p,i,t] = x[p,i] x[p,t]. lag: X[p,i,t] = x[p,(i+t) mod 140].
enum class EcgEmbedding { outer, lag };

struct EcgOptions {
    std::optional<Index> count = 1000;  ///< beats to pick; unset: all
    Index points = 110;                 ///< size of mode 2, from 1 to 140
    EcgEmbedding embedding = EcgEmbedding::outer;
    std::uint64_t seed = 0;
    /// ecg_csv_row_class5.csv(.gz): labels are then its five classes instead of 1 (normal) and 0.
    std::optional<std::filesystem::path> classes = {};
};

/// Beats x points x 140 from ecg.csv(.gz), 140 points and the label 0 or 1 a line, no header. Beats are picked at
/// random without replacement and come in random order, so that consecutive parts are alike. They are beats of one
/// patient. Throws InputError for another number of columns, a cell that is not a number, another label, or too few
/// beats.
Dataset load_ecg(const std::filesystem::path& file, const EcgOptions& options = {});

}  // namespace couplet
