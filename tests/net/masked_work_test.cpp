#include "masked_work.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

class MaskedWorkTest : public NetTest {
  protected:
    static wire::JobSpec spec() {
        JobOptions options;
        options.rank = 2;
        options.aggregate = Aggregate::subspace;
        wire::JobSpec result{resolve_job(options), {}};
        result.shield.emplace();
        return result;
    }
    MaskingTools tools_{{}, SumMemory(path("sums.json"))};
    Tensor<double> x_ = random_tensor<double>({20, 5, 4}, 3);
};

TEST_F(MaskedWorkTest, NobodyIsToldHowManyPatientsThereAre) {
    const Hello hello = veiled({{5, 4}, 20, 12.5});
    EXPECT_EQ(hello.rows, 1);
    EXPECT_EQ(hello.norm2, 0);
    EXPECT_EQ(hello.features, (Shape{5, 4}));
}

TEST_F(MaskedWorkTest, WithoutCertificatesThereIsNothingToSignWith) {
    MaskedWork work(wire::JobId{1}, spec(), 0, tools_);
    EXPECT_NE(complaint([&] { work.join({.clients = 3}, x_.view()); }).find("secure sums without TLS"),
              std::string::npos);
    EXPECT_NE(complaint([&] { work.answer({}); }).find("the start of such a job"), std::string::npos);
}

TEST_F(MaskedWorkTest, AJobKeepsTheNumberOfItsClients) {
    tools_.notary.emplace();
    MaskedWork work(wire::JobId{1}, spec(), 0, tools_);
    EXPECT_FALSE(work.has_begun({.clients = 3}));
    work.join({.clients = 3}, x_.view());
    EXPECT_TRUE(work.has_begun({.clients = 3})) << "told again";
    EXPECT_EQ(complaint([&] { work.has_begun({.clients = 4}); }),
              "coordinator: a job of 4 clients now; expected 3, as it began");
    // The features in another order would be another sum under the same name.
    const Start turned{.clients = 3, .labels = {{"site", {"b", "a"}}}};
    EXPECT_NE(complaint([&] { work.has_begun(turned); }).find("another start of the job"), std::string::npos);
    EXPECT_EQ(work.report().threshold, secure_threshold(*spec().shield, 3));
}

TEST_F(MaskedWorkTest, OneNameIsOneJobAlsoAfterARestart) {
    tools_.notary.emplace();
    const wire::JobId job{1};
    // A sum was read of a job that said something else.
    tools_.memory.keep(job, {.sums = 1, .told = Key{1}, .counts = {}, .cohort = {}});
    MaskedWork work(job, spec(), 0, tools_);
    EXPECT_NE(complaint([&] { work.join({.clients = 3}, x_.view()); }).find("another job under the name of one before"),
              std::string::npos);
}

}  // namespace
}  // namespace couplet::net
