#include "completion_tree.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace couplet::testing {
namespace {

TEST(CompletionTree, FollowsTheTreeOfVerbs) {
    CLI::App root("r", "couplet");
    root.set_help_flag("-h,--help", "Help");
    CLI::App* data = root.add_subcommand("data", "builds data");
    CLI::App* ecg = data->add_subcommand("ecg", "from ECG");
    std::string value;
    bool flag = false;
    ecg->add_option("X.npy", value, "in")->type_name("FILE");
    ecg->add_option("-o,--output", value, "out: where to")->type_name("FILE.npz");
    ecg->add_option("--method", value, "how")->type_name("a|b");
    ecg->add_option("--eps", value, "error")->type_name("E");
    ecg->add_flag("--json", flag, "print");
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
