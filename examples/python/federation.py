"""Four hospitals, one certified error, and a fifth that comes later. Nothing but NumPy is needed."""
import tempfile
from pathlib import Path

import numpy as np

import couplet

hospitals = couplet.data.synthetic("250x12x10:rank=6,noise=0.1", clients=5).tensors

alone = [couplet.decompose(x, eps=0.2) for x in hospitals]
print("alone:", [train.ranks for train in alone])

with tempfile.TemporaryDirectory() as folder:
    state = Path(folder) / "merge.npz"
    four = couplet.simulate(hospitals[:4], eps=0.2, save_state=state, names=["north", "east", "south", "west"])
    print(f"four together: ranks {four.ranks}, relative error {four.rse**0.5:.4f}, certified below {four.rel_error_bound:.4f}")
    print(f"sent: {(four.bytes_up + four.bytes_down) / 1e3:.0f} kB; the data is {sum(x.nbytes for x in hospitals[:4]) / 1e3:.0f} kB")
    fifth = couplet.simulate(hospitals[4:], eps=0.2, resume=state, names=["centre"])
    print(f"the fifth joins: certified below {fifth.rel_error_bound:.4f} over all five")

new = couplet.project(four.features, hospitals[4])
print(f"its patients on the features of the four: relative error {new.rse**0.5:.4f}, {new.personal.shape[1]} numbers each")
nearest = np.argsort(np.linalg.norm(new.personal - new.personal[0], axis=1))[1:4]
print("patients most like its first:", nearest.tolist())
