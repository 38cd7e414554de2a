#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace couplet::support {

using FuzzTarget = int (*)(const std::uint8_t*, std::size_t);

/// Replays tests/fuzz/corpus/<name>; anything but a result or an InputError escapes and fails the test.
inline void replay(const std::filesystem::path& tests, const std::string& name, FuzzTarget target) {
    std::size_t inputs = 0;
    for (const auto& entry : std::filesystem::directory_iterator(tests / "fuzz" / "corpus" / name)) {
        std::ifstream file(entry.path(), std::ios::binary);
        const std::string text(std::istreambuf_iterator<char>(file), {});
        const std::vector<std::uint8_t> bytes(text.begin(), text.end());
        EXPECT_NO_THROW(target(bytes.data(), bytes.size())) << entry.path();
        ++inputs;
    }
    EXPECT_GE(inputs, 3U) << "the corpus of " << name << " is missing";
}

}  // namespace couplet::support
