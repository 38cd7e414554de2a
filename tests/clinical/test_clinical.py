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
sys.path[:0] = [str(ROOT / "tests" / "clinical"), str(ROOT / "scripts"), str(ROOT / "tests" / "report")]
import synthea  # noqa: E402
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


def nearly_sorted(shares: list[float]) -> bool:
    """The order follows from the features, whose messages were rounded, and the shares from the patients."""
    return all(here >= 0.9 * after for here, after in zip(shares, shares[1:]))


def follow_the_page(folder: pathlib.Path) -> None:
    environment = dict(os.environ, PATH=f"{BUILD / 'bin'}{os.pathsep}{os.environ['PATH']}")
    for block in fenced_blocks((ROOT / "docs" / "clinical.md").read_text(), "sh"):
        ran = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=folder, env=environment, capture_output=True, text=True)
        assert ran.returncode == 0, block + ran.stderr


@pytest.fixture(scope="module")
def documented(tmp_path_factory) -> pathlib.Path:
    """The folder in which the commands of the page were run, once: on the hospitals that couplet data makes up."""
    folder = tmp_path_factory.mktemp("clinical")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    follow_the_page(folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    (folder / "seconds").write_text(str(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    return folder


SITES = ["north", "south", "west"]


def test_the_page_takes_less_than_two_minutes(documented):
    assert float((documented / "seconds").read_text()) < 120


def test_sites_agree_and_local_codes_are_those_of_all(documented):
    schemas = [json.loads((documented / "built" / site / "schema.json").read_text()) for site in SITES]
    assert schemas[0] == schemas[1] == schemas[2]
    assert [mode["labels"][0] for mode in schemas[0]["modes"]] == ["(any)", "(any)"]
    codes = {code for mode in schemas[0]["modes"] for code in mode["codes"]}
    truth = json.loads((documented / "truth.json").read_text())
    for phenotype in truth["phenotypes"]:
        assert {one["code"] for kind in ["conditions", "medications"] for one in phenotype[kind]} <= codes
    assert not any(code[:2] in {"S-", "W-"} for code in codes)
    proposal = json.loads((documented / "north.json").read_text())
    assert min(proposal["modes"][0]["patients"]) >= 10
    for site in SITES:
        ids = {row["patient"] for row in csv.DictReader(open(documented / "built" / site / "patients.csv"))}
        assert ids
        for name in ["tensor.tns", "schema.json", "manifest.json"]:
            assert not any(one in (documented / "built" / site / name).read_text() for one in list(ids)[:20])


def test_joining_pays(documented):
    told = json.loads((documented / "joining.json").read_text())
    assert [site["client"] for site in told["gain"]] == SITES
    assert np.mean([site["together"] for site in told["gain"]]) < np.mean([site["alone"] for site in told["gain"]])
    assert "What joining brings" in (documented / "joining.html").read_text()


def planted_cosines(folder: pathlib.Path, truth: dict) -> list[float]:
    """Of every planted phenotype the cosine with the nearest component, among the cells of two labels: a phenotype is every pair of
    its codes, in the weights of the federation."""
    told = done("explain", folder, "--entries", 1000)
    features = np.load(folder / "features.npz")
    centring = json.loads(str(features["meta_json"]))["centring"]
    modes = [list(features["labels_2"]), list(features["labels_3"])]
    mean = np.array(centring["mean"]).reshape(len(modes[0]), len(modes[1]))
    first, second = (centring["any"][n] for n in range(2))
    scale = [np.maximum(mean[:, second], 1e-9) ** -0.25, np.maximum(mean[first], 1e-9) ** -0.25]
    components = np.zeros((len(told["components"]), len(modes[0]), len(modes[1])))
    for r, component in enumerate(told["components"]):
        for entry in component["entries"]:
            components[r, modes[0].index(entry["labels"][0]), modes[1].index(entry["labels"][1])] = entry["weight"]
    cosines = []
    for phenotype in truth["phenotypes"]:
        sides = []
        for n, kind in enumerate(["conditions", "medications"]):
            names = {one["name"] for one in phenotype[kind]}
            sides.append(np.array([scale[n][i] if label in names else 0 for i, label in enumerate(modes[n])]))
        planted = np.outer(*sides)
        products = np.tensordot(components, planted, 2) / np.linalg.norm(planted) / np.linalg.norm(components, axis=(1, 2))
        cosines.append(products.max())
    return cosines


def test_planted_phenotypes_are_found_with_each_sites_own_codes(documented, tmp_path):
    truth = json.loads((documented / "truth.json").read_text())
    assert min(planted_cosines(documented / "result", truth)) >= 0.9
    files = [documented / "built" / site / "tensor.tns" for site in SITES]
    # Among peers, and where only masked sums are seen.
    done("simulate", *files, "--rank", 6, "--network", "decentralized", "--graph", "path", "-o", tmp_path / "peers")
    assert min(planted_cosines(tmp_path / "peers", truth)) >= 0.9
    done("simulate", *files, "--rank", 6, "--secure", "--policy", "off", "-o", tmp_path / "masked")
    assert min(planted_cosines(tmp_path / "masked", truth)) >= 0.9


def named_pairs(told: dict) -> list[tuple[str, str]]:
    return [tuple(pair["labels"]) for one in told["components"] for pair in one.get("pairs", [])]


def lifts_of(x: np.ndarray, labels: list[list[str]], pairs: list[tuple[str, str]]) -> np.ndarray:
    """How many times as often as independent labels; of presences with a label (any) first in both modes."""
    i, j = (np.array([labels[n].index(pair[n]) for pair in pairs]) for n in range(2))
    return x[:, i, j].mean(0) / (x[:, i, 0].mean(0) * x[:, 0, j].mean(0))


def no_label_leads_too_often(told: dict) -> bool:
    named = [one for one in told["components"] if one.get("pairs")]
    uses: dict[tuple[int, str], int] = {}
    for one in named:
        for place in {(n, label) for pair in one["pairs"] for n, label in enumerate(pair["labels"])}:
            uses[place] = uses.get(place, 0) + 1
    return max(uses.values()) <= max(1, len(named) // 3)


def test_titles_name_what_comes_together(documented):
    told = json.loads((documented / "finding.json").read_text())
    x = np.concatenate([dense(documented / "built" / site) for site in SITES])
    labels = [mode["labels"] for mode in json.loads((documented / "built" / "north" / "schema.json").read_text())["modes"]]
    pairs = named_pairs(told)
    assert len(pairs) >= 20 and min(lifts_of(x, labels, pairs)) >= 1.2
    assert no_label_leads_too_often(told)
    truth = json.loads((documented / "truth.json").read_text())
    frequent = {one["name"] for kind in truth["independent"].values() for one in kind}
    assert not frequent & {label for pair in pairs for label in pair}
    # What is told beside them is so.
    for one in told["components"]:
        for pair in one.get("pairs", []):
            i, j = (labels[n].index(pair["labels"][n]) for n in range(2))
            assert pair["patients"] == int(x[:, i, j].sum()) >= 10
            assert pair["lift"] == pytest.approx(lifts_of(x, labels, [tuple(pair["labels"])])[0])
        for site, told_of in zip(SITES, one["carriers"]["sites"] if one.get("pairs") else []):
            mine = dense(documented / "built" / site)
            cells = [(labels[0].index(a), labels[1].index(b)) for a, b in named_pairs({"components": [one]})]
            count = int(np.any([mine[:, i, j] > 0 for i, j in cells], axis=0).sum())
            assert told_of["patients"] == (None if 0 < count < 10 else count)
    page = (documented / "finding.html").read_text()
    assert re.search(r"<h1>\d phenotypes in the records of [\d,]+ patients at 3 sites</h1>", page)


def test_every_party_has_the_same_numbers_and_names(documented, tmp_path):
    """A site has its own personal core, the coordinator none."""
    whole = done("explain", documented / "result")
    for name, core in [("site", "personal_3.npz"), ("coordinator", "")]:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "features.npz").write_bytes((documented / "result" / "features.npz").read_bytes())
        if core:
            (folder / "personal.npz").write_bytes((documented / "result" / core).read_bytes())
        told = done("explain", folder)
        assert [one["title"] for one in told["components"]] == [one["title"] for one in whole["components"]]
        assert [one["entries"] for one in told["components"]] == [one["entries"] for one in whole["components"]]
    assert nearly_sorted([one["share"] for one in whole["components"]])


def test_noise_has_no_stable_phenotype(tmp_path):
    rng = np.random.default_rng(8)
    files = []
    for site in range(3):
        lines = {"dx": ["p,c"], "rx": ["p,d"]}
        for patient in range(300):
            for name, kind, frequent in [("dx", "c", 0.3), ("rx", "d", 0.25)]:
                lines[name] += [f"{site}-{patient},{kind}{i}" for i in range(25) if rng.uniform() < frequent / (1 + i / 5)]
        for name, text in lines.items():
            (tmp_path / f"{name}{site}.csv").write_text("\n".join(text) + "\n")
    proposals = []
    for build in ["found", "built"]:
        for site in range(3):
            schema = ["--schema", tmp_path / "vocabulary.json"] if build == "built" else []
            done("table", f"dx={tmp_path}/dx{site}.csv", f"rx={tmp_path}/rx{site}.csv", "--patient", "p", "--modes", "dx:c", "rx:d",
                 *schema, "-o", tmp_path / build / str(site))
            if build == "found":
                proposals.append(tmp_path / f"{site}.json")
                done("schema", "--propose", tmp_path / "found" / str(site), "-o", proposals[-1])
        if build == "found":
            done("schema", "--merge", *proposals, "-o", tmp_path / "vocabulary.json")
    files = [next((tmp_path / "built" / str(site)).glob("tensor.*")) for site in range(3)]
    done("simulate", *files, "--rank", 10, "-o", tmp_path / "result")
    told = done("explain", tmp_path / "result", "--data", *files, "--resamples", 3, "-o", tmp_path / "page.html")
    assert told["phenotypes"] == 0 and not named_pairs(told)
    assert "<h1>No stable phenotype in the records of" in (tmp_path / "page.html").read_text()


def test_weights_are_stored_applied_and_undone(documented, tmp_path):
    files = [documented / "built" / site / "tensor.tns" for site in SITES]
    told = done("simulate", *files, "--eps", 1e-6, "-o", tmp_path / "exact")
    assert told["weight"] == "sqrt" and told["rse"] < 1e-11 and told["rse_original"] < 1e-11
    done("reconstruct", tmp_path / "exact" / "features.npz", "--personal", tmp_path / "exact" / "personal_2.npz", "-o", tmp_path / "x.npy")
    np.testing.assert_allclose(np.load(tmp_path / "x.npy"), dense(documented / "built" / "south"), atol=1e-4)
    assert done("project", tmp_path / "exact" / "features.npz", files[0])["rse"] < 1e-11
    assert "weight" not in done("simulate", *files, "--rank", 4, "--weight", "none")
    ran = couplet("simulate", *files, "--rank", 4, "--weight", "pearson", "--centre")
    assert ran.returncode == 2 and "--weight" in ran.stderr, ran.stderr


def test_mixed_units_with_gaps_are_filled_as_in_one_place(documented, tmp_path):
    """Values that are known are hidden, and what is filled in is compared with them, in deviations of each column."""
    truth = [np.load(documented / "laboratory" / site / "tensor.npy") for site in SITES]
    rng = np.random.default_rng(2)
    hidden = [~np.isnan(x) & (rng.uniform(size=x.shape) < 0.05) for x in truth]
    files = []
    for site, x, mask in zip(SITES, truth, hidden):
        files.append(tmp_path / f"{site}.npy")
        np.save(files[-1], np.where(mask, np.nan, x))
    np.save(tmp_path / "all.npy", np.concatenate([np.load(file) for file in files]))
    asked = ["--rank", 4, "--missing", "impute", "--centre", "--scale"]
    everybody = np.concatenate(truth)
    mean, deviation = np.nanmean(everybody, 0), np.nanstd(everybody, 0)

    def error(folder: pathlib.Path, masks: list[np.ndarray], known: list[np.ndarray]) -> float:
        squares = []
        for k, (mask, x) in enumerate(zip(masks, known), 1):
            done("reconstruct", folder / "features.npz", "--personal", folder / f"personal_{k}.npz", "-o", folder / f"x{k}.npy")
            squares.append((((np.load(folder / f"x{k}.npy") - x) / deviation)[mask]) ** 2)
        return float(np.concatenate(squares).mean())

    star = done("simulate", *files, *asked, "-o", tmp_path / "star")
    assert star["missing"]["settled"] and 0.2 < star["missing"]["fraction"] < 0.3
    # Known entries in the units of the tables, as NumPy computes them.
    done("simulate", *files, *asked, "--network", "decentralized", "--graph", "path", "-o", tmp_path / "peers")
    done("simulate", "--split", 1, tmp_path / "all.npy", *asked, "-o", tmp_path / "pooled")
    means = float(np.concatenate([(((mean - x) / deviation)[mask]) ** 2 for x, mask in zip(truth, hidden)]).mean())
    pooled = error(tmp_path / "pooled", [np.concatenate(hidden)], [everybody])
    for folder in ["star", "peers"]:
        federated = error(tmp_path / folder, hidden, truth)
        assert federated < means and federated < 1.1 * pooled, (folder, federated, pooled, means)


def test_one_columns_unit_is_pointed_out_first(documented):
    asked = ["simulate", *(documented / "laboratory" / site / "tensor.npy" for site in SITES), "--rank", 2, "--missing", "impute"]
    loud = couplet(*asked)
    assert "platelets" in loud.stderr.splitlines()[0] and "of the variation" in loud.stderr, loud.stderr
    assert "platelets" not in couplet(*asked, "--centre", "--scale").stderr


def test_codes_that_look_alike_are_pointed_out(documented, tmp_path):
    """A site that forgot its map."""
    done("table", documented / "west" / "diagnoses.csv", documented / "west" / "prescriptions.csv", "--patient", "patient_id", "--modes",
         "condition=diagnoses:diagnosis/text", "medication=prescriptions:medication/text", "-o", tmp_path / "west")
    done("schema", "--propose", tmp_path / "west", "-o", tmp_path / "west.json")
    ran = couplet("schema", "--merge", documented / "north.json", tmp_path / "west.json")
    assert ran.returncode == 0 and "look alike" in ran.stderr and "one label" in ran.stderr and "--map" in ran.stderr, ran.stderr


@needs_data
def test_csv_and_fhir_of_the_same_patients_give_the_same_tensor(tmp_path):
    conditions, medications = synthea.synthea(pathlib.Path(DATA))
    synthea.write_synthea(tmp_path / "csv", conditions, medications)
    synthea.write_fhir(tmp_path / "fhir", conditions, medications)
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
    everybody = set(had) | set(took)  # (1, conditions) x (1, medications)
    assert dense(tmp_path / "a").sum() == sum((1 + len(had.get(one, ()))) * (1 + len(took.get(one, ()))) for one in everybody)


@pytest.fixture(scope="module")
def synthea_explained(tmp_path_factory) -> dict:
    """R1 = 12 on the forty most frequent conditions and medications of all of Synthea, three sites."""
    if not DATA:
        pytest.skip("COUPLET_DATA is not set")
    folder = tmp_path_factory.mktemp("synthea")
    conditions, medications = synthea.synthea(pathlib.Path(DATA))
    synthea.write_synthea(folder, conditions, medications)
    done("table", folder / "conditions.csv", folder / "medications.csv", "--top", 40, "-o", folder / "all")
    done("simulate", "--split", 3, folder / "all" / "tensor.tns", "--rank", 12, "-o", folder / "result")
    told = done("explain", folder / "result", "--entries", 40, "-o", folder / "page.html")
    told["page"] = folder / "page.html"
    return told


def test_pairs_in_titles_of_synthea_come_together(synthea_explained):
    folder = synthea_explained["page"].parent / "all"
    labels = [mode["labels"] for mode in json.loads((folder / "schema.json").read_text())["modes"]]
    pairs = named_pairs(synthea_explained)
    assert len(pairs) >= 20 and np.mean(lifts_of(dense(folder), labels, pairs) < 1.2) <= 0.05
    assert no_label_leads_too_often(synthea_explained)


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
    assert nearly_sorted(shares) and 0 < told["explained"] <= 1
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
    assert ran.returncode == 2 and "patients.csv: something that couplet explain did not write" in ran.stderr and not page.exists(), ran.stderr


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
