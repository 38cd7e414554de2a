#include "couplet/sim/traffic.hpp"

#include "couplet/sim/simulate.hpp"

namespace couplet {

void Traffic::up(double numbers) { message_up(numbers, static_cast<Index>(serialised_bytes(numbers))); }

void Traffic::up_packed(double numbers, double bytes) {
    numbers_up_ += numbers;
    bytes_up_ += serialised_bytes(0) + bytes;
}

void Traffic::down(double numbers, Index clients) {
    message_down(numbers, static_cast<Index>(serialised_bytes(numbers)), clients);
}

void Traffic::down_packed(double numbers, double bytes, Index clients) {
    const auto copies = static_cast<double>(clients);
    numbers_down_ += numbers * copies;
    bytes_down_ += (serialised_bytes(0) + bytes) * copies;
}

void Traffic::message_up(double numbers, Index bytes) {
    numbers_up_ += numbers;
    bytes_up_ += static_cast<double>(bytes);
}

void Traffic::message_down(double numbers, Index bytes, Index clients) {
    const auto copies = static_cast<double>(clients);
    numbers_down_ += numbers * copies;
    bytes_down_ += static_cast<double>(bytes) * copies;
}

void Traffic::store(SimulationResult& result, Index clients) const {
    const auto count = static_cast<double>(clients);
    result.numbers_up_per_client = numbers_up_ / count;
    result.numbers_down_per_client = numbers_down_ / count;
    result.numbers_total = numbers();
    result.bytes_up = bytes_up_;
    result.bytes_down = bytes_down_;
}

void Traffic::store_links(SimulationResult& result, Index links) const {
    result.numbers_up_per_client = links == 0 ? 0 : numbers() / static_cast<double>(links);
    result.numbers_total = numbers();
    result.bytes_up = bytes();
}

}  // namespace couplet
