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
    EXPECT_EQ(federation.site(1), "b");
    EXPECT_EQ(federation.rows, (std::vector<Index>{5, 4}));
    EXPECT_EQ(federation.features, (Shape{3, 2}));
    EXPECT_TRUE(federation.source->resident());
}

TEST_F(FederationTest, SitesAreNamedByFolderWhereATableWasBuiltAndInFullWhereTheyWouldBeAlike) {
    for (const char* folder : {"north", "south"}) std::filesystem::create_directory(path(folder));
    for (const char* file : {"north/tensor.npy", "south/tensor.npy", "north/x.npy", "south/x.npy"}) {
        save(file, smooth<double>({5, 3, 2}));
    }
    const auto tables = cli::open_federation({.files = {path("north/tensor.npy"), path("south/tensor.npy")}}, session_);
    EXPECT_EQ(tables.site(0), "north");
    EXPECT_EQ(tables.site(1), "south");
    const auto alike = cli::open_federation({.files = {path("north/x.npy"), path("south/x.npy")}}, session_);
    EXPECT_EQ(alike.site(1), path("south/x.npy"));
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

TEST_F(FederationTest, AFileIsTheSameHoweverItIsNamed) {
    save("a.npy", smooth<double>({5, 3}));
    std::filesystem::create_directory(path("sub"));
    std::filesystem::create_symlink(path("a.npy"), path("sub/link.npy"));
    const auto identity = [&](const std::string& name) {
        return cli::open_federation({.files = {name}}, session_).identities;
    };
    const auto own = identity(path("a.npy"));
    EXPECT_EQ(own, (std::vector<std::string>{std::filesystem::canonical(path("a.npy")).string()}));
    for (const char* name : {"sub/../a.npy", "./a.npy", "sub/link.npy"}) EXPECT_EQ(identity(path(name)), own) << name;
    save("b.npy", smooth<double>({5, 3}));
    EXPECT_NE(identity(path("b.npy")), own) << "the same numbers in another file";
    const auto twice = cli::open_federation({.files = {path("a.npy"), path("sub/link.npy")}}, session_).identities;
    EXPECT_EQ(twice, (std::vector<std::string>{own[0], own[0] + " (2)"}));
}

TEST_F(FederationTest, SyntheticClientsAreTheSameWithTheSameSeedOnly) {
    const auto identities = [](std::uint64_t seed, const std::string& recipe) {
        const cli::Session session({.quiet = true, .seed = seed}, "couplet simulate");
        return cli::open_federation({.synthetic = recipe, .clients = Index{2}}, session).identities;
    };
    const auto own = identities(4, "6x3x3");
    EXPECT_NE(own[0], own[1]);
    EXPECT_EQ(identities(4, "6x3x3"), own);
    EXPECT_NE(identities(5, "6x3x3")[0], own[0]);
    EXPECT_NE(identities(4, "6x3x3:noise=0.5")[0], own[0]);
}

TEST_F(FederationTest, TheSamePatientsInOtherPartsAreRefused) {
    const auto said = [](const std::vector<std::string>& now, const std::vector<std::string>& merged) {
        try {
            cli::require_same_parts(now, merged, "s.npz");
            return std::string();
        } catch (const InputError& error) {
            return std::string(error.what());
        }
    };
    save("a.npy", smooth<double>({5, 3}));
    const auto parts = [&](std::optional<Index> split) {
        return cli::open_federation({.files = {path("a.npy")}, .split = split}, session_).identities;
    };
    EXPECT_EQ(said(parts(2), parts(2)), "");
    EXPECT_EQ(said(parts({}), parts({})), "");
    EXPECT_NE(said(parts(3), parts(2))
                  .find("a.npy: in 3 parts; expected in 2 parts, as s.npz has it. The same patients "
                        "would count twice"),
              std::string::npos)
        << said(parts(3), parts(2));
    EXPECT_NE(said(parts({}), parts(2)).find("a.npy: whole; expected in 2 parts"), std::string::npos);
    EXPECT_NE(said(parts(2), parts({})).find("a.npy: in 2 parts; expected whole"), std::string::npos);
    EXPECT_EQ(said(parts(2), {"b.npy", "c.npy part 1 of 7", "part 3 of 9"}), "");
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
