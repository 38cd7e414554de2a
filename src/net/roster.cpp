#include "roster.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace couplet::net {

std::vector<std::string> names_of(const std::vector<std::string>& roster, const std::vector<Index>& places) {
    std::vector<std::string> names;
    for (const Index place : places) names.push_back(roster[static_cast<std::size_t>(place)]);
    return names;
}

std::string list_of(const std::vector<std::string>& roster, const std::vector<Index>& places) {
    return fmt::format("{}", fmt::join(names_of(roster, places), ", "));
}

}  // namespace couplet::net
