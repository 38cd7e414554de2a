# %% [markdown]
# # A federation of heart beats
#
# Four clinics hold heart beats of 140 points each. None may send its beats away. They want one description of a beat: a few
# numbers that say what kind it is, the same numbers at every clinic.
#
# The data is ECG5000, as published on Kaggle (devavratatripathy/ecg-dataset); `COUPLET_DATA` names the folder that holds it.

# %%
import matplotlib.pyplot as plt
import numpy as np

import couplet

clinics = couplet.data.ecg(clients=4, count=240, points=40)  # reads $COUPLET_DATA
print([x.shape for x in clinics.tensors])

# %% [markdown]
# A beat is held as the outer product of its first 40 points with all 140: a tensor of beats x 40 x 140 (the paper takes 110).
# Such a product gives its beat back, so it can be drawn.

# %%
def beat(matrix):
    """The beat whose outer product is nearest to this matrix."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    return np.sign(left[:, 0] @ right[0, :matrix.shape[0]]) * np.sqrt(values[0]) * right[0]


fig, axes = plt.subplots(1, 4, sharey=True)
for k, (ax, x, labels) in enumerate(zip(axes, clinics.tensors, clinics.classes), start=1):
    for i in range(4):
        ax.plot(beat(x[i]), color="tab:red" if labels[i] == 0 else "tab:blue", linewidth=1)
    ax.set(title=f"clinic {k}", xlabel="point")
fig.suptitle("Four beats of each clinic; red ones were called abnormal")

# %% [markdown]
# ## The federation
#
# Every clinic sends a compressed summary, the coordinator merges them and sends back the features that all share. `rank=20`:
# twenty numbers will describe a beat.

# %%
star = couplet.simulate(clinics.tensors, rank=20)
pooled = couplet.simulate(clinics.tensors, rank=20, method="centralized")
raw = sum(x.nbytes for x in clinics.tensors)
print(f"federated:   RSE {star.rse:.4f}, {star.bytes_total / 1e3:,.0f} kB sent, {star.rounds} rounds")
print(f"centralized: RSE {pooled.rse:.4f}, {raw / 1e3:,.0f} kB sent, which is all the data")
print(f"certified: the relative error is at most {star.rel_error_bound:.3f}; it is {star.rse ** 0.5:.3f}")

# %% [markdown]
# The error is that of a decomposition of all beats in one place. What clinic 1 keeps is twenty numbers for each of its beats
# (`star.personal[0]`); with the shared features they give the beat back.

# %%
x, model = clinics.tensors[0], star.reconstruct(0)
fig, axes = plt.subplots(1, 3, sharey=True)
for ax, i in zip(axes, [0, 1, 2]):
    ax.plot(beat(x[i]), color="0.6", linewidth=3, label="beat")
    ax.plot(beat(model[i]), color="tab:blue", linewidth=1.2, label="from 20 numbers")
    ax.set(xlabel="point", title=f"beat {i + 1}")
axes[0].legend(frameon=False)
fig.suptitle("Three beats of clinic 1, and what twenty numbers and the shared features make of them")

# %% [markdown]
# ## How many bytes for which error
#
# `bytes=` gives a budget per clinic instead of a rank; rank and precision follow.

# %%
budgets = ["2kB", "10kB", "50kB"]
runs = [couplet.simulate(clinics.tensors, bytes=budget) for budget in budgets]
ax = couplet.plot.error_against_bytes({"Couplet, star": runs, "rank 20": star})
ax.axhline(pooled.rse, color="0.5", linestyle=":", label="centralized, rank 20")
ax.legend(frameon=False)
ax.set_title("More bytes, less error: what a budget for each clinic buys")

# %% [markdown]
# ## New beats
#
# What does a clinic gain by joining? Hold a fifth of every clinic's beats out, learn from the rest, and see how well they are
# described by features of the clinic alone and of all.

# %%
trial = couplet.simulate(clinics.tensors, rank=20, heldout=0.2)
fig, ax = plt.subplots()
for k, site in enumerate(trial.gain):
    ax.plot([site["alone"], site["together"]], [k, k], color="0.7", zorder=1)
    ax.scatter(site["alone"], k, color="tab:orange", zorder=2)
    ax.scatter(site["together"], k, color="tab:blue", zorder=2)
top = trial.gain[-1]
ax.annotate("alone", (top["alone"], len(trial.gain) - 1), xytext=(0, 8), textcoords="offset points", ha="center")
ax.annotate("together", (top["together"], len(trial.gain) - 1), xytext=(0, 8), textcoords="offset points", ha="center")
ax.set(yticks=range(len(trial.gain)), yticklabels=[f"clinic {k + 1}" for k in range(len(trial.gain))],
       xlabel="RSE of beats that nobody learnt from", ylim=(-0.5, len(trial.gain) - 0.3),
       title="Every clinic describes new beats better with the others than alone")

# %% [markdown]
# ## What kind of beat
#
# The twenty numbers of a beat are a good place to start from: a plain logistic regression at one clinic, tried on the beats
# of another, because both mean the same by each number.

# %%
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

learn = LogisticRegression(max_iter=2000, class_weight="balanced").fit(star.personal[0], clinics.classes[0])
for k in range(1, 4):
    score = balanced_accuracy_score(clinics.classes[k], learn.predict(star.personal[k]))
    print(f"learnt at clinic 1, tried at clinic {k + 1}: balanced accuracy {score:.3f}")
