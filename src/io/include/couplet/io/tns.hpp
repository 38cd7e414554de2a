#pragma once

#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "couplet/io/line_reader.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// Whether a FROSTT file counts its indices from 0 or from 1. `detect`: from 0 when any index is 0, else
/// from 1.
enum class IndexBase { detect, zero, one };

/// The entries of a sparse tensor, in the order of the file. Equal indices are merged only where there are many: then
/// the first keeps its place and holds the sum in the order of the file.
struct TnsEntries {
    std::vector<Index> sizes;    ///< largest index of each mode plus one; the product may exceed 64 bits
    std::vector<Index> indices;  ///< entry after entry, counted from 0
    std::vector<double> values;

    Index order() const noexcept { return static_cast<Index>(sizes.size()); }
    std::span<const Index> index(std::size_t entry) const {
        return std::span(indices).subspan(entry * sizes.size(), sizes.size());
    }
};

/// What reading may take.
struct TnsLimits {
    /// Of the dense tensor: refused by the line that makes it larger.
    Index max_bytes = std::numeric_limits<Index>::max();
    /// Entries kept before equal ones are merged, beyond two for each cell of the tensor so far.
    Index spare_entries = Index{1} << 20;
};

/// Reads lines "i_1 i_2 ... i_N value" (FROSTT .tns, plain or gzip); '#' starts a comment. Memory: at most five times
/// the text, and no more than 8 (N + 1) bytes for each entry that the limits let it keep. Throws InputError that names
/// the line for a bad index or value, another count of indices or a tensor beyond the limit, and for a file without
/// entries.
TnsEntries read_tns_entries(LineReader& lines, IndexBase base = IndexBase::detect, const TnsLimits& limits = {});
TnsEntries read_tns_entries(const std::filesystem::path& path, IndexBase base = IndexBase::detect);

/// The dense tensor; equal indices are summed. Throws InputError, naming `where`, when it needs more than
/// `max_bytes`, or more than 64 MiB and ten million numbers for each entry: a short file must not cost gigabytes.
Tensor<double> to_dense(const TnsEntries& entries, Index max_bytes, const std::string& where);

}  // namespace couplet
