#include "couplet/wire/job_print.hpp"

#include "wire_test_support.hpp"

namespace couplet::wire {
namespace {

JobSpec masked_job() {
    JobOptions options;
    options.aggregate = Aggregate::subspace;
    options.rank = 3;
    JobSpec spec{resolve_job(options), {}};
    spec.shield = ShieldTerms{.guarantee = PrivacyGuarantee{1, 1e-5}, .clip = 2.0};
    return spec;
}

Start began() { return {.clients = 5, .rows = 5, .norm2 = 0, .labels = {{"pulse", {"rest", "load"}}}}; }

TEST(JobPrint, IsTheSameForWhoSaysItAndWhoHearsIt) {
    const auto told = round_trip(Welcome{masked_job(), 3, 5});
    const auto start = round_trip(StartNotice{began(), true, false}).start;
    EXPECT_EQ(job_print(told.spec, start), job_print(masked_job(), began()));
}

TEST(JobPrint, IsAnotherForAnyOtherJob) {
    const Key print = job_print(masked_job(), began());
    for (const auto& change : std::vector<std::function<void(JobSpec&, Start&)>>{
             [](JobSpec&spec, Start&) { spec.job.rank = 4; },
             [](JobSpec&spec, Start&) { ++spec.job.seed; },
             [](JobSpec&spec, Start&) { ++spec.job.passes; },
             [](JobSpec&spec, Start&) { ++spec.job.oversampling; },
             [](JobSpec&spec, Start&) { spec.job.sketch = Sketch::gram; },
             [](JobSpec&spec, Start&) { spec.job.unnamed = Unnamed::allow; },
             [](JobSpec&spec, Start&) { spec.preparation.heldout = 1.0 / 60; },
             [](JobSpec&spec, Start&) { spec.preparation.scale_clients = true; },
             [](JobSpec&spec, Start&) { spec.shield->policy = false; },
             [](JobSpec&spec, Start&) { spec.shield->colluders = 2; },
             [](JobSpec&spec, Start&) { spec.shield->guarantee->epsilon = 0.01; },
             [](JobSpec&spec, Start&) { spec.shield->guarantee->delta = 1e-6; },
             [](JobSpec&spec, Start&) { spec.shield->guarantee.reset(); },
             [](JobSpec&spec, Start&) { spec.shield->clip = 3.0; },
             [](JobSpec&spec, Start&) { spec.shield->noise = NoisePlace::local; },
             [](JobSpec&spec, Start&) { spec.shield.reset(); },
             [](JobSpec&spec, Start&) { spec.centring.centre = true; },
             [](JobSpec&, Start&start) { ++start.clients; },
             [](JobSpec&, Start&start) { std::swap(start.labels[0].entries[0], start.labels[0].entries[1]); },
             [](JobSpec&, Start&start) { start.labels.clear(); }}) {
        JobSpec spec = masked_job();
        Start start = began();
        change(spec, start);
        EXPECT_NE(job_print(spec, start), print);
    }
}

}  // namespace
}  // namespace couplet::wire
