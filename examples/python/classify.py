"""Does what a federation learned help to classify? Features from four clients, a classifier on each patient's numbers,
cross-validated, on heart beats (normal or not) and on diabetes (yes or no).

Needs scikit-learn and the public files; COUPLET_DATA names the folder that holds them.
"""
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import couplet
from couplet import CoupledTensorTrain


def report(name, data, rank):
    x = np.concatenate(data.tensors)
    y = (np.concatenate(data.classes) > 0).astype(int)
    pipeline = make_pipeline(CoupledTensorTrain(rank=rank), StandardScaler(),
                             LogisticRegression(max_iter=1000, class_weight="balanced"))
    scores = cross_val_score(pipeline, x, y, cv=4, scoring="balanced_accuracy")
    print(f"{name}: {x.shape}, balanced accuracy {scores.mean():.3f} +- {scores.std():.3f} from {rank} numbers a patient")
    search = GridSearchCV(pipeline, {"coupledtensortrain__rank": [2, rank]}, cv=3, scoring="balanced_accuracy").fit(x, y)
    print(f"  best of two ranks: {search.best_params_['coupledtensortrain__rank']}")

    # The same features, learned by four clients that keep their patients.
    groups = np.repeat(np.arange(len(data.tensors)), [len(part) for part in data.tensors])
    model = CoupledTensorTrain(rank=rank).fit(x, groups=groups)
    print(f"  federation of {len(data.tensors)}: RSE {model.rse_:.4f}, relative error certified below {model.rel_error_bound_:.4f}")
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000, class_weight="balanced"))
    print(f"  on its features: {cross_val_score(classifier, model.transform(x), y, cv=4, scoring='balanced_accuracy').mean():.3f}")


report("ECG", couplet.data.ecg(clients=4, count=400, points=60), rank=8)
report("diabetes", couplet.data.diabetes(clients=4, count=800), rank=10)
