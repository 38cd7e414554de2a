"""The page of `make demo`, in a real browser: everybody can read it, on a desk and on a phone, light and dark."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "browser")]
from demo_page import page, picture  # noqa: E402
from look import complaints, look, run_browser  # noqa: E402


def run(rse: float, sent: float) -> dict:
    return {"rse": rse, "ranks": [15, 30], "rounds": 2, "bytes_total": sent, "seconds": {"total": 0.1}, "rel_error_bound": 0.2,
            "version": "0.1.0"}


RESULT = {"star": run(0.009, 6e4), "decentralized": run(0.009, 1.2e5), "average": run(0.18, 5e5), "centralized": run(0.0089, 1.7e6),
          "data": {"spec": "200x30x30:rank=20,density=0.4,personal=uniform,noise=0,patients=total <&>"},
          "gain": [{"client": "a.npy", "alone": 0.03, "together": 0.015}, {"client": "b.npy", "alone": 0.01, "together": 0.012}]}


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> pathlib.Path:
    titles = {"star": "star: five processes", "centralized": "centralized: all data in one place"}
    path = tmp_path_factory.mktemp("demo") / "report.html"
    path.write_text(page(RESULT, titles, ["couplet data synthetic 200x30x30 --clients 4 -o clients"], 1_440_000, 0.009))
    return path


def test_it_says_what_was_found(written):
    text = written.read_text()
    for part in ["averaging factors leaves 20 times as much", "It sends 4% of what the data", "1 of 2 clients describe new patients better",
                 "patients=total &lt;&amp;&gt;", "viewport"]:
        assert part in text, part
    assert text.count("<svg") == 3 and "<script" not in text and "http" not in text


def test_the_picture_is_a_file_of_its_own():
    drawn = picture(RESULT, 1_440_000)
    assert drawn.startswith("<svg xmlns=") and "aria-label" in drawn and "RSE 0.1800" in drawn and "60 kB, 4%" in drawn
    shown = (ROOT / "docs" / "demo.svg").read_text()
    assert shown.count("<rect") == drawn.count("<rect"), "docs/demo.svg is not what make demo draws"


@pytest.mark.parametrize("width, dark", [(1280, False), (390, True)])
def test_everybody_can_read_it(written, tmp_path, width, dark):
    assert complaints(look(written, tmp_path, width, dark), dark) == []


def test_it_prints(written, tmp_path):
    run_browser(written, tmp_path / "profile", f"--print-to-pdf={tmp_path / 'page.pdf'}", "--no-pdf-header-footer")
    assert (tmp_path / "page.pdf").stat().st_size > 10_000


def test_the_demo_itself_ends_well(tmp_path):
    """What `make demo` runs, with the program of this build: the star and the peers as real processes."""
    program = pathlib.Path(os.environ.get("COUPLET_BUILD_DIR", ROOT / "build" / "release")) / "bin" / "couplet"
    done = subprocess.run([ROOT / "scripts" / "demo", program, tmp_path], text=True, capture_output=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["decentralized"]["rse"] < 0.01 and len(result["gain"]) == 4
    assert (tmp_path / "report.html").exists() and (tmp_path / "picture.svg").exists()
