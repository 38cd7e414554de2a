#include "couplet/experiments/classify.hpp"

#include "couplet/core/error.hpp"
#include "matrices.hpp"

namespace couplet {
namespace {

/// Two classes that differ in one index of mode 2; the rest is noise.
Dataset clusters(Index people) {
    Random random(4);
    Dataset data{.tensor = Tensor<double>({people, 6, 4})};
    for (double& e : data.tensor.elements()) e = 0.1 * random.normal();
    for (Index p = 0; p < people; ++p) {
        data.labels.push_back(p % 2);
        for (Index j = 0; j < 4; ++j) data.tensor.data()[(p * 6 + 3) * 4 + j] += p % 2 == 0 ? 2 : -2;
    }
    return data;
}

TEST(ClassifyTest, FindsTheIndexThatTellsTheClassesApart) {
    const Dataset people = clusters(60);
    const auto result =
        classify(people, {.rank = 4, .features = {1, 3}, .neighbours = 3, .splits = 3, .clients = {2, 3}});
    // centralized, and ours and the printed method for two federations; two m and two on the personal cores each.
    EXPECT_EQ(result.scores.size(), 5U * 4U);
    EXPECT_EQ(result.people, 60);
    EXPECT_EQ(result.classes, 2);
    for (const auto& score : result.scores) {
        EXPECT_EQ(score.test.count, 3);
        if (score.method == "printed") continue;
        EXPECT_EQ(score.test.mean, 1) << score.method << " " << to_string(score.classifier);
        EXPECT_EQ(score.training.mean, 1);
    }
    EXPECT_LT(result.majority.mean, 0.8);
}

TEST(ClassifyTest, TheSeedDecides) {
    Dataset people = clusters(40);
    for (std::size_t i = 0; i < people.labels.size(); i += 3) people.labels[i] = 1 - people.labels[i];
    const ClassificationOptions how{.rank = 3, .splits = 2, .clients = {2}, .seed = 1};
    const auto once = classify(people, how);
    const auto again = classify(people, how);
    for (std::size_t i = 0; i < once.scores.size(); ++i) EXPECT_EQ(once.scores[i].test, again.scores[i].test);
}

TEST(ClassifyTest, SevenToThreeWhateverTheSplit) {
    EXPECT_EQ(largest_rank(clusters(40), {.clients = {2}}), 14);      // 28 training people, 14 each
    EXPECT_EQ(largest_rank(clusters(400), {.clients = {1, 4}}), 24);  // 6 x 4 features are fewer
}

TEST(ClassifyTest, RefusesPeopleThatCannotBeLearnedFrom) {
    const auto message = [](Dataset people, const ClassificationOptions& how) {
        return support::message_of([&] { classify(people, how); });
    };
    const ClassificationOptions how{.rank = 2, .splits = 1, .clients = {2}};
    Dataset bare = clusters(20);
    bare.labels.clear();
    EXPECT_NE(message(std::move(bare), how).find("labels: none"), std::string::npos);
    Dataset few = clusters(20);
    few.labels.pop_back();
    EXPECT_NE(message(std::move(few), how).find("19"), std::string::npos);
    Dataset same = clusters(20);
    std::fill(same.labels.begin(), same.labels.end(), 1);
    EXPECT_NE(message(std::move(same), how).find("one class"), std::string::npos);
    EXPECT_NE(message(clusters(2), how).find("people"), std::string::npos);
    EXPECT_NE(message(clusters(20), {.rank = 12, .splits = 1, .clients = {2}}).find("12"), std::string::npos);
    EXPECT_NE(message(clusters(20), {.rank = 2, .splits = 0, .clients = {2}}).find("`splits`"), std::string::npos);
}

TEST(ClassifyTest, ClassifiersHaveNames) {
    EXPECT_EQ(to_string(Classifier::knn_features), "knn-features");
    EXPECT_EQ(to_string(Classifier::knn_personal), "knn-personal");
    EXPECT_EQ(to_string(Classifier::logistic_personal), "logistic-personal");
}

}  // namespace
}  // namespace couplet
