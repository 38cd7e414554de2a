#include "couplet/data/client_files.hpp"

#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "couplet/io/tensor_file.hpp"
#include "data_test_support.hpp"

namespace couplet {
namespace {

using testing::DataTest;
using testing::refusal;
using testing::values_of;

class ClientFilesTest : public DataTest {
  protected:
    /// Client k has k + 1 rows, filled with k.
    static Dataset client(Index k, bool labelled = true) {
        Dataset data{.tensor = Tensor<double>(Shape{k + 1, 2}), .source = "some.csv", .available = 9, .records = 9};
        std::fill_n(data.tensor.data(), data.tensor.size(), static_cast<double>(k));
        data.tensor.set_labels({{"person", {}}, {"feature", {"a", "b"}}});
        if (labelled) data.labels.assign(static_cast<std::size_t>(k + 1), -k);
        return data;
    }
    std::set<std::string> names() const {
        std::set<std::string> result;
        for (const auto& entry : std::filesystem::directory_iterator(out_)) result.insert(entry.path().filename());
        return result;
    }
    void write(Index clients, bool overwrite, bool labelled = true) const {
        write_clients(
            out_, manifest_, clients, [&](Index k) { return client(k, labelled); }, overwrite);
    }

    std::filesystem::path out_ = folder_ / "new" / "folder";
    Manifest manifest_{.kind = "ecg", .spec = "some recipe", .seed = 18446744073709551615u};
};

TEST_F(ClientFilesTest, WritesClientsLabelsAndManifest) {
    write(2, false);
    EXPECT_EQ(names(),
              (std::set<std::string>{"client_1.npy", "client_2.npy", "labels_1.npy", "labels_2.npy", "manifest.json"}));
    const Tensor<double> second = open_tensor(out_ / "client_2.npy").take<double>();
    EXPECT_EQ(second.shape(), (Shape{2, 2}));
    EXPECT_EQ(values_of(second), (std::vector<double>{1, 1, 1, 1}));
    const NpyHeader labels = read_npy_header(out_ / "labels_2.npy");
    EXPECT_EQ(labels.descr, "<i8");
    EXPECT_EQ(labels.shape, (Shape{2}));

    const auto json = nlohmann::json::parse(get("new/folder/manifest.json"));
    EXPECT_EQ(json["kind"], "ecg");
    EXPECT_EQ(json["spec"], "some recipe");
    EXPECT_EQ(json["seed"], 18446744073709551615u);
    EXPECT_EQ(json["source"], "some.csv");
    EXPECT_EQ(json["shape"], (std::vector<Index>{3, 2}));
    EXPECT_EQ(json["mode_labels"][1]["name"], "feature");
    EXPECT_EQ(json["mode_labels"][1]["entries"], (std::vector<std::string>{"a", "b"}));
    ASSERT_EQ(json["clients"].size(), 2u);
    EXPECT_EQ(json["clients"][1]["file"], "client_2.npy");
    EXPECT_EQ(json["clients"][1]["rows"], 2);
    EXPECT_EQ(json["clients"][1]["labels"], "labels_2.npy");
}

TEST_F(ClientFilesTest, NamesAndUnitsAreThoseThatAreReadAgain) {
    const Labels labels{{"person", {}, {}}, {"mesure", {"tension", "größe"}, {"mmHg", "cm"}}};
    const auto named = [&](Index k) {
        Dataset data = client(k);
        data.tensor.set_labels(labels);
        return data;
    };
    write_clients(out_, manifest_, 2, named, false);
    for (const char* file : {"client_1.npy", "client_2.npy"}) {
        EXPECT_EQ(open_tensor(out_ / file).labels(), labels) << file;
    }
    EXPECT_NE(get("new/folder/manifest.json").find("größe"), std::string::npos) << "people read it too";
}

TEST_F(ClientFilesTest, NumpyReadsThem) {
    write(2, false);
    const std::string command = "/usr/bin/python3 -c \"import numpy as np; a = np.load('" + out_.string() +
                                "/labels_2.npy'); b = np.load('" + out_.string() +
                                "/client_2.npy'); print(a.dtype, a.tolist(), b.dtype, b.tolist())\" 2>&1";
    std::FILE* pipe = ::popen(command.c_str(), "r");
    std::string output(200, '\0');
    output.resize(std::fread(output.data(), 1, output.size(), pipe));
    ::pclose(pipe);
    EXPECT_EQ(output, "int64 [-1, -1] float64 [[1.0, 1.0], [1.0, 1.0]]\n");
}

TEST_F(ClientFilesTest, LeavesLabelsOutWhereThereAreNone) {
    write(1, false, false);
    EXPECT_EQ(names(), (std::set<std::string>{"client_1.npy", "manifest.json"}));
    EXPECT_TRUE(nlohmann::json::parse(get("new/folder/manifest.json"))["clients"][0]["labels"].is_null());
}

TEST_F(ClientFilesTest, WritesClientsInMemoryAlike) {
    write(2, false);
    const std::string lazy = get("new/folder/manifest.json");
    std::vector<Dataset> clients;
    for (Index k = 0; k < 2; ++k) clients.push_back(client(k));
    write_clients(out_, manifest_, clients, true);
    EXPECT_EQ(get("new/folder/manifest.json"), lazy);
}

TEST_F(ClientFilesTest, ReplacesOnlyWhenTold) {
    write(3, false);
    const std::string before = get("new/folder/client_1.npy");
    EXPECT_NE(refusal([&] { write(2, false); }).find("the file exists; expected a folder without clients"),
              std::string::npos);
    EXPECT_EQ(names().size(), 7u);
    EXPECT_EQ(get("new/folder/client_1.npy"), before);
    put("new/folder/notes.txt", "mine");
    put("new/folder/client_x.npy", "mine");
    write(2, true, false);
    EXPECT_EQ(names(),
              (std::set<std::string>{"client_1.npy", "client_2.npy", "client_x.npy", "manifest.json", "notes.txt"}));
}

TEST_F(ClientFilesTest, WhatTheManifestDoesNotListIsSomebodyElses) {
    write(3, false);
    put("new/folder/labels_9.npy", "mine");
    EXPECT_NE(refusal([&] { write(2, true); }).find("labels_9.npy: a file that the folder's manifest does not list"),
              std::string::npos);
    EXPECT_EQ(names().size(), 8u) << "nothing was removed";
    EXPECT_EQ(get("new/folder/labels_9.npy"), "mine");
}

TEST_F(ClientFilesTest, RefusesALeftoverClientWithoutManifest) {
    std::filesystem::create_directories(out_);
    put("new/folder/client_7.npy", "");
    EXPECT_NE(refusal([&] { write(1, false); }).find("client_7.npy: the file exists"), std::string::npos);
}

TEST_F(ClientFilesTest, IsWrittenByOneRunAtATime) {
    const auto beside_another = [&](Index k) {
        EXPECT_THROW(write(2, true), RunError);
        return client(k);
    };
    write_clients(out_, manifest_, 2, beside_another, false);
    EXPECT_TRUE(names().contains("client_1.npy") && names().contains("manifest.json"));
}

TEST_F(ClientFilesTest, LeavesNothingWhenAClientFails) {
    const auto failing = [&](Index k) {
        if (k == 1) throw InputError({"client", "broken", "sound", ""});
        return client(k);
    };
    EXPECT_EQ(refusal([&] { write_clients(out_, manifest_, 2, failing, false); }), "client: broken; expected sound");
    EXPECT_FALSE(std::filesystem::exists(out_.parent_path())) << "a folder for nothing";
}

TEST_F(ClientFilesTest, RefusesClientsThatDoNotFit) {
    std::vector<Dataset> clients;
    clients.push_back(client(0));
    clients.push_back({.tensor = Tensor<double>::zeros(Shape{2, 3}), .source = ""});
    EXPECT_EQ(refusal([&] { write_clients(out_, manifest_, clients, false); }),
              "client 2: 2x3; expected the feature sizes of client 1, 1x2");
    clients[1] = client(1);
    clients[1].labels.pop_back();
    EXPECT_EQ(refusal([&] { write_clients(out_, manifest_, clients, false); }),
              "client 2: 1 labels; expected 2, one per index of mode 1");
    clients.clear();
    EXPECT_EQ(refusal([&] { write_clients(out_, manifest_, clients, false); }), "clients: 0; expected at least 1");
    EXPECT_FALSE(std::filesystem::exists(out_.parent_path())) << "a folder for nothing";
}

TEST_F(ClientFilesTest, RefusesAFolderThatIsAFile) {
    out_ = put("taken", "");
    EXPECT_NE(refusal([&] { write(1, false); }).find("expected a folder, or a place to make one"), std::string::npos);
    out_ = folder_ / "taken" / "below";
    EXPECT_NE(refusal([&] { write(1, false); }).find("expected a folder, or a place to make one"), std::string::npos);
}

TEST_F(ClientFilesTest, RefusesAFolderItMayNotRead) {
    // Root may read every folder.
    const bool root = ::geteuid() == 0;
    std::filesystem::create_directories(out_);
    std::filesystem::permissions(out_, std::filesystem::perms::none);
    const std::string message = refusal([&] { write(1, false); });
    EXPECT_EQ(message.find("expected a folder that can be read") != std::string::npos, !root) << message;
    std::filesystem::permissions(out_, std::filesystem::perms::owner_all);
}

}  // namespace
}  // namespace couplet
