#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "couplet/secure/secure_client.hpp"
#include "couplet/secure/shield_report.hpp"
#include "couplet/wire/message.hpp"
#include "notary.hpp"
#include "sum_memory.hpp"

namespace couplet::net {

/// What secure sums of any job need besides the data.
struct MaskingTools {
    std::optional<Notary> notary;  ///< nothing: no certificates
    SumMemory memory;
    SumDemands demands = {};
    std::function<void(const ShieldPlan&, const std::string& job)> vet_plan = {};
    std::function<void(const MaskedSum&, const std::string& job)> vet_sum = {};
};

/// What a client says of its data where only sums are seen: neither how many patients there are nor how long their
/// records.
Hello veiled(Hello hello);

/// A client's part in the secure sums of one job.
class MaskedWork {
  public:
    /// The tools must outlive it.
    MaskedWork(const wire::JobId& job, const wire::JobSpec& spec, Index place, MaskingTools& tools);
    MaskedWork(const MaskedWork&) = delete;
    MaskedWork& operator=(const MaskedWork&) = delete;

    /// Whether the job has begun so; throws InputError where it has begun otherwise.
    bool has_begun(const Start& start) const;
    /// The job begins so, and this client with this data, which must outlive it. Throws InputError where there are no
    /// certificates, and for another job than the one of this name before.
    void join(const Start& start, TensorView<const double> training);
    /// Throws InputError before join(), and for a request that must not be answered.
    SecureReply answer(const SecureRequest& request);
    /// Numbers of the data in an answer, masked.
    double numbers(const SecureRequest& request, const SecureReply& reply) const;
    ShieldReport report() const;

  private:
    wire::JobId job_;
    wire::JobSpec spec_;
    Index place_;
    MaskingTools& tools_;
    Index clients_ = 0;
    couplet::Key told_{};                   ///< hash of how the job began
    std::unique_ptr<SecureClient> client_;  ///< once joined
};

}  // namespace couplet::net
