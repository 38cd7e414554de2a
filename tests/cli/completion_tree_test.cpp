#include "completion_tree.hpp"

#include <gtest/gtest.h>

#include "command.hpp"

namespace couplet::testing {
namespace {

TEST(CompletionTree, FollowsTheTreeOfVerbs) {
    cli::Command root("couplet", "r");
    root.add_help("Help");
    cli::Command& data = root.add_subcommand("data", "builds data");
    cli::Command& ecg = data.add_subcommand("ecg", "from ECG");
    std::string value;
    bool flag = false;
    ecg.add_option("X.npy", value, "in").type("FILE");
    ecg.add_option("-o,--output", value, "out: where to").type("FILE.npz");
    ecg.add_option("--method", value, "how").type("a|b");
    ecg.add_option("--eps", value, "error").type("E");
    ecg.add_flag("--json", flag, "print");
    const auto nodes = cli::completion_tree(root);
    ASSERT_EQ(nodes.size(), 3U);
    EXPECT_EQ(nodes[0].path, "");
    EXPECT_EQ(nodes[0].children, std::vector<std::string>{"data"});
    EXPECT_EQ(nodes[1].path, "data");
    EXPECT_EQ(nodes[2].path, "data ecg");
    EXPECT_TRUE(nodes[2].takes_files);
    const auto find = [&](const std::string& name) {
        for (const auto& option : nodes[2].options) {
            if (option.names.back() == name) return option;
        }
        return cli::CompletionOption{};
    };
    EXPECT_EQ(find("--output").names, (std::vector<std::string>{"-o", "--output"}));
    EXPECT_EQ(find("--output").description, "out");
    EXPECT_EQ(find("--output").kind, cli::ValueKind::file);
    EXPECT_EQ(find("--method").words, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(find("--eps").kind, cli::ValueKind::text);
    EXPECT_EQ(find("--json").kind, cli::ValueKind::none);
}

}  // namespace
}  // namespace couplet::testing
