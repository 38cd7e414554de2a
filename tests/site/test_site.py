"""Builds the site of the documents, then reads it as people do: every link leads somewhere, nothing comes from a network, and in a
real browser everybody can read it, on a desk and on a phone, light and dark, on paper."""
import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "browser"))
from look import complaints, look, run_browser  # noqa: E402

LOOKED_AT = ["index.html", "quick-start.html", "tutorials/what_leaves.html", "reference/python.html", "method.html"]


class Page(html.parser.HTMLParser):
    """Addresses that a page leads to, addresses that it loads, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links, self.loads, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if identifier := values.get("id") or (tag == "a" and values.get("name")):
            self.anchors.add(identifier)
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag in ("script", "img", "iframe") and values.get("src"):
            self.loads.append(values["src"])
        if tag == "link" and values.get("href") and values.get("rel") not in ("canonical", "next", "prev"):
            self.loads.append(values["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> pathlib.Path:
    """A copy of the site as it is built now, with the package that was tested just before, where there is one."""
    python = ROOT / "build" / "python" / "venv" / "bin" / "python"
    known = ["--python", python] if python.exists() else []
    subprocess.run([sys.executable, ROOT / "scripts" / "make-docs", *known], check=True, cwd=ROOT, timeout=3600)
    folder = tmp_path_factory.mktemp("site") / "site"
    shutil.copytree(ROOT / "build" / "docs" / "site", folder)
    return folder


@pytest.fixture(scope="module")
def pages(site) -> dict[pathlib.Path, Page]:
    return {path: Page(path.read_text()) for path in site.rglob("*.html") if path.name != "404.html"}


def test_every_document_is_in_it(site, pages):
    made = {path.relative_to(site).as_posix() for path in pages}
    for document in (ROOT / "docs").glob("*.md"):
        assert f"{document.stem}.html" in made
    for script in (ROOT / "docs" / "tutorials").glob("*.py"):
        assert f"tutorials/{script.stem}.html" in made
    assert sum(name.startswith("reference/cpp/") for name in made) >= 19


def test_no_link_is_broken(site, pages):
    broken = []
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"(https?|mailto):", link):
                continue
            address, _, anchor = link.partition("#")
            target = (path.parent / urllib.parse.unquote(address)).resolve() if address else path
            if target.is_dir():
                target = target / "index.html"
            if not target.exists() or (anchor and target in pages and urllib.parse.unquote(anchor) not in pages[target].anchors):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert not broken, broken[:20]
    assert sum(len(page.links) for page in pages.values()) > 1000


def test_nothing_comes_from_a_network(site, pages):
    for path, page in pages.items():
        for address in page.loads:
            assert not re.match(r"(https?:)?//", address), f"{path}: {address}"
            assert address.startswith("data:") or (path.parent / address.split("?")[0]).exists(), f"{path}: {address}"
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", sheet.read_text()), sheet


def test_tutorials_show_what_they_did(site):
    for script in (ROOT / "docs" / "tutorials").glob("*.py"):
        text = (site / "tutorials" / f"{script.stem}.html").read_text()
        if "COUPLET_DATA" in script.read_text() and not os.environ.get("COUPLET_DATA"):
            assert "made without the public data" in text
            continue
        assert text.count('class="figure"') >= 2 and 'class="language-text output' in text or 'output highlight' in text, script
        assert "Traceback" not in text


def test_the_references_name_everything(site):
    python = (site / "reference" / "python.html").read_text()
    source = (ROOT / "src" / "python" / "couplet" / "__init__.py").read_text()
    for name in re.findall(r'^    "(\w+)",$', source, re.MULTILINE):
        assert f'id="couplet.{name}"' in python, name
    verbs = (site / "reference" / "command-line.html").read_text()
    for verb in ["decompose", "simulate", "provision", "classify"]:
        assert f'id="{verb}"' in verbs
    trains = (site / "reference" / "cpp" / "tt.html").read_text()
    for name in ["concatenate", "left_orthonormalise", "TensorTrain"]:
        assert name in trains


def test_it_is_found_by_searching(site):
    index = json.loads((site / "search" / "search_index.json").read_text())
    assert any("Connection refused" in one["text"] for one in index["docs"])
    assert (site / "search" / "search_index.js").exists()  # read without a server


@pytest.mark.parametrize("width, dark", [(1280, False), (390, True)])
@pytest.mark.parametrize("name", LOOKED_AT)
def test_everybody_can_read_it(site, tmp_path, name, width, dark):
    assert complaints(look(site / name, tmp_path, width, dark), dark) == []


def test_it_prints(site, tmp_path):
    run_browser(site / "quick-start.html", tmp_path / "profile", f"--print-to-pdf={tmp_path / 'page.pdf'}", "--no-pdf-header-footer")
    assert (tmp_path / "page.pdf").stat().st_size > 20_000
