#include "crash_point.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

namespace couplet::net {
namespace {

struct Wanted {
    std::string step;
    int times = 1;
};

Wanted read_wanted(const char* variable) {
    const char* text = std::getenv(variable);
    if (text == nullptr) return {};
    const std::string all = text;
    const std::size_t colon = all.find(':');
    if (colon == std::string::npos) return {all, 1};
    return {all.substr(0, colon), std::atoi(all.c_str() + colon + 1)};
}

}  // namespace

void crash_point(const char* step) {
    static const Wanted crash = read_wanted("COUPLET_CRASH_AT");
    static const Wanted stall = read_wanted("COUPLET_STALL_AT");
    static std::atomic<int> crash_seen{0};
    static std::atomic<int> stall_seen{0};
    if (crash.step == step && ++crash_seen == crash.times) ::raise(SIGKILL);
    if (stall.step != step || ++stall_seen != stall.times) return;
    for (;;) ::pause();
}

}  // namespace couplet::net
