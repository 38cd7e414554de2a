#include "couplet/data/ecg.hpp"

#include <fmt/format.h>

#include <set>

#include "couplet/data/data_file.hpp"
#include "data_test_support.hpp"

namespace couplet {
namespace {

using testing::at;
using testing::DataTest;
using testing::refusal;

/// Point t of beat p is p + t/256; even beats are normal.
double point(Index p, Index t) { return static_cast<double>(p) + static_cast<double>(t) / 256; }

std::string beats(Index count) {
    std::string text;
    for (Index p = 0; p < count; ++p) {
        for (Index t = 0; t < 140; ++t) text += fmt::format("{},", point(p, t));
        text += p % 2 == 0 ? "1.0\n" : "0.0\n";
    }
    return text;
}

using EcgTest = DataTest;

TEST_F(EcgTest, MakesOuterProducts) {
    const Dataset data = load_ecg(put("ecg.csv", beats(6)), {.count = {}, .points = 3, .seed = 1});
    EXPECT_EQ(data.tensor.shape(), (Shape{6, 3, 140}));
    EXPECT_EQ(data.available, 6);
    EXPECT_EQ(data.source, path("ecg.csv"));
    std::set<Index> seen;
    for (Index row = 0; row < 6; ++row) {
        // x[1] x[0] and x[0] x[0] give the beat back.
        const auto p = static_cast<Index>(std::lround(std::sqrt(at(data.tensor, {row, 0, 0}))));
        seen.insert(p);
        EXPECT_EQ(data.labels[static_cast<std::size_t>(row)], 1 - p % 2);
        for (Index i = 0; i < 3; ++i) {
            for (Index t = 0; t < 140; ++t) EXPECT_EQ(at(data.tensor, {row, i, t}), point(p, i) * point(p, t));
        }
    }
    EXPECT_EQ(seen.size(), 6u);
    EXPECT_EQ(data.tensor.labels()[0], (ModeLabels{"beat", {}}));
}

TEST_F(EcgTest, EmbedsLags) {
    const Dataset data =
        load_ecg(put("ecg.csv", beats(1)), {.count = 1, .points = 140, .embedding = EcgEmbedding::lag});
    EXPECT_EQ(data.tensor.shape(), (Shape{1, 140, 140}));
    EXPECT_EQ(at(data.tensor, {0, 3, 5}), point(0, 8));
    EXPECT_EQ(at(data.tensor, {0, 139, 139}), point(0, 138));
}

TEST_F(EcgTest, PicksBeatsBySeed) {
    const std::string file = put("ecg.csv", beats(20));
    const auto picked = [&](std::uint64_t seed) {
        return testing::values_of(load_ecg(file, {.count = 5, .points = 1, .seed = seed}).tensor);
    };
    EXPECT_EQ(picked(3), picked(3));
    EXPECT_NE(picked(3), picked(4));
}

TEST_F(EcgTest, TakesFiveClassesFromTheirFile) {
    const std::string file = put("ecg.csv", beats(2));
    const std::string classes = put("c.csv", "class5,ecg_csv_row,ecg5000_row,label01\n4,1,7,0\n1,0,3,1\n");
    const Dataset data = load_ecg(file, {.count = {}, .points = 1, .classes = classes});
    for (Index row = 0; row < 2; ++row) {
        EXPECT_EQ(data.labels[static_cast<std::size_t>(row)], at(data.tensor, {row, 0, 0}) == 0 ? 1 : 4);
    }
    const auto refused = [&](std::string_view text) {
        const std::string bad = put("bad.csv", text);
        return refusal([&] { load_ecg(file, {.count = 1, .classes = bad}); }).substr(bad.size());
    };
    EXPECT_EQ(refused("ecg_csv_row,class5\n0,1\n"),
              ": classes of 1 beats; expected 2, one for each row of ecg.csv. Use the two files that belong together.");
    EXPECT_EQ(refused("ecg_csv_row,class5\n0,1\n0,1\n"),
              ": line 3, column 1 ('ecg_csv_row') holds '0'; expected each row of ecg.csv once");
    EXPECT_EQ(refused("ecg_csv_row,class5\n2,1\n"),
              ": line 2, column 1 ('ecg_csv_row') holds '2'; expected a whole number from 0 to 1");
    EXPECT_EQ(
        refused("ecg_csv_row,class\n0,1\n"),
        ": columns 'ecg_csv_row', 'class'; expected a column 'class5'. Use the file as it was published, or rename the "
        "column that holds it.");
}

TEST_F(EcgTest, NamesWhatIsWrong) {
    const auto refused = [&](std::string_view text, EcgOptions options = {}) {
        const std::string file = put("ecg.csv", text);
        return refusal([&] { load_ecg(file, options); }).substr(file.size());
    };
    EXPECT_EQ(refused("1,2,3\n"),
              ": line 1 has 3 columns; expected 141: 140 points and the label. Use the file as it was published.");
    std::string text = beats(2);
    text.replace(text.rfind("1.5,"), 3, "x.5");
    EXPECT_EQ(refused(text),
              ": line 2, column 129 holds 'x.5'; expected a finite number. Use the file as it was published: it has a "
              "number in every row here.");
    text = beats(1);
    text.replace(text.rfind("1.0"), 3, "2.0");
    EXPECT_EQ(refused(text), ": line 1, column 141 holds '2.0'; expected a whole number from 0 to 1");
    EXPECT_EQ(
        refused(beats(3), {.count = 4}),
        ": 3 beats; expected at least the 4 asked for, and that at least 1. Ask for fewer beats, or check that the "
        "file is complete: it has 4998 lines as published.");
    EXPECT_NE(refused(beats(3), {.count = 0}), "nothing thrown");
    EXPECT_NE(refused("", {.count = {}}).find("0 beats"), std::string::npos);
    EXPECT_EQ(refusal([&] { load_ecg(path("ecg.csv"), {.points = 141}); }),
              "points: 141; expected a number from 1 to 140");
}

TEST_F(EcgTest, ReadsThePublishedFile) {
    COUPLET_NEEDS_DATA();
    const auto file = find_data_file(DataFile::ecg);
    const Dataset all = load_ecg(file, {.count = {}, .points = 1});
    EXPECT_EQ(all.available, 4998);
    EXPECT_EQ(std::count(all.labels.begin(), all.labels.end(), 1), 2919);
    EXPECT_EQ(std::count(all.labels.begin(), all.labels.end(), 0), 2079);
    const Dataset five = load_ecg(file, {.count = {}, .points = 1, .classes = find_data_file(DataFile::ecg_classes)});
    const std::vector<std::ptrdiff_t> expected{2919, 1765, 96, 194, 24};
    for (int c = 1; c <= 5; ++c)
        EXPECT_EQ(std::count(five.labels.begin(), five.labels.end(), c), expected[static_cast<std::size_t>(c - 1)]);
    for (std::size_t p = 0; p < all.labels.size(); ++p) ASSERT_EQ(all.labels[p] == 1, five.labels[p] == 1);
    const Dataset standard = load_ecg(file);
    EXPECT_EQ(standard.tensor.shape(), (Shape{1000, 110, 140}));
    EXPECT_EQ(standard.labels.size(), 1000u);
}

}  // namespace
}  // namespace couplet
