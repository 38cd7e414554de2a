#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "checks.hpp"
#include "couplet/ctt/block_code.hpp"
#include "couplet/ctt/blocks.hpp"
#include "couplet/ctt/merger.hpp"
#include "couplet/tensor/schema.hpp"
#include "payload_reader.hpp"

/// Fields that several messages have in common, under the same names.
namespace couplet::wire {

template <class Proto>
void put_code(Proto& p, const BlockCode& code) {
    if (!code.ranks.empty()) put(p.mutable_ranks(), code.ranks);
    p.set_code(1 + static_cast<std::uint32_t>(code.kind));
    p.set_step(code.step);
}

template <class Proto>
void put_block(Proto& p, const FeatureBlock& block) {
    put(p.mutable_modes(), block.features().sizes());
    p.set_block_rows(static_cast<std::uint64_t>(block.rows()));
    if (block.code()) {
        put_code(p, *block.code());
    } else if (!block.is_dense()) {
        put(p.mutable_ranks(), block.train().ranks());
    }
}

/// The code that a message says its block has, without its bytes; none: doubles.
template <class Proto>
std::optional<BlockCode> code_of(const Proto& p, const Promise& promised, const std::string& who) {
    if (p.code() == 0) return std::nullopt;
    constexpr std::uint32_t floats = 1 + static_cast<std::uint32_t>(BlockCode::Kind::floats);
    if (p.code() > floats) refuse(who, "a block of unknown coding", "one that this version decodes");
    return BlockCode{static_cast<BlockCode::Kind>(p.code() - 1),
                     promised.rows,
                     promised.modes,
                     promised.ranks,
                     squares(p.step(), who, "step"),
                     {}};
}

template <class Modes>
void put_labels(Modes* modes, const Labels& labels) {
    for (const ModeLabels& mode : labels) {
        auto* p = modes->Add();
        p->set_name(mode.name);
        for (const std::string& label : mode.entries) p->add_labels(label);
        for (const std::string& unit : mode.units) p->add_units(unit);
    }
}

/// Labels that fit the features.
template <class Modes>
Labels labels_of(const Modes& modes, const Shape& features, const std::string& who) {
    Labels labels;
    if (modes.size() > most_modes) refuse(who, std::to_string(modes.size()) + " modes with names", "fewer");
    for (const auto& p : modes) {
        ModeLabels mode;
        mode.name = text(p.name(), who);
        for (const auto& label : p.labels()) mode.entries.push_back(text(label, who));
        for (const auto& unit : p.units()) mode.units.push_back(text(unit, who));
        labels.push_back(std::move(mode));
    }
    return make_schema(features, std::move(labels), who).modes;
}

/// `what` is the message in words. No ranks: dense rows follow.
template <class Proto>
Promise promise_block(Kind kind, const char* what, const Proto& p, const std::string& who) {
    Promise result{kind, 0, modes_of(p.modes(), who), {}, to_index(p.block_rows(), who, "rows")};
    if (p.ranks().empty()) {
        if (result.rows < 1) refuse(who, std::string(what) + " without rows", "at least one");
        result.numbers = counted(result.rows, result.modes.size(), who);
        result.code = code_of(p, result, who);
        return result;
    }
    result.ranks = ranks_of(p.ranks(), result.modes, who);
    if (result.ranks.front() != result.rows) {
        refuse(who, std::to_string(result.rows) + " rows", std::to_string(result.ranks.front()) + ", the first rank");
    }
    result.numbers = train_numbers(result.modes, result.ranks, who);
    result.code = code_of(p, result, who);
    return result;
}

/// `train` makes a train of the cores that arrived.
template <class Train>
FeatureBlock read_block(const Promise& promised, PayloadReader& payload, const Train& train) {
    if (promised.code) return decode_block(payload.coded(*promised.code));
    if (!promised.ranks.empty()) return FeatureBlock(train(payload.cores(promised.modes, promised.ranks)));
    Matrix<double> rows(promised.rows, promised.modes.size());
    payload.read(rows.data(), rows.size());
    return FeatureBlock(std::move(rows), promised.modes);
}

template <class Proto>
void put_ledger(Proto& p, const Ledger& ledger) {
    p.set_clients(static_cast<std::uint64_t>(ledger.clients));
    p.set_rows(static_cast<std::uint64_t>(ledger.rows));
    p.set_norm2(ledger.norm2);
    p.set_svd_tail2(ledger.svd_tail2);
    p.set_tt_tail2(ledger.tt_tail2);
    p.set_used2(ledger.used2);
}

template <class Proto>
Ledger ledger_of(const Proto& p, const std::string& who) {
    return {to_index(p.clients(), who, "clients"),      to_index(p.rows(), who, "patients"),
            squares(p.norm2(), who, "squared norm"),    squares(p.svd_tail2(), who, "squared tail"),
            squares(p.tt_tail2(), who, "squared tail"), squares(p.used2(), who, "squared tail")};
}

/// How well the features fit the patients of the sender.
template <class Proto, class Report>
void put_fit(Proto& p, const Report& report) {
    p.set_rank(static_cast<std::uint64_t>(report.rank));
    p.set_error2(report.error2);
    p.set_norm2(report.norm2);
    p.set_heldout_error2(report.heldout_error2);
    p.set_heldout_norm2(report.heldout_norm2);
    p.set_seconds(report.seconds);
}

template <class Report, class Proto>
Report fit_of(const Proto& p, const std::string& who) {
    Report report;
    report.rank = to_index(p.rank(), who, "rank");
    report.error2 = squares(p.error2(), who, "squared error");
    report.norm2 = squares(p.norm2(), who, "squared norm");
    report.heldout_error2 = squares(p.heldout_error2(), who, "squared error");
    report.heldout_norm2 = squares(p.heldout_norm2(), who, "squared norm");
    report.seconds = squares(p.seconds(), who, "seconds");
    return report;
}

}  // namespace couplet::wire
