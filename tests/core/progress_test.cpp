#include "couplet/core/progress.hpp"

#include <gtest/gtest.h>

namespace couplet {
namespace {

TEST(Progress, SinkReceivesEveryReportInOrder) {
    std::vector<std::string> seen;
    const ProgressSink sink = [&](const ProgressEvent& event) {
        seen.push_back(std::string(event.phase) + " " + std::to_string(event.done) + "/" + std::to_string(event.total));
    };
    report(sink, "read", 1, 2);
    report(sink, "read", 2, 2);
    report(sink, "write", 0, 1);
    EXPECT_EQ(seen, (std::vector<std::string>{"read 1/2", "read 2/2", "write 0/1"}));
}

TEST(Progress, AnEmptySinkIsAllowed) { EXPECT_NO_THROW(report(ProgressSink{}, "read", 1, 2)); }

TEST(Progress, WhatTheSinkThrowsReachesTheCaller) {
    const ProgressSink sink = [](const ProgressEvent&) { throw std::runtime_error("cancelled"); };
    EXPECT_THROW(report(sink, "read", 1, 2), std::runtime_error);
}

}  // namespace
}  // namespace couplet
