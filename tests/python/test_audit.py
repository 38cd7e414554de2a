"""The audit on arrays in memory."""
import numpy as np
import pytest

import couplet


@pytest.fixture
def records(rng):
    return (rng.random((90, 12, 15)) < 0.05).astype(float)


def test_says_what_leaks(records):
    found = couplet.audit(list(np.split(records, 3)), rank=20)
    assert found.verdict == "patients" and found.clients == 3
    assert found.summary.startswith("Records of patients can be rebuilt by whoever receives ")
    assert found.ranking[-1]["verdict"] == found.verdict
    assert found.patients == 24 and found.controls == 18
    message = found.findings[0]
    assert (message["mode"], message["seen_by"]) == ("stack", "coordinator")
    assert message["ica"]["recovered"] > 10 and message["ica"]["controls_recovered"] == 0
    assert message["membership"]["low"] <= message["membership"]["auc"] <= message["membership"]["high"]


def test_takes_the_flags_of_the_command_line(records, tmp_path):
    page = tmp_path / "leaks.html"
    found = couplet.audit(records, split=3, rank=4, client=2, dp_epsilon=1.0, clip=3, output=page)
    assert found.client == "client 2" and found.output == str(page)
    assert "What leaks" in page.read_text()
    assert found.findings[-1]["guarantee"] == {"epsilon": 1, "delta": 1e-5}
    with pytest.raises(ValueError, match="clip: missing"):
        couplet.audit(records, split=3, rank=4, dp_epsilon=1.0)
    with pytest.raises(TypeError, match="no such flag"):
        couplet.audit(records, split=3, rank=4, ranks=4)
    with pytest.raises(ValueError, match="^rank: missing"):
        couplet.audit(records, split=3)
