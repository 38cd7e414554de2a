"""scripts/prose.py: the turns that docs/style.md bans, sentences that are too long or trail off, and what is left alone."""
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from prose import BANNED, FEW, LONGEST, MEAN, prose_problems, sentences  # noqa: E402

ODD = [
    "Two tenths are held out, which is nobody.",
    "These features are known of nobody at the site.",
    "There is nobody here.",
    "Copies hide nobody.",
    "Patients whom nobody has seen come later.",
    "Words after the dashes are no options.",
    "A stack is no table.",
    "What is refused is said at both ends.",
    "The expected losses are said before a run.",
    "The sizes are told to nobody.",
    "Another version is refused in words.",
    "A larger site speaks louder.",
    "The listener is deaf.",
    "The values come to rest.",
    "It is changed without a word.",
    "The features were learnt alone.",
    "The list is mended.",
    "It waits for ever.",
    "A job may run as often as you like.",
    "And so on and on...",
    "And so on…",
]

PLAIN = """# Which is nobody: a heading is left alone

There is no coordinator here. The site is no longer there, and no patient is held out. R_0 ... R_N are the ranks; `1 ... N` are modes.
Errors state the location. See [the page](without-a-word.md) and ![deaf](learnt.svg).

| a table | is left alone...... |
|---|---|
| patients whom nobody has learnt from | as is |

```text
the listener is deaf...
```

    an indented block is no prose

The message is `the listener is deaf: come to rest`.
"""


def words(count: int) -> str:
    return " ".join(["word"] * count)


@pytest.mark.parametrize("sentence", ODD)
def test_an_odd_turn_is_found_and_answered_with_a_remedy(sentence):
    found = prose_problems(f"This one is fine. {sentence} So is this one.")
    assert len(found) == 1, found
    assert any(found[0].endswith(f": {remedy}") for remedy in BANNED.values())


def test_every_banned_turn_has_an_example_here():
    for turn in BANNED:
        assert any(re.search(turn, sentence, re.IGNORECASE) for sentence in ODD), turn


def test_plain_text_code_tables_headings_and_targets_pass():
    assert prose_problems(PLAIN) == []


def test_a_sentence_may_have_so_many_words_and_no_more():
    assert prose_problems(f"{words(LONGEST)}.") == []
    found = prose_problems(f"{words(LONGEST + 1)}.")
    assert found == [f"a sentence of {LONGEST + 1} words; expected at most {LONGEST}: {words(LONGEST)[:60]}"]


def test_sentences_are_short_in_the_mean():
    long, few = f"{words(MEAN + 1)}.\n\n", f"{words(MEAN)}.\n\n"
    assert prose_problems(few * FEW) == prose_problems(long * (FEW - 1)) == []
    assert prose_problems(long * FEW) == [f"sentences of {MEAN + 1:.1f} words in the mean; expected at most {MEAN}"]
    assert prose_problems(long * FEW + f"{words(2)}.\n\n" * FEW) == []


def test_sentences_end_where_a_reader_ends_them():
    half = words(LONGEST - 5)
    for text in (f"{half}. Then {half}.", f"**{half}.** Then {half}.", f"({half}.) Then {half}.", f"{half}: `code` {half}.",
                 f"- {half}\n- {half}\n", f"1. {half}\n2. {half}\n", f"{half}\n\n{half}"):
        assert prose_problems(text) == [], text
    for text in (f"{half}\n{half}.", f"{half}, `code` {half}.", f"- {half}\n  {half}\n"):
        assert len(prose_problems(text)) == 1, text


def test_a_span_of_code_is_one_word_also_over_two_lines():
    assert list(sentences("Run `couplet --help\n--verbose` now.")) == ["Run `code` now."]


def test_the_page_on_style_quotes_what_is_banned():
    """The table of docs/style.md shows these turns; the check would find most of its left column."""
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", (ROOT / "docs" / "style.md").read_text(), re.MULTILINE)[2:]
    assert len(rows) >= 20
    assert sum(bool(prose_problems(before)) for before in rows) >= 8
    right = re.findall(r"^\| [^|]+ \| ([^|]+) \|$", (ROOT / "docs" / "style.md").read_text(), re.MULTILINE)[2:]
    assert [after for after in right if prose_problems(after)] == []


@pytest.fixture
def checked(tmp_path):
    """What scripts/docs-check says of a repository with this document alone."""
    (tmp_path / "scripts").mkdir()
    for name in ("docs-check", "markdown.py", "prose.py"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts")
    (tmp_path / "Makefile").write_text("build:\n")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)

    def check(name: str, text: str) -> tuple[int, str]:
        document = tmp_path / name
        document.parent.mkdir(exist_ok=True)
        document.write_text(text)
        done = subprocess.run([sys.executable, tmp_path / "scripts" / "docs-check"], text=True, capture_output=True)
        document.unlink()
        return done.returncode, done.stdout

    return check


def test_the_check_of_the_documents_asks_for_it(checked):
    assert checked("README.md", "The listener no longer accepts connections.\n") == (0, "ok - README.md\n")
    status, said = checked("docs/page.md", "The listener is deaf.\n")
    assert status == 1
    assert said.startswith("not ok - docs/page.md\n# 'deaf' in 'The listener is deaf.': ")


@pytest.mark.parametrize("name", ["docs/style.md", "CHANGELOG.md"])
def test_quotations_and_history_are_left_alone(checked, name):
    assert checked(name, "The listener is deaf.\n") == (0, f"ok - {name}\n")
