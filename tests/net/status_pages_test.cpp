#include "status_pages.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

ShownStatus shown() {
    ShownStatus result;
    result.status.job = "0011";
    result.status.phase = "joining";
    result.status.clients.push_back({.name = "a", .state = "absent"});
    result.log = {"waiting for a"};
    return result;
}

TEST(StatusPages, EachHasItsAddress) {
    EXPECT_NE(status_reply("/", shown()).body.find("waiting for a"), std::string::npos);
    EXPECT_EQ(status_reply("/", shown()).type, "text/html; charset=utf-8");
    EXPECT_EQ(status_reply("/metrics", shown()).body, status_metrics(shown().status));
    const HttpReply json = status_reply("/status.json", shown());
    EXPECT_EQ(json.type, "application/json");
    EXPECT_EQ(parse_status(json.body, "page").job, "0011");
    EXPECT_EQ(status_reply("/healthz", shown()).body, "ok\n");
}

TEST(StatusPages, TroubleIsNotHealth) {
    ShownStatus deaf = shown();
    deaf.trouble = "too many open files";
    EXPECT_EQ(status_reply("/healthz", deaf).status, 503);
    EXPECT_EQ(status_reply("/healthz", deaf).body, "too many open files\n");
    EXPECT_EQ(status_reply("/", deaf).status, 200);
}

TEST(StatusPages, WhatIsNotThereSaysWhatIs) {
    const HttpReply none = status_reply("/admin", shown());
    EXPECT_EQ(none.status, 404);
    EXPECT_NE(none.body.find("/status.json"), std::string::npos);
}

}  // namespace
}  // namespace couplet::net
