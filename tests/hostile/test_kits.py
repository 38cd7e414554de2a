"""Kits where they should not be: two processes with one, disks that are full, clocks that are wrong, other federations, other
users' files. Whoever cannot go on says so, nothing is half-written, and a restart finishes the job."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from hostile import COUPLET, couplet, free_port, make_data  # noqa: E402
import federation  # noqa: E402
from busy_times import LIMIT, at_ease, eventually  # noqa: E402

DAY = 86400
NOBODY = 65534


@pytest.fixture
def peers(tmp_path):
    made = []

    def make(**options):
        made.append(federation.Peers(tmp_path / f"peers-{len(made)}", 1, "complete", 3, ["--rank", 3], direct=True,
                                     link_deadline=at_ease(2), **options))
        return made[-1]
    yield make
    for one in made:
        one.close()


def run(*arguments, **options):
    return subprocess.run([str(a) for a in arguments], capture_output=True, text=True, timeout=LIMIT, **options)


def await_text(path: pathlib.Path, text: str):
    eventually(lambda: path.exists() and text in path.read_text(), f"{path}: no {text}")


def leftovers(folder: pathlib.Path) -> list:
    return [path for path in folder.rglob(".couplet-*")]


# ---- two processes with one kit


def test_a_second_client_with_a_kit_is_told_and_the_first_goes_on(daemons):
    star = daemons()
    star.start("coordinator", "c1")
    await_text(star.kits / "coordinator" / "log.jsonl", "client c1 joined")
    second = run(*star.parties["c1"].command[:-1], "20s", "--force")
    assert second.returncode == 1
    assert f"{star.kits / 'c1'}: another client runs on this kit; expected one at a time" in second.stderr
    star.start("c2", "c3", "c4")
    star.wait()
    star.expect_right()


def test_a_copy_of_a_kit_elsewhere_does_not_keep_the_job_from_its_end(daemons):
    star = daemons(deadline=f"{at_ease(8)}s")
    elsewhere = star.folder / "elsewhere"
    shutil.copytree(star.kits / "c1", elsewhere)
    twin = [str(elsewhere) if word == str(star.kits / "c1") else word for word in star.parties["c1"].command]
    twin[twin.index(str(star.parties["c1"].output))] = str(star.folder / "result-twin")
    star.start()
    process = subprocess.Popen(twin, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        star.wait(*[name for name in star.parties if name != "c1"])
        said = process.communicate(timeout=LIMIT)[1]
        star.wait("c1")
    finally:
        process.kill()
    codes = {star.parties["c1"].process.returncode, process.returncode}
    assert 0 in codes and codes <= {0, 1}, said
    if star.parties["c1"].process.returncode == 0:
        star.expect_right()
    else:
        assert star.parties["coordinator"].process.returncode == 0
        assert federation.same_bits(star.folder / "result-twin" / "features.npz",
                                    star.parties["coordinator"].output / "features.npz")


def test_a_second_peer_with_a_kit_is_told_and_the_first_goes_on(peers):
    network = peers(deadline=600)
    network.start(only=["p1"])
    await_text(network.kits / "p1" / "log.jsonl", "listens at")
    second = run(*network.parties["p1"].command, "--force")
    assert second.returncode == 1 and "another peer runs on this kit" in second.stderr, second.stderr
    status = json.loads(couplet("status", "--kit", network.kits / "p1", "--json").stdout)
    assert status["state"] == "running" and [one["joined"] for one in status["neighbours"]] == [False, False]
    network.start(only=["p2", "p3"])
    assert network.wait() == []
    verdict = network.judge()
    assert sorted(verdict["success"]) == ["p1", "p2", "p3"], verdict
    assert json.loads(couplet("status", "--kit", network.kits / "p1", "--json").stdout)["state"] == "done"


# ---- full disks


@contextlib.contextmanager
def small_disk(folder: pathlib.Path, size: int = 256 << 10):
    """A disk of its own for what is in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder.with_name(folder.name + ".aside")
    shutil.copytree(folder, aside)
    if run("mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder).returncode:
        pytest.skip("no disk can be mounted here: needs root")
    try:
        shutil.copytree(aside, folder, dirs_exist_ok=True)
        yield
    finally:
        run("umount", "-l", folder)


def fill(folder: pathlib.Path, pages: int):
    """Leaves so many pages free."""
    with open(folder / "ballast", "wb", buffering=0) as ballast:
        with contextlib.suppress(OSError):
            while True:
                ballast.write(bytes(4096))
        ballast.truncate(max(0, ballast.tell() - 4096 * pages))


def finish_after_full_disk(star, place: pathlib.Path, pages: int):
    """Somebody says that the disk is full, nothing is half-written, and when it is free a restart finishes the job."""
    with small_disk(place):
        fill(place, pages)
        star.start()
        eventually(lambda: any("No space left on device" in party.said() for party in star.parties.values()),
                   lambda: str({name: party.said() for name, party in star.parties.items()}))
        for party in star.parties.values():
            party.signal(signal.SIGTERM)
        star.wait()
        assert "LOG ERROR" not in "".join(party.said() for party in star.parties.values())
        assert leftovers(place) == []
        (place / "ballast").unlink()
        # A coordinator that is done gives its result to those who lack it when it is started again.
        failed = [name for name, party in star.parties.items() if party.process.returncode != 0]
        star.start(*{"coordinator", *failed})
        star.wait()
        star.expect_right()
        assert leftovers(place) == []


@pytest.mark.parametrize("pages", [0, 2, 5, 11])
def test_a_full_disk_at_the_coordinator(daemons, pages):
    star = daemons()
    finish_after_full_disk(star, star.kits / "coordinator", pages)


def test_a_full_disk_at_a_client(daemons):
    star = daemons()
    finish_after_full_disk(star, star.kits / "c2", 0)


@pytest.mark.parametrize("pages", [0, 1])
def test_a_full_disk_where_a_client_writes_its_result(daemons, pages):
    star = daemons()
    finish_after_full_disk(star, star.parties["c2"].output, pages)


def test_a_full_disk_at_a_peer(peers):
    network = peers(deadline=at_ease(20))
    place = network.kits / "p2"
    with small_disk(place):
        fill(place, 0)
        network.start()
        assert network.wait() == []
        verdict = network.judge()
        assert verdict["failure"] == ["p2"] and sorted(verdict["success"]) == ["p1", "p3"], verdict
        assert "audit.jsonl: No space left on device" in network.parties["p2"].said()
        (place / "ballast").unlink()
        for party in network.parties.values():
            party.restart()
        assert network.wait() == []
        verdict = network.judge()
        assert sorted(verdict["success"]) == ["p1", "p2", "p3"], verdict


# ---- clocks


SKEW = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static long skew(void) {
    long seconds = 0;
    FILE* file = fopen(getenv("SKEW_FILE"), "r");
    if (file) { if (fscanf(file, "%ld", &seconds) != 1) seconds = 0; fclose(file); }
    return seconds;
}
int clock_gettime(clockid_t which, struct timespec* now) {
    static int (*real)(clockid_t, struct timespec*);
    if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
    const int code = real(which, now);
    if (code == 0 && which == CLOCK_REALTIME) now->tv_sec += skew();
    return code;
}
int gettimeofday(struct timeval* now, void* zone) {
    struct timespec t;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &t);
    now->tv_sec = t.tv_sec;
    now->tv_usec = t.tv_nsec / 1000;
    return 0;
}
time_t time(time_t* out) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (out) *out = t.tv_sec;
    return t.tv_sec;
}
"""


class WrongClock:
    """A machine whose clock can be set, for processes that are given its environment."""

    def __init__(self, folder: pathlib.Path):
        self.file = folder / "skew"
        (folder / "skew.c").write_text(SKEW)
        made = run("cc", "-shared", "-fPIC", "-o", folder / "skew.so", folder / "skew.c")
        assert made.returncode == 0, made.stderr
        self.environment = {"LD_PRELOAD": str(folder / "skew.so"), "SKEW_FILE": str(self.file)}
        self.set(0)

    def set(self, days: int):
        self.file.write_text(str(days * DAY))


def test_clocks_and_certificates_that_do_not_fit_are_named(daemons, tmp_path):
    clock = WrongClock(tmp_path)
    star = daemons(deadline="4s")
    couplet("provision", "--rotate", "coordinator", "--days", "5", "-o", star.kits)
    text = (star.kits / "coordinator" / "kit.toml").read_text()
    assert f"http_port = {star.http_port}" in text

    def client(days: int) -> str:
        clock.set(days)
        star.start("c1", environment=clock.environment)
        star.wait("c1")
        return star.parties["c1"].said()
    star.parties["coordinator"].command[star.parties["coordinator"].command.index("--deadline") + 1] = "600s"
    star.start("coordinator")
    star.await_port()
    assert "cert.pem: not valid before" in client(-2) and "Check the clock of this machine" in client(-2)
    assert star.parties["c1"].process.returncode == 2
    assert "cert.pem: expired on" in client(1000) and "provision --rotate c1" in client(1000)
    late = client(10)  # its own is good, the coordinator's is not as far as this machine knows
    assert star.parties["c1"].process.returncode == 1
    assert "certificate verify failed (the certificate is of another federation, has expired or is not valid yet" in late
    # The coordinator's clock is wrong, or the client's certificate is old: the client cannot see why, the log says it.
    star.close()
    couplet("provision", "--rotate", "coordinator", "--days", "2000", "-o", star.kits)
    clock.set(1500)
    star.start("coordinator", environment=clock.environment)
    star.await_port()
    star.start("c1")
    star.wait("c1")
    assert "it refuses the certificate of this kit, or it has too many" in star.parties["c1"].said()
    assert "has expired or is not valid yet: compare kits and clocks" in star.parties["coordinator"].said()


def test_a_client_whose_certificate_expires_while_it_waits_ends(daemons, tmp_path):
    clock = WrongClock(tmp_path)
    star = daemons()
    star.start("c1", environment=clock.environment)
    await_text(star.kits / "c1" / "log.jsonl", "no coordinator at")
    clock.set(1000)
    star.wait("c1")
    assert star.parties["c1"].process.returncode == 2
    assert "cert.pem of this kit: expired on" in star.parties["c1"].said()


# ---- other federations


def test_kits_of_another_federation_are_named_at_both_ends(daemons, peers):
    star, other = daemons(), daemons(deadline="4s")
    star.start("coordinator")
    star.await_port()
    stranger = other.kits / "c1" / "kit.toml"
    stranger.write_text(stranger.read_text().replace(other.address, star.address))
    other.start("c1")
    other.wait("c1")
    assert other.parties["c1"].process.returncode == 1
    assert "of another federation" in other.parties["c1"].said()
    asked = run(COUPLET, "status", "--kit", other.kits / "c1")
    assert asked.returncode == 1 and "of another federation" in asked.stderr
    # A certificate that its own authority has not signed is seen before anything is sent.
    shutil.copy(star.kits / "c1" / "ca.pem", other.kits / "c2" / "ca.pem")
    mixed = run(COUPLET, "client", "--kit", other.kits / "c2", "--data", other.data[1])
    assert mixed.returncode == 2 and "signed by another authority" in mixed.stderr

    network = peers(deadline=at_ease(12))
    foreign = peers()
    for name in ("ca.pem", "cert.pem", "key.pem", "kit.toml"):
        shutil.copy(foreign.kits / "p3" / name, network.kits / "p3" / name)
    kit = network.kits / "p3" / "kit.toml"
    text = kit.read_text()
    for name in network.names:
        text = text.replace(f"127.0.0.1:{foreign.ports[name]}", f"127.0.0.1:{network.ports[name]}")
    kit.write_text(text.replace(f"0.0.0.0:{foreign.ports['p3']}", f"0.0.0.0:{network.ports['p3']}"))
    network.start()
    assert network.wait() == []
    codes = {name: party.process.returncode for name, party in network.parties.items()}
    assert codes == {"p1": 0, "p2": 0, "p3": 1}, {name: party.said() for name, party in network.parties.items()}
    assert network.parties["p1"].result()["members"] == ["p1", "p2"]
    for name in ("p1", "p2"):  # who opens the connection sees the other's certificate
        assert "of another federation" in network.parties[name].said(), name


# ---- other users' files


def as_nobody(*arguments):
    return run("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *arguments)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")
def test_files_of_another_user_are_named_before_anything_is_sent(tmp_path):
    for folder in [tmp_path, *tmp_path.parents]:
        if folder.stat().st_mode & 0o011 == 0 and str(folder) != "/":
            os.chmod(folder, 0o755)
    kits = tmp_path / "kits"
    data = make_data(tmp_path / "data", 2, 1)
    couplet("provision", "--coordinator", f"127.0.0.1:{free_port()}", "--clients", "a,b", "-o", kits)
    (tmp_path / "locked").mkdir(mode=0o755)
    for path in [tmp_path / "kits", tmp_path / "data", *kits.rglob("*"), *(tmp_path / "data").rglob("*")]:
        os.chown(path, NOBODY, NOBODY)
    (tmp_path / "out").mkdir()
    os.chown(tmp_path / "out", NOBODY, NOBODY)

    def client(output="out"):
        return as_nobody(COUPLET, "client", "--kit", kits / "a", "--data", data[0], "-o", tmp_path / output, "--deadline", "1s")

    def coordinator():
        return as_nobody(COUPLET, "coordinator", "--kit", kits / "coordinator", "-o", tmp_path / "out", "--deadline", "1s",
                         "--rank", 3)

    def taken(path: pathlib.Path, ask):
        """What is said when that belongs to somebody else."""
        if not path.exists():
            path.touch()
        mode = path.stat().st_mode & 0o777
        os.chown(path, 0, 0)
        os.chmod(path, 0o700 if path.is_dir() else 0o600)
        done = ask()
        os.chown(path, NOBODY, NOBODY)
        os.chmod(path, mode)
        return done
    assert client().returncode == 1, "nobody is there, and nothing else is wrong"
    for name in ("key.pem", "cert.pem", "ca.pem", "kit.toml", "audit.jsonl", "log.jsonl", "lock"):
        done = taken(kits / "a" / name, client)
        assert done.returncode in (1, 2) and f"{kits / 'a' / name}: " in done.stderr, (name, done.stderr)
        assert "terminate" not in done.stderr and "no coordinator at" not in done.stderr
    done = client("locked")
    assert done.returncode == 2 and "a folder that may not be written" in done.stderr and "no coordinator" not in done.stderr
    assert coordinator().returncode == 1
    for name in ("job/job.json", "job", "revoked.txt", "lock"):
        done = taken(kits / "coordinator" / name, coordinator)
        assert done.returncode in (1, 2) and f"{kits / 'coordinator' / name}: " in done.stderr, (name, done.stderr)
        assert "clients came" not in done.stderr and "filesystem error" not in done.stderr
    # What anybody may change protects from nobody.
    (kits / "a" / "policy.toml").write_text("")
    for path, ask in [(kits / "a" / "policy.toml", client), (kits / "a" / "ca.pem", client),
                      (kits / "coordinator" / "revoked.txt", coordinator)]:
        path.touch()
        mode = path.stat().st_mode & 0o777
        os.chmod(path, 0o666)
        done = ask()
        assert done.returncode == 2 and "anybody may change" in done.stderr and f"chmod go-w {path}" in done.stderr, done.stderr
        os.chmod(path, mode)


def test_spooled_files_of_another_kind_are_named(daemons):
    done = daemons()
    done.start()
    done.wait()
    star = daemons(deadline=f"{at_ease(3)}s")
    star.start("coordinator", "c1", "c2", "c3")
    star.wait("coordinator")
    job = star.kits / "coordinator" / "job"
    assert (job / "hello-1.msg").exists()
    # A message that is whole, and of another kind.
    shutil.copy(next((done.kits / "coordinator" / "job").glob("features-*.msg")), job / "hello-1.msg")
    star.start("coordinator")
    star.wait("coordinator")
    said = star.parties["coordinator"].said()
    assert star.parties["coordinator"].process.returncode == 2, said
    assert f"{job / 'hello-1.msg'}: features; expected what was spooled there of client c2" in said
