#include "couplet/io/model.hpp"

#include "io_test_support.hpp"

namespace couplet {
namespace {

using testing::counting;
using testing::refusal;
using testing::same_elements;

template <Real T>
Model<T> sample(Index first_mode, const std::vector<Shape>& shapes) {
    Model<T> model;
    model.first_mode = first_mode;
    for (const Shape& shape : shapes) model.cores.push_back(counting<T>(shape));
    return model;
}

template <class T>
class ModelTest : public testing::IoTest {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ModelTest, Types);

TYPED_TEST(ModelTest, RoundTripKeepsEverything) {
    auto model = sample<TypeParam>(1, {{1, 2, 3}, {3, 4, 2}, {2, 1, 1}});
    model.labels = {{"patient", {"p1", "p2"}}, {"time", {}}, {"", {"b\xC3\xA9ta"}}};
    model.metadata = {{"rel_error", 0.1}, {"method", "gram"}, {"nested", {{"k", {1, 2, 3}}}}, {"nothing", nullptr}};
    save_model(this->path("m.npz"), model, false);
    const auto loaded = std::get<Model<TypeParam>>(load_model(this->path("m.npz")));
    EXPECT_EQ(loaded.first_mode, 1);
    ASSERT_EQ(loaded.cores.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(same_elements(loaded.cores[i], model.cores[i]));
    EXPECT_EQ(loaded.labels, model.labels);
    EXPECT_EQ(loaded.metadata, model.metadata);
    EXPECT_TRUE(loaded.is_complete());
    EXPECT_FALSE(loaded.is_features());
    EXPECT_FALSE(loaded.is_personal());
    EXPECT_EQ(this->files(), std::vector<std::string>{"m.npz"});
}

TYPED_TEST(ModelTest, OtherArraysStandBesideTheCores) {
    const auto factor = Tensor<double>::zeros({4, 2});
    const std::vector<NamedArray> beside{{"factor_2", factor.view()}};
    save_model(this->path("factors.npz"), sample<TypeParam>(2, {{3, 4, 2}, {2, 5, 1}}), false, beside);
    EXPECT_EQ(NpzReader(this->path("factors.npz")).template tensor<double>("factor_2").shape(), (Shape{4, 2}));
    EXPECT_TRUE(std::get<Model<TypeParam>>(load_model(this->path("factors.npz"))).is_features());
}

TYPED_TEST(ModelTest, TrainsBecomeModelsAndBack) {
    auto model = sample<TypeParam>(2, {{3, 4, 2}, {2, 5, 1}});
    model.labels = {{"a", {}}, {"b", {}}};
    save_model(this->path("features.npz"), model, false);
    auto loaded = std::get<Model<TypeParam>>(load_model(this->path("features.npz")));
    EXPECT_TRUE(loaded.is_features());
    const TensorTrain<TypeParam> train = to_train(std::move(loaded));
    EXPECT_EQ(train.ranks(), (std::vector<Index>{3, 2, 1}));
    EXPECT_EQ(train.shape(), (Shape{4, 5}));
    EXPECT_EQ(train.labels(), model.labels);

    std::vector<Tensor<TypeParam>> cores;
    cores.push_back(counting<TypeParam>({3, 4, 1}));
    TensorTrain<TypeParam> open(std::move(cores));
    open.set_labels({{"only", {}}});
    const Model<TypeParam> back = to_model(std::move(open), 2);
    EXPECT_TRUE(back.is_features());
    EXPECT_EQ(back.labels[0].name, "only");
    EXPECT_TRUE(same_elements(back.cores[0], counting<TypeParam>({3, 4, 1})));
}

TYPED_TEST(ModelTest, APersonalCoreIsNoTrain) {
    save_model(this->path("personal_1.npz"), sample<TypeParam>(1, {{1, 4, 3}}), false);
    auto loaded = std::get<Model<TypeParam>>(load_model(this->path("personal_1.npz")));
    EXPECT_TRUE(loaded.is_personal());
    EXPECT_FALSE(loaded.is_complete());
    EXPECT_TRUE(loaded.labels.empty());
    EXPECT_TRUE(loaded.metadata.empty());
    EXPECT_EQ(refusal("model", [&] { to_train(std::move(loaded)); }),
              "a personal core alone, 1x4x3; expected a complete model or features. Join it with the "
              "features of its federation.");
}

class ModelFile : public testing::IoTest {
  protected:
    std::string refusal_of(const std::string& arrays, const std::string& where_tail = "") {
        python("np.savez('m.npz', " + arrays + ")\n");
        return refusal(path("m.npz") + where_tail, [&] { load_model(path("m.npz")); });
    }
};

TEST_F(ModelFile, NumpyReadsCoresLabelsAndMetadata) {
    auto model = sample<double>(2, {{2, 3, 1}});
    model.labels = {{"ward", {"a", "b", "c"}}};
    model.metadata["rank"] = 2;
    save_model(path("m.npz"), model, false);
    EXPECT_EQ(python("z = np.load('m.npz', allow_pickle=False)\n"
                     "print(sorted(z.files), z['core_2'].shape, z['mode_names'].tolist(), "
                     "z['labels_2'].tolist(), z['meta_json'])\n"),
              "['core_2', 'labels_2', 'meta_json', 'mode_names'] (2, 3, 1) ['ward'] ['a', 'b', 'c'] "
              "{\"rank\":2}\n");
}

TEST_F(ModelFile, MixedTypesBecomeDouble) {
    python(
        "np.savez_compressed('m.npz', core_1=np.ones((1, 2, 3), 'f4'), core_2=np.ones((3, 2, 1)), "
        "other=np.zeros(3))\n");
    const AnyModel loaded = load_model(path("m.npz"));
    ASSERT_TRUE(std::holds_alternative<Model<double>>(loaded));
    EXPECT_EQ(std::get<Model<double>>(loaded).cores[0].data()[0], 1.0);
}

TEST_F(ModelFile, ToDoubleKeepsEverything) {
    auto model = sample<float>(1, {{1, 2, 1}});
    model.labels = {{"x", {}}};
    model.metadata["a"] = 1;
    const auto labels = model.labels;
    const Model<double> wide = to_double(AnyModel(std::move(model)));
    EXPECT_TRUE(same_elements(wide.cores[0], counting<double>({1, 2, 1})));
    EXPECT_EQ(wide.labels, labels);
    EXPECT_EQ(wide.metadata["a"], 1);
}

TEST_F(ModelFile, OrderOfCoresIsNumericUpToTheLimit) {
    std::vector<Shape> shapes(64, Shape{1, 1, 1});
    shapes[1] = Shape{1, 2, 1};
    shapes[9] = Shape{1, 3, 1};
    save_model(path("m.npz"), sample<double>(1, shapes), false);
    const auto loaded = to_double(load_model(path("m.npz")));
    ASSERT_EQ(loaded.cores.size(), 64u);
    EXPECT_EQ(loaded.cores[1].shape()[1], 2);
    EXPECT_EQ(loaded.cores[9].shape()[1], 3);
    EXPECT_EQ(refusal("m",
                      [&] {
                          check_model(sample<double>(1, std::vector<Shape>(65, Shape{1, 1, 1})), "m");
                      }),
              "65 cores; expected 1 to 64");
}

TEST_F(ModelFile, NamesCoresThatDoNotFit) {
    EXPECT_EQ(refusal_of("core_1=np.ones((1, 2, 3)), core_2=np.ones((4, 5, 1))"),
              "core_1 has shape 1x2x3 and core_2 has shape 4x5x1; expected the last size of the one to be "
              "the first of the other. "
              "The cores do not belong together: write the model again.");
    EXPECT_EQ(refusal_of("core_1=np.ones((2, 2, 1))"), "core_1 has shape 2x2x1; expected a first size of 1");
    EXPECT_EQ(refusal_of("core_2=np.ones((2, 2, 3))"),
              "core_2 has shape 2x2x3; expected a last size of 1. Are cores missing at the end?");
    EXPECT_EQ(refusal_of("core_1=np.ones((2, 2))"),
              "core_1 has shape 2x2; expected three modes R_{n-1} x I_n x R_n, none of size 0");
    EXPECT_EQ(refusal_of("core_1=np.ones((1, 2, 1)), core_3=np.ones((1, 2, 1))"),
              "no core_2 before core_3; expected cores without a gap. Write the model again.");
    EXPECT_EQ(refusal_of("core_3=np.ones((1, 2, 1))"),
              "cores that start at core_3; expected core_1 (a model or a personal core) or core_2 (features)");
    EXPECT_EQ(refusal_of("x=np.ones(3), core_01=np.ones((1, 1, 1)), core_=np.ones(1), core_x=np.ones(1)"),
              "no array called core_1 or core_2; expected a model with arrays core_1, core_2, .... A tensor "
              "is a .npy file; couplet "
              "decompose makes a model of it.");
    EXPECT_EQ(refusal_of("core_1=np.full((1, 2, 1), np.nan)", ": core_1"),
              "NaN at index (0, 0, 0), counted from 0; expected finite numbers only. Replace or remove "
              "missing values first.");
    EXPECT_NE(refusal_of("core_1=np.ones((1, 2, 1), dtype=int)", ": core_1").find("int64 elements"), std::string::npos);
}

TEST_F(ModelFile, NamesBadLabelsAndMetadata) {
    const std::string core = "core_1=np.ones((1, 2, 1)), ";
    EXPECT_EQ(refusal_of(core + "labels_1=np.array(['a', 'b', 'c'])"),
              "3 labels in mode 1; expected 2 for shape 2. Write the model again.");
    EXPECT_EQ(refusal_of(core + "mode_names=np.array(['a', 'b'])"),
              "2 names in mode_names; expected 1, one per mode. Write the file again.");
    EXPECT_EQ(refusal_of(core + "meta_json=np.array('[1]')"), "metadata that is no JSON object; expected an object");
    EXPECT_TRUE(refusal_of(core + "meta_json=np.array('{')", ": meta_json").starts_with("text that is not JSON: "));
    EXPECT_EQ(refusal_of(core + "meta_json=np.array('{\"a\":' + '[' * 10**5)", ": meta_json"),
              "JSON nested too deeply; expected at most 64 levels");
}

TEST_F(ModelFile, ABadModelIsNotWritten) {
    const auto bad = sample<double>(1, {{1, 2, 3}, {2, 2, 1}});
    EXPECT_NE(refusal(path("m.npz"), [&] { save_model(path("m.npz"), bad, false); }).find("core_1 has shape 1x2x3"),
              std::string::npos);
    auto label = sample<double>(1, {{1, 1, 1}});
    label.labels = {{"\xFF", {}}};
    EXPECT_THROW(save_model(path("m.npz"), label, false), InputError);
    EXPECT_TRUE(files().empty());
}

}  // namespace
}  // namespace couplet
