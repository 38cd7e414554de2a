// secure_sum [CLIENTS [NUMBERS]]: one sum of secure aggregation from the keys to the result, all clients and the
// coordinator in this process on all cores, each client with so many numbers (64 and 1,000,000). Prints one JSON
// object: wall and processor seconds, bytes that would travel, and whether the sum is right.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"
#include "couplet/shield/masked_sums.hpp"

namespace {

using Numbers = std::vector<std::uint64_t>;

std::vector<Numbers> inputs(std::size_t clients, std::size_t numbers, const couplet::Ring& ring) {
    std::vector<Numbers> parts(clients, Numbers(numbers));
    couplet::Random random(1);
    for (Numbers& part : parts) {
        for (auto& value : part) value = ring.reduced(random.next());
    }
    return parts;
}

Numbers plain_sum(const std::vector<Numbers>& parts, const couplet::Ring& ring) {
    Numbers sum(parts.front().size(), 0);
    for (const Numbers& part : parts) {
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = ring.sum(sum[i], part[i]);
    }
    return sum;
}

void run(std::size_t clients, std::size_t numbers) {
    // A sum keeps what a double holds.
    const couplet::FixedPoint how = couplet::agree_fixed_point(1, static_cast<std::int64_t>(clients));
    auto parts = inputs(clients, numbers, how.ring);
    const Numbers expected = plain_sum(parts, how.ring);
    couplet::StarSums sums(static_cast<couplet::Index>(clients), {.min_cohort = 3, .colluders = 1}, 1);
    const auto begun = std::chrono::steady_clock::now();
    const std::clock_t processor = std::clock();
    const Numbers sum = sums.add(std::move(parts), how);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    const double cpu = static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC;
    std::cout << nlohmann::ordered_json{{"clients", clients},
                                        {"numbers", numbers},
                                        {"ring_bits", how.ring.bits()},
                                        {"threshold", sums.threshold()},
                                        {"seconds", seconds},
                                        {"seconds_processor", cpu},
                                        {"cores", std::thread::hardware_concurrency()},
                                        {"bytes_up", sums.traffic().bytes_up},
                                        {"bytes_down", sums.traffic().bytes_down},
                                        {"right", sum == expected}}
                     .dump(1)
              << "\n";
    if (sum != expected) std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        run(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 64,
            argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1'000'000);
    } catch (const couplet::Error& error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
    return 0;
}
