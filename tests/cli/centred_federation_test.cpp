#include "centred_federation.hpp"

#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

class CentredFederationTest : public CliTest {
  protected:
    /// Two sites whose columns are one of platelets, one of creatinine and one that both make, with gaps.
    CentredFederationTest() {
        python(
            "r = np.random.default_rng(1)\n"
            "for name, rows in zip('ab', (40, 25)):\n"
            "    z = r.standard_normal((rows, 1))\n"
            "    x = np.hstack([250000 + 60000 * (z + 0.1 * r.standard_normal((rows, 1))), 0.9 + 0.2 * z, 5 - z])\n"
            "    x[r.random(x.shape) < 0.2] = np.nan\n"
            "    np.save(name + '.npy', x)\n");
    }
    Outcome simulate(std::vector<std::string> more) {
        more.insert(more.begin(), {"simulate", "a.npy", "b.npy", "--rank", "1", "--missing", "impute", "--json"});
        return couplet(more);
    }
};

TEST_F(CentredFederationTest, IncompleteDataIsScaledByWhatIsKnownAndFilledInScaledUnits) {
    const Outcome run = simulate({"--centre", "--scale", "-o", "out"});
    ASSERT_EQ(run.status, 0) << run.err;
    const Json json = run.json();
    EXPECT_LT(json["rse"], 0.1) << "one number of each patient says nearly all";
    EXPECT_LT(json["rse_original"], 0.02);
    EXPECT_EQ(run.err.find("of the variation"), std::string::npos) << run.err;
    const std::string far = python(
        "import json\n"
        "m = json.loads(str(np.load('out/features.npz')['meta_json']))['centring']\n"
        "x = np.concatenate([np.load(n + '.npy') for n in 'ab'])\n"
        "print(max(np.abs(np.array(m['mean']) / np.nanmean(x, 0) - 1).max(), "
        "np.abs(np.array(m['scale']) / np.nanstd(x, 0) - 1).max()))");
    EXPECT_LT(std::stod(far), 1e-12);
}

TEST_F(CentredFederationTest, AColumnWhoseUnitIsNearlyEverythingIsNamedFirst) {
    const Outcome run = simulate({});
    const std::size_t at =
        run.err.find("warning: 100.0% of the variation is that of one feature, 'number 1 of mode 2'");
    EXPECT_NE(at, std::string::npos) << run.err;
    EXPECT_EQ(run.err.find("warning"), at) << "before anything else";
    EXPECT_EQ(simulate({"--scale"}).err.find("of the variation"), std::string::npos);
}

TEST_F(CentredFederationTest, CountsOfWhatIsKnownTravelToo) {
    const Json plain = simulate({}).json();
    const Json moved = simulate({"--centre", "--scale"}).json();
    // One more round of sums, whatever the number of completions was.
    EXPECT_GT(moved["rounds"].get<int>(), 2);
    EXPECT_TRUE(plain["missing"]["settled"].get<bool>());
    EXPECT_TRUE(moved["missing"]["settled"].get<bool>());
}

}  // namespace
}  // namespace couplet::testing
