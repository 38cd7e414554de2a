#include "couplet/net/consent.hpp"
#include "net_test_support.hpp"

namespace couplet::net {
namespace {

using ConsentCountsTest = NetTest;

/// The counts before masked sums of all patients, and of all but one: the difference is that one's norm.
TEST_F(ConsentCountsTest, OfNearlyTheSamePatientsAreRefused) {
    const auto x = random_tensor<double>({60, 6, 5}, 3);
    DisclosureLedger ledger(path("disclosed.jsonl"));
    const ShieldPlan none;
    const Matrix<double> basis;
    const auto counted = [&](std::uint8_t number, double heldout, const SitePolicy& policy = {}) {
        JobOptions options;
        options.rank = 3;
        options.aggregate = Aggregate::subspace;
        wire::Welcome job{{resolve_job(options), {false, heldout}}, 0, 3};
        job.spec.shield.emplace();
        Consent one(policy, 60, {6, 5});
        one.remember(ledger, x);
        return complaint([&] {
            one.vet({{wire::protocol_version, wire::JobId{number}, 0, 0}, job});
            for (const bool agreed : {false, true}) {
                one.vet_sum({none, 0, SubspaceIteration::Want::nothing, basis, {"a", "b", "c"}, agreed});
            }
        });
    };
    EXPECT_EQ(counted(1, 0), "");
    EXPECT_EQ(counted(2, 0), "") << "the same again";
    EXPECT_NE(counted(3, 1.0 / 60).find("(any_cohort)"), std::string::npos);
    SitePolicy any;
    any.any_cohort = true;
    EXPECT_EQ(counted(4, 1.0 / 60, any), "");
    EXPECT_EQ(ledger.shown(make_cohort(x, 0, 0, 0), 30, true), 0) << "counts show no direction";
}

}  // namespace
}  // namespace couplet::net
