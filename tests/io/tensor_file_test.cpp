#include "couplet/io/tensor_file.hpp"

#include <zlib.h>

#include "io_test_support.hpp"

namespace couplet {
namespace {

using testing::bytes_of;
using testing::counting;
using testing::npy;
using testing::refusal;
using testing::same_elements;

class TensorFileTest : public testing::IoTest {};

TEST_F(TensorFileTest, LabelsOfAModeThatIsNotThereAreRefused) {
    const auto said = [&](const std::string& array) {
        python("np.savez('x.npz', tensor=np.zeros((2, 3, 4)), " + array + "=np.array(['a', 'b', 'c', 'd']))");
        return refusal(path("x.npz"), [&] { open_tensor(path("x.npz")); });
    };
    for (const std::string array : {"labels_9", "labels_0", "labels_4", "units_4", "labels_03", "units_x"}) {
        const std::string text = said(array);
        EXPECT_EQ(text.find("an array " + array + "; expected labels of modes 1 to 3"), 0U) << text;
    }
    EXPECT_EQ(said("labels_3"), "nothing thrown");
}

TEST_F(TensorFileTest, ReadsEveryVersionOrderAndTypeOfNumpy) {
    python(
        "from numpy.lib import format\n"
        "for dtype in '<f4', '<f8':\n"
        "    x = (np.arange(3 * 4 * 5) / 4).reshape(3, 4, 5).astype(dtype)\n"
        "    for order in 'C', 'F':\n"
        "        for version in 1, 2, 3:\n"
        "            with open(f'{dtype[1:]}_{order}_{version}.npy', 'wb') as f:\n"
        "                format.write_array(f, np.asarray(x, order=order), version=(version, 0), "
        "allow_pickle=False)\n");
    for (const std::string type : {"f4", "f8"}) {
        for (const std::string order : {"C", "F"}) {
            for (const std::string version : {"1", "2", "3"}) {
                const TensorFile file = open_tensor(path(type + "_" + order + "_" + version + ".npy"));
                EXPECT_EQ(file.dtype(), type == "f4" ? DType::f4 : DType::f8);
                EXPECT_EQ(file.is_mapped(), order == "C");
                EXPECT_TRUE(file.visit([]<class T>(TensorView<const T> view) {
                    return same_elements(view, counting<std::remove_const_t<T>>({3, 4, 5}));
                }));
            }
        }
    }
}

TEST_F(TensorFileTest, ViewsSurviveMoves) {
    put("c.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}   ", std::string(16, '\0')));
    put("f.npy", npy("{'descr': '<f8', 'fortran_order': True, 'shape': (1, 2)}  ", std::string(16, '\0')));
    for (const char* name : {"c.npy", "f.npy"}) {
        TensorFile file = open_tensor(path(name));
        const double* data = file.view<double>().data();
        const TensorFile moved = std::move(file);
        EXPECT_EQ(moved.view<double>().data(), data);
        EXPECT_EQ(data[1], 0);
    }
}

TEST_F(TensorFileTest, UnalignedElementsAreCopied) {
    const auto tensor = counting<double>({3});
    const std::string data(reinterpret_cast<const char*>(tensor.data()), 24);
    const TensorFile file =
        open_tensor(put("x.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}", data)));
    EXPECT_FALSE(file.is_mapped());
    EXPECT_TRUE(same_elements(file.view<double>(), tensor));
}

TEST_F(TensorFileTest, FortranVectorsAreMapped) {
    const std::string file = npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2,)}", std::string(8, '\0'));
    EXPECT_TRUE(open_tensor(put("x.npy", file)).is_mapped());
}

TEST_F(TensorFileTest, ReleasedElementsAreReadAgain) {
    const auto tensor = counting<float>({10'000});
    put("x.npy",
        encode_npy_header("<f4", tensor.shape()) + std::string(reinterpret_cast<const char*>(tensor.data()), 40'000));
    const TensorFile file = open_tensor(path("x.npy"));
    file.release(0, 5'000);
    file.release(5'000, 1 << 30);
    file.release(-1, 3);
    EXPECT_TRUE(same_elements(file.view<float>(), tensor));
}

TEST_F(TensorFileTest, TakeConvertsAndKeepsLabels) {
    put("x.csv", "a,b\n1,2\n");
    const Tensor<double> wide = open_tensor(path("x.csv")).take<double>();
    const Tensor<float> single = open_tensor(path("x.csv")).take<float>();
    EXPECT_EQ(wide.labels()[1].entries, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(wide.labels(), single.labels());
    EXPECT_EQ(wide.data()[1], 2);
    EXPECT_EQ(single.data()[1], 2);
}

TEST_F(TensorFileTest, OpensEveryKindOfFile) {
    put("x.csv", "1,2\n3,4\n");
    put("x.TNS", "1 2 7\n");
    gzFile gz = ::gzopen(path("x.csv.gz").c_str(), "wb");
    ::gzputs(gz, "a,b\n1,2\n3,4\n");
    ::gzclose(gz);
    const auto matrix = open_tensor(path("x.csv"));
    EXPECT_EQ(matrix.shape(), (Shape{2, 2}));
    EXPECT_EQ(matrix.dtype(), DType::f8);
    EXPECT_TRUE(matrix.labels().empty());
    const auto zipped = open_tensor(path("x.csv.gz"));
    EXPECT_TRUE(same_elements(zipped.view<double>(), matrix.view<double>()));
    EXPECT_EQ(zipped.labels()[1].entries, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(open_tensor(path("x.TNS")).shape(), (Shape{1, 2}));
    EXPECT_EQ(open_tensor(path("x.TNS"), {.index_base = IndexBase::zero}).shape(), (Shape{2, 3}));
}

TEST_F(TensorFileTest, RefusesWithTheNameOfTheFile) {
    const auto refusal_of = [&](const std::string& name, const TensorFileOptions& options = {}) {
        return refusal(path(name), [&] { open_tensor(path(name), options); });
    };
    put("x.txt", "?");
    EXPECT_EQ(refusal_of("x.txt"),
              "a name that does not say what the file is; expected a tensor in .npy, .npz, .csv, .csv.gz or .tns. "
              "Save the tensor with "
              "numpy.save('x.npy', x).");
    put("x.mat", "?");
    std::filesystem::create_directory(path("x.zarr"));
    for (const char* name : {"x.mat", "x.zarr"}) {
        EXPECT_TRUE(refusal_of(name).starts_with("a file of another program; expected a tensor")) << refusal_of(name);
        EXPECT_NE(refusal_of(name).find("In Python: import numpy, "), std::string::npos) << refusal_of(name);
    }
    python(
        "np.savez('s.npz', data=np.ones(2), indices=np.zeros(2, dtype='i4'), indptr=np.zeros(3, dtype='i4'), "
        "shape=np.array([2, 2]), format=np.array(b'csr'))\n");
    EXPECT_NE(refusal_of("s.npz").find("scipy.sparse.load_npz"), std::string::npos) << refusal_of("s.npz");
    put("wide.csv", std::string_view("\xFF\xFE"
                                     "a\0,\0b\0\n\0",
                                     12));
    EXPECT_NE(refusal_of("wide.csv").find("UTF-16"), std::string::npos) << refusal_of("wide.csv");
    put("m.npz", "?");
    EXPECT_NE(refusal_of("m.npz"), "");
    EXPECT_EQ(refusal_of("missing.npy"),
              "no such file; expected an existing file. Check the spelling and the current folder.");
    put("x.npy", "");
    EXPECT_NE(refusal_of("x.npy").find("an empty file"), std::string::npos);
    put("x.tns", "1000 1000 1\n");
    EXPECT_NE(refusal_of("x.tns", {.max_bytes = 1000}).find("expected at most 1000 bytes"), std::string::npos);
    python("np.save('objects.npy', np.array([None, 'a'], dtype=object), allow_pickle=True)\n");
    EXPECT_NE(refusal_of("objects.npy").find("Python objects ('|O'), which need pickle"), std::string::npos);
}

TEST_F(TensorFileTest, ViewOfTheOtherTypeIsRefused) {
    const TensorFile file = open_tensor(put("x.csv", "1\n"));
    EXPECT_EQ(refusal(path("x.csv"), [&] { file.view<float>(); }),
              "float64 elements; expected float32. Ask for the type that the file holds.");
}

TEST_F(TensorFileTest, BytesInMemoryDecodeLikeFiles) {
    const auto tensor = counting<float>({2, 3});
    const std::string c_order =
        encode_npy_header("<f4", tensor.shape()) + std::string(reinterpret_cast<const char*>(tensor.data()), 24);
    EXPECT_TRUE(same_elements(decode_tensor(bytes_of(c_order), "x.npy").view<float>(), tensor));
    EXPECT_FALSE(decode_tensor(bytes_of(c_order), "x.npy").is_mapped());
    EXPECT_EQ(decode_tensor(bytes_of("1 1 1"), "x.tns").shape(), (Shape{1, 1}));
}

}  // namespace
}  // namespace couplet
