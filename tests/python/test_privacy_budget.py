"""The accounting of budgets against dp-accounting, which Google maintains."""
import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

import couplet

DELTA = 1e-5
CLIP = 3.0


@pytest.fixture(scope="module")
def sites():
    random = np.random.default_rng(4)
    return [np.abs(random.standard_normal((300, 5, 4))) for _ in range(3)]


def epsilon_of(*ratios):
    """Of Gaussian releases whose noise is so many times what one patient changes."""
    together = pld.from_gaussian_mechanism(ratios[0])
    for ratio in ratios[1:]:
        together = together.compose(pld.from_gaussian_mechanism(ratio))
    return together.get_epsilon_for_delta(DELTA)


@pytest.mark.parametrize("mu", [0.5, 1, 4])
def test_a_job_spends_what_it_says(sites, mu):
    privacy = couplet.simulate(sites, rank=2, secure=True, mu=mu, clip=CLIP).privacy.to_dict()
    assert privacy["epsilon"] == pytest.approx(epsilon_of(1 / mu), rel=2e-3)
    # What one patient changes in each sum: the count, the modes (two of them), the core and the error.
    changes = {"counts": 1, "modes": math.sqrt(2) * CLIP**2, "core": CLIP**2, "error": CLIP**2}
    ratios = [sigma / changes[name] for name, sigma in privacy["sigma"].items()]
    assert epsilon_of(*ratios) == pytest.approx(privacy["epsilon"], rel=5e-3)


@pytest.mark.parametrize("epsilon", [0.5, 1, 4])
def test_epsilon_is_mu_by_another_name(sites, epsilon):
    privacy = couplet.simulate(sites, rank=2, secure=True, dp_epsilon=epsilon, dp_delta=DELTA, clip=CLIP).privacy
    assert privacy.epsilon == pytest.approx(epsilon, rel=1e-6)
    assert epsilon_of(1 / privacy.mu) == pytest.approx(epsilon, rel=2e-3)


def test_the_discrete_gaussian_promises_what_the_continuous_one_does():
    for steps in (8, 25, 100):  # no share of the noise is finer than 8 steps
        discrete = pld.from_discrete_gaussian_mechanism(steps, sensitivity=steps).get_epsilon_for_delta(DELTA)
        assert discrete == pytest.approx(epsilon_of(1), rel=2e-2)
