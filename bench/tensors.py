"""The tensors of the benchmarks: noise, a slowly and a fast decaying spectrum, and real ones."""
import json
import os
import pathlib
import subprocess

SPECTRA = ("noise", "slow", "fast")
# Real tensors and the rank they are asked for: what `couplet data` makes of the data sets in COUPLET_DATA.
REAL = [("diabetes 1000x20x24", 50, ["diabetes", "--count", "1000"]), ("ECG 1000x110x140", 100, ["ecg", "--count", "1000"])]


def shape_of(name):
    return (2,) * int(name[2:]) if name.startswith("2^") else tuple(int(size) for size in name.split("x"))


def make_tensor(path, shape, dtype, spectrum):
    """Writes one tensor. noise is the flat spectrum that is hardest for every method that computes only a part of it; slow
    and fast are sums of 256 products of random vectors with weights 1/j and 0.9^j, and noise of a thousandth."""
    import numpy

    rng = numpy.random.default_rng(0)
    out = numpy.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    flat = out.reshape(-1)
    scale = 1.0
    if spectrum != "noise":
        # Both halves of the modes as one matrix each, so that the sum is one product.
        half = next(n for n in range(1, len(shape)) if numpy.prod(shape[:n]) ** 2 >= numpy.prod(shape) or n == len(shape) - 1)
        j = numpy.arange(256)
        weights = 1.0 / (j + 1) if spectrum == "slow" else 0.9**j
        rows = weights * products(rng, shape[:half])
        columns = products(rng, shape[half:])
        matrix = out.reshape(rows.shape[0], -1)
        total = 0.0
        step = max(1, (1 << 24) // columns.shape[0])
        for first in range(0, rows.shape[0], step):
            part = rows[first:first + step] @ columns.T
            total += float((part**2).sum())
            matrix[first:first + step] = part
        scale = 1e-3 * (total / flat.size) ** 0.5
    for first in range(0, flat.size, 1 << 22):
        part = flat[first:first + (1 << 22)]
        noise = scale * rng.standard_normal(part.size)
        part[:] = noise if spectrum == "noise" else part + noise.astype(part.dtype)
    out.flush()


def products(rng, shape):
    """(prod shape) x 256: each column the outer product of random vectors of length about 1 an element."""
    import numpy

    result = numpy.ones((1, 256))
    for size in shape:
        factor = rng.standard_normal((size, 256))
        result = (result[:, None, :] * factor[None]).reshape(-1, 256)
    return result


def make_real(path, couplet, arguments):
    """Writes a real tensor with the `data` verb, or says why not."""
    if not os.environ.get("COUPLET_DATA"):
        return "COUPLET_DATA is not set"
    folder = pathlib.Path(path).parent / "real"
    done = subprocess.run([couplet, "data", *arguments, "--clients", "1", "-o", folder, "--force"], text=True,
                          capture_output=True, check=False)
    if done.returncode != 0:
        return done.stderr.strip() or done.stdout.strip()
    os.replace(folder / "client_1.npy", path)
    return None


def engine_result(program, path, rank, seconds, eps=None):
    """What bench/engine.cpp says of one tensor."""
    command = [program, str(rank), str(seconds), str(path)] + ([str(eps)] if eps else [])
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
