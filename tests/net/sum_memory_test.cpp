#include "sum_memory.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

using SumMemoryTest = NetTest;

TEST_F(SumMemoryTest, OutlivesTheProcess) {
    const wire::JobId one{1};
    const wire::JobId two{2};
    SumRecord record{.sums = 3, .told = {}, .counts = {}, .cohort = {0, 2, 5}};
    record.told[30] = 5;
    record.counts[0] = 7;
    record.counts[31] = 9;
    {
        SumMemory memory(path("sums.json"));
        EXPECT_EQ(memory.of(one), SumRecord{});
        memory.keep(one, record);
        memory.keep(two, {.sums = 1, .told = {}, .counts = {}, .cohort = {}});
    }
    const SumMemory again(path("sums.json"));
    EXPECT_EQ(again.of(one), record);
    EXPECT_EQ(again.of(two).sums, 1);
}

TEST_F(SumMemoryTest, TwoProcessesOfAKitDoNotAnswerTheSame) {
    const wire::JobId one{1};
    SumMemory first(path("sums.json"));
    SumMemory second(path("sums.json"));
    second.keep(one, {.sums = 1, .told = {}, .counts = {}, .cohort = {}});
    EXPECT_NE(complaint([&] {
                  first.keep(one, {.sums = 1, .told = {}, .counts = {}, .cohort = {}});
              }).find("another process"),
              std::string::npos);
    first.keep(wire::JobId{2}, {.sums = 1, .told = {}, .counts = {}, .cohort = {}});
    second.keep(one, {.sums = 2, .told = {}, .counts = {}, .cohort = {}});
    const SumMemory again(path("sums.json"));
    EXPECT_EQ(again.of(one).sums, 2);
    EXPECT_EQ(again.of(wire::JobId{2}).sums, 1) << "nothing is erased";
}

TEST_F(SumMemoryTest, AFileThatCannotBeReadIsNotEmpty) {
    write_text(path("sums.json"), "[{\"job\": ");
    EXPECT_NE(complaint([&] { SumMemory{path("sums.json")}; }).find("the same could be asked again"),
              std::string::npos);
    write_text(path("sums.json"), R"([{"job": "ab", "sums": 1, "told": "zz", "counts": "zz", "cohort": []}])");
    EXPECT_NE(complaint([&] { SumMemory{path("sums.json")}; }), "");
}

}  // namespace
}  // namespace couplet::net
