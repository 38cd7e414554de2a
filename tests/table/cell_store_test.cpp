#include "couplet/table/cell_store.hpp"

#include <map>

#include "couplet/core/random.hpp"
#include "table_test_support.hpp"

namespace couplet {
namespace {

using testing::TableTest;
using CellStoreTest = TableTest;

struct Event {
    CellKey key;
    double value;
    double time;
};

std::vector<Event> events(int count) {
    Random random(7);
    std::vector<Event> all;
    for (int i = 0; i < count; ++i) {
        const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random.below(n)); };
        all.push_back(
            {{below(40), {below(6), below(3), 0}}, static_cast<double>(below(9)) - 4, static_cast<double>(below(5))});
    }
    return all;
}

/// What the events become, one cell at a time.
std::map<CellKey, double> reference(const std::vector<Event>& all, CellRule rule) {
    std::map<CellKey, std::vector<Event>> cells;
    for (const Event& event : all) cells[event.key].push_back(event);
    std::map<CellKey, double> values;
    for (const auto& [key, list] : cells) {
        double sum = 0;
        Event last = list.front();
        for (const Event& event : list) {
            sum += event.value;
            const bool tie = event.time == last.time;
            if (event.time > last.time || (tie && event.value > last.value)) last = event;
        }
        const auto count = static_cast<double>(list.size());
        values[key] = rule == CellRule::presence ? 1
                      : rule == CellRule::count  ? count
                      : rule == CellRule::sum    ? sum
                      : rule == CellRule::mean   ? sum / count
                                                 : last.value;
    }
    return values;
}

TEST_F(CellStoreTest, GathersByEveryRuleWithAndWithoutSpilling) {
    const auto many = events(3000);
    const auto few = events(150);
    for (const CellRule rule : {CellRule::presence, CellRule::count, CellRule::sum, CellRule::mean, CellRule::last}) {
        EXPECT_EQ(parse_cell_rule(to_string(rule)), rule);
        for (const std::size_t budget : {std::size_t{1} << 24, std::size_t{9000}, std::size_t{1}}) {
            // Without any memory every event is a file.
            const auto& all = budget == 1 ? few : many;
            CellStore store(rule, folder_, budget);
            for (const Event& event : all) store.add(event.key, event.value, event.time);
            store.close();
            EXPECT_EQ(store.runs() > 0, budget < (1 << 20));
            std::map<CellKey, double> found;
            CellKey before{};
            store.for_each([&](const CellKey& key, double value) {
                EXPECT_TRUE(found.empty() || before < key);
                before = key;
                found[key] = value;
            });
            EXPECT_EQ(found, reference(all, rule)) << to_string(rule) << " " << budget;
        }
    }
    EXPECT_TRUE(files().empty());  // what it puts aside has no name
}

TEST_F(CellStoreTest, WhatRoundingLeavesOutOfASumIsNotLost) {
    for (const CellRule rule : {CellRule::sum, CellRule::mean}) {
        for (const std::size_t budget : {std::size_t{1} << 24, std::size_t{1}}) {
            CellStore store(rule, folder_, budget);
            for (const double value : {1e16, 1.0, -1e16, 2.0}) store.add({.patient = 3, .codes = {}}, value, 0);
            store.close();
            double found = 0;
            store.for_each([&](const CellKey&, double value) { found = value; });
            EXPECT_EQ(found, rule == CellRule::sum ? 3 : 0.75) << budget;
        }
    }
}

TEST_F(CellStoreTest, RefusesUnknownRulesAndMissingFolders) {
    EXPECT_THROW(parse_cell_rule("most"), InputError);
    CellStore store(CellRule::sum, path("nowhere"), 1);
    EXPECT_THROW(store.add({}, 1, 0), RunError);
}

}  // namespace
}  // namespace couplet
