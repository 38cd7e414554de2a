# %% [markdown]
# # What leaves the house
#
# A site's tensor never travels. What it sends instead is made from its patients, and may give some of them away. This
# tutorial attacks each mode as a curious coordinator would, on records that look like those of a hospital: sparse, 0 or 1.

# %%
import matplotlib.pyplot as plt
import numpy as np

import couplet

rng = np.random.default_rng(4)


def patients(n):
    """Records of n people, 25 conditions x 25 drugs: a few conditions each, with one to three drugs for each of them."""
    records = np.zeros((n, 25, 25))
    for record in records:
        for condition in rng.choice(25, size=rng.integers(2, 5), replace=False):
            record[condition, rng.choice(25, size=rng.integers(1, 4), replace=False)] = 1
    return records


sites = [patients(40) for _ in range(6)]
strangers = patients(200)  # they took part nowhere: what an attack "finds" of them is chance
np.save("strangers.npy", strangers)
print(f"{len(sites)} sites of {len(sites[0])} patients; a record has {int(strangers.sum() / 200)} of {25 * 25} cells set")

# %% [markdown]
# ## The attacks
#
# `couplet.audit` plays every mode through, hands what is seen to attackers that unmix it, and compares what they
# bring with the true records. A patient counts as recovered when a guess correlates with the record above 0.9.

# %%
found = couplet.audit(sites, rank=20, controls="strangers.npy")
print(found.summary)
for one in found.findings:
    print(f"{one['mode']}, {one['seen_by']}: {one['sentence']}")

# %%
shown = [one for one in found.findings if "ica" in one]  # counts of norms hold no directions to unmix
names = [f"{one['mode']}: {one['seen_by']}" for one in shown]
attacks = [max((one[a] for a in ("direct", "ica", "rank_one", "rare_rows", "lattice") if a in one), key=lambda attack: attack["recovered"]) for one in shown]
fig, (left, right) = plt.subplots(1, 2, sharey=True, figsize=(8.6, 4.2))
for k, (one, attack) in enumerate(zip(shown, attacks)):
    share = 100 * attack["recovered"] / attack["patients"]
    left.barh(k, share, color="tab:red")
    left.annotate(f"{attack['recovered']} of {attack['patients']}", (share, k), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8)
    member = one["membership"]
    right.plot([member["low"], member["high"]], [k, k], color="tab:blue")
    right.scatter(member["auc"], k, color="tab:blue")
left.set(yticks=range(len(names)), yticklabels=names, xlim=(0, 125), xlabel="patients recovered, %")
right.set(xlim=(0.45, 1.02), xlabel="telling who took part (AUC)")
right.axvline(0.5, color="0.6", linestyle=":")
right.annotate("guessing", (0.5, 0), xytext=(4, 0), textcoords="offset points", va="center", color="0.4")
left.invert_yaxis()
fig.suptitle("What one site sends gives patients away; masks hide whose they are")

# %% [markdown]
# ## Secure sums
#
# With `secure=True` clients mask what they send; the masks cancel in the sum over all of them. Masks alone hide who contributed what, not
# the records: an attacker with a lattice rebuilt 147 of 160 sparse records from exact sums. So each client also adds its share of noise,
# within a budget `mu` for every patient ([privacy budget](../privacy-budget.md)); few patients pay more for it than many.

# %%
plain = couplet.simulate(sites, rank=10)
hidden = couplet.simulate(sites, rank=10, secure=True)
print(f"plain:  RSE {plain.rse:.3f}, {plain.bytes_total / 1e3:,.0f} kB")
print(f"secure: RSE {hidden.rse:.3f}, {hidden.bytes_total / 1e3:,.0f} kB, mu {hidden.privacy.mu:g}")

# %% [markdown]
# ## Noise
#
# Secure sums hide who contributed what, not what the sums show. Differential privacy bounds what anybody can tell about
# one patient, and costs accuracy that many patients pay more easily than few.

# %%
kinds = np.random.default_rng(0).random((4, 12, 12)) < 0.15  # four kinds of patients


def alike(n):
    """Records of n people, each of one kind, with nine in ten of its cells."""
    return (kinds[rng.integers(4, size=n)] * (rng.random((n, 12, 12)) < 0.9)).astype(float)


epsilons = [0.5, 1, 2, 4, 8]
fig, ax = plt.subplots()
for n, color in [(50, "tab:orange"), (500, "tab:blue")]:
    many = [alike(n) for _ in range(6)]
    runs = [couplet.simulate(many, rank=4, dp_epsilon=e, dp_delta=1e-5, clip=4, dp_noise="central") for e in epsilons]
    exact = couplet.simulate(many, rank=4, aggregate="subspace", sketch="gram")
    errors = [run.rse for run in runs]
    ax.plot(epsilons, errors, marker="o", color=color)
    ax.annotate(f"{6 * n:,} patients", (epsilons[1], errors[1]), xytext=(8, 6), textcoords="offset points", color=color)
ax.axhline(exact.rse, color="0.5", linestyle=":")
ax.annotate("without noise", (epsilons[-1], exact.rse), xytext=(0, -12), textcoords="offset points", color="0.35", ha="right")
ax.set(xscale="log", xticks=epsilons, xticklabels=epsilons, xlabel="epsilon (smaller: more private)", ylabel="RSE", ylim=(0, 1),
       title="The same promise costs thousands of patients little and hundreds much")
ax.minorticks_off()

# %% [markdown]
# ## Which one
#
# | you trust | take |
# |---|---|
# | the coordinator with your patients, as within one organisation | nothing more: `stack`, the default |
# | the coordinator with your patients, but not with whose they are | `secure=True, mu="off"` |
# | nobody with your patients | `secure=True`, whose budget `mu=` sets |
#
# Audit your own data before a job: sparse records give more away than dense ones, few patients more than many.
# [Who sees what](../threat-model.md) has the figures on public records.
