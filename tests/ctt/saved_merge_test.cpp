#include "couplet/ctt/saved_merge.hpp"

#include "couplet/core/error.hpp"
#include "federations.hpp"

namespace couplet {
namespace {

using namespace support;

SavedMerge merge_of(std::initializer_list<const char*> names) {
    SavedMerge merge;
    double size = 1;
    for (const char* name : names) {
        merge.contributions.push_back({name,
                                       {FeatureBlock(Matrix<double>::zeros(1, 6), {2, 3}),
                                        {1, static_cast<Index>(10 * size), size, 0.1 * size, 0.01 * size, 0}}});
        ++size;
    }
    return merge;
}

TEST(SavedMergeTest, AddsUpAndTakesOut) {
    SavedMerge merge = merge_of({"a", "b", "c"});
    EXPECT_EQ(merge.ledger().clients, 3);
    EXPECT_EQ(merge.ledger().rows, 60);
    EXPECT_EQ(merge.ledger().norm2, 6);
    const std::vector<std::string> again{"b", "x"};
    EXPECT_EQ(merge.take_out(again), (std::vector<std::string>{"b"}));
    EXPECT_EQ(merge.ledger().clients, 2);
    EXPECT_EQ(merge.ledger().norm2, 4);
    EXPECT_EQ(merge.contributions[0].client, "a");
    EXPECT_EQ(merge.contributions[1].client, "c");
    EXPECT_EQ(merge.states().size(), 2U);
    EXPECT_TRUE(merge.take_out(again).empty());
}

TEST(SavedMergeTest, CloneIsTheSame) {
    SavedMerge merge = merge_of({"a", "b"});
    merge.scale_clients = true;
    merge.schema = make_schema(Shape{2, 3}, {{"lab", {"x", "y"}, {}}, {}}, "test");
    merge.job.rank = 7;
    const SavedMerge copy = merge.clone();
    EXPECT_TRUE(copy.scale_clients);
    EXPECT_EQ(copy.schema, merge.schema);
    EXPECT_EQ(copy.job.rank, 7);
    EXPECT_EQ(copy.contributions[1].client, "b");
    EXPECT_EQ(copy.ledger().rows, merge.ledger().rows);
}

TEST(SavedMergeTest, ScaledAndUnscaledDoNotMix) {
    SavedMerge merge = merge_of({"a"});
    EXPECT_NO_THROW(require_resumable(merge, false, "s.npz"));
    const std::string scaled = message_of([&] { require_resumable(merge, true, "s.npz"); });
    EXPECT_NE(scaled.find("s.npz"), std::string::npos);
    EXPECT_NE(scaled.find("Leave `scale_clients` out"), std::string::npos) << scaled;
    merge.scale_clients = true;
    EXPECT_NO_THROW(require_resumable(merge, true, "s.npz"));
    const std::string plain = message_of([&] { require_resumable(merge, false, "s.npz"); });
    EXPECT_NE(plain.find("Use `scale_clients` norm"), std::string::npos) << plain;
}

}  // namespace
}  // namespace couplet
