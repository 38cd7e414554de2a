#include "couplet/net/privacy_book.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "couplet/net/kit.hpp"
#include "couplet/privacy/secret.hpp"
#include "couplet/wire/hex.hpp"

namespace couplet::net {
namespace {

constexpr std::uintmax_t largest_file = 64 << 20;

}  // namespace

PrivacyBook::PrivacyBook(std::filesystem::path file) : file_(std::move(file)) {
    if (std::filesystem::exists(file_)) {
        account_ = PrivacyAccount::parse(read_text(file_, largest_file), file_.string());
    }
}

void PrivacyBook::spend(const std::string& data, const std::string& job, const NoisePlan& noise,
                        PrivacyGuarantee budget) {
    if (budget.epsilon == 0) budget = {std::numeric_limits<double>::infinity(), noise.guarantee.delta};
    account_.spend({data, job, noise.rho}, budget);
    write_text(file_, account_.text(), 0600);
}

std::string data_fingerprint(const Tensor<double>& x) {
    const auto bytes = [](const void* data, std::size_t size) {
        return Bytes(static_cast<const std::uint8_t*>(data), size);
    };
    const Key numbers = hash_bytes(bytes(x.data(), static_cast<std::size_t>(x.size()) * sizeof(double)));
    const std::string text = x.shape().to_string() + wire::to_hex(numbers);
    return wire::to_hex(hash_bytes(bytes(text.data(), text.size())));
}

}  // namespace couplet::net
