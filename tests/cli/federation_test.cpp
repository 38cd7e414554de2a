#include "federation.hpp"

#include <limits>
#include <memory>

#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

class FederationTest : public CliTest {
  protected:
    cli::Session session_{{.quiet = true, .seed = 4}, "couplet simulate"};
};

TEST_F(FederationTest, FilesAreClientsWithTheirNames) {
    save("a.npy", smooth<double>({5, 3, 2}));
    save("b.npy", smooth<float>({4, 3, 2}));
    const auto federation = cli::open_federation({.files = {path("a.npy"), path("b.npy")}}, session_);
    EXPECT_EQ(federation.clients(), 2);
    EXPECT_EQ(federation.name(1), path("b.npy"));
    EXPECT_EQ(federation.rows, (std::vector<Index>{5, 4}));
    EXPECT_EQ(federation.features, (Shape{3, 2}));
    EXPECT_TRUE(federation.source->resident());
}

TEST_F(FederationTest, ErrorsOfAClientGetTheNameOfItsFile) {
    save("a.npy", smooth<double>({5, 3}));
    const auto federation = cli::open_federation({.files = {path("a.npy")}}, session_);
    EXPECT_EQ(federation.named(InputError({"client 1", "", "3 as client 1 has", ""})).parts().where,
              path("a.npy") + " (client 1)");
    EXPECT_EQ(federation.named(InputError({"client 1", "", "3 as client 1 has", ""})).parts().expected,
              "3 as " + path("a.npy") + " has");
    EXPECT_EQ(federation.named(InputError({"client 2", "", "", ""})).parts().where, "client 2");
    EXPECT_EQ(federation.named(InputError({"--rank", "", "", ""})).parts().where, "--rank");
}

TEST_F(FederationTest, SplitDealsRowsWithTheirLabels) {
    put("l.csv", "x,y\n1,2\n3,4\n5,6\n");
    const auto federation = cli::open_federation({.files = {path("l.csv")}, .split = 2}, session_);
    EXPECT_EQ(federation.rows, (std::vector<Index>{2, 1}));
    EXPECT_EQ(federation.name(0), "client 1");
    EXPECT_EQ(federation.source->client(1)->labels().at(1).entries, (std::vector<std::string>{"x", "y"}));
    EXPECT_EQ(federation.personal_labels.size(), 2U);
}

TEST_F(FederationTest, SyntheticClientsAreMadeWhenAskedFor) {
    const auto federation =
        cli::open_federation({.synthetic = "2x3x3:patients=each", .clients = Index{1000}}, session_);
    EXPECT_FALSE(federation.source->resident());
    EXPECT_EQ(federation.rows.size(), 1000U);
    EXPECT_EQ(federation.source->client(999)->shape(), (Shape{2, 3, 3}));
}

TEST_F(FederationTest, OneWayAtATime) {
    EXPECT_THROW(cli::open_federation({}, session_), InputError);
    EXPECT_THROW(cli::open_federation({.split = 2, .synthetic = "4x3"}, session_), InputError);
    EXPECT_THROW(cli::open_federation({.files = {"a"}, .synthetic = "4x3"}, session_), InputError);
    EXPECT_THROW(cli::open_federation({.files = {"a"}, .clients = 2}, session_), InputError);
    EXPECT_THROW(cli::open_federation({.files = {"a", "b"}, .split = 2}, session_), InputError);
}

std::shared_ptr<const Tensor<double>> in_memory(const Shape& shape, Labels labels = {}) {
    auto x = smooth<double>(shape);
    x.set_labels(std::move(labels));
    return std::make_shared<const Tensor<double>>(std::move(x));
}

TEST_F(FederationTest, ClientsInMemoryAreTakenAsTheyAre) {
    const Labels labels{{"person"}, {"lab", {"x", "y", "z"}}};
    const auto first = in_memory({5, 3}, labels);
    const auto federation = cli::open_federation({.tensors = {first, in_memory({4, 3})}}, session_);
    EXPECT_EQ(federation.source->client(0), first);  // the very same, no copy
    EXPECT_EQ(federation.rows, (std::vector<Index>{5, 4}));
    EXPECT_EQ(federation.name(1), "client 2");
    EXPECT_EQ(federation.identities, (std::vector<std::string>{"client 1", "client 2"}));
    EXPECT_EQ(federation.source->client(0)->labels(), labels);
    EXPECT_EQ(federation.personal_labels[0].name, "person");
    const auto named = cli::open_federation({.tensors = {first}, .names = {"north"}}, session_);
    EXPECT_EQ(named.name(0), "north");
    EXPECT_EQ(named.identities, (std::vector<std::string>{"north"}));
}

TEST_F(FederationTest, ClientsInMemoryAreCheckedAsFilesAre) {
    EXPECT_THROW(cli::open_federation({.tensors = {in_memory({5})}}, session_), InputError);
    EXPECT_THROW(cli::open_federation({.tensors = {in_memory({5, 3})}, .synthetic = "4x3"}, session_), InputError);
    EXPECT_THROW(cli::open_federation({.tensors = {in_memory({5, 3})}, .clients = 2}, session_), InputError);
    EXPECT_THROW(cli::open_federation({.tensors = {in_memory({5, 3}), in_memory({5, 3})}, .split = 2}, session_),
                 InputError);
    EXPECT_EQ(cli::open_federation({.tensors = {in_memory({5, 3})}, .split = 2}, session_).rows,
              (std::vector<Index>{3, 2}));
    auto holes = smooth<double>({5, 3});
    holes.data()[4] = std::numeric_limits<double>::quiet_NaN();
    const auto unknown = std::make_shared<const Tensor<double>>(std::move(holes));
    EXPECT_THROW(cli::open_federation({.tensors = {unknown}}, session_), InputError);
    EXPECT_NO_THROW(cli::open_federation({.tensors = {unknown}, .missing = true}, session_));
}

}  // namespace
}  // namespace couplet::testing
