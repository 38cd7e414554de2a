#include "couplet/wire/filled_data.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "couplet/wire/site.hpp"
#include "wire_test_support.hpp"

namespace couplet::wire {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

JobSpec spec() {
    JobSpec spec{resolve_job({.rank = 2}), {}, {}};
    spec.missing.emplace();
    return spec;
}

Tensor<double> incomplete() {
    Tensor<double> x = population_client({12, 4, 3}, 2, 0.7, 0.01, 1, 1);
    for (Index i = 0; i < x.size(); i += 7) x.data()[i] = unknown;
    return x;
}

std::vector<double> numbers(const FilledData& data) {
    const auto shown = data.prepared().training;
    return {shown->data(), shown->data() + shown->size()};
}

StartNotice start(bool refilled, Labels labels = {}) { return {{1, 12, 1, std::move(labels)}, false, refilled}; }

FeaturesMessage features(const FilledData& data, std::optional<Filling> filling) {
    StarClient client(spec().job, data.prepared());
    const Hello hello = client.hello();
    const auto reply = client.receive(Start{1, hello.rows, hello.norm2, hello.labels});
    FeaturesMessage message{{block_train(std::get<Upload>(*reply).block.get()), {}, false}, std::nullopt};
    message.filling = filling;
    return message;
}

TEST(FilledData, KeepsWhatIsKnownAndTakesBackWhatAnAttemptThatIsOverFilledIn) {
    const auto x = std::make_shared<Tensor<double>>(incomplete());
    FilledData data(spec(), x, 0);
    const std::vector<double> first = numbers(data);
    Index known = 0;
    Index kept = 0;  // some that are known are hidden from the features, to see how good the rest is
    for (std::size_t i = 0; i < first.size(); ++i) {
        EXPECT_TRUE(std::isfinite(first[i]));
        known += std::isnan(x->data()[i]) ? 0 : 1;
        kept += first[i] == x->data()[i] ? 1 : 0;
    }
    EXPECT_GT(kept, known * 3 / 4);
    data.fill(features(data, Filling{1, 1}));
    const std::vector<double> refilled = numbers(data);
    EXPECT_NE(refilled, first);
    data.follow(start(true));  // the same attempt goes on
    EXPECT_EQ(numbers(data), refilled);
    data.follow(start(false));
    EXPECT_EQ(numbers(data), first);
}

TEST(FilledData, FollowsTheJobsOrder) {
    const auto labels_of = [](std::vector<std::string> names) {
        return Labels{ModeLabels{}, ModeLabels{"lab", std::move(names), {}}, ModeLabels{}};
    };
    Tensor<double> x = incomplete();
    x.set_labels(labels_of({"a", "b", "c", "d"}));
    FilledData data(spec(), std::make_shared<Tensor<double>>(std::move(x)), 0);
    const std::vector<double> first = numbers(data);
    Labels job = labels_of({"b", "a", "c", "d"});
    job.erase(job.begin());
    data.follow(start(false, job));
    EXPECT_FALSE(data.reordered().empty());
    EXPECT_EQ(data.schema().modes, job);
    EXPECT_NE(numbers(data), first);
}

TEST(FilledData, FitsTheFinalFeaturesToWhatIsKnown) {
    FilledData data(spec(), std::make_shared<Tensor<double>>(incomplete()), 0);
    for (int i = 0; i < 20; ++i) data.fill(features(data, Filling{0, 1}));
    const PersonalFit fit = data.fit(features(data, Filling{0, 1, true}));
    EXPECT_EQ(fit.personal.rows(), 12);
    EXPECT_LT(fit.error2, 0.01 * fit.norm2);
}

}  // namespace
}  // namespace couplet::wire
