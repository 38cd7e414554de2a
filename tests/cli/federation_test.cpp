#include "federation.hpp"

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

}  // namespace
}  // namespace couplet::testing
