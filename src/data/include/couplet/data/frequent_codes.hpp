#pragma once

#include <map>
#include <string>
#include <vector>

#include "couplet/tensor/shape.hpp"

namespace couplet {

/// Orders codes as numbers when both are plain digits: shorter first, then by text.
struct CodeOrder {
    bool operator()(const std::string& a, const std::string& b) const noexcept {
        return a.size() != b.size() ? a.size() < b.size() : a < b;
    }
};

using CodeCounts = std::map<std::string, Index, CodeOrder>;

/// The `wanted` codes with the largest counts, largest first, ties in CodeOrder. Throws InputError, naming `where` and
/// `what` ("diagnoses"), unless 1 <= wanted <= number of codes.
std::vector<std::string> frequent_codes(const CodeCounts& counts, Index wanted, const std::string& where,
                                        const std::string& what);

}  // namespace couplet
