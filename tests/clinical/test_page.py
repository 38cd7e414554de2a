"""Opens the page of `couplet explain` in a real browser: on a desk and on a phone, light and dark, on paper."""
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "browser"))
from look import complaints, look, run_browser  # noqa: E402

BUILD = pathlib.Path(os.environ.get("COUPLET_BUILD_DIR", ROOT / "build" / "release"))


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


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_everybody_can_read_it(page, tmp_path, width, dark):
    seen = look(page, tmp_path, width, dark)
    assert complaints(seen, dark) == []
    assert seen["texts"] > 100 and seen["focusable"] > 6
    assert len(seen["drawings"]) >= 12
    for drawing in seen["drawings"]:
        assert drawing["label"] and drawing["role"] == "img" and drawing["width"] > 100 and drawing["beyond"] <= 1
        assert drawing["text"] > 7
    assert seen["tables"] and all(table["caption"] and table["scoped"] for table in seen["tables"])


def test_it_prints(page, tmp_path):
    done = run_browser(page, tmp_path / "profile", f"--print-to-pdf={tmp_path / 'page.pdf'}")
    assert (tmp_path / "page.pdf").stat().st_size > 20_000, done.stderr
    assert (tmp_path / "page.pdf").read_bytes().count(b"/Type /Page\n") >= 2 or b"/Count" in (tmp_path / "page.pdf").read_bytes()
