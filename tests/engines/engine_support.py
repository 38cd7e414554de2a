"""What the tests of all engines share."""
from __future__ import annotations

import importlib.util
import json
import pathlib
import re
import sys

import numpy as np

import couplet

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def loopback_of(engine: str):
    """examples/ENGINE/loopback.py as a module."""
    name = f"loopback_{engine}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / engine / "loopback.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[name] = module
    return sys.modules[name]


def make_clients(folder, count, seed=3, patients=20):
    """Files with tensors that have features in common."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(6, 30))
    files = []
    for k in range(count):
        x = (rng.normal(size=(patients + k, 6)) @ shared + 0.1 * rng.normal(size=(patients + k, 30))).reshape(-1, 6, 5)
        files.append(folder / f"client_{k + 1}.npy")
        np.save(files[-1], x)
    return files


def same(folder, expected):
    """Whether the features of a folder are those of a simulation, bit for bit."""
    features = couplet.load(folder / "features.npz")
    return all(np.array_equal(a, b) for a, b in zip(features.cores, expected.features.cores, strict=True))


def same_personal(folder, expected):
    """Whether the personal cores of a simulation's folder are those of `couplet simulate`, bit for bit."""
    return all(np.array_equal(np.load(folder / f"personal_{k}.npz")["core_1"][0], core)
               for k, core in enumerate(expected.personal, 1))


def close(folder, expected, mergers):
    """Whether the features of a folder, of a tree of so many mergers, are as good as those of a simulation in one."""
    result = json.loads((folder / "result.json").read_text())
    return (result["mergers"] == mergers and result["rse"] <= 1.02 * expected.rse
            and result["rse"] ** 0.5 <= result["rel_error_bound"] and result["bytes_up"] == expected.bytes_up)


def secure_sites(loopback, sites, folder):
    """Gives each site a kit and a policy that a small secure sum satisfies; the coordinator's kit."""
    kits = loopback.make_kits(sites, folder)
    policy = folder / "policy.toml"
    policy.write_text("patients_per_direction = 0\n")
    for name, said in sites.items():
        said |= {"kit": str(kits / name), "policy": str(policy)}
    return kits / "coordinator"


def remembers(kit, job):
    """Whether a site's kit says what it has shown to a job."""
    return any(job in line for line in (kit / "disclosed.jsonl").read_text().splitlines())


def shown(document):
    """The commands of a document's sh blocks, one a line."""
    blocks = re.findall(r"^```sh\n(.*?)^```", document.read_text(), re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in lines if not line.startswith("export")]
