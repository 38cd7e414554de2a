#include "couplet/io/npz.hpp"
#include "io_test_support.hpp"

namespace couplet {
namespace {

using testing::counting;
using testing::refusal;

class NpzWriterTest : public testing::IoTest {
  protected:
    void write_sample(const std::string& name, bool overwrite = false) {
        const auto single = counting<float>({2, 3});
        const auto wide = counting<double>({4});
        const std::vector<std::int64_t> numbers{-1, 0, std::int64_t{1} << 62};
        const std::vector<std::string> texts{"asthma", "", "na\xC3\xAFve \xF0\x9F\xAB\x80"};
        NpzWriter archive(path(name), overwrite);
        archive.add("single", single);
        archive.add("wide", wide);
        archive.add_integers("numbers", numbers);
        archive.add_texts("texts", texts);
        archive.add_text("note", "{\"a\": 1}");
        archive.commit();
    }
};

TEST_F(NpzWriterTest, NumpyReadsItWithoutPickle) {
    write_sample("x.npz");
    EXPECT_EQ(files(), std::vector<std::string>{"x.npz"});
    EXPECT_EQ(python("z = np.load('x.npz', allow_pickle=False)\n"
                     "print(sorted(z.files))\n"
                     "assert z['single'].dtype == '<f4' and (z['single'] == np.arange(6).reshape(2, 3) / 4).all()\n"
                     "assert z['wide'].dtype == '<f8' and (z['wide'] == np.arange(4) / 4).all()\n"
                     "print(z['numbers'].tolist(), ascii(z['texts'].tolist()), z['note'].item())\n"
                     "import zipfile; print(zipfile.ZipFile('x.npz').testzip())\n"),
              "['note', 'numbers', 'single', 'texts', 'wide']\n"
              "[-1, 0, 4611686018427387904] ['asthma', '', 'na\\xefve \\U0001fac0'] {\"a\": 1}\n"
              "None\n");
}

TEST_F(NpzWriterTest, EqualContentGivesEqualBytes) {
    write_sample("a.npz");
    ::setenv("TZ", "Asia/Tokyo", 1);
    write_sample("b.npz");
    ::unsetenv("TZ");
    EXPECT_EQ(get("a.npz"), get("b.npz"));
    EXPECT_FALSE(get("a.npz").empty());
}

TEST_F(NpzWriterTest, LeavesNothingWithoutCommit) {
    put("x.npz", "old");
    const auto tensor = counting<double>({2});
    {
        NpzWriter archive(path("x.npz"), true);
        archive.add("a", tensor);
    }
    EXPECT_EQ(get("x.npz"), "old");
    EXPECT_EQ(files(), std::vector<std::string>{"x.npz"});
    EXPECT_EQ(refusal(path("x.npz"), [&] { write_sample("x.npz"); }),
              "a file that exists already; expected a new name. Use `force` to replace it.");
    EXPECT_EQ(get("x.npz"), "old");
    write_sample("x.npz", true);
    EXPECT_EQ(NpzReader(path("x.npz")).names().size(), 5u);
}

TEST_F(NpzWriterTest, RefusesWhatItCannotKeep) {
    NpzWriter archive(path("x.npz"), false);
    EXPECT_EQ(refusal(path("x.npz"), [&] { archive.commit(); }), "no arrays; expected at least one");
    EXPECT_EQ(refusal("note", [&] { archive.add_text("note", "\xFF"); }),
              "text that is not UTF-8: '\\xff'; expected UTF-8 text");
    EXPECT_EQ(refusal("note", [&] { archive.add_text("note", std::string("a\0", 2)); }),
              "text that ends in a NUL; expected text without it");
    archive.add_text("note", "x");
    EXPECT_EQ(refusal(path("x.npz"), [&] { archive.add_text("note", "y"); }),
              "two arrays called 'note'; expected names of their own");
}

}  // namespace
}  // namespace couplet
