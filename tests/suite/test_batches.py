"""Which files the release build compiles together."""
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "cmake"))
import batches  # noqa: E402


SOURCE = """#include "x.hpp"
namespace couplet {
namespace {
constexpr int limit = 3;
const std::map<std::string, int> table{{"limit of others", 1}};
struct Options {
    int inner = 0;
};
template <class T>
[[nodiscard]] std::vector<T> split(const T& a) {
    return {a};
}
using Pair = std::pair<int, int>;
using namespace std::chrono_literals;
TEST(A, B) {}
}  // namespace
int shown() { return limit; }
}  // namespace couplet
"""


def file_of(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    return batches.File(str(tmp_path / name))


def test_private_names_are_seen(tmp_path):
    assert file_of(tmp_path, "a.cpp", SOURCE).private == {"limit", "table", "Options", "split", "Pair"}


@pytest.mark.parametrize("other, meets", [
    ("namespace {\nint other = 1;\n}  // namespace\n", False), ("namespace {\nint limit = 1;\n}  // namespace\n", True),
    ("int f() { int limit = 1; return limit; }\n", True), ("int f(X x) { return x.limit + X::limit; }\n", False),
    ("// limit\nconst char* a = \"limit\";\n", False), ("#define shown 1\n", True), ("static int split(int a) { return a; }\n", True)])
def test_files_are_kept_apart_where_a_name_could_be_taken_for_another(tmp_path, other, meets):
    one, two = file_of(tmp_path, "a.cpp", SOURCE), file_of(tmp_path, "b.cpp", other)
    assert one.meets(two) == two.meets(one) == meets
    assert [len(batch) for batch in batches.batches([one, two])] == ([1, 1] if meets else [2])


def test_every_file_is_in_one_batch_and_batches_are_small():
    for module in sorted((ROOT / "src").iterdir()):
        files = [batches.File(str(path)) for path in sorted(module.glob("*.cpp"))]
        made = batches.batches(files)
        assert sorted(file.path for batch in made for file in batch) == [file.path for file in files]
        assert all(len(batch) <= batches.MOST for batch in made)
        assert len(files) < 20 or len(made) <= len(files) / 2, f"{module.name}: batches that are worth it"


def test_a_private_type_called_as_one_of_a_header_keeps_its_file_alone(tmp_path):
    # `Key` of a header was the certificate's in one batch, and a class had another layout there than elsewhere.
    assert "Key" in batches.header_types(False) and "Json" not in batches.header_types(False)
    one = file_of(tmp_path, "one.cpp", "namespace {\nusing Key = int;\n}\n")
    two = file_of(tmp_path, "two.cpp", "int other();\n")
    assert one.alone and not two.alone
    assert [len(batch) for batch in batches.batches([one, two])] == [1, 1]
