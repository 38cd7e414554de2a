#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
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

/// What events call one code, and how many patients' events do. Nearly always that is one label, which costs nothing:
/// patients are remembered of others alone.
class LabelBook {
  public:
    struct Best {
        std::string label = {};
        Index patients = 0;  ///< at least so many
    };
    void add(std::string_view label, std::uint32_t patient) {
        if (label.empty() || label == first_) return;
        if (first_.empty()) {
            first_ = label;
            return;
        }
        auto at = std::find_if(others_.begin(), others_.end(), [&](const auto& one) { return one.label == label; });
        if (at == others_.end() && others_.size() == most_labels) --at;
        if (at == others_.end())
            at = others_.insert(at, {.label = others_.size() + 1 < most_labels ? std::string(label) : ""});
        const auto place = std::lower_bound(at->patients.begin(), at->patients.end(), patient);
        const bool known = place != at->patients.end() && *place == patient;
        if (!known && at->patients.size() < most_patients) at->patients.insert(place, patient);
    }
    /// The label of most patients, of a code that `all` patients have.
    Best best(Index all) const {
        Best result{first_, all};
        for (const Other& other : others_) {
            const auto count = static_cast<Index>(other.patients.size());
            result.patients -= other.patients.size() < most_patients ? count : all;
        }
        result.patients = std::max<Index>(0, result.patients);
        for (const Other& other : others_) {
            const auto count = static_cast<Index>(other.patients.size());
            if (!other.label.empty() && count > result.patients) result = {other.label, count};
        }
        return result;
    }

  private:
    struct Other {
        std::string label = {};  ///< empty: all that did not find a place of their own
        std::vector<std::uint32_t> patients = {};
    };
    static constexpr std::size_t most_labels = 16;
    static constexpr std::size_t most_patients = 1000;
    std::string first_;
    std::vector<Other> others_;
};

/// What is known of a code beside its name.
struct CodeFacts {
    LabelBook labels = {};
    std::optional<std::string> unit = {};  ///< of its values; "" where they have none
    std::string system = {};               ///< the code list that it is of
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
