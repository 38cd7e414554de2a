# %% [markdown]
# # Choosing a network
#
# A star has a coordinator in the middle that all sites trust to be there. Without one, sites are peers that talk to their
# neighbours on a graph. This tutorial runs the same eight sites both ways and counts what is sent.

# %%
import matplotlib.pyplot as plt

import couplet

sites = couplet.data.synthetic("400x20x20:rank=10,noise=0.1", clients=8).tensors
star = couplet.simulate(sites, rank=10)
pooled = couplet.simulate(sites, rank=10, method="centralized")
print(f"star: RSE {star.rse:.5f} in {star.rounds} rounds; centralized: {pooled.rse:.5f}")

# %% [markdown]
# ## Peers
#
# Peers merge along a tree of their links: four messages for each, whatever the graph. The deeper the tree, the more rounds.

# %%
graphs = ["complete", "grid", "ring", "path", "paper8"]
peers = {graph: couplet.simulate(sites, rank=10, network="decentralized", graph=graph) for graph in graphs}
print(f"{'graph':10} {'RSE':>8} {'rounds':>6} {'kB in all':>10}")
for graph, run in peers.items():
    print(f"{graph:10} {run.rse:8.5f} {run.rounds:6} {run.bytes_total / 1e3:10.0f}")

# %%
fig, axes = plt.subplots(1, 3, figsize=(9, 3.4))
for ax, graph in zip(axes, ["complete", "ring", "paper8"]):
    couplet.plot.network(graph, 8, ax=ax)
    ax.set_title(f"{graph}: {peers[graph].rounds} rounds, {peers[graph].bytes_total / 1e3:.0f} kB")
fig.suptitle("More links bring fewer rounds and fewer bytes, and survive more losses")

# %% [markdown]
# ## Only sums
#
# With `aggregate="subspace"` nothing but sums over patients travels. It takes more rounds and many more bytes, and it is what secure
# aggregation needs.

# %%
sums = couplet.simulate(sites, rank=10, aggregate="subspace")
ways = {"star": star, "ring of peers": peers["ring"], "star, only sums": sums}
fig, ax = plt.subplots(figsize=(7.4, 2.4))
raw = sum(x.nbytes for x in sites)
for k, (name, run) in enumerate(ways.items()):
    ax.barh(k, run.bytes_total / 1e3, color="tab:blue")
    ax.annotate(f"{run.bytes_total / 1e3:,.0f} kB, {run.rounds} rounds, RSE {run.rse:.5f}", (run.bytes_total / 1e3, k), xytext=(6, 0),
                textcoords="offset points", va="center")
ax.axvline(raw / 1e3, color="0.5", linestyle=":")
ax.annotate("the raw data", (raw / 1e3, 2.6), ha="right", xytext=(-4, 0), textcoords="offset points")
ax.set(yticks=range(len(ways)), yticklabels=list(ways), xlabel="kB over all links", xscale="log", ylim=(-0.6, 2.9),
       xlim=(10, 1e5), title="Sums alone cost a hundred times the bytes of compressed rows")

# %% [markdown]
# ## Which one
#
# | | star | peers |
# |---|---|---|
# | who must be there | the coordinator | more than half of the peers |
# | who sees what a site sends | the coordinator | its parent in the tree, and those above |
# | rounds | 2 | twice the depth of the tree |
# | open ports | one, at the coordinator | one at each peer |
#
# Take a star where somebody may be in the middle. Take peers where nobody may; `random:S` with three to five links each, or
# `complete` for up to ten. [Peers without a coordinator](../decentralized.md) says what they survive,
# [Deployment](../deployment.md) how both run between machines.
