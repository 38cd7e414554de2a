# %% [markdown]
# # Phenotypes from Synthea
#
# Three hospitals export what they have: lines that say which patient had which condition, and which took which medication. From
# raw tables to patterns with names, without pooling the tables. The patients are those of
# [Synthea](https://synthetichealth.github.io/synthea/), which nobody is; `COUPLET_DATA` names the folder with `synthea_1k`.

# %%
import os

import matplotlib.pyplot as plt
import pandas as pd

import couplet

source = os.path.join(os.environ["COUPLET_DATA"], "synthea_1k")
conditions = pd.read_csv(f"{source}/conditions.csv.gz", dtype=str)
medications = pd.read_csv(f"{source}/medications.csv.gz", dtype=str)
hospitals = ["north", "south", "west"]
home = {patient: hospitals[sum(patient.encode()) % 3] for patient in conditions.PATIENT.unique()}
for name in hospitals:
    os.makedirs(name)
    for table, what in [(conditions, "conditions"), (medications, "medications")]:
        table[table.PATIENT.map(home) == name].to_csv(f"{name}/{what}.csv", index=False)
print(pd.Series(home).value_counts().to_string())

# %% [markdown]
# ## One vocabulary
#
# Hospitals use different codes. Each reads its tables, and says which codes at least ten of its patients have, and nothing else.
# The proposals are merged into the federation's vocabulary, the forty most frequent conditions and medications.

# %%
for name in hospitals:
    first = couplet.table(f"{name}/conditions.csv", f"{name}/medications.csv", output=f"found/{name}")
    couplet.command("schema", f"found/{name}", propose=True, output=f"{name}.json")
    print(f"{name}: {first.shape[0]} patients, {first.shape[1]} conditions, {first.shape[2]} medications")
couplet.command("schema", *[f"{name}.json" for name in hospitals], merge=True, top="40x40", output="vocabulary.json")
built = [couplet.table(f"{name}/conditions.csv", f"{name}/medications.csv", schema="vocabulary.json", output=f"built/{name}")
         for name in hospitals]
print([table.shape for table in built])

# %% [markdown]
# Who is in which row of the tensor is in `patients.csv` beside it, and stays there.
#
# ## The federation, and what joining is worth
#
# A fifth of every hospital's patients is set aside first: how well are they described by the features of their own hospital, and
# by those of all three?

# %%
paths = [table.path for table in built]
trial = couplet.simulate(paths, rank=12, heldout=0.2)
for name, site in zip(hospitals, trial.gain):
    print(f"{name}: RSE of new patients {site['alone']:.3f} alone, {site['together']:.3f} together")
result = couplet.simulate(paths, rank=12, output="result")

# %% [markdown]
# ## What it found
#
# A component by itself is a direction. `explain` turns the components so that each speaks of few conditions and medications
# (varimax), names it after them, and says how much of the records it describes at each hospital.

# %%
told = couplet.explain("result", output="page.html")
for component in told.components[:6]:
    print(component)

# %%
fig, axes = plt.subplots(2, 2, figsize=(9.5, 6.4))
short = lambda text: text.split("(")[0].strip()[:26]
for ax, component in zip(axes.flat, told.components):
    entries = component.entries[:5][::-1]
    ax.barh(range(len(entries)), [weight for _, weight in entries], color="tab:blue")
    ax.set(yticks=range(len(entries)), yticklabels=[" + ".join(short(label) for label in labels) for labels, _ in entries],
           title=f"pattern {component.number}, {100 * component.share:.0f}%")
    ax.tick_params(axis="y", labelsize=7.5)
fig.suptitle("Each pattern pairs conditions with the medications that go with them; % of all records")

# %%
fig, ax = plt.subplots(figsize=(8, 3.6))
shown = told.components[:8]
for k, name in enumerate(shown[0].sites):
    ax.scatter([100 * c.sites[name] for c in shown], range(len(shown)), label=name, s=36, alpha=0.85)
ax.set(yticks=range(len(shown)), yticklabels=[f"{c.number}. {short(c.title)}" for c in shown], xlabel="share of the hospital's records, %",
       xlim=(0, None), title="The same patterns at all three hospitals, in nearly the same proportions")
ax.invert_yaxis()
ax.legend(frameon=False)

# %% [markdown]
# `page.html` has all of this for people who do not program: every pattern by name, at every hospital, with the strongest pairs. The
# [clinical guide](../clinical.md) does the same on the command line, with FHIR and semicolons, and shows one patient in terms of
# the patterns.
