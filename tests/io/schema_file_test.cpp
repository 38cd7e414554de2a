#include "couplet/io/schema_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "couplet/core/error.hpp"
#include "couplet/io/model.hpp"
#include "couplet/io/npy.hpp"
#include "couplet/io/npz.hpp"
#include "couplet/io/tensor_file.hpp"
#include "trains.hpp"

namespace couplet {
namespace {

using namespace support;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Texts = std::vector<std::string>;

class SchemaFileTest : public ::testing::Test {
  protected:
    void SetUp() override {
        const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
        folder_ = fs::path(::testing::TempDir()) / ("couplet_schema_" + std::string(test->name()));
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }
    fs::path put(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name) << text;
        return folder_ / name;
    }
    template <class F>
    static std::string refusal(F action) {
        try {
            action();
        } catch (const InputError& error) {
            return error.what();
        }
        return "";
    }
    static void expect_in(const std::string& text, std::initializer_list<const char*> parts) {
        for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " not in: " << text;
    }

    fs::path folder_;
};

const Schema sample{Shape{2, 3}, {{"lab", {"age", "bmi"}, {"years", ""}}, {"time", {}, {}}}};

TEST_F(SchemaFileTest, IsWrittenAndReadBack) {
    save_schema(folder_ / "s.json", sample, false);
    EXPECT_EQ(load_schema(folder_ / "s.json"), sample);
    EXPECT_EQ(read_schema(folder_ / "s.json"), sample);
    EXPECT_THROW(save_schema(folder_ / "s.json", sample, false), InputError);
    const Schema bare{Shape{4}, {}};
    save_schema(folder_ / "s.json", bare, true);
    EXPECT_EQ(load_schema(folder_ / "s.json"), bare);
}

TEST_F(SchemaFileTest, JsonLeavesOutWhatIsNotKnown) {
    EXPECT_EQ(
        schema_json(sample).dump(),
        R"({"modes":[{"name":"lab","size":2,"labels":["age","bmi"],"units":["years",""]},{"name":"time","size":3}]})");
    const Schema one = parse_schema(Json::parse(R"({"modes":[{"labels":["a","b"],"unit":"kg"}]})"), "x");
    EXPECT_EQ(one.modes.at(0).units, (Texts{"kg", "kg"}));
    EXPECT_EQ(one.features, (Shape{2}));
}

TEST_F(SchemaFileTest, RefusesAnythingElseByName) {
    const auto refused = [&](const std::string& text) {
        put("bad.json", text);
        const std::string said = refusal([&] { load_schema(folder_ / "bad.json"); });
        EXPECT_NE(said.find("bad.json"), std::string::npos) << text << ": " << said;
        return said;
    };
    expect_in(refused(""), {"text that is not JSON"});
    for (const char* text : {"[]", "{}", R"({"modes": []})", R"({"modes": 3})"}) {
        expect_in(refused(text), {"no list of modes"});
    }
    expect_in(refused(R"({"modes": [3]})"), {"a mode that is no object"});
    expect_in(refused(R"({"modes": [{}]})"), {"a mode without labels and size"});
    expect_in(refused(R"({"modes": [{"size": 0}]})"), {"size of '0'"});
    expect_in(refused(R"({"modes": [{"size": 1.5}]})"), {"size of '1.5'"});
    expect_in(refused(R"({"modes": [{"size": 3, "labels": ["a"]}]})"), {"1 labels", "3"});
    expect_in(refused(R"({"modes": [{"labels": ["a", 3]}]})"), {"labels that are no list"});
    expect_in(refused(R"({"modes": [{"labels": ["a"], "units": "kg"}]})"), {"units that are no list"});
    expect_in(refused(R"({"modes": [{"labels": ["a"], "name": 3}]})"), {"name that is no text"});
    expect_in(refusal([&] { load_schema(folder_ / "none.json"); }), {"none.json", "no such file"});
}

TEST_F(SchemaFileTest, CsvHeadersHaveUnits) {
    put("a.csv", "age [years],systolic [mmHg] \t,[odd],x[0]\n1,2,3,4\n");
    const Schema s = read_schema(folder_ / "a.csv");
    EXPECT_EQ(s.modes.at(0).entries, (Texts{"age", "systolic", "[odd]", "x[0]"}));
    EXPECT_EQ(s.modes.at(0).units, (Texts{"years", "mmHg", "", ""}));
    put("b.csv", "1,2\n3,4\n");
    EXPECT_FALSE(read_schema(folder_ / "b.csv").named());
}

TEST_F(SchemaFileTest, AManifestNamesTheFilesThatItLists) {
    const Tensor<double> x(Shape{2, 2, 3});
    for (const char* name : {"a.npy", "b.npy", "c.npy"}) write_npy(folder_ / name, x.view(), false);
    const auto manifest = [&](const std::string& own) {
        put("manifest.json",
            R"({"shape":[4,2,3],"mode_labels":[{"name":"patient","entries":["p","q","r","s"]},{"name":"lab",)"
            R"("entries":["age","bmi"],"units":["years",""]},{"name":"time","entries":[]}],"clients":[{"file":"a.npy"},)" +
                own + "]}");
    };
    manifest(R"({"file":"b.npy","mode_labels":[{},{"entries":["bmi","age"]},{}]})");
    EXPECT_EQ(read_schema(folder_ / "a.npy"), sample);
    EXPECT_EQ(open_tensor(folder_ / "a.npy").labels().at(1).entries, (Texts{"age", "bmi"}));
    EXPECT_TRUE(open_tensor(folder_ / "a.npy").labels().at(0).entries.empty());
    EXPECT_EQ(read_schema(folder_ / "b.npy").modes.at(0).entries, (Texts{"bmi", "age"}));
    EXPECT_FALSE(read_schema(folder_ / "c.npy").named());
    EXPECT_EQ(read_schema(folder_ / "manifest.json"), sample);
    std::filesystem::create_directory(folder_ / "links");
    std::filesystem::create_symlink("../a.npy", folder_ / "links" / "mine.npy");
    EXPECT_EQ(read_schema(folder_ / "links" / "mine.npy"), sample) << "a link to a tensor is that tensor";
    // Labels that do not fit are no labels to pass over in silence.
    manifest(R"({"file":"b.npy","mode_labels":[{},{"entries":["bmi"]},{}]})");
    expect_in(refusal([&] { read_schema(folder_ / "b.npy"); }), {"manifest.json", "b.npy", "1 labels"});
    manifest(R"({"file":"./b.npy"},{"file":"b.npy"})");
    expect_in(refusal([&] { read_schema(folder_ / "b.npy"); }), {"manifest.json", "b.npy more than once"});
    // A manifest that cannot be read may have told another order.
    put("manifest.json", R"({"clients": [)");
    expect_in(refusal([&] { read_schema(folder_ / "a.npy"); }), {"manifest.json", "not JSON"});
    fs::remove(folder_ / "manifest.json");
    fs::create_symlink(folder_ / "nowhere", folder_ / "manifest.json");
    expect_in(refusal([&] { read_schema(folder_ / "a.npy"); }), {"manifest.json", "not a file that can be read"});
    fs::remove(folder_ / "manifest.json");
    ASSERT_EQ(::mkfifo((folder_ / "manifest.json").c_str(), 0600), 0);
    expect_in(refusal([&] { read_schema(folder_ / "a.npy"); }), {"manifest.json", "not a file that can be read"});
    fs::remove(folder_ / "manifest.json");
    put("manifest.json", R"({"clients": [{"file": "a.npy", "rows": 77}]})");
    expect_in(refusal([&] { read_schema(folder_ / "a.npy"); }), {"a.npy", "77 rows by the manifest"});
    put("manifest.json", R"({"files": []})");
    EXPECT_FALSE(read_schema(folder_ / "a.npy").named());
}

TEST_F(SchemaFileTest, NpzTensorsAndModelsHaveLabels) {
    const Tensor<double> x(Shape{4, 2});
    const auto save = [&](const std::string& name, const std::string& array, bool second) {
        NpzWriter archive(folder_ / name, true);
        archive.add(array, x.view());
        if (second) archive.add("y", x.view());
        archive.add_texts("labels_2", Texts{"age", "bmi"});
        archive.add_texts("units_2", Texts{"years", ""});
        archive.commit();
    };
    save("a.npz", "x", false);
    EXPECT_EQ(read_schema(folder_ / "a.npz"), (Schema{Shape{2}, {{"", {"age", "bmi"}, {"years", ""}}}}));
    save("a.npz", "tensor", true);
    EXPECT_EQ(open_tensor(folder_ / "a.npz").shape(), (Shape{4, 2}));
    save("a.npz", "x", true);
    expect_in(refusal([&] { open_tensor(folder_ / "a.npz"); }), {"a.npz", "2 arrays", "tensor"});
    auto model = to_model(random_train<double>({2, 3}, {3, 2, 1}), 2);
    model.labels = sample.modes;
    save_model(folder_ / "f.npz", model, false);
    EXPECT_EQ(read_schema(folder_ / "f.npz"), sample);
    expect_in(refusal([&] { open_tensor(folder_ / "f.npz"); }), {"f.npz", "a model", "reconstruct"});
    auto complete = to_model(random_train<double>({4, 2, 3}, {1, 2, 2, 1}), 1);
    complete.labels = {{"patient", {}, {}}, sample.modes[0], sample.modes[1]};
    save_model(folder_ / "m.npz", complete, false);
    EXPECT_EQ(read_schema(folder_ / "m.npz"), sample);
}

}  // namespace
}  // namespace couplet
