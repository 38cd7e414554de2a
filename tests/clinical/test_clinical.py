"""From raw tables to an explained federation, on Synthea, by the commands of docs/clinical.md; tables that are wrong; pages in a
real browser."""
import csv
import json
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import time

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "examples" / "clinical"), str(ROOT / "scripts"), str(ROOT / "tests" / "report")]
import hospitals  # noqa: E402
from markdown import fenced_blocks  # noqa: E402

BUILD = pathlib.Path(os.environ.get("COUPLET_BUILD_DIR", ROOT / "build" / "release"))
COUPLET = BUILD / "bin" / "couplet"
DATA = os.environ.get("COUPLET_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="COUPLET_DATA is not set")


def couplet(*arguments, **options):
    return subprocess.run([COUPLET, *map(str, arguments)], capture_output=True, text=True, **options)


def done(*arguments) -> dict:
    ran = couplet(*arguments, "--json")
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def dense(folder: pathlib.Path) -> np.ndarray:
    """The tensor of a folder, whatever its layout, as NumPy sees it."""
    if (folder / "tensor.npy").exists():
        return np.load(folder / "tensor.npy")
    entries = np.loadtxt(folder / "tensor.tns", ndmin=2)
    x = np.zeros(entries[:, :-1].max(axis=0).astype(int))
    np.add.at(x, tuple(entries[:, :-1].astype(int).T - 1), entries[:, -1])
    return x


def follow_the_page(folder: pathlib.Path) -> None:
    environment = dict(os.environ, PATH=f"{BUILD / 'bin'}{os.pathsep}{os.environ['PATH']}")
    for block in fenced_blocks((ROOT / "docs" / "clinical.md").read_text(), "sh"):
        ran = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=folder, env=environment, capture_output=True, text=True)
        assert ran.returncode == 0, block + ran.stderr


@pytest.fixture(scope="module")
def documented(tmp_path_factory) -> pathlib.Path:
    """The folder in which the commands of the page were run, once."""
    if not DATA:
        pytest.skip("COUPLET_DATA is not set")
    folder = tmp_path_factory.mktemp("clinical")
    hospitals.write_hospitals(folder, pathlib.Path(DATA))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    follow_the_page(folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    (folder / "seconds").write_text(str(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    return folder


def test_the_page_is_for_everybody(tmp_path):
    """Who has no data set follows it with patients that are made up, by the command that it names."""
    command = "python3 examples/clinical/hospitals.py"
    assert f"`{command} .`" in " ".join((ROOT / "docs" / "clinical.md").read_text().split())
    write = [sys.executable, ROOT / command.split()[1], tmp_path]
    subprocess.run(write, check=True)
    follow_the_page(tmp_path)
    titles = [component["title"] for component in json.loads((tmp_path / "finding.json").read_text())["components"]]
    for conditions, medications in hospitals.PROFILES:
        assert any(any(name in title for name in conditions) and any(name in title for name in medications) for title in titles), titles
    again = subprocess.run(write, capture_output=True, text=True)
    assert again.returncode == 2 and "exists" in again.stderr
    nowhere = subprocess.run([*write[:2], tmp_path / "new", "--data", tmp_path], capture_output=True, text=True)
    assert nowhere.returncode == 2 and "synthea_1k" in nowhere.stderr and not (tmp_path / "new").exists()


def test_the_page_takes_less_than_two_minutes(documented):
    assert float((documented / "seconds").read_text()) < 120


def test_sites_agree_and_unknown_codes_are_named(documented):
    schemas = [json.loads((documented / "built" / site / "schema.json").read_text()) for site in hospitals.SITES]
    assert schemas[0] == schemas[1] == schemas[2]
    assert [mode["size"] for mode in schemas[0]["modes"]] == [40, 40]
    proposal = json.loads((documented / "north.json").read_text())
    assert min(proposal["modes"][0]["patients"]) >= 10
    unknown = list(csv.DictReader(open(documented / "built" / "west" / "unknown.csv")))
    assert unknown and all(int(term["events"]) > 0 for term in unknown)
    for site in hospitals.SITES:
        ids = {row["patient"] for row in csv.DictReader(open(documented / "built" / site / "patients.csv"))}
        assert ids
        for name in ["tensor.tns", "schema.json", "manifest.json"]:
            assert not any(one in (documented / "built" / site / name).read_text() for one in list(ids)[:20])


def test_joining_pays(documented):
    told = json.loads((documented / "joining.json").read_text())
    assert [site["client"] for site in told["gain"]] == hospitals.SITES
    assert np.mean([site["together"] for site in told["gain"]]) < np.mean([site["alone"] for site in told["gain"]])
    assert "What joining brings" in (documented / "joining.html").read_text()


def test_components_are_stable_where_they_are_told(documented):
    told = json.loads((documented / "finding.json").read_text())
    assert all(0 <= one["least_stability"] <= one["stability"] <= 1 + 1e-9 for one in told["components"])
    assert max(one["stability"] for one in told["components"]) > 0.9


@needs_data
def test_csv_and_fhir_of_the_same_patients_give_the_same_tensor(tmp_path):
    conditions, medications = hospitals.synthea(pathlib.Path(DATA))
    hospitals.write_synthea(tmp_path / "csv", conditions, medications)
    hospitals.write_fhir(tmp_path / "fhir", conditions, medications)
    a = done("table", tmp_path / "csv" / "conditions.csv", tmp_path / "csv" / "medications.csv", "-o", tmp_path / "a")
    b = done("table", tmp_path / "fhir" / "Condition.ndjson", tmp_path / "fhir" / "MedicationRequest.ndjson", "-o", tmp_path / "b")
    assert b["withdrawn"] == 1
    assert a["shape"] == b["shape"]
    assert (tmp_path / "a" / "patients.csv").read_text() == (tmp_path / "b" / "patients.csv").read_text()
    assert (tmp_path / "a" / "schema.json").read_text() == (tmp_path / "b" / "schema.json").read_text()
    np.testing.assert_array_equal(dense(tmp_path / "a"), dense(tmp_path / "b"))
    # And the same as a few lines of NumPy.
    had, took = {}, {}
    for event in conditions:
        had.setdefault(event["PATIENT"], set()).add(event["CODE"])
    for event in medications:
        took.setdefault(event["PATIENT"], set()).add(event["CODE"])
    assert dense(tmp_path / "a").sum() == sum(len(had[one]) * len(took.get(one, ())) for one in had)


@pytest.fixture(scope="module")
def synthea_explained(tmp_path_factory) -> dict:
    """R1 = 12 on all of Synthea, three sites."""
    if not DATA:
        pytest.skip("COUPLET_DATA is not set")
    folder = tmp_path_factory.mktemp("synthea")
    conditions, medications = hospitals.synthea(pathlib.Path(DATA))
    hospitals.write_synthea(folder, conditions, medications)
    done("table", folder / "conditions.csv", folder / "medications.csv", "-o", folder / "all")
    done("simulate", "--split", 3, folder / "all" / "tensor.tns", "--rank", 12, "-o", folder / "result")
    told = done("explain", folder / "result", "--entries", 40, "-o", folder / "page.html")
    told["page"] = folder / "page.html"
    return told


# What Synthea's modules generate together.
PHENOTYPES = {"Coronary Heart Disease": ["Nitroglycerin", "Simvastatin", "Amlodipine", "Clopidogrel"],
              "Diabetes": ["Metformin", "insulin"],
              "Otitis media": ["Amoxicillin", "Ibuprofen"]}


@pytest.mark.parametrize("condition", PHENOTYPES)
def test_synthea_phenotypes_lead_a_component_each(synthea_explained, condition):
    leading = [one for one in synthea_explained["components"] if condition.lower() in one["title"].lower()]
    assert leading, [one["title"] for one in synthea_explained["components"]]
    for drug in PHENOTYPES[condition]:
        assert any(drug.lower() in label.lower() for one in leading for entry in one["entries"] for label in entry["labels"]
                   if entry["weight"] > 0), (drug, leading)


@needs_data
def test_cms_components_are_pairs_that_belong_together(tmp_path):
    """The codes of CMS are anonymous numbers: a component is named by them, and what it names comes together in the records of the
    patients more often than by chance, which only half of all pairs do."""
    done("data", "ehr", "--clients", 3, "-o", tmp_path / "clients")
    files = sorted((tmp_path / "clients").glob("client_*.npy"))
    done("simulate", *files, "--rank", 10, "-o", tmp_path / "result")
    told = done("explain", tmp_path / "result", "-o", tmp_path / "page.html")
    modes = json.loads((tmp_path / "clients" / "manifest.json").read_text())["mode_labels"][1:]
    place = [{label: i for i, label in enumerate(mode["entries"])} for mode in modes]
    x = np.concatenate([np.load(file) for file in files]) > 0
    lift = x.mean(0) / np.outer(x.any(2).mean(0), x.any(1).mean(0))  # of every pair: how much more often than by chance
    lifts = []
    for one in told["components"]:
        assert re.match(r"(no )?\w+ \d+", one["title"]) and " with " in one["title"], one["title"]
        for entry in one["entries"][:3]:
            if entry["weight"] > 0:
                i, j = (place[n][label] for n, label in enumerate(entry["labels"]))
                lifts.append(lift[i, j])
    assert len(lifts) >= 20 and np.mean(np.array(lifts) > 1) > 0.8 > np.mean(lift > 1) + 0.1, lifts
    assert "class=\"cell" in (tmp_path / "page.html").read_text()


@needs_data
@pytest.mark.parametrize("kind, arguments", [("ecg", ["--count", "400"]), ("diabetes", ["--count", "600"]), ("ehr", [])])
def test_explain_draws_what_the_data_is(tmp_path, kind, arguments):
    done("data", kind, *arguments, "--clients", 3, "-o", tmp_path / "clients")
    files = sorted((tmp_path / "clients").glob("client_*.npy"))
    done("simulate", *files, "--rank", 6, "-o", tmp_path / "result")
    told = done("explain", tmp_path / "result", "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    shares = [one["share"] for one in told["components"]]
    assert shares == sorted(shares, reverse=True) and 0 < told["explained"] <= 1
    if kind == "ecg":
        assert all(profile["curve"] for one in told["components"] for profile in one["profiles"])
        assert "curve over" in page and "<polyline" in page
    else:
        assert "against" in page and "class=\"cell" in page
    if kind == "diabetes":
        labels = {label for one in told["components"] for entry in one["entries"] for label in entry["labels"]}
        assert {"HighBP", "PhysActivity"} & labels


def test_centring_is_stored_applied_and_undone(tmp_path):
    rng = np.random.default_rng(3)
    files = []
    base = rng.normal(size=(2, 4, 3)) + 0
    for k, rows in enumerate([40, 25]):
        x = 50 + 10 * np.arange(12).reshape(4, 3) + np.tensordot(rng.normal(size=(rows, 2)), base, 1)
        np.save(tmp_path / f"{k}.npy", x)
        files.append(tmp_path / f"{k}.npy")
    exact = ["--rank", 2, "--eps1", 1e-9, "--eps2", 1e-9, "--precision", "f64"]
    plain = done("simulate", *files, *exact)
    centred = done("simulate", *files, *exact, "--centre", "--scale", "-o", tmp_path / "result")
    # Two components and the means: without centring the means take one of the two.
    assert plain["rse"] < 1e-3 and centred["rse"] < 1e-15 and plain["rse"] > 1e-6
    assert centred["numbers_total"] > plain["numbers_total"] and centred["rounds"] > plain["rounds"]
    everybody = np.concatenate([np.load(file) for file in files])
    meta = json.loads(str(np.load(tmp_path / "result" / "features.npz")["meta_json"]))
    np.testing.assert_allclose(meta["centring"]["mean"], everybody.mean(0).ravel())
    np.testing.assert_allclose(meta["centring"]["scale"], everybody.std(0).ravel())
    back = done("reconstruct", tmp_path / "result" / "features.npz", "--personal", tmp_path / "result" / "personal_2.npz",
                "-o", tmp_path / "back.npy")
    assert back["shape"] == [25, 4, 3]
    np.testing.assert_allclose(np.load(tmp_path / "back.npy"), np.load(files[1]), rtol=1e-6)
    assert done("project", tmp_path / "result" / "features.npz", files[0])["rse"] < 1e-10


def test_rank_auto_says_what_it_tried(tmp_path):
    told = done("simulate", "--synthetic", "120x12x10:rank=5,noise=0.3", "--clients", 3, "--rank", "auto", "--seed", 4)
    best = min(told["tried"], key=lambda one: one["score"])
    assert best["rank"] == told["ranks"][0] and 4 <= best["rank"] <= 8  # five hidden components and noise
    assert len({one["rank"] for one in told["tried"]}) >= 4
    assert couplet("simulate", "--synthetic", "120x12x10", "--rank", "auto", "--eps", "0.1").returncode == 2


BAD = {
    "ragged": ("p,c\n1,x\n2\n", "line 3"),
    "binary": (bytes(range(256)), "binary data"),
    "empty": ("", "an empty file"),
    "impossible date": ("p,c,d\n1,x,2023-02-30\n", "line 2, column 3 (d)"),
    "mixed units": ("p,c,v,u\n1,x,1,mg\n1,x,1,g\n", "line 3, column 4 (u)"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tables_leave_nothing(tmp_path, name):
    content, said = BAD[name]
    (tmp_path / "t.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    modes = ["c", "d@month"] if name == "impossible date" else ["c"]
    more = ["--value", "v", "--unit", "u"] if name == "mixed units" else []
    ran = couplet("table", tmp_path / "t.csv", "--patient", "p", "--modes", *modes, *more, "-o", tmp_path / "out")
    assert ran.returncode == 2 and said in ran.stderr, ran.stderr
    assert not (tmp_path / "out").exists()


def events(path: pathlib.Path, text: str, *more, modes=("c",)):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return couplet("table", path, "--patient", "p", "--modes", *modes, *more)


def test_what_is_read_is_never_replaced(tmp_path):
    source = tmp_path / "export" / "patients.csv"  # as Synthea calls one of its tables
    ran = events(source, "p,c\n1,x\n", "-o", tmp_path / "export", "--force")
    assert ran.returncode == 2 and "would be replaced" in ran.stderr, ran.stderr
    assert source.read_text() == "p,c\n1,x\n" and len(list(source.parent.iterdir())) == 1
    ran = couplet("table", source, f"again={source}", "--patient", "p", "--modes", "patients:c", "-o", tmp_path / "out")
    assert ran.returncode == 2 and "twice" in ran.stderr and not (tmp_path / "out").exists()


def test_counts_and_presences_do_not_mix(tmp_path):
    text = "p,c\n1,x\n1,x\n2,y\n"
    for rule in ["presence", "count"]:
        assert events(tmp_path / "t.csv", text, "--aggregate", rule, "--layout", "dense", "-o", tmp_path / rule).returncode == 0
    assert couplet("schema", "--compare", tmp_path / "presence" / "tensor.npy", tmp_path / "count" / "tensor.npy").returncode == 1
    ran = couplet("simulate", tmp_path / "presence" / "tensor.npy", tmp_path / "count" / "tensor.npy", "--rank", 1)
    assert ran.returncode == 2, ran.stderr
    for rule in ["presence", "count"]:
        done("schema", "--propose", tmp_path / rule, "--threshold", 1, "-o", tmp_path / f"{rule}.json")
    ran = couplet("schema", "--merge", tmp_path / "presence.json", tmp_path / "count.json")
    assert ran.returncode == 2 and "no unit" in ran.stderr, ran.stderr
    ran = couplet("schema", "--merge", tmp_path / "count.json", tmp_path / "count.json")
    assert ran.returncode == 2 and "twice" in ran.stderr, ran.stderr


@pytest.fixture(scope="module")
def three_sites(tmp_path_factory) -> pathlib.Path:
    """Three sites of as many patients each, whose means are far apart, and their federation."""
    folder = tmp_path_factory.mktemp("sites")
    rng = np.random.default_rng(3)
    loads = rng.normal(size=(2, 6))
    for k, site in enumerate(["north", "south", "west"]):
        x = 30 * k + rng.normal(size=(30, 2)) @ loads + 0.3 * rng.normal(size=(30, 6))
        lines = ["p,a,b,c,d,e,f"] + [f"{site}{i}," + ",".join(map(str, row)) for i, row in enumerate(x)]
        (folder / f"{site}.csv").write_text("\n".join(lines) + "\n")
        done("table", folder / f"{site}.csv", "--wide", "--patient", "p", "-o", folder / site)
    done("simulate", *(folder / site / "tensor.npy" for site in ["north", "south", "west"]), "--rank", 2, "-o", folder / "result")
    return folder


def test_a_patient_is_told_of_its_own_site(three_sites):
    told = ["explain", three_sites / "result", "--patient", "south3", "--patients", three_sites / "south" / "patients.csv"]
    assert done(*told)["patient"]["site"] == "south"
    files = [three_sites / site / "tensor.npy" for site in ["north", "south", "west"]]
    done("simulate", *files, "--rank", 2, "--centre", "--scale", "-o", three_sites / "moved")
    assert done("explain", three_sites / "moved", *told[2:])["patient"]["site"] == "south"
    ran = couplet(*told, "--site", 1)
    assert ran.returncode == 2 and "the patients of south; expected those of north" in ran.stderr, ran.stderr
    other = three_sites / "list.csv"
    other.write_text((three_sites / "south" / "patients.csv").read_text())
    ran = couplet("explain", three_sites / "result", "--patient", "south3", "--patients", other)
    assert ran.returncode == 2 and "--site" in ran.stderr, ran.stderr
    page = three_sites / "south" / "patients.html"
    ran = couplet(*told, "-o", page, "--force")
    assert ran.returncode == 2 and "also an input" in ran.stderr and not page.exists(), ran.stderr


def test_a_list_of_rows_that_were_counted_again_tells_nobodys_story(three_sites, tmp_path):
    lines = (three_sites / "south.csv").read_text().splitlines()
    again = [lines[0], *lines[2:], lines[1].replace("south0", "south99")]  # as many patients, other rows
    (tmp_path / "again.csv").write_text("\n".join(again) + "\n")
    done("table", tmp_path / "again.csv", "--wide", "--patient", "p", "-o", tmp_path / "south")
    told = ["explain", three_sites / "result", "--patient", "south3", "--site", 2, "--patients"]
    ran = couplet(*told, tmp_path / "south" / "patients.csv")
    assert ran.returncode == 2 and "that the result is not of" in ran.stderr and not ran.stdout, ran.stderr
    (tmp_path / "south" / "tensor.npy").unlink()
    ran = couplet(*told, tmp_path / "south" / "patients.csv")
    assert ran.returncode == 0 and "no tensor beside it" in ran.stderr, ran.stderr


def test_data_of_others_and_cores_of_other_runs_are_refused(three_sites):
    files = [three_sites / site / "tensor.npy" for site in ["north", "south", "west"]]
    done("explain", three_sites / "result", "--data", *files, "--resamples", 1)
    for wrong in [files[:1], [files[1], files[0], files[2]]]:
        assert couplet("explain", three_sites / "result", "--data", *wrong, "--resamples", 1).returncode == 2
    features = three_sites / "lone" / "features.npz"
    features.parent.mkdir()
    features.write_bytes((three_sites / "result" / "features.npz").read_bytes())
    assert done("explain", features)["components"][0]["share"] is None
    assert couplet("explain", features, "--data", files[0], "--resamples", 1).returncode == 2
    done("simulate", *files, "--rank", 2, "--centre", "-o", three_sites / "centred")
    ran = couplet("reconstruct", features, "--personal", three_sites / "centred" / "personal_2.npz", "-o", three_sites / "x.npy")
    assert ran.returncode == 2 and "a personal core of the features" in ran.stderr, ran.stderr


def test_alone_is_measured_with_its_own_means(three_sites):
    """By the federation's means a site whose own are far away would seem to learn badly by itself."""
    files = [three_sites / site / "tensor.npy" for site in ["north", "south", "west"]]
    for more in [["--centre"], ["--centre", "--scale"]]:
        told = done("simulate", *files, "--rank", 2, "--heldout", 0.2, *more)
        for gain in told["gain"]:
            assert gain["alone"] < gain["together"] + 0.05, gain
    told = done("simulate", *files, "--rank", 2, "--heldout", 0.001)
    assert all(gain["alone"] is None and gain["together"] is None for gain in told.get("gain", []))
    assert couplet("simulate", *files, "--rank", "auto", "--heldout", 0.001).returncode == 2


def test_a_budget_includes_the_means(three_sites):
    files = [three_sites / site / "tensor.npy" for site in ["north", "south", "west"]]
    told = done("simulate", *files, "--bytes-total", "20kB", "--centre", "--scale")
    assert told["bytes_total"] <= 20_000
    assert couplet("simulate", *files, "--bytes-total", "300", "--centre", "--scale").returncode == 2


def test_rank_one_features_that_were_centred_are_multiplied_out(three_sites):
    files = [three_sites / site / "tensor.npy" for site in ["north", "south", "west"]]
    done("simulate", *files, "--rank", 1, "--centre", "-o", three_sites / "one")
    assert done("reconstruct", three_sites / "one" / "features.npz", "-o", three_sites / "one.npy")["shape"] == [6]


def test_a_million_codes_are_no_code_list(tmp_path):
    with open(tmp_path / "t.csv", "w") as file:
        file.write("p,c\n")
        file.writelines(f"{i % 100},code{i}\n" for i in range(1_000_000))
    ran = couplet("table", tmp_path / "t.csv", "--patient", "p", "--modes", "c", "-o", tmp_path / "out")
    assert ran.returncode == 2 and "line 100002, column 2 (c)" in ran.stderr and not (tmp_path / "out").exists()


def test_memory_does_not_grow_with_the_table(tmp_path):
    """A tenth of a gigabyte; `make large-table` reads a whole one."""
    rng = random.Random(1)
    line = "{},{},{},2020-01-{:02},some text of the visit that nobody needs\n"
    with open(tmp_path / "t.csv", "w") as file:
        file.write("patient,code,drug,date,note\n")
        while file.tell() < 100_000_000:
            file.write("".join(line.format(rng.randrange(50_000), rng.randrange(300), rng.randrange(200), rng.randrange(1, 29))
                               for _ in range(10_000)))
    command = [COUPLET, "table", tmp_path / "t.csv", "--patient", "patient", "--modes", "code", "drug", "-o", tmp_path / "out"]
    pid = os.spawnv(os.P_NOWAIT, str(COUPLET), list(map(str, command)))
    _, status, usage = os.wait4(pid, 0)
    assert status == 0
    assert usage.ru_maxrss < 400_000, usage.ru_maxrss  # kB
    assert (tmp_path / "out" / "tensor.tns").exists()
