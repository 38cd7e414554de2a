#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "couplet/tensor/shape.hpp"

namespace couplet {

/// What a column of a wide table is, of which nobody has said that it counts: identifiers would travel with the
/// features.
class ColumnWatch {
  public:
    void see(std::string_view cell);
    /// Why it is no feature, and what to do; nothing where it may be one. `label` and `unit` are those of the column.
    struct Doubt {
        std::string found = {};
        std::string remedy = {};
    };
    std::optional<Doubt> doubt(const std::string& label, const std::string& unit) const;

  private:
    Index filled_ = 0;
    Index whole_ = 0;  ///< cells of digits alone
    Index long_ = 0;   ///< of seven digits or more
    Index coded_ = 0;  ///< written as social security numbers are: 123-45-6789
    bool repeated_ = false;
    std::unordered_set<std::string> seen_ = {};  ///< until one comes again
};

/// Whether a column is called like an identifier of people: "MRN", "patient_id", "SSN".
bool names_identifier(std::string_view label);

}  // namespace couplet
