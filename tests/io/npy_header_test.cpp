#include "couplet/io/npy_header.hpp"

#include "io_test_support.hpp"

namespace couplet {
namespace {

using testing::bytes_of;
using testing::npy;
using testing::refusal;

NpyHeader parse(const std::string& file) {
    return parse_npy_header(bytes_of(file), static_cast<Index>(file.size()), "x.npy");
}

std::string refusal_of(const std::string& file) {
    return refusal("x.npy", [&] {
        const NpyHeader header = parse(file);
        require_tensor_header(header, "x.npy");
        check_npy_size(header, static_cast<Index>(file.size()), "x.npy");
    });
}

std::string refusal_of_literal(const std::string& literal, std::size_t data_bytes = 8) {
    return refusal_of(npy(literal, std::string(data_bytes, '\0')));
}

TEST(NpyHeader, ReadsTheDictInAnyOrderAndSpacing) {
    for (const char* literal : {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }",
                                "{\"shape\":(2,3),'descr':\"<f8\",'fortran_order':False}",
                                "  { 'fortran_order' : False , 'shape' : ( 2L , 3L , ) , 'descr' : '<f8' }   \n"}) {
        for (const int version : {1, 2, 3}) {
            const NpyHeader header = parse(npy(literal, std::string(48, '\0'), version));
            EXPECT_EQ(header.descr, "<f8");
            EXPECT_FALSE(header.fortran_order);
            EXPECT_EQ(header.shape, (Shape{2, 3}));
            EXPECT_EQ(header.item_bytes, 8);
            EXPECT_EQ(header.data_offset, static_cast<Index>(std::string(literal).size()) + (version == 1 ? 10 : 12));
        }
    }
}

TEST(NpyHeader, WritesWhatItReads) {
    for (const Shape& shape :
         {Shape{}, Shape{7}, Shape{2, 3}, Shape(std::vector<Index>(64, 1)), Shape{123456789, 1, 2}}) {
        const std::string file = encode_npy_header("<f4", shape);
        const NpyHeader header = parse(file);
        EXPECT_EQ(header.shape, shape);
        EXPECT_EQ(header.descr, "<f4");
        EXPECT_EQ(header.data_offset, static_cast<Index>(file.size()));
        EXPECT_EQ(file.size() % 64, 0u);
    }
}

TEST(NpyHeader, RefusesForeignAndTruncatedFiles) {
    EXPECT_EQ(refusal_of(""),
              "an empty file; expected a .npy array. The file is truncated or damaged: write or copy it again.");
    EXPECT_EQ(refusal_of("PK\x03\x04zipped"),
              "a file that starts with 'PK\\x03\\x04zi'; expected a .npy array, which starts with "
              "'\\x93NUMPY'. Save it with "
              "numpy.save.");
    EXPECT_EQ(refusal_of(std::string("\x93NUMPY\x01\x00", 8)),
              "8 bytes; expected a .npy array of at least 10 bytes. The file is truncated or damaged: write "
              "or copy it again.");
    EXPECT_EQ(refusal_of(npy("{}", "", 4)),
              ".npy version 4.0; expected version 1.0, 2.0 or 3.0. Save it again with numpy.save.");
    EXPECT_EQ(refusal_of(std::string("\x93NUMPY\x01\x00\xFF\xFF{}", 12)),
              "12 bytes that promise a header of 65535 bytes; expected a header inside the file and of at "
              "most 1048576 bytes. The "
              "file is truncated or damaged: write or copy it again.");
    EXPECT_EQ(refusal_of(std::string("\x93NUMPY\x02\x00\xFF\xFF", 10)),
              "10 bytes; expected a .npy array of at least 12 bytes. The file is truncated or damaged: write "
              "or copy it again.");
}

TEST(NpyHeader, ComparesThePromiseWithTheFile) {
    EXPECT_EQ(refusal_of_literal("{'descr': '<f8', 'fortran_order': False, 'shape': (100, 3)}", 799),
              "868 bytes, while the header promises 2469 bytes for shape 100x3 of '<f8'; expected all the "
              "promised bytes. The file "
              "is truncated or damaged: write or copy it again.");
    EXPECT_EQ(refusal_of_literal("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000, 4)}"),
              "90 bytes, while the header promises 32000000000082 bytes for shape 1000000x1000000x4 of "
              "'<f8'; expected all the "
              "promised bytes. The file is truncated or damaged: write or copy it again.");
    EXPECT_EQ(refusal_of_literal("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904,)}"),
              "91 bytes, while the header promises more than 2^63 bytes for shape 4611686018427387904 of "
              "'<f8'; expected all the "
              "promised bytes. The file is truncated or damaged: write or copy it again.");
    EXPECT_EQ(refusal_of_literal("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", 8),
              "73 bytes, while the header promises only 69 bytes for shape 1 of '<f4'; expected nothing "
              "after the array. Save one "
              "array per file, or write the damaged file again.");
    EXPECT_NE(refusal_of_literal("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}")
                  .find("expected a shape with fewer than 2^63 elements"),
              std::string::npos);
    EXPECT_NE(refusal_of_literal("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}")
                  .find("expected a mode size below 2^63"),
              std::string::npos);
}

TEST(NpyHeader, SaysWhatAWrongElementTypeIs) {
    const auto of_type = [](const std::string& descr) {
        return refusal_of_literal("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (1,)}");
    };
    const std::string save_again =
        "; expected real numbers. Save it again with numpy.save('x.npy', "
        "x.astype('<f8')).";
    EXPECT_EQ(of_type("<i8"), "int64 elements ('<i8')" + save_again);
    EXPECT_EQ(of_type("|u1"), "uint8 elements ('|u1')" + save_again);
    EXPECT_EQ(of_type("|b1"), "bool elements ('|b1')" + save_again);
    EXPECT_EQ(of_type("<f2"), "float16 elements ('<f2')" + save_again);
    EXPECT_EQ(of_type("<f16"), "float128 elements ('<f16')" + save_again);
    EXPECT_EQ(of_type(">f8"), "big-endian float64 elements ('>f8')" + save_again);
    EXPECT_EQ(of_type("|O"),
              "Python objects ('|O'), which need pickle; expected real numbers. Encode "
              "what is text as numbers, then numpy.save('x.npy', x.astype('<f8')).");
    EXPECT_EQ(of_type("<c16"),
              "complex128 elements ('<c16'); expected real numbers. Save "
              "numpy.stack([x.real, "
              "x.imag], axis=-1) instead: one more mode of size 2, the last.");
    EXPECT_EQ(of_type("<U5"), "text ('<U5'); expected real numbers. Encode it as numbers first.");
    EXPECT_EQ(of_type("<M8[ns]"),
              "dates or times ('<M8[ns]'); expected real numbers. Encode it as "
              "numbers first.");
    EXPECT_EQ(of_type("<q?"), "elements of unknown type '<q?'" + save_again);
    EXPECT_EQ(of_type(""), "elements of unknown type ''" + save_again);
    EXPECT_EQ(refusal_of_literal("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}"),
              "an array of records (structured dtype); expected float32 or float64 elements. Save one field, "
              "for example "
              "numpy.save('x.npy', x['name'].astype('<f8')).");
}

TEST(NpyHeader, RefusesShapesThatAreNoTensor) {
    const auto of_shape = [](const std::string& shape, std::size_t bytes) {
        return refusal_of_literal("{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + "}", bytes);
    };
    EXPECT_EQ(of_shape("()", 8),
              "a scalar (order 0); expected a tensor of at least one mode. Save numpy.atleast_1d(x).");
    EXPECT_EQ(of_shape("(0,)", 0),
              "an empty tensor: mode 1 of 0 has size 0; expected at least one index in every mode. Check how "
              "the file was made.");
    EXPECT_EQ(of_shape("(3, 0, 2)", 0),
              "an empty tensor: mode 2 of 3x0x2 has size 0; expected at least one index in every mode. Check "
              "how the file was "
              "made.");
    std::string ones = "(";
    for (int i = 0; i < 65; ++i) ones += "1,";
    EXPECT_EQ(of_shape(ones + ")", 8), "65 modes; expected at most 64. Merge modes with x.reshape(...).");
}

TEST(NpyHeader, NamesTheDamagedByte) {
    EXPECT_EQ(refusal_of_literal("{'descr': '<f8', 'fortran_order': 0, 'shape': (1,)}"),
              "a damaged .npy header at its byte 34: '0, 'shape': (1,)}'; expected True or False. Save the "
              "array again with "
              "numpy.save.");
    for (const char* literal :
         {"", "{", "[]", "{'descr'}", "{'descr': '<f8'}", "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)",
          "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}",
          "{'descr': '<f8, 'fortran_order': False}", "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
          "{'descr': '<f8', 'fortran_order': False, 'shape': (1 2)}",
          "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} x",
          "{'descr': '<f8' 'fortran_order': False, 'shape': (1,)}",
          "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'more': 1}",
          "{,'descr': '<f8', 'fortran_order': False, 'shape': (1,)}",
          "{'descr': '<f8', 'fortran_order': False, 'shape': 1}"}) {
        EXPECT_TRUE(refusal_of_literal(literal).starts_with("a damaged .npy header at its byte ")) << literal;
    }
}

class NpyHeaderFile : public testing::IoTest {};

TEST_F(NpyHeaderFile, ReadsAFile) {
    put("x.npy", encode_npy_header("<f8", Shape{2, 2}) + std::string(32, '\0'));
    EXPECT_EQ(read_npy_header(path("x.npy")).shape, (Shape{2, 2}));
    EXPECT_STREQ(dtype_name(DType::f4), "float32");
    EXPECT_STREQ(dtype_name(DType::f8), "float64");
}

}  // namespace
}  // namespace couplet
