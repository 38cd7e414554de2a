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
import socket
import subprocess
import sys
import time

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

APP = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(APP.parent))
import loopback_common  # noqa: E402
from loopback_common import BIN, asks_for_secure_sums, end_sessions, free_port, make_kits  # noqa: E402

PATIENCE = 600  # seconds for a process to begin; the machine may be busy


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
        end_sessions(reversed(self._all))

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
    return loopback_common.arguments("Runs a Couplet job on Flower with one SuperNode per file.", "run")


def job(options: argparse.Namespace, folder: pathlib.Path) -> str:
    sites: dict[str, dict[str, str | bool]] = {}
    for k, file in enumerate(options.files, 1):
        name = f"client-{k}"
        sites[name] = {"name": name, "data": str(file), "output": str(options.output / name)}
        if options.force:
            sites[name]["force"] = True
    config = (f'rank={options.rank} flags="{options.flags}" sites={len(sites)} min-sites={options.min_sites} '
              f'deadline={options.deadline} output="{options.output}" force={str(options.force).lower()}')
    if asks_for_secure_sums(options.flags):
        kits = make_kits(sites, folder)
        config += f' kit="{kits / "coordinator"}"'
        for name, said in sites.items():
            said["kit"] = str(kits / name)
    with Loopback(sites, folder) as loopback:
        print(f"SuperLink on 127.0.0.1:{loopback.port} with TLS, {len(sites)} SuperNodes with keys of their own", flush=True)
        return loopback.run(config)


if __name__ == "__main__":
    sys.exit(loopback_common.run(arguments(), job))
