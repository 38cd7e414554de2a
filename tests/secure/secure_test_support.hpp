#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/secure/secure_client.hpp"
#include "couplet/secure/secure_coordinator.hpp"
#include "couplet/sim/simulate.hpp"
#include "federations.hpp"

namespace couplet {

/// Certificates of parties that have none: a name and an Ed25519 key.
class TestAuthority {
  public:
    explicit TestAuthority(int parties) : identities_(static_cast<std::size_t>(parties)) {}
    static std::string name(Party party) { return "hospital-" + std::to_string(party + 1); }
    std::string certificate(Party party) const {
        const Key& key = identities_[static_cast<std::size_t>(party)].verifying();
        return name(party) + ":" + std::string(key.begin(), key.end());
    }
    Notary notary(Party party) const {
        Notary notary;
        notary.sign = [this, party](Bytes text) { return identities_[static_cast<std::size_t>(party)].sign(text); };
        notary.certificate = certificate(party);
        notary.name_of = [this](const std::string& shown) {
            for (Party p = 0; p < static_cast<Party>(identities_.size()); ++p) {
                if (certificate(p) == shown) return name(p);
            }
            throw InputError({"certificate", "one that nobody issued", "one of the federation", ""});
        };
        notary.verify = [](const std::string& shown, Bytes text, const Signature& signature) {
            Key key;
            std::copy(shown.end() - static_cast<std::ptrdiff_t>(key.size()), shown.end(), key.begin());
            return verify_signature(key, text, signature);
        };
        return notary;
    }

  private:
    std::vector<Identity> identities_;
};

inline Job subspace_job(Index rank, Sketch sketch = Sketch::random, int passes = 3) {
    JobOptions options;
    options.aggregate = Aggregate::subspace;
    options.rank = rank;
    options.sketch = sketch;
    options.passes = passes;
    options.seed = 5;
    return resolve_job(options);
}

/// A secure job whose messages go from hand to hand.
struct SecureJob {
    SecureJob(support::Clients data, Job wanted, ShieldTerms how = {.policy = false})
        : clients(std::move(data)), job(std::move(wanted)), terms(how), authority(static_cast<int>(clients.size())) {
        for (std::size_t k = 0; k < clients.size(); ++k) {
            names[static_cast<Party>(k)] = TestAuthority::name(static_cast<Party>(k));
            records.emplace_back();
            machines.push_back(nullptr);
        }
        restart_coordinator();
        for (std::size_t k = 0; k < clients.size(); ++k) restart(k);
    }
    void restart_coordinator() {
        const auto sizes = clients.front().shape().sizes();
        coordinator = std::make_unique<SecureCoordinator>(
            job, Shape(std::vector<Index>(sizes.begin() + 1, sizes.end())),
            SecureCoordinator::Options{
                .job = id, .told = told, .terms = terms, .notary = authority.notary(0), .names = names});
    }
    /// As a process that knows what it wrote and nothing else.
    void restart(std::size_t k) {
        SecureClient::Options options{.job = id,
                                      .self = static_cast<Party>(k),
                                      .clients = static_cast<Index>(clients.size()),
                                      .told = told,
                                      .demands = demands,
                                      .terms = terms,
                                      .notary = authority.notary(static_cast<Party>(k)),
                                      .record = records[k],
                                      .on_record = [this, k](const SumRecord& record) { records[k] = record; },
                                      .on_plan = {}};
        machines[k] = std::make_unique<SecureClient>(job, clients[k].view(), std::move(options));
    }
    /// One step: everybody who is asked and there answers.
    void step() {
        const Index sum = coordinator->sum();
        const std::set<Party> asked = coordinator->asked();
        for (const Party party : asked) {
            SecureRequest request = coordinator->request(party);
            const auto stage = request.ask.index();
            if (lost && lost(party, sum, request.again, stage)) continue;
            if (tamper) tamper(party, request);
            SecureReply reply = machines[static_cast<std::size_t>(party)]->answer(request);
            if (std::holds_alternative<Unmasking>(reply.answer)) ++revealed;
            if (heard) heard(party, reply);
            coordinator->take(party, std::move(reply));
        }
        coordinator->close();
    }
    const Features& run() {
        while (!coordinator->finished()) step();
        return coordinator->features();
    }
    std::string refusal() {
        try {
            run();
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    }

    support::Clients clients;
    Job job;
    ShieldTerms terms;
    TestAuthority authority;
    SumDemands demands = {};
    SecureJobId id{1, 2, 3};
    Key told{4};
    std::map<Party, std::string> names;
    std::vector<SumRecord> records;
    std::unique_ptr<SecureCoordinator> coordinator;
    std::vector<std::unique_ptr<SecureClient>> machines;
    std::function<bool(Party, Index sum, Index again, std::size_t stage)> lost;
    std::function<void(Party, SecureRequest&)> tamper;
    std::function<void(Party, const SecureReply&)> heard;
    int revealed = 0;
};

/// ||V1 V1^T - V2 V2^T|| / ||V1 V1^T|| of the features' row spaces.
inline double projector_distance(const Features& a, const Features& b) {
    const auto x = a.train.full();
    const auto y = b.train.full();
    const auto rows = [](const Tensor<double>& t) {
        return MatrixView<const double>(t.data(), t.shape()[0], t.size() / t.shape()[0]);
    };
    const auto across = product<double>(rows(x), rows(y), Op::none, Op::transpose);
    const auto rank = static_cast<double>(x.shape()[0]);
    auto rest = Matrix<double>::copy(rows(y));
    multiply<double>(across.view(), Op::transpose, rows(x), Op::none, rest.view(), -1, 1);
    return std::sqrt(2 * squared_norm<double>(rest.view()) / rank);
}

/// The plain job over some of the clients.
inline SimulationResult plain(const support::Clients& clients, const std::vector<std::size_t>& members,
                              const Job& job) {
    support::Clients copies;
    for (const std::size_t k : members) copies.push_back(Tensor<double>::copy(clients[k].view()));
    SimulationOptions options;
    options.job.aggregate = Aggregate::subspace;
    options.job.rank = job.rank;
    options.job.sketch = job.sketch;
    options.job.passes = job.passes;
    options.job.seed = job.seed;
    return simulate(MemorySource(std::move(copies)), std::move(options));
}

}  // namespace couplet
