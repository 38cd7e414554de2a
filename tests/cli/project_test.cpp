#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

class ProjectTest : public CliTest {
  protected:
    ProjectTest() {
        const Outcome run = couplet({"simulate", "--synthetic", "30x5x4:rank=3", "--clients", "2", "--rank", "3", "-o",
                                     "fit", "--quiet", "--json"});
        EXPECT_EQ(run.status, 0) << run.err;
        EXPECT_EQ(couplet({"data", "synthetic", "30x5x4:rank=3", "--clients", "2", "-o", "x"}).status, 0);
    }
    /// max |X - core_1 core_2 core_3| over max |X| in NumPy.
    double mismatch(const std::string& tensor, const std::string& personal, const std::string& features) {
        return std::stod(python("x = np.load('" + tensor + "'); p = np.load('" + personal +
                                "')['core_1']; f = np.load('" + features +
                                "')\n"
                                "y = np.einsum('aib,bjc,ckd->ijk', p, f['core_2'], f['core_3'])\n"
                                "print(abs(x - y).max() / abs(x).max())"));
    }
};

TEST_F(ProjectTest, GivesBackThePersonalCoreOfAClient) {
    const Outcome run = couplet({"project", "fit/features.npz", "x/client_1.npy", "-o", "p.npz", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_LE(run.json()["rse"], 1e-12);
    EXPECT_EQ(run.json()["rank"], 3);
    EXPECT_EQ(run.json()["rows"], 15);
    EXPECT_EQ(run.json()["output"], "p.npz");
    for (const char* key : {"read", "compute", "write"}) EXPECT_TRUE(run.json()["seconds"].contains(key));
    EXPECT_LE(mismatch("x/client_1.npy", "p.npz", "fit/features.npz"), 1e-9);
    EXPECT_EQ(python("print(np.load('p.npz')['core_1'].shape)"), "(1, 15, 3)\n");
}

TEST_F(ProjectTest, FeaturesThatAreNotOrthonormalAreFittedByLeastSquares) {
    python(
        "f = dict(np.load('fit/features.npz')); f['core_2'] = np.einsum('ab,bjc->ajc', "
        "np.array([[2., 1, 0], [0, 3, 1], [1, 0, 1]]), f['core_2']); np.savez('skew.npz', **f)");
    const Outcome run = couplet({"project", "skew.npz", "x/client_2.npy", "-o", "p.npz", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_LE(run.json()["rse"], 1e-12);
    EXPECT_LE(mismatch("x/client_2.npy", "p.npz", "skew.npz"), 1e-9);
}

TEST_F(ProjectTest, RefusalsNameTheFileAndTheMode) {
    save("wide.npy", smooth<double>({3, 5, 7}));
    save("flat.npy", smooth<double>({3, 5}));
    const Outcome wide = couplet({"project", "fit/features.npz", "wide.npy"});
    EXPECT_EQ(wide.status, 2);
    EXPECT_EQ(
        wide.err,
        "couplet project: wide.npy: mode 3 has size 7; expected 4 as in fit/features.npz. Only the first mode, the "
        "patients, may differ.\n");
    const Outcome flat = couplet({"project", "fit/features.npz", "flat.npy"});
    EXPECT_EQ(flat.status, 2);
    EXPECT_NE(flat.err.find("flat.npy: 2 modes (3 x 5); expected 3: patients, then 5 x 4"), std::string::npos)
        << flat.err;
    const Outcome personal = couplet({"project", "fit/personal_1.npz", "x/client_1.npy"});
    EXPECT_EQ(personal.status, 2);
    EXPECT_NE(personal.err.find("fit/personal_1.npz: a personal core"), std::string::npos) << personal.err;
}

}  // namespace
}  // namespace couplet::testing
