#include "couplet/io/npy.hpp"

#include "couplet/io/tensor_file.hpp"
#include "io_test_support.hpp"

namespace couplet {
namespace {

using testing::counting;
using testing::refusal;
using testing::same_elements;

template <class T>
class Npy : public testing::IoTest {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Npy, Types);

TYPED_TEST(Npy, RoundTripIsExact) {
    for (const Shape& shape : {Shape{1}, Shape{7}, Shape{3, 5}, Shape{2, 1, 3, 4}, Shape(std::vector<Index>(64, 1))}) {
        const auto tensor = counting<TypeParam>(shape);
        write_npy(this->path("x.npy"), tensor, true);
        const TensorFile file = open_tensor(this->path("x.npy"));
        EXPECT_TRUE(file.is_mapped());
        EXPECT_TRUE(same_elements(file.view<TypeParam>(), tensor));
    }
    EXPECT_EQ(this->files(), std::vector<std::string>{"x.npy"});
}

TYPED_TEST(Npy, NumpyReadsIt) {
    write_npy(this->path("x.npy"), counting<TypeParam>({2, 3, 4}), false);
    EXPECT_EQ(
        this->python("x = np.load('x.npy', allow_pickle=False)\n"
                     "print(x.dtype.str, x.shape, x.flags.c_contiguous, (x.ravel() == np.arange(24) / 4).all())\n"),
        std::string(sizeof(TypeParam) == 4 ? "<f4" : "<f8") + " (2, 3, 4) True True\n");
}

TYPED_TEST(Npy, KeepsAnExistingFile) {
    this->put("x.npy", "precious");
    EXPECT_EQ(refusal(this->path("x.npy"), [&] { write_npy(this->path("x.npy"), counting<TypeParam>({2}), false); }),
              "a file that exists already; expected a new name. Use `force` to replace it.");
    EXPECT_EQ(this->get("x.npy"), "precious");
    EXPECT_EQ(this->files(), std::vector<std::string>{"x.npy"});
}

}  // namespace
}  // namespace couplet
