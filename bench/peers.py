#!/usr/bin/env python3
"""Decentralized jobs by graph: messages per node and time of real peers on this machine, each a process with mutual TLS.

`peers.py [--peers 8 32] [--rank 5] [--output FILE]` prints a table in Markdown. Seconds are those of the slowest peer from
its start to its decision, all of them sharing this machine's cores: compare graphs, not machines.
"""
import argparse
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "chaos"))
from federation import Peers, make_data  # noqa: E402

GRAPHS = ["complete", "random:0.3", "grid", "star", "ring", "path"]
JOBS = [("subspace", []), ("subspace, tree", ["--consensus", "tree"]), ("stack", ["--aggregate", "stack"])]


def run(graph: str, peers: int, flags: list, data: list, folder: pathlib.Path) -> dict:
    network = Peers(folder, 1, graph, peers, flags, deadline=240.0, link_deadline=20.0, data=data, direct=True)
    try:
        network.start()
        if network.wait():
            raise SystemExit(f"{graph}: still running after its deadline")
        verdict = network.judge()
        if verdict["wrong"] or len(verdict["success"]) != peers:
            raise SystemExit(f"{graph}: {verdict['reasons']}")
        results = [party.result() for party in network.parties.values()]
    finally:
        network.close()
    messages = [result["messages_sent"] for result in results]
    return {"links": len(network.links), "iterations": results[0].get("consensus", {}).get("iterations"),
            "rounds": results[0]["rounds"], "messages": statistics.mean(messages), "most": max(messages),
            "numbers": results[0]["numbers_total"] / peers,
            "seconds": max(result["seconds"]["total"] for result in results)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=int, nargs="+", default=[8, 32])
    parser.add_argument("--rank", type=int, default=5)
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    lines = ["| peers | graph | links | job | iterations | rounds | messages per node: mean, most | numbers per node | seconds |",
             "|---|---|---|---|---|---|---|---|---|"]
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory(prefix="couplet-peers-") as folder:
        for peers in options.peers:
            data = make_data(pathlib.Path(folder) / f"data-{peers}", peers, 1, "10x12")
            for graph in GRAPHS + (["paper8"] if peers == 8 else []):
                for title, flags in JOBS:
                    there = pathlib.Path(folder) / f"{peers}-{graph.replace(':', '-')}-{title.replace(', ', '-')}"
                    row = run(graph, peers, ["--rank", options.rank, *flags], data, there)
                    iterations = row["iterations"] if row["iterations"] is not None else "-"
                    lines.append(f"| {peers} | {graph} | {row['links']} | {title} | {iterations} | {row['rounds']} | "
                                 f"{row['messages']:.0f}, {row['most']} | {row['numbers']:,.0f} | {row['seconds']:.1f} |")
                    print(lines[-1], flush=True)
    if options.output:
        options.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
