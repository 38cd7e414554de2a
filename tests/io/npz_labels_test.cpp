#include "npz_labels.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

TEST(NpzLabelsTest, ComeBackUnderTheirModes) {
    const fs::path path = fs::path(::testing::TempDir()) / "couplet_npz_labels.npz";
    const Tensor<double> x(Shape{1});
    const Labels labels{{"lab", {"age", "bmi"}, {"years", ""}}, {"", {}, {}}, {"", {}, {"s"}}};
    {
        NpzWriter archive(path, true);
        archive.add("x", x.view());
        add_npz_labels(archive, labels, 2);
        archive.commit();
    }
    const NpzReader archive(path);
    EXPECT_TRUE(archive.contains("labels_2") && archive.contains("units_2") && archive.contains("units_4"));
    EXPECT_FALSE(archive.contains("labels_3") || archive.contains("units_3") || archive.contains("labels_4"));
    EXPECT_EQ(read_npz_labels(archive, 2, 3, "f"), labels);
    try {
        read_npz_labels(archive, 2, 2, "file.npz");
        ADD_FAILURE() << "three names for two modes";
    } catch (const InputError& error) {
        EXPECT_EQ(error.parts().where, "file.npz");
        EXPECT_EQ(error.parts().found, "3 names in mode_names");
    }
    {
        NpzWriter bare(path, true);
        bare.add("x", x.view());
        add_npz_labels(bare, {}, 1);
        bare.commit();
    }
    EXPECT_TRUE(read_npz_labels(NpzReader(path), 1, 1, "f").empty());
    fs::remove(path);
}

}  // namespace
}  // namespace couplet
