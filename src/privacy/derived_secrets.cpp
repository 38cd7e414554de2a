#include "couplet/privacy/derived_secrets.hpp"

#include <sodium.h>

#include <algorithm>
#include <memory>

namespace couplet {
namespace {

struct Series {
    Secret root;
    Key purpose;
    std::uint64_t drawn = 0;
};

}  // namespace

SecretSource derived_secrets(const Secret& root, const Key& purpose) {
    require_sodium();
    auto series = std::make_shared<Series>(Series{Secret(root.bytes()), purpose});
    return [series] {
        std::array<std::uint8_t, sizeof(Key) + sizeof(std::uint64_t)> place{};
        auto* number = std::copy(series->purpose.begin(), series->purpose.end(), place.begin());
        for (int byte = 0; byte < 8; ++byte) *number++ = static_cast<std::uint8_t>(series->drawn >> (8 * byte));
        ++series->drawn;
        Secret secret;
        ::crypto_generichash(secret.bytes().data(), secret.bytes().size(), place.data(), place.size(),
                             series->root.bytes().data(), series->root.bytes().size());
        return secret;
    };
}

}  // namespace couplet
