#include "sizes.hpp"

#include "options.hpp"

namespace couplet::cli {

std::vector<Index> parse_sizes(const std::string& option, std::string_view text) {
    std::vector<Index> sizes;
    if (text.empty()) return sizes;
    const Count count{option, "N", 1, 10'000'000, "Write for example 40, or 40x30 for each mode."};
    for (;;) {
        const std::size_t cross = text.find('x');
        sizes.push_back(parse_count(count, text.substr(0, cross)));
        if (cross == std::string_view::npos) return sizes;
        text.remove_prefix(cross + 1);
    }
}

}  // namespace couplet::cli
