"""A Flower deployment on this machine: a SuperLink with TLS that knows its SuperNodes by their keys, and one SuperNode per
file. `run` beside this file starts it with an interpreter that has couplet[flower].

Everything it writes besides the results is in a folder of its own that is removed in the end.
"""
from __future__ import annotations

import argparse
import contextlib
import datetime
import ipaddress
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

APP = pathlib.Path(__file__).resolve().parent
BIN = pathlib.Path(sys.executable).parent
PATIENCE = 180  # seconds for a process to begin; the machine may be busy


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def write_secret(path: pathlib.Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)


def private_bytes(key: ec.EllipticCurvePrivateKey, form: serialization.PrivateFormat) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def certificate(name: str, key: ec.EllipticCurvePrivateKey, issuer: str, issuer_key: ec.EllipticCurvePrivateKey,
                authority: bool) -> bytes:
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = (x509.CertificateBuilder()
               .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
               .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
               .public_key(key.public_key()).serial_number(x509.random_serial_number())
               .not_valid_before(now - datetime.timedelta(minutes=5)).not_valid_after(now + datetime.timedelta(days=7))
               .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
               .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
               .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False))
    if authority:
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
    else:
        usage = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
        builder = builder.add_extension(x509.SubjectAlternativeName(
            [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    builder = builder.add_extension(usage, critical=True)
    return builder.sign(issuer_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


class Loopback:
    """The deployment, as a context. `nodes` are the SuperNodes' processes, by name."""

    def __init__(self, sites: dict[str, dict[str, str | bool]], folder: pathlib.Path) -> None:
        self.sites = sites  # node configuration by name
        self.folder = folder
        self.port = free_port()
        self.nodes: dict[str, subprocess.Popen] = {}
        self._all: list[subprocess.Popen] = []
        self.environment = dict(os.environ, FLWR_HOME=str(folder / "home"), FLWR_TELEMETRY_ENABLED="0",
                                FLWR_DISABLE_UPDATE_CHECK="1", FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION="1",
                                PYTHONUNBUFFERED="1", PATH=f"{BIN}{os.pathsep}{os.environ['PATH']}")

    def __enter__(self) -> Loopback:
        try:
            self._make_certificates()
            self._start_superlink()
            for name in self.sites:
                self._start_supernode(name)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        # The whole session of each: they start processes of their own.
        for process in reversed(self._all):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        until = time.monotonic() + 20
        for process in self._all:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.1, until - time.monotonic()))
        for process in self._all:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def flwr(self, *arguments: str, timeout: float | None = None) -> subprocess.CompletedProcess:
        return subprocess.run([BIN / "flwr", *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=self.environment, timeout=timeout)

    def run(self, config: str, app: pathlib.Path = APP, timeout: float | None = None) -> str:
        """Runs the app to its end and returns its log."""
        return self.flwr("run", str(app), "loopback", "--stream", "--run-config", config, timeout=timeout).stdout

    def log_of(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def _make_certificates(self) -> None:
        authority = ec.generate_private_key(ec.SECP384R1())
        server = ec.generate_private_key(ec.SECP384R1())
        (self.folder / "home").mkdir(parents=True)
        (self.folder / "ca.pem").write_bytes(certificate("loopback authority", authority, "loopback authority", authority, True))
        (self.folder / "server.pem").write_bytes(certificate("localhost", server, "loopback authority", authority, False))
        write_secret(self.folder / "server.key", private_bytes(server, serialization.PrivateFormat.PKCS8))
        (self.folder / "home" / "config.toml").write_text(
            f'[superlink]\ndefault = "loopback"\n\n[superlink.loopback]\naddress = "127.0.0.1:{self.port}"\n'
            f'root-certificates = "{self.folder / "ca.pem"}"\n')

    def _start(self, name: str, *command: str) -> subprocess.Popen:
        log = open(self.folder / f"{name}.log", "wb")  # noqa: SIM115 - the process keeps it
        process = subprocess.Popen([str(BIN / command[0]), *command[1:]], stdout=log, stderr=subprocess.STDOUT,
                                   env=self.environment, start_new_session=True)
        log.close()
        self._all.append(process)
        return process

    def _start_superlink(self) -> None:
        link = self._start("superlink", "flower-superlink", "--ssl-ca-certfile", str(self.folder / "ca.pem"), "--ssl-certfile",
                           str(self.folder / "server.pem"), "--ssl-keyfile", str(self.folder / "server.key"),
                           "--enable-supernode-auth", "--host", "127.0.0.1", "--port", str(self.port))
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if link.poll() is not None:
                raise SystemExit(f"SuperLink: it ended; expected it to serve\n{self.log_of('superlink')}")
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.2)
        raise SystemExit(f"SuperLink: not there within {PATIENCE} s\n{self.log_of('superlink')}")

    def _start_supernode(self, name: str) -> None:
        key = ec.generate_private_key(ec.SECP384R1())
        private, public = self.folder / f"{name}.key", self.folder / f"{name}.pub"
        write_secret(private, private_bytes(key, serialization.PrivateFormat.OpenSSH))
        public.write_bytes(key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH))
        done = self.flwr("supernode", "register", str(public), "loopback")
        if done.returncode != 0:
            raise SystemExit(f"{name}: its key could not be registered\n{done.stdout}")
        config = " ".join(f"{key}={json.dumps(value)}" for key, value in self.sites[name].items())
        self.nodes[name] = self._start(name, "flower-supernode", "--superlink", f"127.0.0.1:{self.port}", "--root-certificates",
                                       str(self.folder / "ca.pem"), "--auth-supernode-private-key", str(private), "--port",
                                       str(free_port()), "--node-config", config)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="run", description="Runs a Couplet job on Flower with one SuperNode per file.")
    parser.add_argument("files", nargs="+", metavar="CLIENT.npy", type=pathlib.Path)
    parser.add_argument("--rank", type=int, default=0, help="R_1 of the shared features")
    parser.add_argument("--flags", default="", help="further flags of couplet simulate, as one text")
    parser.add_argument("--min-sites", type=int, default=0, help="without so many the job fails (all)")
    parser.add_argument("--deadline", type=float, default=300.0, help="seconds, for every wait")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, metavar="DIR")
    parser.add_argument("--force", action="store_true", help="replace files that are there")
    return parser


def main() -> int:
    parser = arguments()
    options = parser.parse_args()
    output = options.output.resolve()
    for file in options.files:
        if not file.is_file():
            parser.error(f"{file}: no such file; expected a tensor, patients first")
    if (output / "features.npz").exists() and not options.force:
        parser.error(f"{output / 'features.npz'}: it exists; expected a free name. Use --force to replace it.")
    sites = {}
    for k, file in enumerate(options.files, 1):
        sites[f"client-{k}"] = {"name": f"client-{k}", "data": str(file.resolve()), "output": str(output / f"client-{k}")}
        if options.force:
            sites[f"client-{k}"]["force"] = True
    config = (f'rank={options.rank} flags="{options.flags}" sites={len(sites)} min-sites={options.min_sites} '
              f'deadline={options.deadline} output="{output}" force={str(options.force).lower()}')
    with tempfile.TemporaryDirectory(prefix="couplet-flower-") as folder, Loopback(sites, pathlib.Path(folder)) as loopback:
        began = time.time()
        print(f"SuperLink on 127.0.0.1:{loopback.port} with TLS, {len(sites)} SuperNodes with keys of their own", flush=True)
        print(loopback.run(config), flush=True)
    made = output / "features.npz"
    if not made.exists() or made.stat().st_mtime < began - 1:
        print("run: the job left no features; what it said is above", file=sys.stderr)
        return 1
    result = json.loads((output / "result.json").read_text())
    print(f"{made}: ranks {result['ranks']}, RSE {result.get('rse')}, sites {', '.join(result['members'])}")
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended
    sys.exit(main())
