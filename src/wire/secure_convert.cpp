#include "secure_convert.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "checks.hpp"
#include "couplet/privacy/shamir.hpp"

namespace couplet::wire {
namespace {

constexpr std::size_t most_certificate = 16 << 10;
constexpr std::size_t most_signature = 256;
constexpr std::size_t most_keys = 100;  // of one client, one for each sum
const std::size_t most_sealed = sealed_bytes(most_keys);
constexpr std::uint32_t most_sums = 1000;
constexpr std::uint64_t most_opened = std::uint64_t{1} << 32;  // bytes of one sum
constexpr std::uint64_t largest_count = std::uint64_t{1} << 52;

std::string bytes_of(const auto& bytes) { return {bytes.begin(), bytes.end()}; }

std::string bytes_of(const std::vector<Key>& keys) {
    std::string bytes;
    for (const Key& key : keys) bytes.append(key.begin(), key.end());
    return bytes;
}

// ---- to protobuf

v1::SecureKeys to_proto(Party party, const Announced& announced) {
    v1::SecureKeys p;
    p.set_party(static_cast<std::uint32_t>(party));
    p.set_sealing(bytes_of(announced.keys.sealing));
    p.set_masking(bytes_of(announced.keys.masking));
    p.set_seeds(bytes_of(announced.keys.seeds));
    p.set_signature(bytes_of(announced.keys.signature));
    p.set_certificate(announced.certificate);
    return p;
}

template <class Parts>
void put_parts(google::protobuf::RepeatedPtrField<v1::SecurePart>* field, const Parts& parts) {
    for (const auto& [party, content] : parts) {
        v1::SecurePart* p = field->Add();
        p->set_party(static_cast<std::uint32_t>(party));
        p->set_content(bytes_of(content));
    }
}

struct AskWriter {
    v1::SecureRequest& p;
    void operator()(const AskKeys&) const {}
    void operator()(const AskShares& ask) const {
        for (const auto& [party, announced] : ask.roster) *p.add_roster() = to_proto(party, announced);
    }
    void operator()(const AskNumbers& ask) const {
        put_parts(p.mutable_shares(), ask.shares);
        for (const Party party : ask.members) p.add_alive(static_cast<std::uint32_t>(party));
        p.set_counts(ask.counts.size());
        p.set_rows(static_cast<std::uint64_t>(ask.basis.rows()));
        p.set_cols(static_cast<std::uint64_t>(ask.basis.cols()));
        p.set_extends(ask.extends);
        for (const OpenedSum& sum : ask.opened) {
            v1::OpenedSum* opened = p.add_opened();
            opened->set_sum(static_cast<std::uint32_t>(sum.sum));
            opened->set_sites(static_cast<std::uint32_t>(sum.sites));
            opened->set_bytes(sum.bytes.size());
        }
    }
    void operator()(const AskEndorsement& ask) const {
        for (const Party party : ask.survivors.alive) p.add_alive(static_cast<std::uint32_t>(party));
        for (const Party party : ask.survivors.dropped) p.add_dropped(static_cast<std::uint32_t>(party));
    }
    void operator()(const AskUnmasking& ask) const { put_parts(p.mutable_signatures(), ask.endorsements); }
};

struct AnswerWriter {
    v1::SecureReply& p;
    void operator()(const Declined& answer) const { p.set_reason(answer.reason.substr(0, most_text)); }
    void operator()(const Announced& answer) const { *p.mutable_keys() = to_proto(0, answer); }
    void operator()(const SealedShares& answer) const { put_parts(p.mutable_shares(), answer); }
    void operator()(const MaskedNumbers& answer) const {
        p.set_number_bytes(answer.bytes.size());
        p.set_signature(bytes_of(answer.signature));
    }
    void operator()(const Endorsement& answer) const { p.set_signature(bytes_of(answer.signature)); }
    void operator()(const Unmasking& answer) const {
        put_parts(p.mutable_alive(), answer.alive);
        put_parts(p.mutable_dropped(), answer.dropped);
    }
};

// ---- from protobuf

Party party_of(std::uint32_t value, const std::string& who) {
    if (value < static_cast<std::uint32_t>(most_shares)) return static_cast<Party>(value);
    refuse(who, "party " + std::to_string(value), "fewer than " + std::to_string(most_shares) + " parties");
}

std::vector<std::uint8_t> content_of(const std::string& bytes, std::size_t most, const std::string& who) {
    if (bytes.size() > most) refuse(who, std::to_string(bytes.size()) + " bytes of a party", "fewer");
    return {bytes.begin(), bytes.end()};
}

Key key_of(const std::string& bytes, const std::string& who) {
    Key key;
    if (bytes.size() != key.size()) refuse(who, "a key of " + std::to_string(bytes.size()) + " bytes", "32");
    std::copy(bytes.begin(), bytes.end(), key.begin());
    return key;
}

std::vector<Key> keys_of(const std::string& bytes, const std::string& who) {
    if (bytes.size() % sizeof(Key) != 0 || bytes.size() > most_keys * sizeof(Key)) {
        refuse(who, "keys of " + std::to_string(bytes.size()) + " bytes",
               "32 each, at most " + std::to_string(most_keys));
    }
    std::vector<Key> keys(bytes.size() / sizeof(Key));
    for (std::size_t i = 0; i < keys.size(); ++i) {
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(i * sizeof(Key)), sizeof(Key), keys[i].begin());
    }
    return keys;
}

/// `take` makes the content of a part.
template <class Field, class Take>
auto parts_of(const Field& field, const std::string& who, const Take& take) {
    std::map<Party, decltype(take(std::string()))> parts;
    for (const auto& p : field) {
        if (parts.emplace(party_of(p.party(), who), take(p.content())).second) continue;
        refuse(who, "party " + std::to_string(p.party()) + " twice", "it once");
    }
    return parts;
}

SealedShares sealed_of(const google::protobuf::RepeatedPtrField<v1::SecurePart>& field, const std::string& who) {
    return parts_of(field, who, [&](const std::string& bytes) { return content_of(bytes, most_sealed, who); });
}

Announced announced_of(const v1::SecureKeys& p, const std::string& who) {
    if (p.certificate().size() > most_certificate) refuse(who, "a certificate that is too long", "PEM of one");
    return {{key_of(p.sealing(), who), keys_of(p.masking(), who), keys_of(p.seeds(), who),
             content_of(p.signature(), most_signature, who)},
            p.certificate()};
}

std::set<Party> set_of(const google::protobuf::RepeatedField<std::uint32_t>& field, const std::string& who) {
    std::set<Party> parties;
    for (const std::uint32_t value : field) {
        if (!parties.insert(party_of(value, who)).second) refuse(who, "a party twice", "it once");
    }
    return parties;
}

AskNumbers numbers_of(const v1::SecureRequest& p, PayloadReader& payload, const std::string& who) {
    AskNumbers ask{sealed_of(p.shares(), who), set_of(p.alive(), who), {}, {}, p.extends()};
    std::vector<double> numbers(p.counts());
    payload.read(numbers.data(), static_cast<Index>(numbers.size()));
    for (const double number : numbers) {
        ask.counts.push_back(std::bit_cast<std::uint64_t>(number));  // integers, as they are
        if (ask.counts.back() > largest_count) refuse(who, "a count that is none", "a number of patients");
    }
    ask.basis = Matrix<double>(static_cast<Index>(p.rows()), static_cast<Index>(p.cols()));
    payload.read(ask.basis.data(), ask.basis.size());
    if (p.opened_size() == 0) return ask;
    const auto bytes = payload.rest();
    auto from = bytes.begin();
    for (const auto& one : p.opened()) {
        const auto to = from + static_cast<std::ptrdiff_t>(one.bytes());
        ask.opened.push_back({one.sum(), one.sites(), {from, to}});
        from = to;
    }
    return ask;
}

AskShares roster_of(const v1::SecureRequest& p, const std::string& who) {
    AskShares ask;
    for (const auto& keys : p.roster()) {
        if (ask.roster.emplace(party_of(keys.party(), who), announced_of(keys, who)).second) continue;
        refuse(who, "party " + std::to_string(keys.party()) + " twice", "it once");
    }
    return ask;
}

}  // namespace

v1::Shield to_proto(const ShieldTerms& terms) {
    v1::Shield p;
    p.set_policy(terms.policy);
    p.set_colluders(static_cast<std::uint32_t>(terms.colluders));
    if (terms.guarantee) {
        p.set_epsilon(terms.guarantee->epsilon);
        p.set_delta(terms.guarantee->delta);
    }
    if (terms.clip) p.set_clip(*terms.clip);
    if (terms.mu) p.set_mu(*terms.mu);
    p.set_noise(static_cast<std::uint32_t>(terms.noise));
    return p;
}

v1::SecureRequest to_proto(const SecureRequest& request) {
    v1::SecureRequest p;
    p.set_sum(static_cast<std::uint32_t>(request.sum));
    p.set_again(static_cast<std::uint32_t>(request.again));
    p.set_step(static_cast<std::uint32_t>(request.ask.index()));
    std::visit(AskWriter{p}, request.ask);
    return p;
}

v1::SecureReply to_proto(const SecureReply& reply) {
    v1::SecureReply p;
    p.set_sum(static_cast<std::uint32_t>(reply.sum));
    p.set_again(static_cast<std::uint32_t>(reply.again));
    p.set_answer(static_cast<std::uint32_t>(reply.answer.index()));
    std::visit(AnswerWriter{p}, reply.answer);
    return p;
}

Promise promise_of(const v1::SecureRequest& p, const std::string& who) {
    if (p.step() >= std::variant_size_v<SecureAsk> || p.sum() > most_sums || p.again() > most_sums) {
        refuse(who, "a request of an unknown step", "one that this version knows");
    }
    if (p.counts() != 0 && p.counts() != census_length) {
        refuse(who, std::to_string(p.counts()) + " counts", std::to_string(census_length));
    }
    const Index basis = counted(to_index(p.rows(), who, "rows"), to_index(p.cols(), who, "columns"), who);
    if (p.step() != 2 && (p.counts() != 0 || basis != 0)) {
        refuse(who, "numbers with another step", "them with a request for numbers");
    }
    Promise promised{Kind::secure_request, static_cast<Index>(p.counts())};
    promised.numbers += basis;
    if (p.opened_size() == 0) return promised;
    if (p.step() != 2 || promised.numbers != 0 || p.opened_size() > static_cast<int>(most_sums)) {
        refuse(who, "opened sums beside other numbers", "them alone");
    }
    promised.raw_bytes = 0;
    for (const auto& one : p.opened()) {
        if (one.sum() > most_sums) refuse(who, "sum " + std::to_string(one.sum()), "one of a job");
        if (one.bytes() > most_opened)
            refuse(who, "an opened sum of " + std::to_string(one.bytes()) + " bytes", "fewer");
        *promised.raw_bytes += static_cast<Index>(one.bytes());
    }
    return promised;
}

Promise promise_of(const v1::SecureReply& p, const std::string& who) {
    if (p.answer() >= std::variant_size_v<SecureAnswer> || p.sum() > most_sums || p.again() > most_sums) {
        refuse(who, "an answer of an unknown step", "one that this version knows");
    }
    Promise promised{Kind::secure_reply};
    promised.raw_bytes = to_index(p.number_bytes(), who, "bytes");
    return promised;
}

ShieldTerms shield_of(const v1::Shield& p, const std::string& who) {
    constexpr std::uint32_t most_colluders = 100;
    if (p.noise() > static_cast<std::uint32_t>(NoisePlace::distributed) || p.colluders() > most_colluders) {
        refuse(who, "a way to shield sums that is not known", "one that this version knows");
    }
    ShieldTerms terms;
    terms.policy = p.policy();
    terms.colluders = static_cast<int>(p.colluders());
    terms.noise = static_cast<NoisePlace>(p.noise());
    const auto positive = [&](double value, const char* what) {
        if (!(value > 0) || !std::isfinite(value)) refuse(who, std::string("no ") + what, "a positive number");
        return value;
    };
    if (p.has_epsilon()) {
        terms.guarantee =
            PrivacyGuarantee{positive(p.epsilon(), "epsilon"), positive(part(p.delta(), who, "delta"), "delta")};
    }
    if (p.has_clip()) terms.clip = positive(p.clip(), "clip");
    if (p.has_mu()) terms.mu = positive(p.mu(), "mu");
    if (terms.mu && terms.guarantee) refuse(who, "two budgets", "mu, or epsilon");
    if (terms.guarantee && (!terms.clip || terms.noise == NoisePlace::central)) {
        refuse(who, "a guarantee that clients cannot keep", "a clip, and noise of the clients");
    }
    return terms;
}

SecureRequest secure_body(const v1::SecureRequest& p, PayloadReader& payload, const std::string& who) {
    SecureRequest request{p.sum(), p.again(), AskKeys{}};
    switch (p.step()) {
        case 0:
            break;
        case 1:
            request.ask = roster_of(p, who);
            break;
        case 2:
            request.ask = numbers_of(p, payload, who);
            break;
        case 3:
            request.ask = AskEndorsement{{set_of(p.alive(), who), set_of(p.dropped(), who)}};
            break;
        default:
            request.ask = AskUnmasking{parts_of(
                p.signatures(), who, [&](const std::string& bytes) { return content_of(bytes, most_signature, who); })};
    }
    return request;
}

SecureReply secure_body(const v1::SecureReply& p, PayloadReader& payload, const std::string& who) {
    SecureReply reply{p.sum(), p.again(), Declined{}};
    const auto share = [&](const std::string& bytes) { return key_of(bytes, who); };
    switch (p.answer()) {
        case 0:
            reply.answer = Declined{text(p.reason(), who)};
            break;
        case 1:
            reply.answer = announced_of(p.keys(), who);
            break;
        case 2:
            reply.answer = sealed_of(p.shares(), who);
            break;
        case 3:
            reply.answer = MaskedNumbers{payload.rest(), content_of(p.signature(), most_signature, who)};
            break;
        case 4:
            reply.answer = Endorsement{content_of(p.signature(), most_signature, who)};
            break;
        default:
            reply.answer = Unmasking{parts_of(p.alive(), who, share), parts_of(p.dropped(), who, share)};
    }
    return reply;
}

}  // namespace couplet::wire
