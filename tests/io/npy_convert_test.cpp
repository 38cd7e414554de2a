#include "couplet/io/npy_convert.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "couplet/core/error.hpp"
#include "couplet/io/tensor_file.hpp"

namespace couplet {
namespace {

std::vector<std::byte> file_of(const std::string& descr, const Shape& shape, std::string_view elements,
                               bool fortran = false) {
    std::string header = encode_npy_header(descr, shape);
    if (fortran) header.replace(header.find("False"), 5, "True ");
    std::vector<std::byte> bytes(header.size() + elements.size());
    std::memcpy(bytes.data(), header.data(), header.size());
    std::memcpy(bytes.data() + header.size(), elements.data(), elements.size());
    return bytes;
}

template <class T>
std::string packed(std::initializer_list<T> values, bool swapped = false) {
    std::string text;
    for (const T value : values) {
        std::string one(sizeof(T), '\0');
        std::memcpy(one.data(), &value, sizeof(T));
        text += swapped ? std::string(one.rbegin(), one.rend()) : one;
    }
    return text;
}

std::vector<double> read(const std::string& descr, const Shape& shape, std::string_view elements,
                         const std::string& from, bool fortran = false) {
    const TensorFile file = decode_tensor(file_of(descr, shape, elements, fortran), "x.npy");
    EXPECT_EQ(file.converted_from(), from);
    EXPECT_EQ(file.dtype(), DType::f8);
    const auto x = file.view<double>();
    return {x.data(), x.data() + x.size()};
}

TEST(NpyConvertTest, WholeNumbersAndTruthBecomeDoubles) {
    const Shape two{2};
    EXPECT_EQ(read("|b1", two, std::string_view("\0\1", 2), "bool"), (std::vector<double>{0, 1}));
    EXPECT_EQ(read("|i1", two, packed<std::int8_t>({-128, 127}), "int8"), (std::vector<double>{-128, 127}));
    EXPECT_EQ(read("|u1", two, packed<std::uint8_t>({0, 255}), "uint8"), (std::vector<double>{0, 255}));
    EXPECT_EQ(read("<i2", two, packed<std::int16_t>({-300, 5}), "int16"), (std::vector<double>{-300, 5}));
    EXPECT_EQ(read(">u2", two, packed<std::uint16_t>({300, 5}, true), "big-endian uint16"),
              (std::vector<double>{300, 5}));
    EXPECT_EQ(read("<u4", two, packed<std::uint32_t>({4'000'000'000U, 5}), "uint32"), (std::vector<double>{4e9, 5}));
    EXPECT_EQ(read(">i4", two, packed<std::int32_t>({-70000, 5}, true), "big-endian int32"),
              (std::vector<double>{-70000, 5}));
    EXPECT_EQ(read("<i8", two, packed<std::int64_t>({-(std::int64_t{1} << 53), 7}), "int64"),
              (std::vector<double>{-9007199254740992.0, 7}));
    EXPECT_EQ(read(">f4", two, packed<float>({1.5F, -2}, true), "big-endian float32"), (std::vector<double>{1.5, -2}));
    EXPECT_EQ(read(">f8", two, packed<double>({0.1, -2}, true), "big-endian float64"), (std::vector<double>{0.1, -2}));
    EXPECT_EQ(read("<i2", Shape{2, 3}, packed<std::int16_t>({1, 4, 2, 5, 3, 6}), "int16", true),
              (std::vector<double>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(read("<f8", two, packed<double>({0.1, -2}), ""), (std::vector<double>{0.1, -2}));
}

TEST(NpyConvertTest, HalvesAreExact) {
    const auto x =
        read("<f2", Shape{8}, packed<std::uint16_t>({0x3C00, 0xC000, 0x0001, 0x7BFF, 0x8000, 0x3555, 0x7C00, 0x7E00}),
             "float16");
    EXPECT_EQ(x[0], 1);
    EXPECT_EQ(x[1], -2);
    EXPECT_EQ(x[2], std::ldexp(1, -24));
    EXPECT_EQ(x[3], 65504);
    EXPECT_TRUE(x[4] == 0 && std::signbit(x[4]));
    EXPECT_NEAR(x[5], 1.0 / 3, 1e-4);
    EXPECT_TRUE(std::isinf(x[6]) && std::isnan(x[7]));
}

TEST(NpyConvertTest, WhatCannotBeATensorIsRefused) {
    const auto refused = [](const std::string& descr, const Shape& shape, std::string_view elements) {
        try {
            decode_tensor(file_of(descr, shape, elements), "x.npy");
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_NE(refused("<i8", Shape{1}, packed<std::int64_t>({(std::int64_t{1} << 53) + 1})).find("up to 2^53"),
              std::string::npos);
    EXPECT_NE(refused("<u8", Shape{1}, packed<std::uint64_t>({std::numeric_limits<std::uint64_t>::max()})).find("2^53"),
              std::string::npos);
    EXPECT_NE(refused("<i4", Shape{0}, "").find("an empty tensor"), std::string::npos);
    EXPECT_NE(refused("<i4", Shape{2}, "abcd"), "");
    EXPECT_NE(refused("<c8", Shape{1}, "12345678").find("complex64"), std::string::npos);
    EXPECT_NE(refused("<i3", Shape{1}, "123"), "");
    EXPECT_NE(refused("|b8", Shape{1}, "12345678"), "");
}

}  // namespace
}  // namespace couplet
