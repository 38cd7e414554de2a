#include "couplet/io/npz.hpp"
#include "io_test_support.hpp"

namespace couplet {
namespace {

using testing::bytes_of;
using testing::counting;
using testing::refusal;
using testing::same_elements;

class NpzReaderTest : public testing::IoTest {
  protected:
    /// The refusal of reading array `a` of an archive that the Python script made.
    std::string refusal_of(const std::string& script, const std::string& where_tail = ": a",
                           const NpzLimits& limits = {}) {
        python("import zipfile\n" + script);
        return refusal(path("x.npz") + where_tail, [&] { NpzReader(path("x.npz"), limits).tensor<double>("a"); });
    }
};

TEST_F(NpzReaderTest, ReadsWhatNumpyWrites) {
    python(
        "x = (np.arange(12) / 4).reshape(3, 4)\n"
        "for save, name in (np.savez, 'stored.npz'), (np.savez_compressed, 'deflated.npz'):\n"
        "    save(name, c=x, f=np.asfortranarray(x), single=x.astype('<f4'), n=np.array([1, -2]), "
        "u=np.array(['a', 'b\\xe9c']),\n"
        "         s=np.array([b'xy', b'z']), bytes=np.frombuffer(b'text', dtype=np.uint8), "
        "scalar=np.array('one'))\n");
    for (const char* name : {"stored.npz", "deflated.npz"}) {
        const NpzReader archive(path(name));
        EXPECT_EQ(archive.names(), (std::vector<std::string>{"bytes", "c", "f", "n", "s", "scalar", "single", "u"}));
        EXPECT_TRUE(archive.contains("c"));
        EXPECT_FALSE(archive.contains("d"));
        EXPECT_EQ(archive.header("c").shape, (Shape{3, 4}));
        EXPECT_TRUE(same_elements(archive.tensor<double>("c"), counting<double>({3, 4})));
        EXPECT_TRUE(same_elements(archive.tensor<double>("f"), counting<double>({3, 4})));
        EXPECT_TRUE(same_elements(archive.tensor<float>("single"), counting<float>({3, 4})));
        EXPECT_TRUE(same_elements(archive.tensor<double>("single"), counting<double>({3, 4})));
        EXPECT_EQ(archive.integers("n"), (std::vector<std::int64_t>{1, -2}));
        EXPECT_EQ(archive.texts("u"), (std::vector<std::string>{"a",
                                                                "b\xC3\xA9"
                                                                "c"}));
        EXPECT_EQ(archive.texts("s"), (std::vector<std::string>{"xy", "z"}));
        EXPECT_EQ(archive.texts("bytes"), (std::vector<std::string>{"text"}));
        EXPECT_EQ(archive.texts("scalar"), (std::vector<std::string>{"one"}));
        const std::string bytes = get(name);
        EXPECT_TRUE(same_elements(NpzReader(bytes_of(bytes), "memory").tensor<double>("c"), counting<double>({3, 4})));
    }
}

TEST_F(NpzReaderTest, RefusesTheWrongType) {
    python("np.savez('x.npz', wide=np.ones(2), n=np.ones(2, dtype='<i8'), empty=np.array('', dtype='<U0'))\n");
    const NpzReader archive(path("x.npz"));
    EXPECT_EQ(refusal(path("x.npz") + ": wide", [&] { archive.tensor<float>("wide"); }),
              "float64 elements; expected float32. Read it as float64.");
    EXPECT_NE(refusal(path("x.npz") + ": n", [&] { archive.tensor<double>("n"); }).find("int64 elements"),
              std::string::npos);
    EXPECT_EQ(refusal(path("x.npz") + ": wide", [&] { archive.integers("wide"); }),
              "elements of type '<f8'; expected int64 ('<i8')");
    EXPECT_EQ(refusal(path("x.npz") + ": n", [&] { archive.texts("n"); }),
              "elements of type '<i8'; expected text ('<U' or '|S') or uint8");
    EXPECT_EQ(refusal(path("x.npz"), [&] { archive.tensor<double>("missing"); }),
              "no array 'missing'; expected one of 'empty', 'n', 'wide'");
}

/// The last character that is one and the first that is none.
TEST_F(NpzReaderTest, TextIsUnicode) {
    python(
        "def save(name, points):\n"
        "    np.savez(name, t=np.frombuffer(np.array(points, dtype='<u4').tobytes(), dtype='<U1'))\n"
        "save('good.npz', [0x61, 0xD7FF, 0xE000, 0x10FFFF])\n"
        "for i, bad in enumerate([0xD800, 0xDFFF, 0x110000]): save(f'bad{i}.npz', [0x61, bad])\n"
        "np.savez('bytes.npz', t=np.array([b'\\xff']), u=np.frombuffer(b'a\\xff', dtype=np.uint8))\n");
    EXPECT_EQ(NpzReader(path("good.npz")).texts("t"),
              (std::vector<std::string>{"a", "\xED\x9F\xBF", "\xEE\x80\x80", "\xF4\x8F\xBF\xBF"}));
    const std::string damaged = " The file is truncated or damaged: write or copy it again.";
    for (const char* name : {"bad0.npz", "bad1.npz", "bad2.npz"}) {
        EXPECT_EQ(refusal(path(name) + ": t", [&] { NpzReader(path(name)).texts("t"); }),
                  "text with an invalid character; expected Unicode text." + damaged);
    }
    for (const char* array : {"t", "u"}) {
        EXPECT_EQ(refusal(path("bytes.npz") + ": " + array, [&] { NpzReader(path("bytes.npz")).texts(array); }),
                  "bytes that are not UTF-8; expected UTF-8 text." + damaged);
    }
}

TEST_F(NpzReaderTest, RefusesForeignFiles) {
    const auto message = [&](std::string_view bytes) {
        put("x.npz", bytes);
        return refusal(path("x.npz"), [&] { const NpzReader archive(path("x.npz")); });
    };
    EXPECT_EQ(message(""),
              "an empty file; expected an .npz archive. The file is truncated or damaged: write or copy it again.");
    EXPECT_EQ(message("not an archive at all"),
              "no readable archive (Not a zip archive); expected an .npz archive. The file is truncated or "
              "damaged: write or copy it "
              "again.");
}

TEST_F(NpzReaderTest, EveryTruncationIsRefused) {
    python("np.savez_compressed('whole.npz', a=np.ones(3))\n");
    const std::string whole = get("whole.npz");
    for (std::size_t cut = 0; cut < whole.size(); ++cut) {
        const std::string part = whole.substr(0, cut);
        EXPECT_THROW(NpzReader(bytes_of(part), "x.npz").tensor<double>("a"), InputError) << cut;
    }
}

TEST_F(NpzReaderTest, ChecksTheChecksum) {
    python("np.savez('x.npz', a=np.zeros(100))\n");
    std::string bytes = get("x.npz");
    bytes[300] ^= 1;
    EXPECT_EQ(refusal("x.npz: a", [&] { NpzReader(bytes_of(bytes), "x.npz").tensor<double>("a"); }),
              "data that cannot be read (CRC error); expected 928 bytes with their checksum. The file is "
              "truncated or damaged: write "
              "or copy it again.");
}

TEST_F(NpzReaderTest, BombsAreRefusedBeforeAllocating) {
    const std::string damaged = " The file is truncated or damaged: write or copy it again.";
    const std::string form = "; expected an .npz archive as numpy.savez or numpy.savez_compressed writes it.";
    EXPECT_EQ(refusal_of("np.savez_compressed('x.npz', a=np.zeros(10**6))\n", "", {.max_inflated_bytes = 1 << 20}),
              "compressed arrays that expand to 8000128 bytes or more; expected at most 1048576, and a quarter of the "
              "memory. "
              "Save it as .npy, which is read where it lies, or with numpy.savez.");
    // The header promises more than the member holds.
    EXPECT_EQ(refusal_of("with zipfile.ZipFile('x.npz', 'w', zipfile.ZIP_DEFLATED) as z:\n"
                         "    h = b\"{'descr': '<f8', 'fortran_order': False, 'shape': "
                         "(10**15,)}\".replace(b'10**15', b'%d' % 10**15)\n"
                         "    z.writestr('a.npy', b'\\x93NUMPY\\x01\\0' + len(h).to_bytes(2, 'little') + h)\n"),
              "80 bytes, while the header promises 8000000000000080 bytes for shape 1000000000000000 of '<f8'; "
              "expected all the "
              "promised bytes." +
                  damaged);
    // Both headers of the member promise more than deflate can give.
    EXPECT_EQ(
        refusal_of("with zipfile.ZipFile('y.npz', 'w', zipfile.ZIP_DEFLATED) as z: z.writestr('a.npy', b'0' * 100)\n"
                   "b = bytearray(open('y.npz', 'rb').read())\n"
                   "for at in b.find(b'PK\\x03\\x04') + 22, b.find(b'PK\\x01\\x02') + 24:\n"
                   "    assert b[at] == 100\n"
                   "    b[at:at + 4] = (10**9).to_bytes(4, 'little')\n"
                   "open('x.npz', 'wb').write(b)\n",
                   ""),
        "a compressed member that promises too much" + form + damaged);
}

TEST_F(NpzReaderTest, RefusesOddArchives) {
    const std::string tail =
        "; expected an .npz archive as numpy.savez or numpy.savez_compressed writes it. The file is "
        "truncated or damaged: write or "
        "copy it again.";
    EXPECT_EQ(refusal_of("import warnings; warnings.simplefilter('ignore')\n"
                         "with zipfile.ZipFile('x.npz', 'w') as z:\n"
                         "    z.writestr('a.npy', b'1'); z.writestr('a.npy', b'2')\n",
                         ""),
              "no readable archive (File already exists); expected an .npz archive. The file is truncated or "
              "damaged: "
              "write or copy it again.");
    EXPECT_EQ(
        refusal_of("with zipfile.ZipFile('x.npz', 'w', zipfile.ZIP_BZIP2) as z: z.writestr('a.npy', b'1' * 100)\n", ""),
        "compression method 12" + tail);
    EXPECT_NE(refusal_of("with zipfile.ZipFile('x.npz', 'w') as z: z.writestr('a.npy', b'not an array')\n")
                  .find("a file that starts with 'not an'"),
              std::string::npos);
    EXPECT_NE(refusal_of("np.savez('x.npz', a=np.array([None], dtype=object))\n").find("Python objects"),
              std::string::npos);
}

}  // namespace
}  // namespace couplet
