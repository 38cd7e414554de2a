#include "couplet/consensus/text_file.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

constexpr std::uintmax_t max_bytes = std::uintmax_t{256} << 20;

std::vector<std::string> split(std::string_view line) {
    line = line.substr(0, line.find('#'));
    constexpr std::string_view separators = " \t\r\v\f,;";
    std::vector<std::string> words;
    for (std::size_t begin = line.find_first_not_of(separators); begin != std::string_view::npos;) {
        const std::size_t end = std::min(line.find_first_of(separators, begin), line.size());
        words.emplace_back(line.substr(begin, end - begin));
        begin = line.find_first_not_of(separators, end);
    }
    return words;
}

template <class T>
bool parse_whole(std::string_view word, T& value) {
    if (!word.empty() && word.front() == '+') word.remove_prefix(1);
    const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
    return failure == std::errc() && end == word.data() + word.size();
}

}  // namespace

std::vector<TextLine> read_text_lines(const std::string& path) {
    std::error_code failure;
    if (!std::filesystem::is_regular_file(path, failure)) {
        throw InputError({path, "no such file", "a readable text file", "Check the path."});
    }
    const std::uintmax_t bytes = std::filesystem::file_size(path, failure);
    if (failure || bytes > max_bytes) {
        throw InputError({path, std::to_string(bytes) + " bytes", "at most 256 MiB of text", ""});
    }
    std::ifstream in(path);
    if (!in) throw InputError({path, "cannot be opened", "a readable text file", "Check its permissions."});
    std::vector<TextLine> lines;
    std::string text;
    for (int number = 1; std::getline(in, text); ++number) {
        std::vector<std::string> words = split(text);
        if (!words.empty()) lines.push_back({number, std::move(words)});
    }
    return lines;
}

std::string place_in_file(const std::string& path, int line) { return path + ", line " + std::to_string(line); }

bool parse_integer(std::string_view word, long long& value) { return parse_whole(word, value); }
bool parse_number(std::string_view word, double& value) { return parse_whole(word, value); }

}  // namespace couplet
