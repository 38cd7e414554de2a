#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace couplet {

/// One line of a small text file that still says something: its comment (from '#') removed, split at blanks,
/// commas and semicolons.
struct TextLine {
    int number = 0;  ///< counted from 1
    std::vector<std::string> words;
};

/// The lines of a text file that hold at least one word. Throws InputError when the file cannot be read or is
/// larger than 256 MiB.
std::vector<TextLine> read_text_lines(const std::string& path);

/// "path, line 7": how errors name a place in a file.
std::string place_in_file(const std::string& path, int line);

/// The whole word as an integer or a number; false when anything else is in it.
bool parse_integer(std::string_view word, long long& value);
bool parse_number(std::string_view word, double& value);

}  // namespace couplet
