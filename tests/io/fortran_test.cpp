#include "couplet/io/fortran.hpp"

#include "io_test_support.hpp"

namespace couplet {
namespace {

template <class T>
class Fortran : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Fortran, Types);

/// Offset of these indices when the first is fastest, straight from the definition.
Index fortran_offset(const Shape& shape, const std::vector<Index>& indices) {
    Index offset = 0;
    for (Index n = shape.order(); n-- > 0;) offset = offset * shape[n] + indices[static_cast<std::size_t>(n)];
    return offset;
}

TYPED_TEST(Fortran, AgreesWithTheDefinition) {
    for (const Shape& shape :
         {Shape{1}, Shape{33}, Shape{3, 5}, Shape{32, 33}, Shape{65, 31}, Shape{1, 7, 1}, Shape{2, 3, 5},
          Shape{33, 3, 34}, Shape{33, 4, 34}, Shape{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, Shape{3, 3, 3, 5, 7, 2, 2},
          Shape{100, 1, 100}, Shape{1, 1000}}) {
        // One byte in front: the source of a damaged or foreign file need not be aligned.
        std::vector<std::byte> source(1 + static_cast<std::size_t>(shape.size()) * sizeof(TypeParam));
        for (Index i = 0; i < shape.size(); ++i) {
            const auto value = static_cast<TypeParam>(i);
            std::memcpy(source.data() + 1 + static_cast<std::size_t>(i) * sizeof value, &value, sizeof value);
        }
        const Tensor<TypeParam> tensor = from_fortran<TypeParam>(source.data() + 1, shape);
        ASSERT_EQ(tensor.shape(), shape);
        for (Index i = 0; i < shape.size(); ++i) {
            ASSERT_EQ(tensor.data()[i], static_cast<TypeParam>(fortran_offset(shape, shape.indices(i))))
                << shape.to_string();
        }
    }
}

}  // namespace
}  // namespace couplet
