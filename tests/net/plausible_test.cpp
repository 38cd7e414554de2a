#include "plausible.hpp"

#include <limits>

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

wire::JobSpec spec(bool scaled = false) {
    wire::JobSpec result{resolve_job({.rank = 3}), {}};
    result.preparation.scale_clients = scaled;
    return result;
}

TEST(Plausible, AGreetingLeavesRoomForTheOthers) {
    const auto said = [](const Hello& hello, bool scaled) {
        return complaint([&] { require_plausible_hello(spec(scaled), hello, "client a"); });
    };
    EXPECT_EQ(said({{5, 4}, 9, 1e150}, false), "");
    EXPECT_NE(said({{5, 4}, 9, 1e151}, false).find("client a: 9 patients with norm 1e+151"), std::string::npos);
    EXPECT_NE(said({{5, 4}, (Index{1} << 40) + 1, 1}, false).find("at most 1099511627776"), std::string::npos);
    EXPECT_EQ(said({{5, 4}, 9, 1 + 1e-7}, true), "");
    EXPECT_EQ(said({{5, 4}, 9, 0}, true), "") << "nothing has no norm to scale by";
    EXPECT_NE(said({{5, 4}, 9, 1.1}, true).find("expected 1, as `scale_clients` norm makes it"), std::string::npos);
    wire::JobSpec filling = spec(true);
    filling.missing.emplace();
    EXPECT_EQ(complaint([&] { require_plausible_hello(filling, {{5, 4}, 9, 7}, "client a"); }), "");
}

TEST(Plausible, ANormAfterCentringIsOne) {
    const auto said = [](double norm2, bool scaled) {
        return complaint([&] { require_plausible_norm2(spec(scaled), norm2, "client a"); });
    };
    EXPECT_EQ(said(7, false), "");
    EXPECT_EQ(said(1, true), "");
    EXPECT_EQ(said(0, true), "");
    EXPECT_NE(said(7, true), "");
    EXPECT_NE(said(-1, false), "");
    EXPECT_NE(said(1e200, false).find("a squared norm of 1e+200 after centring"), std::string::npos);
    EXPECT_NE(said(std::numeric_limits<double>::quiet_NaN(), false), "");
}

TEST(Plausible, AReportHasNoFigureThatSpoilsTheSums) {
    const auto said = [](const wire::Report& report) {
        return complaint([&] { require_plausible_report(report, "client a"); });
    };
    EXPECT_EQ(said({3, 1e150, 1e150, 0, 0, 1}), "");
    EXPECT_EQ(said({3, 1e151, 4, 0, 0, 1}), "client a: a report with a figure of 1e+151; expected at most 1e+150");
    EXPECT_NE(said({3, 1, 1, 0, 0, 1e151}), "") << "seconds";
    EXPECT_NE(said({3, 1e140, 1e-200, 0, 0, 1}).find("inf"), std::string::npos) << "their ratio";
    EXPECT_EQ(rse_of({3, 2, 8, 0, 0, 1}), 0.25);
    EXPECT_EQ(rse_of({3, 2, 0, 0, 0, 1}), 0);
}

TEST(Plausible, AnUploadIsOfTheDataThatWasAnnounced) {
    const wire::Head head{{}, wire::Kind::upload, 480, default_chunk_bytes, {5, 4}, {}, 3};
    const auto said = [&](const wire::Head& one, const std::optional<Hello>& hello, Aggregate aggregate) {
        Job job = resolve_job({.rank = 3});
        job.aggregate = aggregate;
        return complaint([&] { require_plausible_upload(job, one, hello, "client a"); });
    };
    EXPECT_EQ(said(head, Hello{{5, 4}, 9, 2}, Aggregate::stack), "");
    EXPECT_NE(said(head, Hello{{5, 3}, 9, 2}, Aggregate::stack).find("expected 5x3 as it said"), std::string::npos);
    EXPECT_NE(said(head, {}, Aggregate::stack).find("a greeting first"), std::string::npos);
    EXPECT_EQ(said(head, Hello{{5, 4}, 2, 2}, Aggregate::stack), "client a: rank 3; expected at most 2");
    wire::Head lower = head;
    lower.rows = 2;
    EXPECT_EQ(said(lower, Hello{{5, 4}, 9, 2}, Aggregate::stack), "");
    EXPECT_EQ(said(lower, Hello{{5, 4}, 9, 2}, Aggregate::average), "client a: rank 2; expected 3");
}

}  // namespace
}  // namespace couplet::net
