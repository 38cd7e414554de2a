"""Sound inside somebody else's process: memory, threads, fork, joblib, signals, other BLAS libraries, the environment."""
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import couplet


def program(text):
    return textwrap.dedent(text)


def test_contiguous_input_is_not_copied(python):
    """A tensor of 400 MB is decomposed in a process that may not grow by another 200 MB. The Gram route needs a fifth."""
    out = python(program("""
        import resource, numpy as np, couplet
        couplet.decompose(np.ones((4, 4, 4)))  # libraries loaded, threads started
        x = np.ones((50_000, 1000)); x[::7, 3] = 2
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        train = couplet.decompose(x, max_rank=2)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print((after - before) / 1024, train.rel_error)
    """))
    grown, error = map(float, out.split())
    assert grown < 200 and error < 1e-6


def test_results_are_given_away_not_leaked(python):
    out = python(program("""
        import resource, numpy as np, couplet
        x = np.random.default_rng(0).normal(size=(60, 50, 40))
        sizes = []
        for i in range(160):
            t = couplet.decompose(x, max_rank=20); t.full(); (t + t).round(1e-3); couplet.simulate([x], rank=3)
            if i in (60, 159): sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        print(sizes[1] - sizes[0])
    """))
    assert int(out) < 20_000  # kB; a leak of one core per round would be 200 MB


def test_threads_of_python_work_at_once():
    x = np.random.default_rng(0).normal(size=(80, 60, 70))
    expected = couplet.decompose(x, max_rank=9)
    with ThreadPoolExecutor(8) as pool:
        trains = list(pool.map(lambda _: couplet.decompose(x, max_rank=9), range(24)))
        results = list(pool.map(lambda seed: couplet.simulate([x[:40], x[40:]], rank=4, seed=seed).rse, range(8)))
    assert all(np.array_equal(a, b) for t in trains for a, b in zip(t.cores, expected.cores))
    assert len(set(results)) == 1


def test_the_gil_is_free_meanwhile():
    x = np.random.default_rng(0).normal(size=(300, 250, 250))
    ticks, done = 0, threading.Event()

    def tick():
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    for _ in range(10):  # longer where there is other work, as is a tick
        couplet.decompose(x, max_rank=20)
    done.set()
    ticker.join()
    assert ticks > 20


@pytest.mark.parametrize("end", ["os._exit(0)", "sys.exit(0)"])
def test_fork(python, end):
    python(program(f"""
        import os, sys, signal, numpy as np, couplet
        x = np.random.default_rng(0).normal(size=(120, 60, 60))
        expected = couplet.decompose(x, max_rank=5).cores[1]
        children = []
        for _ in range(4):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                same = np.array_equal(couplet.decompose(x, max_rank=5).cores[1], expected)
                if not same: os._exit(3)
                {end}
            children.append(child)
        assert all(os.waitpid(child, 0)[1] == 0 for child in children)
        assert np.array_equal(couplet.decompose(x, max_rank=5).cores[1], expected)
    """))


def test_fork_while_other_threads_compute(python):
    """The child has none of these threads, and whatever locks they hold stay locked there."""
    python(program("""
        import os, signal, sys, threading, warnings
        import numpy as np, couplet
        warnings.simplefilter("ignore")
        x = np.random.default_rng(0).normal(size=(120, 60, 60))
        expected = couplet.decompose(x, max_rank=5).cores[1]
        stop = threading.Event()
        def work():
            while not stop.is_set():
                couplet.decompose(x, max_rank=5)
                couplet.simulate([x[:60], x[60:]], rank=3)
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads: thread.start()
        try:
            for _ in range(6):
                child = os.fork()
                if child == 0:
                    signal.alarm(60)
                    same = np.array_equal(couplet.decompose(x, max_rank=5).cores[1], expected)
                    couplet.simulate([x[:60], x[60:]], rank=3)
                    sys.exit(0 if same else 3)
                assert os.waitpid(child, 0)[1] == 0
        finally:
            stop.set()
    """))


@pytest.mark.parametrize("size", [(200, 100, 100), (30, 20, 20)], ids=["long", "brief"])
def test_daemon_threads_do_not_spoil_the_end(python, size):
    out = python(program(f"""
        import atexit, threading, time
        atexit.register(lambda: print(couplet.decompose(np.ones((80, 80, 80))).ranks))  # called last
        import numpy as np, couplet
        x = np.random.default_rng(0).normal(size={size})
        def work():
            while True:
                couplet.decompose(x, eps=0.001)
                couplet.simulate([x], rank=2)
        threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
        for thread in threads: thread.start()
        time.sleep(0.5)
    """))
    assert out == "(1, 1, 1, 1)\n"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(tmp_path, method):
    script = tmp_path / "pool.py"
    script.write_text(program(f"""
        import multiprocessing, numpy as np, couplet
        def work(seed):
            x = np.random.default_rng(seed).normal(size=(60, 30, 30))
            return couplet.decompose(x, max_rank=4).rel_error
        if __name__ == "__main__":
            here = [work(seed) for seed in range(4)]
            with multiprocessing.get_context({method!r}).Pool(2) as pool:
                assert pool.map(work, range(4)) == here
    """))
    subprocess.run([sys.executable, script], check=True, timeout=900)


def test_joblib():
    joblib = pytest.importorskip("joblib")
    x = np.random.default_rng(0).normal(size=(60, 30, 30))
    expected = couplet.decompose(x, max_rank=4)
    for backend in ("loky", "threading", "multiprocessing"):
        trains = joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(couplet.decompose)(x, max_rank=4) for _ in range(4))
        assert all(np.array_equal(a, b) for t in trains for a, b in zip(t.cores, expected.cores))


def test_workers_of_joblib_do_not_take_every_core(python):
    assert python("import couplet; print(couplet.threads())", OMP_NUM_THREADS="1").strip() == "1"
    assert python("import couplet; print(couplet.threads())", COUPLET_NUM_THREADS="3").strip() == "3"
    assert int(python("import couplet; print(couplet.threads())", COUPLET_NUM_THREADS="lots")) >= 1


def test_beside_the_blas_of_numpy_and_scipy(python):
    """Three OpenBLAS in one process: each keeps its own threads and gives its own bits, in any order of loading."""
    out = python(program("""
        import os, sys
        environment = dict(os.environ)
        import numpy as np
        rng = np.random.default_rng(0)
        a = rng.normal(size=(700, 700))
        alone = a @ a
        import couplet
        x = rng.normal(size=(200, 60, 50))
        first = couplet.decompose(x, max_rank=20)
        import scipy.linalg
        values = scipy.linalg.svdvals(a)
        assert np.array_equal(a @ a, alone)
        again = couplet.decompose(x, max_rank=20)
        assert all(np.array_equal(p, q) for p, q in zip(first.cores, again.cores))
        assert dict(os.environ) == environment
        from threadpoolctl import threadpool_info
        for pool in threadpool_info():
            print(os.path.basename(pool["filepath"]), pool["num_threads"])
        print(couplet._engine.blas())
        mapped = {line.split()[-1] for line in open("/proc/self/maps") if "openblas" in line}
        print(*sorted(os.path.basename(path) for path in mapped))
    """))
    lines = out.splitlines()
    assert lines[-2].startswith("libcouplet_openblas.so")
    assert "libcouplet_openblas.so" in lines[-1] and "libopenblas.so.0" not in lines[-1]
    alone = {}
    for line in lines[:-2]:
        name, threads = line.rsplit(" ", 1)
        alone[name] = int(threads)
    cores = len(os.sched_getaffinity(0))
    others = [threads for name, threads in alone.items() if "openblas" in name and "couplet" not in name]
    assert others and all(threads == cores for threads in others), alone


def test_the_same_bits_whoever_loads_first(python):
    text = """
        import {first}
        import {second}
        import numpy as np, couplet, hashlib
        x = np.random.default_rng(0).normal(size=(90, 40, 30))
        print(hashlib.sha256(couplet.decompose(x, max_rank=9).full().tobytes()).hexdigest())
    """
    orders = [("couplet", "scipy.linalg"), ("scipy.linalg", "couplet"), ("numpy", "couplet")]
    assert len({python(program(text.format(first=first, second=second))) for first, second in orders}) == 1


INTERRUPTED = """
    import os, signal, sys, threading, time
    import numpy as np, couplet
    rng = np.random.default_rng(0)
    {setup}
    def interrupt():
        time.sleep(0.7)
        global at
        at = time.process_time()
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=interrupt).start()
    try:
        {work}
        print("never")
    except KeyboardInterrupt:
        print((time.process_time() - at) / couplet.threads())
    assert couplet.decompose(np.ones((3, 4, 5))).ranks == (1, 1, 1, 1)
"""


@pytest.mark.parametrize("setup, work", [
    ("x = rng.normal(size=(200, 200, 200))", "while True: couplet.decompose(x, eps=0, method='qr')"),
    ("x = rng.normal(size=(1500, 1500))", "while True: couplet.decompose(x, eps=1e-3, method='qr')"),
    ("x = [rng.normal(size=(100, 30, 30)) for _ in range(4)]",
     "couplet.simulate(x, method='dpsgd', rank=20, rounds=1000000, tolerance=0)"),
    ("x = [rng.normal(size=(40, 30, 30)) for _ in range(8)]",
     "couplet.simulate(x, network='decentralized', graph='path', aggregate='subspace', consensus='plain', rank=20, iterations=1000000)"),
    ("x = couplet.TensorTrain([rng.normal(size=s) for s in ((1, 1200, 300), (300, 40, 300), (300, 1200, 1))])",
     "while True: x.full()"),
], ids=["three modes", "one large eigenproblem", "training", "gossip", "multiplying out"])
def test_ctrl_c_within_a_second(python, setup, work):
    """Of its own work: other work on the machine does not count."""
    assert float(python(program(INTERRUPTED.format(setup=setup, work=work)), timeout=900)) < 1


def test_a_signal_handler_that_raises_nothing_lets_the_work_go_on(python):
    assert python(program("""
        import os, signal, threading, time, numpy as np, couplet
        seen = []
        signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
        x = np.random.default_rng(0).normal(size=(300, 200, 200))
        threading.Thread(target=lambda: (time.sleep(0.1), os.kill(os.getpid(), signal.SIGUSR1))).start()
        end = time.monotonic() + 1
        while time.monotonic() < end: couplet.decompose(x, max_rank=30)
        print(len(seen))
    """)).strip() == "1"


def test_bars_only_where_somebody_looks(python):
    pytest.importorskip("tqdm")
    text = """
        import numpy as np, couplet, sys
        from couplet import _watch
        _watch._DELAY = 0
        couplet.set_progress({mode!r})
        couplet.simulate([np.random.default_rng(k).normal(size=(60, 30, 30)) for k in range(4)], method="dpsgd", rank=10,
                         rounds=300, tolerance=0)
    """

    def stderr_of(mode):
        done = subprocess.run([sys.executable, "-c", program(text.format(mode=mode))], text=True, capture_output=True)
        assert done.returncode == 0 and done.stdout == "", done.stderr
        return done.stderr

    assert stderr_of("auto") == "" and stderr_of("off") == ""
    assert "rounds" in stderr_of("on")
