#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "binary.hpp"
#include "couplet/io/model.hpp"
#include "couplet/io/npy.hpp"
#include "couplet/io/tensor_file.hpp"

namespace couplet::testing {

using Json = nlohmann::json;

struct Outcome {
    int status = -1;  ///< exit status, or 128 + the signal that ended it
    std::string out;
    std::string err;

    /// The one object that stdout holds.
    Json json() const { return Json::parse(out); }
    /// What stdout holds beside the object of an error.
    std::string result() const { return out.starts_with("{\"error\":") && json().size() == 1 ? "" : out; }
};

/// Runs the real binary in a folder of its own, which is removed afterwards.
class CliTest : public ::testing::Test {
  protected:
    CliTest() {
        std::string pattern = ::testing::TempDir() + "couplet-cli-XXXXXX";
        folder_ = ::mkdtemp(pattern.data());
    }
    ~CliTest() override { std::filesystem::remove_all(folder_); }

    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    void put(const std::string& name, std::string_view bytes) const {
        std::ofstream(path(name), std::ios::binary) << bytes;
    }
    std::string get(const std::string& name) const {
        std::ifstream file(path(name), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    /// Names in the folder, sorted.
    std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.push_back(entry.path().filename());
        std::sort(names.begin(), names.end());
        return names;
    }

    /// `couplet ARGUMENTS...` with stdout and stderr in files, so that neither is a terminal.
    Outcome couplet(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {}) const {
        const std::string out = folder_.string() + ".out";
        const std::string err = folder_.string() + ".err";
        const pid_t child = start(arguments, environment, ::open(out.c_str(), O_CREAT | O_TRUNC | O_RDWR, 0600),
                                  ::open(err.c_str(), O_CREAT | O_TRUNC | O_RDWR, 0600));
        Outcome outcome;
        outcome.status = finish(child);
        outcome.out = slurp(out);
        outcome.err = slurp(err);
        std::filesystem::remove(out);
        std::filesystem::remove(err);
        return outcome;
    }

    /// Starts the binary; closes both descriptors here.
    pid_t start(const std::vector<std::string>& arguments, const std::vector<std::string>& environment, int out,
                int err) const {
        std::vector<std::string> words{couplet_binary()};
        words.insert(words.end(), arguments.begin(), arguments.end());
        std::vector<char*> argv;
        for (std::string& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        const pid_t child = ::fork();
        if (child == 0) {
            if (::chdir(folder_.c_str()) != 0) ::_exit(126);
            for (const std::string& entry : environment) ::putenv(const_cast<char*>(entry.c_str()));
            ::dup2(out, STDOUT_FILENO);
            ::dup2(err, STDERR_FILENO);
            ::execv(argv.front(), argv.data());
            ::_exit(127);
        }
        ::close(out);
        if (err != out) ::close(err);
        return child;
    }

    static int finish(pid_t child) {
        int status = 0;
        while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

    /// Runs a shell command in the folder; stdout and stderr together.
    std::string shell(const std::string& command) const {
        const std::string all = "cd '" + folder_.string() + "' && { " + command + "\n} 2>&1";
        std::FILE* pipe = ::popen(all.c_str(), "r");
        std::string output;
        std::array<char, 4096> buffer{};
        for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
            output.append(buffer.data(), n);
        ::pclose(pipe);
        return output;
    }
    /// Debian's Python with NumPy as np, whose BLAS has no use for threads here; returns what it prints.
    std::string python(const std::string& script) const {
        const std::string file = folder_.string() + ".py";
        std::ofstream(file) << "import numpy as np\n" << script;
        const std::string output = shell("OPENBLAS_NUM_THREADS=1 /usr/bin/python3 '" + file + "'");
        std::filesystem::remove(file);
        return output;
    }

    template <Real T>
    void save(const std::string& name, const Tensor<T>& tensor) const {
        write_npy(path(name), tensor.view(), true);
    }
    Tensor<double> load(const std::string& name) const { return open_tensor(path(name)).take<double>(); }

    std::filesystem::path folder_;

  private:
    static std::string slurp(const std::string& file) {
        std::ifstream stream(file, std::ios::binary);
        return {std::istreambuf_iterator<char>(stream), {}};
    }
};

/// A smooth tensor whose singular values fall quickly: 1 / (1 + weighted sum of the indices).
template <Real T>
Tensor<T> smooth(Shape shape) {
    Tensor<T> x(std::move(shape));
    for (Index i = 0; i < x.size(); ++i) {
        double sum = 1;
        const auto indices = x.shape().indices(i);
        for (std::size_t n = 0; n < indices.size(); ++n) {
            sum += static_cast<double>(indices[n]) * (1 + 0.3 * static_cast<double>(n));
        }
        x.data()[i] = static_cast<T>(1 / sum);
    }
    return x;
}

/// ||a - b|| / ||a||.
inline double relative_difference(const Tensor<double>& a, const Tensor<double>& b) {
    EXPECT_EQ(a.shape(), b.shape());
    if (a.shape() != b.shape()) return INFINITY;
    double difference = 0;
    double norm = 0;
    for (Index i = 0; i < a.size(); ++i) {
        difference += std::pow(a.data()[i] - b.data()[i], 2);
        norm += std::pow(a.data()[i], 2);
    }
    return std::sqrt(difference / norm);
}

/// A .npy file of version 1 with this dict literal and data.
inline std::string npy(std::string_view literal, std::string_view data) {
    std::string file("\x93NUMPY\x01\x00", 8);
    file += {static_cast<char>(literal.size() & 0xFF), static_cast<char>(literal.size() >> 8 & 0xFF)};
    return file.append(literal).append(data);
}

}  // namespace couplet::testing
