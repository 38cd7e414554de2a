"""Clients whose columns are permuted, renamed, missing or in another unit, in every format and by every verb that brings
clients together: the right answer, or a refusal that names the labels; never a merge by position."""
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "chaos"))
from busy_times import LIMIT, at_ease, eventually  # noqa: E402
from proxy import free_port  # noqa: E402

BUILD = pathlib.Path(os.environ.get("COUPLET_BUILD_DIR", ROOT / "build" / "release"))
COUPLET = BUILD / "bin" / "couplet"
LABELS = ["age", "systolic", "hba1c", "bmi", "pulse"]
UNITS = ["years", "mmHg", "%", "kg/m2", "1/min"]
FORMATS = ["csv", "npy", "npz"]
PERMUTED = [1, 0, 4, 2, 3]


def couplet(*arguments):
    return subprocess.run([COUPLET, *map(str, arguments)], capture_output=True, text=True)


def fitted(*arguments):
    done = couplet(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def write(folder: pathlib.Path, name: str, form: str, x, labels, units) -> pathlib.Path:
    """One site's file, in a folder of its own where a manifest has to lie beside it."""
    folder = folder / name
    folder.mkdir(parents=True, exist_ok=True)
    if form == "csv":
        path = folder / "data.csv"
        header = ",".join(f"{label} [{unit}]" for label, unit in zip(labels, units))
        path.write_text(header + "\n" + "\n".join(",".join(repr(float(v)) for v in row) for row in x) + "\n")
    elif form == "npy":
        path = folder / "data.npy"
        np.save(path, x)
        modes = [{"name": "patient", "entries": []}, {"name": "", "entries": labels, "units": units}]
        manifest = {"shape": list(x.shape), "mode_labels": modes, "clients": [{"file": "data.npy", "rows": len(x)}]}
        (folder / "manifest.json").write_text(json.dumps(manifest))
    else:
        path = folder / "data.npz"
        np.savez(path, tensor=x, labels_2=np.array(labels), units_2=np.array(units))
    return path


def people(site: int):
    """Columns of very different size, so that a merge by position is far off."""
    rng = np.random.default_rng(100 + site)
    hidden = rng.normal(size=(30, 2))
    loads = np.random.default_rng(7).normal(size=(2, 5))
    scale = np.array([50.0, 120.0, 6.0, 25.0, 70.0])
    return (1 + 0.2 * hidden @ loads + 0.01 * rng.normal(size=(30, 5))) * scale


def sites(folder: pathlib.Path, count: int, form: str, change: str = "none") -> list:
    """The last site's file is changed."""
    files = []
    for k in range(count):
        x, labels, units = people(k), list(LABELS), list(UNITS)
        if k == count - 1 and change == "permuted":
            x, labels, units = x[:, PERMUTED], [labels[i] for i in PERMUTED], [units[i] for i in PERMUTED]
        elif k == count - 1 and change == "renamed":
            labels[1] = "sbp"
        elif k == count - 1 and change == "missing":
            x, labels, units = x[:, :4], labels[:4], units[:4]
        elif k == count - 1 and change == "unit":
            x[:, 1], units[1] = x[:, 1] / 7.5, "kPa"
        files.append(write(folder / change, f"site{k + 1}", form, x, labels, units))
    return files


def names_labels(text: str, change: str) -> bool:
    words = {"renamed": ["sbp", "systolic"], "missing": ["size 4", "5", "pulse"],
             "unit": ["systolic in kPa", "systolic in mmHg"]}[change]
    return all(word in text for word in words)


def expect_labels(features: pathlib.Path, labels=None):
    with np.load(features) as archive:
        assert list(archive["labels_2"]) == (labels or LABELS)
        assert "mmHg" in list(archive["units_2"])


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("count", [2, 3, 8])
@pytest.mark.parametrize("network", ["star", "decentralized"])
def test_simulate_puts_permuted_columns_in_order(tmp_path, form, count, network):
    flags = ["--rank", 3, "--network", network]
    right, _ = fitted("simulate", *sites(tmp_path, count, form), *flags)
    files = sites(tmp_path, count, form, "permuted")
    found, said = fitted("simulate", *files, *flags, "-o", tmp_path / "r")
    assert found["rse"] == pytest.approx(right["rse"], rel=1e-6)
    assert found["rse"] < 1e-3
    order = LABELS if network == "star" else sorted(LABELS)
    expect_labels(tmp_path / "r" / "features.npz", order)
    assert str(files[-1]) in said and "put in the order" in said
    assert str(files[-1]) in found["reordered"]
    # The personal core of the permuted site fits its own patients, in the features' order.
    with np.load(tmp_path / "r" / "features.npz") as f, np.load(tmp_path / "r" / f"personal_{count}.npz") as p:
        back = np.tensordot(p["core_1"][0], f["core_2"], 1)[:, :, 0]
    truth = people(count - 1)[:, [LABELS.index(label) for label in order]]
    assert np.linalg.norm(back - truth) < 0.02 * np.linalg.norm(truth)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("count", [2, 3, 8])
@pytest.mark.parametrize("change", ["renamed", "missing", "unit"])
@pytest.mark.parametrize("network", ["star", "decentralized"])
def test_simulate_refuses_other_columns_by_name(tmp_path, form, count, change, network):
    files = sites(tmp_path, count, form, change)
    done = couplet("simulate", *files, "--rank", 3, "--network", network, "-o", tmp_path / "r")
    assert done.returncode == 2, done.stdout
    assert names_labels(done.stderr, change), done.stderr
    assert str(files[-1]) in done.stderr
    assert not (tmp_path / "r" / "features.npz").exists()


@pytest.mark.parametrize("method", ["centralized", "local", "fedsvd", "dpsgd", "trip"])
def test_other_methods_agree_on_columns_too(tmp_path, method):
    flags = ["--rank", 3, "--method", method]
    right, _ = fitted("simulate", *sites(tmp_path, 3, "csv"), *flags)
    found, _ = fitted("simulate", *sites(tmp_path, 3, "csv", "permuted"), *flags)
    assert found["rse"] == pytest.approx(right["rse"], rel=1e-6)
    done = couplet("simulate", *sites(tmp_path, 3, "csv", "renamed"), *flags)
    assert done.returncode == 2 and names_labels(done.stderr, "renamed"), done.stderr


def test_missing_values_follow_the_columns(tmp_path):
    files = sites(tmp_path, 3, "npz", "permuted")
    for path in files:
        with np.load(path) as archive:
            arrays = dict(archive)
        arrays["tensor"][2, 1] = np.nan
        np.savez(path, **arrays)
    found, said = fitted("simulate", *files, "--rank", 3, "--missing", "impute", "-o", tmp_path / "r")
    assert found["rse"] < 1e-3 and "put in the order" in said
    expect_labels(tmp_path / "r" / "features.npz")


def test_the_first_site_does_not_decide(tmp_path):
    """Whoever is odd is refused, wherever it stands; a tie is refused with both sides; --schema decides."""
    good, odd = sites(tmp_path, 3, "csv"), sites(tmp_path, 1, "csv", "renamed")[0]
    for at in range(3):
        files = [*good[:at], odd, *good[at:]]
        done = couplet("simulate", *files, "--rank", 3)
        assert done.returncode == 2 and done.stderr.count(str(odd)) >= 1 and "'sbp'" in done.stderr, done.stderr
    tie = couplet("simulate", good[0], odd, "--rank", 3)
    assert tie.returncode == 2 and str(odd) in tie.stderr and str(good[0]) in tie.stderr and "--schema" in tie.stderr
    assert couplet("schema", odd, "-o", tmp_path / "s.json").returncode == 0
    given = couplet("simulate", *good, odd, "--rank", 3, "--schema", tmp_path / "s.json")
    assert given.returncode == 2 and str(good[0]) in given.stderr and "'sbp'" in given.stderr, given.stderr


def test_unnamed_data_needs_a_word(tmp_path):
    named = sites(tmp_path, 2, "csv")
    bare = tmp_path / "bare.npy"
    np.save(bare, people(5))
    done = couplet("simulate", *named, bare, "--rank", 3)
    assert done.returncode == 2 and "--unnamed allow" in done.stderr and "'age'" in done.stderr, done.stderr
    found, _ = fitted("simulate", *named, bare, "--rank", 3, "--unnamed", "allow", "-o", tmp_path / "r")
    assert found["rse"] < 1e-3
    expect_labels(tmp_path / "r" / "features.npz")


@pytest.mark.parametrize("form", FORMATS)
def test_project_matches_columns_by_name(tmp_path, form):
    fitted("simulate", *sites(tmp_path, 3, form), "--rank", 3, "-o", tmp_path / "r")
    features = tmp_path / "r" / "features.npz"
    right, _ = fitted("project", features, sites(tmp_path, 3, form)[-1])
    found, said = fitted("project", features, sites(tmp_path, 3, form, "permuted")[-1])
    assert found["rse"] == pytest.approx(right["rse"], rel=1e-9) and "put in the order" in said
    for change in ["renamed", "missing", "unit"]:
        done = couplet("project", features, sites(tmp_path, 3, form, change)[-1], "-o", tmp_path / "p.npz")
        assert done.returncode == 2, done.stdout
        assert names_labels(done.stderr, change) or (change == "missing" and "4" in done.stderr), done.stderr
        assert not (tmp_path / "p.npz").exists()
    bare = tmp_path / "bare.npy"
    np.save(bare, people(2))
    done = couplet("project", features, bare)
    assert done.returncode == 2 and "--unnamed allow" in done.stderr, done.stderr
    allowed, _ = fitted("project", features, bare, "--unnamed", "allow")
    assert allowed["rse"] == pytest.approx(right["rse"], rel=1e-9)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("count", [2, 3, 8])
def test_a_resumed_merge_keeps_its_columns(tmp_path, form, count):
    right, _ = fitted("simulate", *sites(tmp_path, count, form), "--rank", 3)
    state = tmp_path / "s.npz"
    files = sites(tmp_path, count, form, "permuted")
    fitted("simulate", *files[:-1], "--rank", 3, "--save-state", state)
    found, said = fitted("simulate", files[-1], "--resume", state, "-o", tmp_path / "r")
    assert "put in the order" in said
    assert found["rse_per_client"][0] == pytest.approx(right["rse_per_client"][-1], rel=0.05)
    expect_labels(tmp_path / "r" / "features.npz")
    for change in ["renamed", "missing", "unit"]:
        done = couplet("simulate", sites(tmp_path, count, form, change)[-1], "--resume", state)
        assert done.returncode == 2 and names_labels(done.stderr, change), done.stderr


def test_a_saved_merge_carries_its_job(tmp_path):
    a, b, c = sites(tmp_path, 3, "csv")
    fitted("simulate", a, b, "--eps", 0.01, "--save-state", tmp_path / "s.npz")
    joined, _ = fitted("simulate", c, "--resume", tmp_path / "s.npz")
    assert joined["rel_error_bound"] <= 0.01 * (1 + 1e-9)
    # A smaller error is not claimed for what was cut with a larger one, and the bound says so.
    tighter = couplet("simulate", c, "--resume", tmp_path / "s.npz", "--eps", 1e-6)
    assert tighter.returncode == 0 and "more than --eps 1e-06" in tighter.stdout, tighter.stdout
    scaled = couplet("simulate", c, "--resume", tmp_path / "s.npz", "--scale-clients", "norm")
    assert scaled.returncode == 2 and "as they are" in scaled.stderr, scaled.stderr
    again, _ = fitted("simulate", b, "--resume", tmp_path / "s.npz")
    assert again["replaced"] == [str(b)] and again["resumed_clients"] == 1


class Job:
    """A federation of real processes over mutual TLS."""

    def __init__(self, folder: pathlib.Path, files: list, network: str, flags: list):
        self.folder, self.files, self.network = folder, files, network
        self.names = [f"s{k + 1}" for k in range(len(files))]
        self.processes = {}
        self.flags = flags
        if network == "star":
            place = ["--coordinator", f"127.0.0.1:{free_port()}", "--clients", ",".join(self.names)]
        else:
            place = ["--network", "decentralized", "--graph", "complete", "--peers",
                     ",".join(f"{name}=127.0.0.1:{free_port()}" for name in self.names)]
        done = couplet("provision", *place, "-o", folder / "kits")
        assert done.returncode == 0, done.stderr

    def start(self, name, *command):
        self.processes[name] = subprocess.Popen([COUPLET, *map(str, command)], stdout=subprocess.PIPE,
                                                stderr=subprocess.PIPE, text=True)

    def client(self, name, file):
        verb = "client" if self.network == "star" else "peer"
        flags = [] if self.network == "star" else self.flags
        self.start(name, verb, "--kit", self.folder / "kits" / name, "--data", file, "-o", self.folder / name, *flags)

    def run(self):
        if self.network == "star":
            self.start("coordinator", "coordinator", "--kit", self.folder / "kits" / "coordinator", "-o",
                       self.folder / "coordinator", *self.flags)
        for name, file in zip(self.names, self.files):
            self.client(name, file)
        return self

    def wait(self, name):
        out, err = self.processes[name].communicate(timeout=LIMIT)
        return self.processes[name].returncode, out, err

    def close(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
                process.communicate()


@pytest.fixture
def job(tmp_path):
    made = []

    def make(*arguments):
        made.append(Job(tmp_path / f"job{len(made)}", *arguments))
        return made[-1]
    yield make
    for one in made:
        one.close()


def bits(path):
    with np.load(path) as archive:
        return [archive[name].tobytes() for name in sorted(archive.files) if name.startswith("core_")]


@pytest.mark.parametrize("network,count,form", [("star", 2, "csv"), ("star", 3, "npy"), ("star", 8, "npz"),
                                                ("decentralized", 2, "npz"), ("decentralized", 3, "csv")])
def test_the_network_puts_permuted_columns_in_order(job, tmp_path, network, count, form):
    files = sites(tmp_path, count, form, "permuted")
    flags = ["--rank", 3, "--deadline", "600s"]
    one = job(files, network, flags).run()
    for name in one.names:
        code, _, err = one.wait(name)
        assert code == 0, err
        assert ("put in the order" in err) == (name == one.names[-1] or network == "decentralized"), err
    fitted("simulate", *files, "--rank", 3, "--network", network, "-o", tmp_path / "r")
    order = LABELS if network == "star" else sorted(LABELS)
    for name in one.names:
        assert bits(one.folder / name / "features.npz") == bits(tmp_path / "r" / "features.npz")
        expect_labels(one.folder / name / "features.npz", order)
    if network == "star":
        assert one.wait("coordinator")[0] == 0
        expect_labels(one.folder / "coordinator" / "features.npz")


@pytest.mark.parametrize("change", ["renamed", "missing", "unit"])
def test_a_wrong_file_locks_nobody_out_of_the_star(job, tmp_path, change):
    """It comes first, and the coordinator is killed and started again with its greeting on disk; it is refused all the
    same, the others are not, and it may come again with the right file."""
    files = sites(tmp_path, 3, "csv")
    wrong = sites(tmp_path, 3, "csv", change)[-1]
    flags = ["--rank", 3, "--deadline", "600s"]
    one = job(files, "star", flags)
    lead = ["coordinator", "--kit", one.folder / "kits" / "coordinator", "-o", one.folder / "coordinator", *flags]
    one.start("coordinator", *lead)
    one.client("s1", wrong)
    greeting = one.folder / "kits" / "coordinator" / "job" / "hello-0.msg"
    eventually(greeting.exists)
    one.processes["coordinator"].kill()
    one.processes["coordinator"].communicate()
    one.start("coordinator", *lead)
    one.client("s2", files[1])
    one.client("s3", files[2])
    code, _, err = one.wait("s1")
    assert code == 1 and names_labels(err, change), err
    one.client("s1", files[0])
    for name in ["s1", "s2", "s3", "coordinator"]:
        code, _, err = one.wait(name)
        assert code == 0, f"{name}: {err}"
    fitted("simulate", *files, "--rank", 3, "-o", tmp_path / "r")
    assert bits(one.folder / "s1" / "features.npz") == bits(tmp_path / "r" / "features.npz")


def test_a_tie_in_the_star_is_refused_at_every_end(job, tmp_path):
    files = sites(tmp_path, 2, "csv", "renamed")
    one = job(files, "star", ["--rank", 3, "--deadline", f"{at_ease(5)}s"]).run()
    for name in ["s1", "s2", "coordinator"]:
        code, _, err = one.wait(name)
        assert code != 0 and names_labels(err, "renamed"), f"{name}: {err}"
    assert not (one.folder / "coordinator" / "features.npz").exists()


@pytest.mark.parametrize("change", ["renamed", "unit"])
def test_peers_go_on_without_the_wrong_one(job, tmp_path, change):
    files = sites(tmp_path, 3, "csv", change)
    one = job(files, "decentralized", ["--rank", 3, "--deadline", f"{at_ease(20)}s", "--gather", f"{at_ease(2)}s"]).run()
    for name in ["s1", "s2"]:
        code, _, err = one.wait(name)
        assert code == 0, err
    code, _, err = one.wait("s3")
    assert code == 1 and names_labels(err, change), err
    fitted("simulate", *files[:2], "--rank", 3, "--network", "decentralized", "-o", tmp_path / "r")
    assert bits(one.folder / "s1" / "features.npz") == bits(tmp_path / "r" / "features.npz")


def test_schema_shows_writes_and_compares(tmp_path):
    a, b = sites(tmp_path, 1, "csv")[0], sites(tmp_path, 1, "npz", "permuted")[0]
    shown = couplet("schema", a, "-o", tmp_path / "s.json")
    assert shown.returncode == 0 and "systolic [mmHg]" in shown.stdout, shown.stderr
    schema = json.loads((tmp_path / "s.json").read_text())
    assert schema["modes"][0]["labels"] == LABELS and schema["modes"][0]["units"] == UNITS
    same = couplet("schema", "--compare", a, tmp_path / "s.json")
    assert same.returncode == 0 and "the same" in same.stdout
    order = couplet("schema", "--compare", a, b, "--json")
    assert order.returncode == 0 and json.loads(order.stdout)["verdict"] == "order"
    other = couplet("schema", "--compare", a, sites(tmp_path, 1, "npy", "unit")[0])
    assert other.returncode == 1 and "systolic in kPa" in other.stdout and "systolic in mmHg" in other.stdout
    again = couplet("schema", a, "-o", tmp_path / "s.json")
    assert again.returncode == 2 and "--force" in again.stderr
    for bad, text in [("empty.json", ""), ("list.json", "[]"), ("mode.json", '{"modes": [{"labels": [1]}]}'),
                      ("size.json", '{"modes": [{"size": 0}]}')]:
        (tmp_path / bad).write_text(text)
        done = couplet("schema", tmp_path / bad)
        assert done.returncode == 2 and bad in done.stderr, done.stderr
