#include "couplet/wire/job_print.hpp"

#include <string>

#include "couplet/wire/encoder.hpp"

namespace couplet::wire {
namespace {

Key hash_of(const std::string& text) {
    return couplet::hash_bytes({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

}  // namespace

Key job_print(const JobSpec& spec, const Start& start) {
    const Message welcome{{}, Welcome{spec, 0, start.clients}};
    const Message notice{{}, StartNotice{start, false, false}};
    const std::string said = Encoder(welcome).head();
    const std::string begun = Encoder(notice).head();
    // Each hashed by itself: no text is the end of one and the beginning of the other.
    std::string both;
    for (const Key& part : {hash_of(said), hash_of(begun)}) both.append(part.begin(), part.end());
    return hash_of(both);
}

}  // namespace couplet::wire
