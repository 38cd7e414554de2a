#include "couplet/data/client_folder.hpp"

#include "couplet/data/client_files.hpp"
#include "couplet/io/npy.hpp"
#include "data_test_support.hpp"

namespace couplet {
namespace {

using testing::DataTest;
using testing::refusal;

class ClientFolderTest : public DataTest {
  protected:
    /// Client k has k + 1 rows of k and labels 10 k.
    void write(Index clients, bool labelled) const {
        write_clients(
            out_, {.kind = "ecg", .spec = "x", .seed = 1}, clients,
            [&](Index k) {
                Dataset data{.tensor = Tensor<double>(Shape{k + 1, 2, 3}), .source = "some.csv"};
                std::fill_n(data.tensor.data(), data.tensor.size(), static_cast<double>(k));
                if (labelled) data.labels.assign(static_cast<std::size_t>(k + 1), 10 * k);
                return data;
            },
            true);
    }
    std::string refused() const {
        return refusal([&] { read_clients(out_); });
    }
    std::filesystem::path out_ = folder_ / "clients";
};

TEST_F(ClientFolderTest, ReadsWhatWasWritten) {
    write(3, true);
    const Dataset all = read_clients(out_);
    EXPECT_EQ(all.tensor.shape(), (Shape{6, 2, 3}));
    EXPECT_EQ(all.labels, (std::vector<std::int64_t>{0, 10, 10, 20, 20, 20}));
    EXPECT_EQ(all.source, "some.csv");
    EXPECT_EQ(all.tensor.data()[0], 0);
    EXPECT_EQ(all.tensor.data()[6], 1);
    EXPECT_EQ(all.tensor.data()[35], 2);
    write(2, false);
    EXPECT_TRUE(read_clients(out_).labels.empty());
}

TEST_F(ClientFolderTest, RefusesFoldersOfAnotherMaking) {
    EXPECT_NE(refused().find("manifest.json"), std::string::npos);
    write(2, true);
    const auto manifest = [&](const std::string& text) { std::ofstream(out_ / "manifest.json") << text; };
    for (const char* text : {"", "[]", "{}", R"({"clients": []})", R"({"clients": 3})", "{\"clients\": [7]}",
                             R"({"clients": [{"file": "../x.npy"}]})", R"({"clients": [{"file": ".."}]})",
                             R"({"clients": [{"file": 5}]})"}) {
        manifest(text);
        EXPECT_NE(refused().find("manifest.json"), std::string::npos) << text << refused();
    }
    manifest(R"({"clients": [{"file": "client_9.npy"}]})");
    EXPECT_NE(refused().find("client_9.npy"), std::string::npos);
}

TEST_F(ClientFolderTest, RefusesFilesThatDoNotFit) {
    write(2, true);
    write_npy(out_ / "client_2.npy", Tensor<double>::zeros({2, 2, 4}).view(), true);
    EXPECT_NE(refused().find("mode 3 has size 4; expected 3 as"), std::string::npos) << refused();
    write_npy(out_ / "client_2.npy", Tensor<double>::zeros({5, 2, 3}).view(), true);
    EXPECT_NE(refused().find("2 rows by the manifest; expected 5"), std::string::npos) << refused();
    write(2, true);
    write_npy(out_ / "labels_2.npy", Tensor<double>::zeros({5}).view(), true);
    EXPECT_NE(refused().find("labels_2.npy"), std::string::npos) << refused();
}

TEST_F(ClientFolderTest, AFolderSaysWhomItHoldsWithoutBeingRead) {
    EXPECT_TRUE(listed_clients(out_).empty());
    write(2, true);
    const auto clients = listed_clients(out_);
    ASSERT_EQ(clients.size(), 2u);
    EXPECT_EQ(clients[1].file, "client_2.npy");
    EXPECT_EQ(clients[1].labels, "labels_2.npy");
    EXPECT_EQ(clients[1].rows, 2);
    put("clients/manifest.json", R"({"clients": [{"file": "../x.npy", "rows": "3"}, 7]})");
    const auto odd = listed_clients(out_);
    ASSERT_EQ(odd.size(), 2u);
    EXPECT_EQ(odd[0].file, "x.npy") << "names of the folder alone";
    EXPECT_FALSE(odd[0].rows);
    EXPECT_EQ(odd[1].file, "");
    put("clients/manifest.json", "[]");
    EXPECT_TRUE(listed_clients(out_).empty());
}

TEST_F(ClientFolderTest, LabelsAreWholeNumbers) {
    Tensor<double> labels({3});
    labels.data()[0] = 2;
    labels.data()[1] = -1;
    labels.data()[2] = 0;
    const auto file = folder_ / "y.npy";
    write_npy(file, labels.view(), true);
    EXPECT_EQ(read_labels(file), (std::vector<std::int64_t>{2, -1, 0}));
    labels.data()[1] = 0.5;
    write_npy(file, labels.view(), true);
    EXPECT_NE(refusal([&] { read_labels(file); }).find("0.5"), std::string::npos);
    write_npy(file, Tensor<double>::zeros({3, 1}).view(), true);
    EXPECT_NE(refusal([&] { read_labels(file); }).find("one mode"), std::string::npos);
}

}  // namespace
}  // namespace couplet
