#include "audit_warning.hpp"

#include <gtest/gtest.h>

#include "couplet/core/random.hpp"

namespace couplet::cli {
namespace {

/// Sparse records, as health records are: what ICA undoes.
Tensor<double> sparse_patients(Index patients, Index features) {
    Random random(3);
    auto x = Tensor<double>::zeros({patients, features, 4});
    for (Index i = 0; i < patients; ++i) {
        for (int entry = 0; entry < 6; ++entry) {
            x.data()[4 * features * i + static_cast<Index>(random.next() % static_cast<std::uint64_t>(4 * features))] =
                1;
        }
    }
    return x;
}

wire::JobSpec stack(Index rank) {
    JobOptions job;
    job.rank = rank;
    return {resolve_job(job), {}};
}

TEST(AuditWarning, WarnsOfAMessageThatRevealsPatients) {
    const auto x = sparse_patients(40, 60);
    const std::string text = audit_warning(stack(32), x, "membership");
    EXPECT_NE(text.find("patients"), std::string::npos) << text;
    EXPECT_NE(text.find("this client's message"), std::string::npos) << text;
    EXPECT_EQ(audit_warning(stack(32), x, "patients"), "") << "agreed to";
}

TEST(AuditWarning, SaysWhereNothingCanBeTried) {
    EXPECT_NE(audit_warning(stack(2), sparse_patients(5, 10), "membership").find("too few"), std::string::npos);
    EXPECT_NE(audit_warning(stack(500), sparse_patients(600, 250), "membership").find("too large"), std::string::npos);
    // Empty records are nobody.
    EXPECT_NE(audit_warning(stack(2), Tensor<double>::zeros({600, 10}), "membership").find("too few"),
              std::string::npos);
    wire::JobSpec masked = stack(2);
    masked.shield.emplace();
    const std::string text = audit_warning(masked, sparse_patients(40, 60), "membership");
    EXPECT_NE(text.find("not the records"), std::string::npos) << text;
    EXPECT_EQ(audit_warning(masked, sparse_patients(40, 60), "patients"), "") << "agreed to";
    masked.shield->guarantee = PrivacyGuarantee{1, 1e-5};
    EXPECT_EQ(audit_warning(masked, sparse_patients(40, 60), "membership"), "");
}

}  // namespace
}  // namespace couplet::cli
