#include "toml_keys.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <toml++/toml.h>
#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

namespace couplet::net {
namespace {

std::string line_of(const std::string& where, const toml::source_region& place) {
    return fmt::format("{} line {}", where, place.begin.line);
}

toml::table parse(const std::string& text, const std::string& where, const std::string& what) {
    try {
        return toml::parse(text);
    } catch (const toml::parse_error& error) {
        throw InputError({line_of(where, error.source()), std::string(error.description()), what + " in TOML", ""});
    }
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

struct TomlKeys::Parts {
    toml::table table;
    std::string where;
    std::vector<std::string> taken = {};

    const toml::node* take(const char* key) {
        taken.emplace_back(key);
        return table.get(key);
    }
};

TomlKeys::TomlKeys(const std::string& text, std::string where, const std::string& what)
    : parts_(new Parts{parse(text, where, what), std::move(where)}) {}
TomlKeys::~TomlKeys() = default;

void TomlKeys::count(const char* key, Index& value, Index least) {
    const toml::node* node = parts_->take(key);
    if (node == nullptr) return;
    const auto found = node->value_exact<std::int64_t>();
    if (!found || *found < least) throw wrong(key, fmt::format("a whole number, at least {}", least));
    value = *found;
}

void TomlKeys::number(const char* key, double& value) {
    const toml::node* node = parts_->take(key);
    if (node == nullptr) return;
    const auto found = node->value<double>();
    if (!found || !(*found >= 0) || !std::isfinite(*found)) throw wrong(key, "a number, at least 0");
    value = *found;
}

void TomlKeys::share(const char* key, double& value) {
    const toml::node* node = parts_->take(key);
    if (node == nullptr) return;
    const auto found = node->value<double>();
    if (!found || !(*found >= 0 && *found <= 1)) throw wrong(key, "a number from 0 to 1");
    value = *found;
}

void TomlKeys::probability(const char* key, double& value) {
    const toml::node* node = parts_->take(key);
    if (node == nullptr) return;
    const auto found = node->value<double>();
    if (!found || !(*found > 0 && *found < 1)) throw wrong(key, "a number between 0 and 1");
    value = *found;
}

void TomlKeys::flag(const char* key, bool& value) {
    const toml::node* node = parts_->take(key);
    if (node == nullptr) return;
    const auto found = node->value_exact<bool>();
    if (!found) throw wrong(key, "true or false");
    value = *found;
}

void TomlKeys::word(const char* key, std::string& value, const std::vector<std::string>& words) {
    const toml::node* node = parts_->take(key);
    if (node == nullptr) return;
    const auto found = node->value<std::string>();
    if (!found || !contains(words, *found)) throw wrong(key, fmt::format("one of {}", fmt::join(words, ", ")));
    value = *found;
}

void TomlKeys::list(const char* key, std::vector<std::string>& value, const std::vector<std::string>& words) {
    const toml::node* node = parts_->take(key);
    if (node == nullptr) return;
    const std::string expected = fmt::format("a list of {}", fmt::join(words, ", "));
    const toml::array* items = node->as_array();
    if (items == nullptr) throw wrong(key, expected);
    value.clear();
    for (const auto& item : *items) {
        const auto found = item.value<std::string>();
        if (!found || !contains(words, *found)) throw wrong(key, expected);
        value.push_back(*found);
    }
}

void TomlKeys::require_all_known(const std::string& why) const {
    for (const auto& [key, unused] : parts_->table) {
        if (contains(parts_->taken, key.str())) continue;
        throw InputError({line_of(parts_->where, key.source()), fmt::format("the key {}", key.str()),
                          fmt::format("{}", fmt::join(parts_->taken, ", ")), why});
    }
}

InputError TomlKeys::wrong(const char* key, const std::string& expected) const {
    const toml::node* node = parts_->table.get(key);
    std::ostringstream found;
    node->visit([&](const auto& value) { found << value; });
    return InputError({line_of(parts_->where, node->source()), fmt::format("{} = {}", key, found.str()), expected, ""});
}

}  // namespace couplet::net
