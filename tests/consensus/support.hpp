#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "couplet/consensus/graph_builders.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"

namespace couplet {

/// Every named graph that K nodes can form.
inline std::vector<std::pair<std::string, Graph>> graphs_of(Index nodes) {
    std::vector<std::pair<std::string, Graph>> result;
    for (const std::string spec : {"complete", "ring", "star", "path", "grid", "random:0.1", "random:0.5"}) {
        result.emplace_back(spec + " K=" + std::to_string(nodes), make_graph(spec, nodes, 7));
    }
    if (nodes == 8) result.emplace_back("paper8", paper8_graph());
    return result;
}

inline Matrix<double> random_states(Index nodes, Index length, std::uint64_t seed) {
    Matrix<double> states(nodes, length);
    Random random(seed);
    for (Index i = 0; i < states.size(); ++i) states.data()[i] = random.normal() + 1;
    return states;
}

/// A text file that lives as long as the object.
class TextFile {
  public:
    explicit TextFile(const std::string& text) {
        const auto* info = testing::UnitTest::GetInstance()->current_test_info();
        path_ = testing::TempDir() + "consensus_" + info->test_suite_name() + "_" + info->name() + ".txt";
        std::ofstream(path_) << text;
    }
    ~TextFile() { std::filesystem::remove(path_); }
    TextFile(const TextFile&) = delete;
    TextFile& operator=(const TextFile&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

/// What the error of `action` says; fails the test when there is none.
template <class Failure = InputError, class Action>
std::string message_of(Action&& action) {
    try {
        action();
    } catch (const Failure& failure) {
        return failure.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
}

}  // namespace couplet
