#include "peer_job.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <span>

#include "couplet/consensus/graph.hpp"
#include "couplet/net/certificates.hpp"
#include "couplet/wire/digest.hpp"

namespace couplet::net {
namespace {

std::string optional_text(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : "none"; }

std::string given_text(const std::optional<Schema>& schema) {
    if (!schema) return "agreed";
    const SchemaPrint print = fingerprint(*schema);
    return fmt::format("{:016x}{:016x}{:016x}", print.order, print.names, print.units);
}

std::string shield_text(const std::optional<ShieldTerms>& shield) {
    if (!shield) return "";
    std::string text = fmt::format(", masked sums, policy {}, colluders {}, clip {}", shield->policy, shield->colluders,
                                   optional_text(shield->clip));
    if (shield->mu) text += fmt::format(", mu {}", *shield->mu);
    if (!shield->guarantee) return text;
    return text + fmt::format(", epsilon {}, delta {}, noise {}", shield->guarantee->epsilon, shield->guarantee->delta,
                              static_cast<int>(shield->noise));
}

}  // namespace

std::string job_text(const wire::JobSpec& spec, const std::optional<Schema>& schema, const Kit& kit) {
    const Job& job = spec.job;
    wire::Digest digest;
    std::string network = kit.identity.federation;
    for (const PeerAddress& peer : kit.peers) network += " " + peer.name;
    const Graph graph(static_cast<Index>(kit.peers.size()), kit.links);
    for (const Edge& edge : graph.edges()) network += fmt::format(" {}-{}", edge.a, edge.b);
    digest.add(std::as_bytes(std::span(network)));
    const wire::Hash hash = digest.finish();
    return fmt::format(
        "aggregate {}, rank {}, eps {}, eps1 {}, eps2 {}, refit {}, precision {}, bytes {}, bytes-total {}, sketch {}, "
        "passes {}, oversampling {}, seed {}, consensus {}, weights {}, iterations {}, target {}, scale-clients {}, "
        "heldout {}, unnamed {}, schema {}{}, network {:02x}{:02x}{:02x}",
        to_string(job.aggregate), job.rank ? std::to_string(*job.rank) : "none", optional_text(job.eps), job.eps1,
        job.eps2, job.refit, to_string(job.precision), job.bytes.value_or(0), job.bytes_total.value_or(0),
        static_cast<int>(job.sketch), job.passes, job.oversampling, job.seed, to_string(job.consensus.engine),
        job.consensus.weights, job.consensus.iterations ? std::to_string(*job.consensus.iterations) : "auto",
        job.consensus.target, spec.preparation.scale_clients, spec.preparation.heldout, to_string(job.unnamed),
        given_text(schema), shield_text(spec.shield), static_cast<unsigned>(hash[0]), static_cast<unsigned>(hash[1]),
        static_cast<unsigned>(hash[2]));
}

wire::JobId id_of(const std::string& text) {
    wire::Digest digest;
    digest.add(std::as_bytes(std::span(text)));
    const wire::Hash hash = digest.finish();
    wire::JobId id{};
    std::memcpy(id.data(), hash.data(), id.size());
    return id;
}

wire::Incarnation new_process() {
    constexpr int random_bits = 20;
    const auto now =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    const auto random = std::stoull(random_hex().substr(0, random_bits / 4), nullptr, 16);
    return (static_cast<wire::Incarnation>(now) << random_bits) | random;
}

}  // namespace couplet::net
