#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "couplet/tensor/shape.hpp"

namespace couplet {

/// Numbers texts in the order in which they first come.
class TextBook {
  public:
    struct Found {
        std::uint32_t number = 0;
        bool fresh = false;
    };
    Found find_or_add(std::string_view text) {
        if (const auto at = numbers_.find(text); at != numbers_.end()) return {at->second, false};
        const auto number = static_cast<std::uint32_t>(texts_.size());
        numbers_.emplace(texts_.emplace_back(text), number);
        return {number, true};
    }
    std::size_t size() const noexcept { return texts_.size(); }
    const std::string& operator[](std::size_t number) const { return texts_[number]; }

  private:
    std::deque<std::string> texts_;  ///< a deque keeps its elements in place: the map looks at them
    std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

/// What is known of a code beside its name.
struct CodeFacts {
    std::string label = {};
    std::string unit = {};
    Index events = 0;
    Index patients = 0;
    Index group = 0;  ///< of a wide table: the place of its column
};

/// The codes of one mode as they come.
struct CodeBook {
    TextBook codes = {};
    std::vector<CodeFacts> facts = {};

    /// The facts of a code, which may be new.
    std::pair<std::uint32_t, CodeFacts*> at(std::string_view code) {
        const auto found = codes.find_or_add(code);
        if (found.fresh) facts.emplace_back();
        return {found.number, &facts[found.number]};
    }
};

}  // namespace couplet
