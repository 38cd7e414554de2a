#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// What the feature modes of a client's tensor are: their sizes and, where known, their names, the labels of their
/// indices in order, and units. Data of two schemas belongs together when each mode has the same labels in whatever
/// order, the same units, and no other name.
struct Schema {
    Shape features = {};
    Labels modes = {};  ///< one per feature mode; empty where nothing is known of any

    /// Whether any mode has a name, labels or units.
    bool named() const noexcept;
    friend bool operator==(const Schema&, const Schema&) = default;
};

/// Blanks at the ends of names, labels and units are dropped, units of which none is known too, and modes of which
/// nothing is known. Throws InputError, naming `where`, unless the labels fit the sizes.
Schema make_schema(Shape features, Labels modes, const std::string& where);

/// What the labels of a tensor say of its feature modes, the patients' left out. Throws as make_schema().
Schema feature_schema(const Tensor<double>& x, const std::string& where);

/// What to make of modes that have names at one party and none at another.
enum class Unnamed {
    refuse,
    allow,  ///< what has no names is in the order of what has
};
Unnamed parse_unnamed(std::string_view name);
std::string_view to_string(Unnamed unnamed) noexcept;

/// One difference between two schemas, in words that name the labels on each side.
struct SchemaDifference {
    std::string found;      ///< "mode 2 has labels bmi, pulse"
    std::string expected;   ///< "age, systolic"
    bool unnamed = false;   ///< one side says nothing: Unnamed::allow passes over it
    bool reorders = false;  ///< the same labels in another order
};

/// All differences of `mine` from `job`, mode by mode; none: they are the same, up to names of modes that one side does
/// not tell.
std::vector<SchemaDifference> compare(const Schema& job, const Schema& mine);

/// Why data of schema `mine` cannot take part, blaming `who` and naming the labels on each side; nothing when it can.
/// `whose` says whose the job's schema is ("the job", "features.npz").
std::optional<ErrorParts> misfit(const Schema& job, const Schema& mine, Unnamed unnamed, const std::string& who,
                                 const std::string& whose);

/// For each feature mode, the index in one's own order of what stands at each index of the job's order; empty where the
/// orders are the same.
using Alignment = std::vector<std::vector<Index>>;

/// How to put data of schema `mine` in the order of `job`; empty where there is nothing to do. Throws InputError where
/// there is a misfit().
Alignment align(const Schema& job, const Schema& mine, Unnamed unnamed, const std::string& who,
                const std::string& whose);

/// The tensor (patients first) with its feature modes in the order of the job. Its labels are not taken along.
Tensor<double> reordered(const TensorView<const double>& x, const Alignment& alignment);

/// "mode 2 put in the order age, systolic, hba1c" of every mode that was; empty when none was.
std::string describe(const Alignment& alignment, const Schema& job);

/// A party of a federation and what it brings.
struct SchemaParty {
    std::string name;
    Schema schema;
};

struct SchemaAgreement {
    Schema schema;                                   ///< of the job
    Index votes = 0;                                 ///< parties that fit it
    std::vector<std::optional<ErrorParts>> misfits;  ///< one per party; nothing: it fits
};

/// The schema of a federation: the one that most parties fit, in the order that most of those have (the first party's
/// of orders that are equally frequent), with the names and units that any of them knows. Does not depend on who came
/// first. Throws InputError, naming labels and parties of both sides, when two that exclude each other are equally
/// frequent, and when there is nobody.
SchemaAgreement agree(std::span<const SchemaParty> parties, Unnamed unnamed);
/// The same where the job's schema is given.
SchemaAgreement agree(std::span<const SchemaParty> parties, Unnamed unnamed, const Schema& given);

/// Among peers nobody sees everybody's labels: they agree on fingerprints, and on one order by rule. Zero: not known.
struct SchemaPrint {
    std::uint64_t labels = 0;  ///< whatever their order
    std::uint64_t order = 0;
    std::uint64_t names = 0;
    std::uint64_t units = 0;  ///< by label
    friend bool operator==(const SchemaPrint&, const SchemaPrint&) = default;
};
SchemaPrint fingerprint(const Schema& schema);

/// The schema in which a peer takes part: its own where all have the same order, else with every mode's labels sorted.
/// Throws InputError that names the peers (in the order of `prints`) when two do not belong together.
Schema peer_schema(const Schema& mine, std::span<const SchemaPrint> prints, std::span<const std::string> names,
                   Unnamed unnamed);

}  // namespace couplet
