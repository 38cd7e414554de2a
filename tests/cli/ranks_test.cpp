#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

using RanksTest = CliTest;

TEST_F(RanksTest, SingularValuesAgreeWithNumpy) {
    save("X.npy", smooth<double>({5, 4, 6}));
    const Outcome run = couplet({"ranks", "X.npy", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    put("ranks.json", run.out);
    EXPECT_EQ(python("import json\n"
                     "r = json.load(open('ranks.json')); x = np.load('X.npy'); n = 1\n"
                     "assert r['shape'] == [5, 4, 6] and len(r['unfoldings']) == 2\n"
                     "for u in r['unfoldings']:\n"
                     "    a = x.reshape(u['rows'], u['cols'])\n"
                     "    assert u['mode'] == n and u['rows'] == np.prod(x.shape[:n]); n += 1\n"
                     "    s = np.linalg.svd(a, compute_uv=False)\n"
                     "    assert len(u['singular_values']) == min(a.shape)\n"
                     "    assert np.allclose(s, u['singular_values'], rtol=0, atol=1e-14 * s[0])\n"
                     "    tails = np.sqrt(np.cumsum(s[::-1]**2)[::-1]); tails = np.append(tails, 0) / tails[0]\n"
                     "    for e in (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 1e-3, 1e-6):\n"
                     "        want = max(1, next(i for i in range(len(tails)) if tails[i] <= e))\n"
                     "        assert u['rank_for_error'][str(e)] == want, (e, want, u['rank_for_error'])\n"
                     "print('agrees')\n"),
              "agrees\n");
}

TEST_F(RanksTest, TextFitsEightyColumnsInBothLocales) {
    save("X.npy", smooth<float>({30, 20, 10}));
    for (const char* locale : {"LC_ALL=C", "LC_ALL=C.UTF-8"}) {
        const Outcome run = couplet({"ranks", "X.npy"}, {locale});
        ASSERT_EQ(run.status, 0) << run.err;
        EXPECT_EQ(run.err, "");
        std::size_t width = 0;
        bool ascii = true;
        for (const char c : run.out) {
            const bool continuation = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
            width = c == '\n' ? 0 : width + (continuation ? 0 : 1);
            ascii = ascii && static_cast<unsigned char>(c) < 0x80;
            EXPECT_LE(width, 80U);
        }
        EXPECT_EQ(ascii, std::string(locale) == "LC_ALL=C");
        EXPECT_NE(run.out.find("Smallest rank for a relative error of at most"), std::string::npos);
        EXPECT_NE(run.out.find("1..2"), std::string::npos);
    }
}

TEST_F(RanksTest, VectorsAndZeroTensors) {
    save("vector.npy", smooth<double>({5}));
    const Outcome vector = couplet({"ranks", "vector.npy"});
    EXPECT_EQ(vector.status, 2);
    EXPECT_EQ(vector.err.find("couplet ranks: vector.npy: one mode; expected a tensor of two modes or more."), 0U);
    save("zero.npy", Tensor<double>::zeros({3, 2}));
    const Outcome zero = couplet({"ranks", "zero.npy"});
    EXPECT_EQ(zero.status, 0) << zero.err;
    EXPECT_NE(zero.out.find("all zero"), std::string::npos);
}

}  // namespace
}  // namespace couplet::testing
