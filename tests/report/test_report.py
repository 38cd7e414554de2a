"""Opens report.html in a real browser: every figure is drawn, nothing is logged, nothing sticks out on a phone."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "browser"))
from look import DARK, LIGHT, ask, complaints, look, run_browser  # noqa: E402

BUILD = pathlib.Path(os.environ.get("COUPLET_BUILD_DIR", ROOT / "build" / "release"))
EXPERIMENTS = ["eps1", "r1_synthetic", "heterogeneous", "analysis"]

MOST_PIXELS = 12_000  # of the whole report at 1280, everything folded

# Runs inside the page and tells the frame around it what the browser made of it.
PROBE = """<script>
addEventListener('load', () => {
  const loaded = performance.now();
  const folded = document.documentElement.scrollHeight;
  const open = document.querySelectorAll('details[open]').length;
  if (UNFOLD) document.querySelectorAll('details').forEach(one => one.open = true);
  const figures = [...document.querySelectorAll('figure')].map(figure => {
    const svg = figure.querySelector(':scope > svg');
    const box = svg ? svg.getBoundingClientRect() : {width: 0, height: 0};
    const drawn = svg ? svg.getBBox() : {width: 0, height: 0};
    return {title: figure.querySelector('h3').textContent, width: box.width, height: box.height,
            drawn: drawn.width, marks: svg ? svg.querySelectorAll('.mark').length : 0,
            colour: svg && svg.querySelector('.mark') ? getComputedStyle(svg.querySelector('.mark')).stroke : '',
            label: svg ? svg.getAttribute('aria-label') : ''};
  });
  const tables = [...document.querySelectorAll('.tables table')].map(table => table.querySelectorAll('tbody tr').length);
  const overflow = [...document.querySelectorAll('table')].filter(table => table.offsetParent)
    .map(table => table.getBoundingClientRect().right - document.querySelector('main').getBoundingClientRect().right);
  const text = document.querySelector('figure svg .tick').getBoundingClientRect().height;
  const words = [...document.querySelectorAll('.words-beside > p')].filter(one => one.checkVisibility()).length;
  const nav = document.querySelector('nav.contents');
  scrollTo({top: 2500, behavior: 'instant'});
  const stays = nav.getBoundingClientRect().top;
  parent.postMessage(JSON.stringify({figures, tables, folded, open, loaded, stays, words, overflow: Math.max(0, ...overflow), text,
                                     width: document.documentElement.scrollWidth, window: innerWidth,
                                     background: getComputedStyle(document.body).backgroundColor}), '*');
});
</script></body>"""


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("report")
    subprocess.run([BUILD / "bin" / "couplet", "reproduce", "quick", *EXPERIMENTS, "-o", folder / "out", "--repeats", "2",
                    "--cache", folder / "tuning.json", "--quiet"],
                   check=True, stdout=subprocess.DEVNULL, timeout=1800)
    return folder / "out" / "report.html"


def probe(report: pathlib.Path, width: int, folder: pathlib.Path, *flags: str, unfold: bool = True) -> dict:
    return ask(report, folder, width, PROBE.replace("UNFOLD", str(unfold).lower()), *flags)


@pytest.mark.parametrize("width", [390, 1280])
def test_every_figure_is_drawn(report, tmp_path, width):
    page = report.read_text()
    seen = probe(report, width, tmp_path)
    assert len(seen["figures"]) == page.count("<figure>") >= 15
    for figure in seen["figures"]:
        assert figure["width"] > 250 and figure["height"] > 80, figure
        assert figure["drawn"] > 200 and figure["marks"] >= 4, figure
        assert figure["label"], figure
        assert figure["colour"] not in ("", "none", "rgb(0, 0, 0)"), figure
    assert len(seen["tables"]) >= 15 and all(rows >= 2 for rows in seen["tables"]), seen["tables"]
    assert seen["width"] <= seen["window"], "the page scrolls sideways"
    assert seen["text"] >= 9, "the numbers at the axes are too small to read"


def test_the_answer_comes_first_and_the_rest_is_folded(report, tmp_path):
    seen = probe(report, 1280, tmp_path, unfold=False)
    assert seen["open"] == 0
    # Four of sixteen experiments: the whole report is as much longer, and must stay under its limit.
    page = report.read_text()
    assert seen["folded"] * 16 / len(EXPERIMENTS) < MOST_PIXELS, seen["folded"]
    assert 0 <= seen["stays"] < 5, "the contents scroll away"
    assert page.index("Is the paper reproduced?") < page.index("<figure>")
    for sentence in re.findall(r"<section id=.*?<h2>(.*?)</h2>", page):
        assert len(sentence.split()) >= 5, f"no sentence: {sentence}"
    assert "printed method" not in page


def test_a_phone_is_not_given_a_longer_page(report, tmp_path):
    wide, narrow = (probe(report, width, tmp_path, unfold=False) for width in (1280, 390))
    assert narrow["folded"] < 1.35 * wide["folded"], "what stands beside a figure is folded below it"
    assert (wide["words"], narrow["words"]) == (len(EXPERIMENTS), 0)
    assert probe(report, 390, tmp_path)["words"] == len(EXPERIMENTS)


@pytest.mark.parametrize("width, dark", [(1280, False), (390, True)])
def test_everybody_can_read_it(report, tmp_path, width, dark):
    assert complaints(look(report, tmp_path, width, dark), dark) == []


def test_the_slide_is_a_picture_of_its_own(report, tmp_path):
    slide = report.with_name("summary.svg")
    assert 'viewBox="0 0 1280 720"' in slide.read_text()
    subprocess.run([ROOT / "scripts" / "summary-png", report.parent], check=True, stdout=subprocess.DEVNULL, timeout=900)
    png = report.with_name("summary.png").read_bytes()
    assert png.startswith(b"\x89PNG") and int.from_bytes(png[16:20], "big") == 1280 and int.from_bytes(png[20:24], "big") == 720


def test_a_dark_screen_gets_a_dark_page(report, tmp_path):
    light = probe(report, 800, tmp_path, LIGHT)
    dark = probe(report, 800, tmp_path, DARK)
    brightness = lambda seen: sum(map(int, re.findall(r"\d+", seen["background"])[:3]))
    assert brightness(light) > 700
    assert brightness(dark) < 200


def test_nothing_is_logged_and_nothing_is_fetched(report, tmp_path):
    done = run_browser(report, tmp_path / "profile", "--dump-dom")
    assert done.returncode == 0
    assert "The answer" in done.stdout
    assert "CONSOLE" not in done.stderr, done.stderr
    page = report.read_text()
    assert not re.search(r'(?:src|href)="(?!#|data:|[a-z0-9_]+\.(?:csv|json)")', page)
    assert "<script" not in page and "url(" not in page


def test_every_link_leads_somewhere(report):
    page = report.read_text()
    for link in re.findall(r'href="([^"]+)"', page):
        if link.startswith("#"):
            assert f'id="{link[1:]}"' in page, link
        elif not link.startswith("data:"):
            assert (report.parent / link).exists(), link


def test_tables_stay_on_the_paper(report, tmp_path):
    """The rules for paper, applied to a page as wide as A4 in a browser's units."""
    page = report.read_text()
    assert page.count("@media print{") == 2  # of the style, and of the report
    paper = tmp_path / "paper.html"
    paper.write_text(page.replace("@media print{", "@media screen{"))
    seen = probe(paper, 794, tmp_path)
    assert seen["overflow"] <= 1, "a table is wider than the paper"


def test_it_prints(report, tmp_path):
    pdf = tmp_path / "report.pdf"
    run_browser(report, tmp_path / "profile", f"--print-to-pdf={pdf}", "--no-pdf-header-footer")
    assert pdf.read_bytes().startswith(b"%PDF") and pdf.stat().st_size > 20_000


@pytest.fixture(scope="module")
def leaks(tmp_path_factory) -> pathlib.Path:
    """The page of `couplet audit`."""
    folder = tmp_path_factory.mktemp("audit")
    couplet = BUILD / "bin" / "couplet"
    subprocess.run([couplet, "data", "synthetic", "60x6x5", "--clients", "3", "-o", "a-folder-with-quite-a-long-name", "--quiet"], check=True,
                   stdout=subprocess.DEVNULL, cwd=folder)
    subprocess.run([couplet, "audit", *(f"a-folder-with-quite-a-long-name/client_{k}.npy" for k in (1, 2, 3)), "--rank", "3", "-o",
                    "leaks.html", "--quiet"], check=True, stdout=subprocess.DEVNULL, cwd=folder)
    return folder / "leaks.html"


@pytest.mark.parametrize("width, dark", [(1280, False), (390, True), (390, False)])
def test_everybody_can_read_what_leaks(leaks, tmp_path, width, dark):
    assert complaints(look(leaks, tmp_path, width, dark), dark) == []
    script = """<script>addEventListener('load', () => {
        const table = document.querySelector('.scroll');
        parent.postMessage(JSON.stringify({hidden: table.scrollWidth - table.clientWidth}), '*'); });</script></body>"""
    assert ask(leaks, tmp_path, width, script, DARK if dark else LIGHT)["hidden"] <= 0
