#include "peer_convert.hpp"

#include <algorithm>
#include <utility>

#include "arrival_gate.hpp"
#include "checks.hpp"
#include "couplet/ctt/arrived_cores.hpp"
#include "shared_fields.hpp"

namespace couplet::wire {
namespace {

v1::Epoch to_proto(const Epoch& epoch) {
    v1::Epoch p;
    p.set_number(epoch.number);
    for (const Incarnation member : epoch.members) p.add_members(member);
    std::string bits((epoch.links.size() + 7) / 8, '\0');
    for (std::size_t i = 0; i < epoch.links.size(); ++i) {
        if (epoch.links[i]) bits[i / 8] = static_cast<char>(bits[i / 8] | (1 << (i % 8)));
    }
    p.set_links(bits);
    return p;
}

v1::PeerReport to_proto(const PeerReport& report) {
    v1::PeerReport p;
    put_fit(p, report);
    p.set_numbers(report.numbers);
    p.set_bytes(report.bytes);
    p.set_links(static_cast<std::uint64_t>(report.links));
    return p;
}

v1::PeerRecord to_proto(const PeerRecord& record) {
    v1::PeerRecord p;
    p.set_peer(static_cast<std::uint32_t>(record.peer));
    p.set_incarnation(record.incarnation);
    p.set_version(record.version);
    put(p.mutable_modes(), record.features.sizes());
    p.set_rows(static_cast<std::uint64_t>(record.rows));
    for (const Incarnation heard : record.hears) p.add_hears(heard);
    p.set_promised(record.promised);
    if (record.proposal.number > 0) *p.mutable_proposal() = to_proto(record.proposal);
    if (record.committed.number > 0) *p.mutable_committed() = to_proto(record.committed);
    p.set_stage(static_cast<std::uint32_t>(record.stage));
    if (record.report) *p.mutable_report() = to_proto(*record.report);
    p.set_labels(record.schema.labels);
    p.set_order(record.schema.order);
    p.set_names(record.schema.names);
    p.set_units(record.schema.units);
    if (!record.signature.empty()) p.set_signature(record.signature);
    if (!record.certificate.empty()) p.set_certificate(record.certificate);
    return p;
}

std::vector<Incarnation> processes(const Numbers& values, const std::string& who) {
    if (values.size() > most_peers) {
        refuse(who, std::to_string(values.size()) + " peers", "at most " + std::to_string(most_peers));
    }
    return {values.begin(), values.end()};
}

Epoch epoch_of(const v1::Epoch& p, const std::string& who) {
    constexpr std::size_t most_bytes = (most_links + 7) / 8;
    if (p.links().size() > most_bytes) {
        refuse(who, std::to_string(p.links().size()) + " bytes of links", "at most " + std::to_string(most_bytes));
    }
    Epoch epoch{p.number(), processes(p.members(), who), {}};
    for (const char byte : p.links()) {
        for (int bit = 0; bit < 8; ++bit) epoch.links.push_back((byte >> bit & 1) != 0);
    }
    if ((epoch.number == 0) != epoch.members.empty()) refuse(who, "an epoch of nobody", "its members");
    return epoch;
}

PeerReport report_of(const v1::PeerReport& p, const std::string& who) {
    auto report = fit_of<PeerReport>(p, who);
    report.numbers = squares(p.numbers(), who, "numbers");
    report.bytes = squares(p.bytes(), who, "bytes");
    report.links = to_index(p.links(), who, "links");
    return report;
}

// Of a P-256 key, and of a certificate as couplet provision makes it.
constexpr std::size_t most_signature = 80;
constexpr std::size_t most_certificate = 4096;

PeerRecord record_of(const v1::PeerRecord& p, const std::string& who) {
    PeerRecord record;
    record.peer = static_cast<Index>(p.peer());
    record.incarnation = p.incarnation();
    record.version = p.version();
    record.features = modes_of(p.modes(), who);
    record.rows = to_index(p.rows(), who, "patients");
    record.hears = processes(p.hears(), who);
    record.promised = p.promised();
    record.proposal = epoch_of(p.proposal(), who);
    record.committed = epoch_of(p.committed(), who);
    if (p.stage() > static_cast<std::uint32_t>(Stage::decided)) {
        refuse(who, "a stage of " + std::to_string(p.stage()), "one that this version knows");
    }
    record.stage = static_cast<Stage>(p.stage());
    if (p.has_report()) record.report = report_of(p.report(), who);
    record.schema = {p.labels(), p.order(), p.names(), p.units()};
    if (p.signature().size() > most_signature || p.certificate().size() > most_certificate) {
        refuse(who,
               "a signature and a certificate of " + std::to_string(p.signature().size()) + " and " +
                   std::to_string(p.certificate().size()) + " bytes",
               "at most " + std::to_string(most_signature) + " and " + std::to_string(most_certificate));
    }
    record.signature = p.signature();
    record.certificate = p.certificate();
    const bool sensible = record.peer < most_peers && record.incarnation != 0 && record.rows >= 1 &&
                          (record.stage == Stage::working || record.report.has_value());
    if (!sensible) refuse(who, "a record that cannot be", "a place, a process, patients, and a report once finished");
    return record;
}

}  // namespace

v1::Greeting to_proto(const Greeting& greeting) {
    v1::Greeting p;
    p.set_incarnation(greeting.incarnation);
    p.set_job(greeting.job);
    p.set_version(greeting.version);
    p.set_answers(greeting.answers);
    p.set_received(greeting.received);
    put(p.mutable_modes(), greeting.schema.features.sizes());
    put_labels(p.mutable_names(), greeting.schema.modes);
    return p;
}

v1::Beat to_proto(const Beat& beat) {
    v1::Beat p;
    p.set_received(beat.received);
    return p;
}

v1::PeerState to_proto(const PeerState& state) {
    v1::PeerState p;
    p.set_iteration(static_cast<std::uint64_t>(state.iteration));
    p.set_count(state.values->size());
    return p;
}

v1::PeerBasis to_proto(const PeerBasis& basis) {
    v1::PeerBasis p;
    p.set_rows(static_cast<std::uint64_t>(basis.basis.rows()));
    p.set_cols(static_cast<std::uint64_t>(basis.basis.cols()));
    return p;
}

v1::PeerMerge to_proto(const PeerMerge& merge) {
    const FeatureBlock& block = merge.state.block;
    v1::PeerMerge p;
    put_block(p, block);
    put_ledger(p, merge.state.ledger);
    if (!block.is_dense()) {
        const TensorTrain<double>& train = block.train();
        bool left = true;
        for (Index n = 0; n + 1 < train.order(); ++n) left = left && train.orthogonality(n) == Orthogonality::left;
        p.set_left_orthonormal(left);
    }
    return p;
}

v1::Bulletin to_proto(const Bulletin& bulletin) {
    v1::Bulletin p;
    for (const PeerRecord& record : bulletin.records) *p.add_records() = to_proto(record);
    return p;
}

std::string signed_bytes(const PeerRecord& record) {
    v1::PeerRecord p = to_proto(record);
    p.clear_signature();
    p.clear_certificate();
    return p.SerializeAsString();
}

Promise promise_of(const v1::PeerState& p, const std::string& who) {
    const Index count = to_index(p.count(), who, "numbers");
    if (count < 1) refuse(who, "a state of no numbers", "at least one");
    return {Kind::peer_state, count};
}

Promise promise_of(const v1::PeerBasis& p, const std::string& who) {
    const Index rows = to_index(p.rows(), who, "rows");
    const Index cols = to_index(p.cols(), who, "columns");
    if (rows < 1 || cols < 1) refuse(who, "an empty basis", "at least one number");
    return {Kind::peer_basis, counted(rows, cols, who)};
}

Promise promise_of(const v1::PeerMerge& p, const std::string& who) {
    return promise_block(Kind::peer_merge, "a merge", p, who);
}

Greeting peer_body(const v1::Greeting& p, const std::string& who) {
    if (p.incarnation() == 0) refuse(who, "a greeting of no process", "a number that is not 0");
    Schema schema;
    if (!p.modes().empty()) {
        schema.features = modes_of(p.modes(), who);
        schema.modes = labels_of(p.names(), schema.features, who);
    }
    return {p.incarnation(), text(p.job(), who), text(p.version(), who), p.answers(), p.received(), std::move(schema)};
}

Beat peer_body(const v1::Beat& p) { return {p.received()}; }

PeerState peer_body(const v1::PeerState& p, const Promise& promised, PayloadReader& payload, const std::string& who) {
    std::vector<double> values(static_cast<std::size_t>(promised.numbers));
    payload.read(values.data(), promised.numbers);
    return {to_index(p.iteration(), who, "iteration"), ArrivalGate::arrived(std::move(values))};
}

PeerBasis peer_body(const v1::PeerBasis& p, PayloadReader& payload) {
    Matrix<double> basis(static_cast<Index>(p.rows()), static_cast<Index>(p.cols()));
    payload.read(basis.data(), basis.size());
    return {std::move(basis)};
}

PeerMerge peer_body(const v1::PeerMerge& p, const Promise& promised, PayloadReader& payload, const std::string& who) {
    // What is claimed is checked; what is not claimed must not be known either, or the receiver would merge otherwise
    // than the sender's simulation.
    const auto train = [&](std::vector<Tensor<double>> cores) {
        return p.left_orthonormal() ? left_orthonormal(std::move(cores)) : TensorTrain<double>(std::move(cores));
    };
    return {{read_block(promised, payload, train), ledger_of(p, who)}};
}

Bulletin peer_body(const v1::Bulletin& p, const std::string& who) {
    // Of the network that the records themselves speak of: who receives it knows whether that is its own.
    Index peers = 1;
    for (const v1::PeerRecord& record : p.records()) {
        for (const int count :
             {record.hears_size(), record.proposal().members_size(), record.committed().members_size()}) {
            peers = std::max<Index>(peers, count);
        }
    }
    const Index most = records_per_bulletin(std::min(peers, most_peers));
    if (p.records_size() > most) {
        refuse(who, std::to_string(p.records_size()) + " records in a bulletin", "at most " + std::to_string(most));
    }
    Bulletin bulletin;
    for (const v1::PeerRecord& record : p.records()) bulletin.records.push_back(record_of(record, who));
    return bulletin;
}

}  // namespace couplet::wire
