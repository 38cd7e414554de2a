# %% [markdown]
# # Choosing ranks
#
# How many numbers should describe a patient? Too few miss what is there; too many learn noise, cost bytes and give more away.
# This tutorial needs no data: it makes a federation whose true rank is 8, with noise, and shows how to find out.

# %%
import matplotlib.pyplot as plt
import numpy as np

import couplet

clients = couplet.data.synthetic("240x20x15:rank=8,noise=0.3", clients=4, seed=3).tensors
print([x.shape for x in clients])

# %% [markdown]
# ## One site alone: the singular values
#
# The singular values of the unfolding "patients by everything else" tell how much each further direction adds. Where they stop
# falling and run flat, noise begins.

# %%
ax = couplet.plot.singular_values(clients[0])
ax.set_title("One site: the values fall until rank 8 and run flat in the noise")

# %% [markdown]
# On the command line `couplet ranks client_1.npy` shows the same as a table.
#
# ## The federation: patients whom nobody learnt from
#
# The error on the patients that a model was made from always falls with the rank. The error on *known entries of other
# patients* does not: `heldout=0.2` sets a fifth of every site's patients aside.

# %%
ranks = [1, 2, 4, 6, 8, 10, 14, 20, 30]
runs = [couplet.simulate(clients, rank=rank, heldout=0.2) for rank in ranks]
fitted = [run.rse for run in runs]
new = [run.rse_heldout for run in runs]
fig, ax = plt.subplots()
ax.plot(ranks, fitted, marker="o", color="0.55")
ax.plot(ranks, new, marker="o", color="tab:blue")
ax.annotate("patients the features were learnt from", (ranks[-1], fitted[-1]), xytext=(0, -14), textcoords="offset points", ha="right")
ax.annotate("new patients", (ranks[-1], new[-1]), xytext=(0, 8), textcoords="offset points", ha="right")
ax.set(xlabel="rank", ylabel="RSE", ylim=(0, None), title="Up to rank 8 both errors fall fast; beyond it the model fits noise")

# %% [markdown]
# New patients are *projected*: their own numbers are fitted too, so their error keeps falling a little with the rank. The knee
# is what to look for. `rank="auto"` looks for you: it hides entries of the held-out patients, predicts them from the rest, and takes the
# smallest rank that does so best.

# %%
chosen = couplet.simulate(clients, rank="auto")
print(f"rank auto takes {chosen.ranks[0]}")

# %% [markdown]
# ## Or say how large the error may be
#
# `eps` is a relative error (the root of the RSE). The ranks follow, and the bound is certified: no data is looked at again to
# check it.

# %%
for eps in (0.6, 0.4, 0.3):
    run = couplet.simulate(clients, eps=eps)
    print(f"eps {eps}: rank {run.ranks[0]:3}, relative error {run.rse ** 0.5:.3f}, certified {run.rel_error_bound:.3f}, "
          f"{run.bytes_total / 1e3:.0f} kB")

# %% [markdown]
# ## Or how many bytes a site may send and receive

# %%
for budget in ("2kB", "5kB", "20kB"):
    run = couplet.simulate(clients, bytes=budget)
    print(f"{budget:>5}: rank {run.ranks[0]:3}, relative error {run.rse ** 0.5:.3f}, certified {run.rel_error_bound:.3f}")

# %% [markdown]
# | you know | give |
# |---|---|
# | how large the error may be | `eps=0.1` |
# | how many numbers should describe a patient | `rank=20` |
# | how many bytes a site may spend | `bytes="100kB"` |
# | nothing | `rank="auto"` |
