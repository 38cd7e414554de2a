#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/tensor/schema.hpp"

namespace couplet::net {

/// A client that has greeted: its place on the roster, how it is called, and what its data is of.
struct Voter {
    Index place = 0;
    std::string who;
    Schema schema;
};

/// How the clients of a job come to one schema: it is given, or what most of them bring.
class SchemaVote {
  public:
    SchemaVote(std::optional<Schema> given, Unnamed unnamed) : given_(std::move(given)), unnamed_(unnamed) {}

    /// What these agree on. Throws InputError when two sides are equally frequent.
    SchemaAgreement among(const std::vector<Voter>& voters) const;
    /// Whether two sides are equally frequent: nobody can tell who is right.
    bool is_tied(const std::vector<Voter>& voters) const;
    /// What the schema is for certain, whoever may still come: one that was given, or what more than half of the
    /// `roster` bring without leaving anything open. Nothing: it is not decided.
    std::optional<Schema> certain(const std::vector<Voter>& greeted, Index roster) const;
    /// Why a client does not fit a schema; nothing: it does.
    std::optional<ErrorParts> misfit_of(const Voter& voter, const Schema& schema) const;

    struct Outcome {
        std::vector<Index> fitting;                              ///< places, as in the list
        std::vector<std::pair<Index, ErrorParts>> misfits = {};  ///< who is turned away, and why
    };
    /// Who fits together. Where two sides are equally frequent, whoever has gone has no say against those who are here
    /// (`is_here`), and without a way out nobody fits.
    Outcome settle(const std::vector<Voter>& voters, const std::function<bool(Index place)>& is_here) const;

  private:
    std::optional<Schema> given_;
    Unnamed unnamed_;
};

}  // namespace couplet::net
