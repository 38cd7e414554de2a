"""Opens the page of `couplet explain` in a real browser: on a desk and on a phone, light and dark, on paper; and checks what people
who see little or use a keyboard need: contrast, alternative texts, headings in order, tables with headers, focus that is seen."""
import html
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "report"))
from test_report import FRAME, run_browser  # noqa: E402

BUILD = pathlib.Path(os.environ.get("COUPLET_BUILD_DIR", ROOT / "build" / "release"))

# Runs inside the page and tells the frame around it what the browser made of it.
PROBE = """<script>
addEventListener('load', () => {
  const channel = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const rgb = text => (text.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const c = rgb(getComputedStyle(at).backgroundColor);
      if (c.length < 4 || c[3] > 0.99) return c;
    }
    return [255, 255, 255];
  };
  const visible = element => element.getClientRects().length > 0 && !element.closest('.skip');
  const texts = [...document.querySelectorAll('body *')].filter(element => visible(element) && element.tagName != 'title' &&
    [...element.childNodes].some(node => node.nodeType == 3 && node.textContent.trim()));
  const faint = texts.map(element => {
    const style = getComputedStyle(element);
    const a = light(rgb(element.closest('svg') ? style.fill : style.color)), b = light(behind(element));
    return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), element.tagName + ' ' + element.textContent.slice(0, 30)];
  }).filter(one => one[0] < 4.5);
  const main = document.querySelector('main').getBoundingClientRect();
  const focus = [...document.querySelectorAll('a[href], summary')];
  parent.postMessage(JSON.stringify({
    faint, texts: texts.length, width: document.documentElement.scrollWidth, window: innerWidth,
    background: rgb(getComputedStyle(document.body).backgroundColor),
    drawings: [...document.querySelectorAll('svg')].map(svg => ({label: svg.getAttribute('aria-label') || '', role: svg.getAttribute('role'),
      width: svg.getBoundingClientRect().width, right: svg.getBoundingClientRect().right - main.right,
      size: Math.min(...[...svg.querySelectorAll('text')].map(t => t.getBoundingClientRect().height))})),
    headings: [...document.querySelectorAll('h1, h2, h3')].map(h => Number(h.tagName[1])),
    tables: [...document.querySelectorAll('table')].map(table => ({caption: table.caption ? table.caption.textContent : '',
      headers: [...table.querySelectorAll('th')].every(th => th.scope)})),
    keyboard: focus.every(element => { element.focus(); return document.activeElement === element; }), focusable: focus.length,
    language: document.documentElement.lang, title: document.title,
    broken: [...document.querySelectorAll('a[href^="#"]')].filter(a => !document.getElementById(a.hash.slice(1))).length}), '*');
});
</script></body>"""


def couplet(*arguments):
    subprocess.run([BUILD / "bin" / "couplet", *map(str, arguments), "--quiet"], check=True, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> pathlib.Path:
    """Everything a page can say: names, sites, gains, stability, a patient, what changed, a curve."""
    folder = tmp_path_factory.mktemp("page")
    rng = np.random.default_rng(1)
    kinds = [("Coronary Heart Disease (disorder) of the longest name", ["Nitroglycerin 0.4 MG/ACTUAT Mucosal Spray", "Clopidogrel"]),
             ("Diabetes", ["Metformin", "Insulin"]), ("Otitis media", ["Amoxicillin", "Ibuprofen"])]
    for site in ["north", "south"]:
        lines = ["patient,condition,drug"]
        for patient in range(60):
            for condition, drugs in [kinds[i] for i in rng.choice(3, size=rng.integers(1, 3), replace=False)]:
                lines += [f"{site}{patient:02},{condition},{drug}" for drug in drugs if rng.uniform() < 0.8]
            lines.append(f"{site}{patient:02},{kinds[rng.integers(3)][0]},{kinds[rng.integers(3)][1][0]}")
        (folder / f"{site}.csv").write_text("\n".join(lines) + "\n")
        couplet("table", folder / f"{site}.csv", "--patient", "patient", "--modes", "condition", "drug", "-o", folder / site)
    files = [next((folder / site).glob("tensor.*")) for site in ["north", "south"]]
    couplet("simulate", *files, "--rank", 3, "--heldout", 0.2, "-o", folder / "older")
    couplet("simulate", *files, "--rank", 3, "-o", folder / "result")
    meta = json.loads(str(np.load(folder / "older" / "features.npz")["meta_json"]))
    assert len(meta["gain"]) == 2
    couplet("explain", folder / "result", "--data", *files, "--resamples", 3, "--compare", folder / "older", "--patient", "north05",
            "--patients", folder / "north" / "patients.csv", "-o", folder / "page.html")
    return folder / "page.html"


def probe(page: pathlib.Path, folder: pathlib.Path, width: int, *flags: str) -> dict:
    text = page.read_text()
    assert text.count("</body>") == 1
    (folder / "probe.html").write_text(text.replace("</body>", PROBE))
    frame = folder / "frame.html"
    frame.write_text(FRAME % width)
    done = run_browser(frame, "--dump-dom", "--window-size=1400,1000", *flags)
    match = re.search(r'<pre id="answer">(.*?)</pre>', done.stdout, re.DOTALL)
    assert match and match.group(1), f"the page did not answer\n{done.stderr[-2000:]}"
    return json.loads(html.unescape(match.group(1)))


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_everybody_can_read_it(page, tmp_path, width, dark):
    seen = probe(page, tmp_path, width, *(["--blink-settings=preferredColorScheme=0"] if dark else []))
    assert (sum(seen["background"][:3]) < 200) == dark
    assert seen["width"] <= seen["window"]  # nothing sticks out
    assert seen["texts"] > 100 and not seen["faint"]
    assert len(seen["drawings"]) >= 12
    for drawing in seen["drawings"]:
        assert drawing["label"] and drawing["role"] == "img" and drawing["width"] > 100 and drawing["right"] <= 1
        assert drawing["size"] > 7
    assert seen["headings"][0] == 1 and seen["headings"].count(1) == 1
    assert all(b <= a + 1 for a, b in zip(seen["headings"], seen["headings"][1:]))
    assert all(table["caption"] and table["headers"] for table in seen["tables"])
    assert seen["keyboard"] and seen["focusable"] > 6
    assert seen["language"] == "en" and seen["title"] and seen["broken"] == 0


def test_it_prints(page, tmp_path):
    done = run_browser(page, f"--print-to-pdf={tmp_path / 'page.pdf'}")
    assert (tmp_path / "page.pdf").stat().st_size > 20_000, done.stderr
    assert (tmp_path / "page.pdf").read_bytes().count(b"/Type /Page\n") >= 2 or b"/Count" in (tmp_path / "page.pdf").read_bytes()
