#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

class ProjectTest : public CliTest {
  protected:
    ProjectTest() {
        const Outcome run = couplet({"simulate", "--synthetic", "30x5x4:rank=3", "--clients", "2", "--rank", "3",
                                     "--precision", "f64", "-o", "fit", "--quiet", "--json"});
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

TEST_F(ProjectTest, PatientsAreFittedToWhatIsKnownOfThem) {
    python(
        "x = np.load('x/client_1.npy'); r = np.random.default_rng(3); h = x.copy(); h[r.random(x.shape) < 0.4] = "
        "np.nan\n"
        "h[4] = np.nan; h[6] = np.nan; h[6, 2, 1] = x[6, 2, 1]; np.save('holes.npy', h)");
    const Outcome refused = couplet({"project", "fit/features.npz", "holes.npy"});
    EXPECT_EQ(refused.status, 2);
    EXPECT_NE(refused.err.find("NaN at index"), std::string::npos) << refused.err;
    EXPECT_NE(refused.err.find("--missing impute"), std::string::npos) << refused.err;
    const Outcome run =
        couplet({"project", "fit/features.npz", "holes.npy", "--missing", "impute", "-o", "p.npz", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_LE(run.json()["rse"], 1e-12);
    EXPECT_GE(run.json()["missing"]["loose"], 1);
    EXPECT_EQ(run.json()["missing"]["unknown"], Json({4}));
    EXPECT_NEAR(run.json()["missing"]["fraction"].get<double>(), 0.4 + 0.6 * 2 / 15, 0.1);
    // What is not known is found where enough is, and the others have rows of zeros or little.
    EXPECT_LE(std::stod(python("x = np.load('x/client_1.npy'); p = np.load('p.npz')['core_1']; "
                               "f = np.load('fit/features.npz')\n"
                               "y = np.einsum('aib,bjc,ckd->ijk', p, f['core_2'], f['core_3'])\n"
                               "w = np.einsum('bjc,ckd->bjk', f['core_2'], f['core_3']).reshape(3, -1)\n"
                               "n = ~np.isnan(np.load('holes.npy')).reshape(15, -1)\n"
                               "k = [i for i in range(15) if np.linalg.eigvalsh(w[:, n[i]] @ w[:, n[i]].T)[0] > 0.05]\n"
                               "assert len(k) > 4\n"
                               "assert (y[4] == 0).all() and abs(y[6, 2, 1] - x[6, 2, 1]) < 1e-9\n"
                               "print(abs(x - y)[k].max() / abs(x).max())")),
              1e-8);
    const std::string words = couplet({"project", "fit/features.npz", "holes.npy", "--missing", "impute"}).out;
    EXPECT_NE(words.find("known entries only"), std::string::npos) << words;
    EXPECT_NE(words.find("little known"), std::string::npos) << words;
    EXPECT_NE(words.find("of 1 patients (5)"), std::string::npos) << words;
    // Complete patients are embedded as without the flag.
    const double plain = couplet({"project", "fit/features.npz", "x/client_2.npy", "--json"}).json()["rse"];
    const Outcome whole = couplet({"project", "fit/features.npz", "x/client_2.npy", "--missing", "impute", "--json"});
    EXPECT_NEAR(whole.json()["rse"].get<double>(), plain, 1e-14);
    EXPECT_EQ(whole.json()["missing"]["fraction"], 0);
}

TEST_F(ProjectTest, InfinityIsNoMissingEntryAndEmptyCellsAre) {
    python(
        "x = np.load('x/client_1.npy'); x[3, 2, 1] = -np.inf; np.save('inf.npy', x)\n"
        "f = np.load('fit/features.npz'); w = np.einsum('bjc,ckd->bjk', f['core_2'], f['core_3']).reshape(3, 20)\n"
        "np.savez('flat.npz', core_2=np.linalg.qr(w.T)[0].T.reshape(3, 20, 1))\n"
        "y = np.load('x/client_1.npy').reshape(15, 20)[:2]\n"
        "open('two.csv', 'w').write('\\n'.join(','.join('' if j % 7 == 3 else repr(float(e)) for j, e in "
        "enumerate(r)) for r in y) + '\\n')");
    const Outcome infinite = couplet({"project", "fit/features.npz", "inf.npy", "--missing", "impute"});
    EXPECT_EQ(infinite.status, 2);
    EXPECT_NE(infinite.err.find("-Inf at index (3, 2, 1)"), std::string::npos) << infinite.err;
    const Outcome cells = couplet({"project", "flat.npz", "two.csv", "--missing", "impute", "--json"});
    ASSERT_EQ(cells.status, 0) << cells.err;
    EXPECT_NEAR(cells.json()["missing"]["fraction"].get<double>(), 3.0 / 20, 1e-12);
    EXPECT_LE(cells.json()["rse"], 1e-12);
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
