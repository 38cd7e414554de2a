#include "couplet/experiments/data_library.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiment_test_support.hpp"

namespace couplet {
namespace {

using testing::LabTest;
using testing::refusal;

TEST_F(LabTest, SyntheticDataIsDrawnBySeed) {
    DataLibrary library({}, Effort::tiny);
    const auto a = library.open(DataId::synthetic3, 1);
    const auto b = library.open(DataId::synthetic3, 2);
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->dataset.tensor.shape(), (Shape{48, 8, 7}));
    EXPECT_NE(a->dataset.tensor.data()[0], b->dataset.tensor.data()[0]);
    EXPECT_EQ(library.open(DataId::synthetic3, 2), b);
    EXPECT_EQ(a->split(5).clients(), 5);
    EXPECT_EQ(library.open(DataId::synthetic4, 1)->dataset.tensor.shape().order(), 4);
    EXPECT_EQ(library.absent(DataId::synthetic3), "");
}

TEST_F(LabTest, TheFullSizesAreThePapers) {
    DataLibrary library({}, Effort::full);
    EXPECT_EQ(library.open(DataId::synthetic3, 0)->dataset.tensor.shape(), (Shape{200, 30, 30}));
    EXPECT_EQ(library.open(DataId::synthetic4, 0)->dataset.tensor.shape(), (Shape{200, 20, 20, 20}));
    EXPECT_EQ(library.open(DataId::synthetic3, 0)->rank, 20);
}

TEST_F(LabTest, AbsentFilesAreAskedForInWords) {
    DataLibrary library(folder_, Effort::tiny);
    EXPECT_EQ(library.open(DataId::diabetes, 0), nullptr);
    const std::string what = library.absent(DataId::diabetes);
    for (const char* part : {"Diabetes", "diabetes_012_health_indicators_BRFSS2015.csv", "Kaggle"}) {
        EXPECT_NE(what.find(part), std::string::npos) << what;
    }
    EXPECT_THROW(DataLibrary(folder_ / "nowhere", Effort::tiny), InputError);
}

/// It stands in results and reports, whose readers have an interface.
TEST_F(LabTest, AbsentFilesAreAskedForInTheWordsOfTheReader) {
    const char* before = ::getenv("COUPLET_DATA");
    const std::optional<std::string> kept = before != nullptr ? std::optional<std::string>(before) : std::nullopt;
    ::unsetenv("COUPLET_DATA");
    const auto said = [](const Spelling& spelling) {
        return DataLibrary({}, Effort::tiny, spelling).absent(DataId::diabetes);
    };
    EXPECT_NE(said({}).find("Name it with `data`, or set"), std::string::npos) << said({});
    const std::string spelled = said([](std::string_view name) { return "--" + std::string(name); });
    EXPECT_NE(spelled.find("Name it with --data, or set"), std::string::npos) << spelled;
    if (kept) ::setenv("COUPLET_DATA", kept->c_str(), 1);
}

TEST_F(LabTest, DamagedFilesAreNamedWithTheirSource) {
    DataLibrary library(folder_, Effort::tiny);
    put("diabetes_012_health_indicators_BRFSS2015.csv", "HighBP,HighChol\n1,0\n");
    std::string error = refusal([&] { library.open(DataId::diabetes, 0); });
    for (const char* part : {"BRFSS2015.csv", "Diabetes_012", "Kaggle"}) {
        EXPECT_NE(error.find(part), std::string::npos) << error;
    }
    put("ecg.csv", "1,2,3\n");
    error = refusal([&] { library.open(DataId::ecg, 0); });
    for (const char* part : {"ecg.csv", "140", "Kaggle"}) EXPECT_NE(error.find(part), std::string::npos) << error;
    put_ecg(5);  // too few beats
    error = refusal([&] { library.open(DataId::ecg, 0); });
    for (const char* part : {"ecg.csv", "40", "5", "Kaggle"}) EXPECT_NE(error.find(part), std::string::npos) << error;
    put("cms1k_dense.csv", "1,2,3,4,x\n");
    error = refusal([&] { library.open(DataId::cms, 0); });
    for (const char* part : {"cms1k_dense.csv", "FedGTF-EF"}) EXPECT_NE(error.find(part), std::string::npos) << error;
}

TEST_F(LabTest, RecordsMustHoldEnoughPeopleForTheExperiments) {
    const auto put_people = [&](int people) {
        std::string text;
        for (int line = 0; line < 20 * people; ++line) {
            text += fmt::format("1,{},{},1,{}\n", 1 + line % people, 1 + line % 11, 1 + line % 13);
        }
        put("cms1k_dense.csv", text);
    };
    put_people(27);
    const std::string error = refusal([&] { DataLibrary(folder_, Effort::tiny).open(DataId::cms, 0); });
    for (const char* part : {"cms1k_dense.csv: 27 people", "in 540 rows", "at least 28", "rank 6", "FedGTF-EF"}) {
        EXPECT_NE(error.find(part), std::string::npos) << error;
    }
    // The least that is let through is enough for everything that is done with records.
    put_people(28);
    for (const std::string name : {"heldout", "comparison"}) {
        Lab lab(tiny());
        const std::vector<std::string> names{name};
        const ExperimentResult result = find_experiments(names).front()->run(lab);
        EXPECT_TRUE(std::any_of(result.rows.begin(), result.rows.end(), [](const Row& row) {
            return row.category == "CMS records";
        })) << name;
    }
}

TEST_F(LabTest, TheFileBehindADataSetIsKnown) {
    put_diabetes(90);
    DataLibrary library(folder_, Effort::tiny);
    EXPECT_EQ(library.origin(DataId::synthetic3), std::nullopt);
    EXPECT_EQ(library.origin(DataId::ecg), std::nullopt);
    const auto before = library.origin(DataId::diabetes);
    ASSERT_TRUE(before);
    EXPECT_EQ(before->content, content_of(std::filesystem::path(before->file)));
    EXPECT_EQ(before->rows, 0);
    library.open(DataId::diabetes, 0);
    EXPECT_EQ(library.origin(DataId::diabetes)->rows, 90);
    put_diabetes(91);
    EXPECT_EQ(library.origin(DataId::diabetes)->content, before->content) << "read twice";
    EXPECT_TRUE(is_public(DataId::cms));
    EXPECT_FALSE(is_public(DataId::synthetic4));
}

TEST_F(LabTest, AnotherNumberOfRowsThanPublishedIsPutInWords) {
    EXPECT_EQ(unlike_published(DataId::ecg, "ecg.csv", 4998), "");
    EXPECT_EQ(unlike_published(DataId::synthetic3, "", 7), "");
    EXPECT_EQ(unlike_published(DataId::ecg, "ecg.csv", 999),
              "ECG: ecg.csv has 999 rows; the published file has 4,998.");
    EXPECT_EQ(unlike_published(DataId::cms, "c.csv", 1234567),
              "CMS records: c.csv has 1.23 M rows; the published file has 136,255.");
}

TEST_F(LabTest, AVariableThatNamesNoFolderIsRefusedLikeAnArgument) {
    const char* variable = ::getenv("COUPLET_DATA");
    const std::optional<std::string> before = variable ? std::optional<std::string>(variable) : std::nullopt;
    put("file", "");
    const auto with = [&](const std::string& value) {
        ::setenv("COUPLET_DATA", value.c_str(), 1);
        return refusal([] { DataLibrary library; });
    };
    const std::string nowhere = (folder_ / "nowhere").string();
    EXPECT_EQ(with(nowhere),
              "COUPLET_DATA=" + nowhere + ": no such folder; expected the folder of the public data. Check the path.");
    EXPECT_NE(with((folder_ / "file").string()).find("not a folder"), std::string::npos);
    EXPECT_EQ(refusal([&] { DataLibrary library(folder_); }), "");  // the argument comes first
    EXPECT_EQ(with(folder_.string()), "");
    EXPECT_EQ(with(""), "");
    if (before) {
        ::setenv("COUPLET_DATA", before->c_str(), 1);
    } else {
        ::unsetenv("COUPLET_DATA");
    }
}

TEST_F(LabTest, EffortHasANameForTheReport) {
    EXPECT_EQ(to_string(Effort::full), "full");
    EXPECT_EQ(to_string(Effort::quick), "quick");
    EXPECT_EQ(data_title(DataId::cms), "CMS records");
}

TEST_F(LabTest, SizesAndRanksByEffort) {
    put_all();
    DataLibrary library(folder_, Effort::tiny);
    struct Case {
        DataId id;
        Shape shape;
        Index rank;
        const char* title;
    };
    for (const auto& [id, shape, rank, title] :
         std::vector<Case>{{DataId::synthetic3, {48, 8, 7}, 4, "Synthetic, order 3"},
                           {DataId::synthetic4, {40, 6, 5, 4}, 4, "Synthetic, order 4"},
                           {DataId::ecg, {40, 8, 140}, 4, "ECG"},
                           {DataId::diabetes, {80, 20, 24}, 6, "Diabetes"}}) {
        const auto data = library.open(id, 1);
        EXPECT_EQ(data->dataset.tensor.shape(), shape) << title;
        EXPECT_EQ(data->rank, rank) << title;
        EXPECT_EQ(data->title, title);
        EXPECT_EQ(data->id, id);
    }
    const auto records = library.open(DataId::cms, 1);
    EXPECT_EQ(records->dataset.tensor.shape()[1], 10);
    EXPECT_EQ(records->dataset.tensor.shape()[2], 10);
    EXPECT_EQ(records->rank, 6);
    DataLibrary quick(folder_, Effort::quick);
    EXPECT_EQ(quick.open(DataId::synthetic3, 1)->dataset.tensor.shape(), (Shape{200, 30, 30}));
    EXPECT_EQ(quick.open(DataId::synthetic4, 1)->dataset.tensor.shape(), (Shape{200, 12, 12, 12}));
    EXPECT_EQ(quick.open(DataId::synthetic4, 1)->rank, 20);
    EXPECT_EQ(to_string(Effort::tiny), "tiny");
    EXPECT_EQ(quick.effort(), Effort::quick);
}

}  // namespace
}  // namespace couplet
