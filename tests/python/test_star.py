"""The star over messages that somebody else carries: bit for bit what simulate gives, and honest about who is missing."""
import importlib.util
import json
import os
import shutil

import numpy as np
import pytest

import couplet
from couplet import _engine, _star
from couplet._star import Answer, JobOptions, Question, Site, natural_order, policy_of, respond, run_job


class InThisProcess:
    """Carries messages by calling respond(); the last that was asked answers first."""

    def __init__(self, sites, spoil=lambda site, count, answer: answer):
        self.sites = {f"node {k}": site for k, site in enumerate(sites)}
        self.spoil = spoil
        self.asked = 0
        self.most = 0
        self.waiting = {}

    def nodes(self):
        return list(self.sites)

    def send(self, node, question, seconds):
        self.asked += 1
        self.waiting[self.asked] = (self.sites[node], question)
        self.most = max(self.most, len(self.waiting))
        return self.asked

    def receive(self, tickets):
        ticket = max(self.waiting)
        site, question = self.waiting.pop(ticket)
        answer = self.spoil(site.name, ticket, respond(site, question))
        return [] if answer is None else [(ticket, answer)]


@pytest.fixture
def clients(rng):
    shared = rng.normal(size=(5, 7 * 6))
    return [(rng.normal(size=(n, 5)) @ shared + 0.1 * rng.normal(size=(n, 42))).reshape(n, 7, 6) for n in (14, 9, 12, 11)]


@pytest.fixture
def sites(clients, tmp_path):
    made = []
    for k, x in enumerate(clients):
        np.save(tmp_path / f"x{k}.npy", x)
        made.append(Site(f"client-{k + 1}", str(tmp_path / f"x{k}.npy"), str(tmp_path / "out"), k + 1))
    return made


def same(train, other):
    return all(np.array_equal(a, b) for a, b in zip(train.cores, other.cores, strict=True))


@pytest.mark.parametrize("flags", [
    ["--rank=3"], ["--eps=0.2"], ["--rank=3", "--precision=f64"], ["--bytes=4kB"], ["--rank=3", "--aggregate=average"],
    ["--rank=3", "--aggregate=subspace"], ["--rank=3", "--aggregate=subspace", "--sketch=gram"],
    ["--rank=3", "--heldout=0.3", "--seed=5"], ["--rank=3", "--scale-clients=norm"],
])
def test_every_mode_gives_the_bits_of_simulate(clients, sites, tmp_path, flags):
    result = run_job(InThisProcess(sites), JobOptions(tuple(flags), output=str(tmp_path / "out")))
    words = [flag.removeprefix("--").replace("-", "_").split("=") for flag in flags]
    expected = couplet.simulate(clients, **{key: int(value) if value.isdigit() else float(value) if value[0] == "0" else value
                                            for key, value in words})
    assert same(result.features, expected.features)
    assert same(couplet.load(tmp_path / "out" / "features.npz"), expected.features)
    for name in ("rse", "rse_heldout", "rse_per_client", "rel_error_bound", "ranks", "personal_ranks", "rounds",
                 "numbers_up_per_client", "numbers_down_per_client", "numbers_total", "bytes_up", "bytes_down", "aggregate"):
        assert (name in result) == (name in expected), name
        assert name not in expected or result[name] == expected[name], name
    for k, core in enumerate(expected.personal):
        assert np.array_equal(np.load(tmp_path / "out" / f"personal_{k + 1}.npz")["core_1"][0], core)
    assert json.loads((tmp_path / "out" / "result.json").read_text())["members"] == [site.name for site in sites]


def test_missing_entries_are_filled_as_simulate_does(clients, sites, tmp_path):
    for k, x in enumerate(clients):
        x.reshape(-1)[k::9] = np.nan
        np.save(sites[k].data, x)
    result = run_job(InThisProcess(sites), JobOptions(("--rank=2", "--missing=impute")))
    expected = couplet.simulate(clients, rank=2, missing="impute")
    assert same(result.features, expected.features)
    # What nobody knows only a simulation can say, which sees all masks.
    told = {name: value for name, value in expected.missing.to_dict().items() if not name.startswith("unknown_")}
    assert result.imputed.to_dict() == told and result.rse == expected.rse
    assert result.rounds == expected.rounds and result.bytes_up == expected.bytes_up


def test_order_is_that_of_the_names_not_of_the_nodes(clients, sites):
    sites = plain(sites)
    expected = run_job(InThisProcess(sites), JobOptions(("--rank=3",)))
    again = run_job(InThisProcess(sites[::-1]), JobOptions(("--rank=3",)))
    assert same(again.features, expected.features)
    assert again.members == expected.members == ["client-1", "client-2", "client-3", "client-4"]
    assert sorted(["site-10", "site-9", "site-1"], key=natural_order) == ["site-1", "site-9", "site-10"]


def plain(sites):
    """Sites that keep no files."""
    return [Site(site.name, site.data) for site in sites]


def test_labels_are_agreed_on_and_a_stranger_is_named(clients, sites, rng):
    sites = plain(sites)
    np.save(sites[2].data, rng.normal(size=(8, 7, 5)))
    with pytest.raises(couplet.RunError, match="3 of 4 sites take part .client-1, client-2, client-4.; expected at least 4. client-3 is "
                                               "refused: mode 3 has size 5; expected 6"):
        run_job(InThisProcess(sites), JobOptions(("--rank=3",)))
    result = run_job(InThisProcess(sites), JobOptions(("--rank=3",), min_sites=3))
    assert result.members == ["client-1", "client-2", "client-4"] and "mode 3 has size 5" in result.refused["client-3"]
    assert same(result.features, couplet.simulate([clients[k] for k in (0, 1, 3)], rank=3).features)


def test_reasons_name_arguments(tmp_path, rng):
    for name in "abc":
        np.savetxt(tmp_path / f"{name}.csv", rng.normal(size=(9, 3)), delimiter=",", header="age,weight,height", comments="")
    np.save(tmp_path / "d.npy", rng.normal(size=(9, 3)))
    sites = [Site(path.stem, str(path)) for path in sorted(tmp_path.iterdir())]
    result = run_job(InThisProcess(sites), JobOptions(("--rank=2",), min_sites=3))
    assert result.members == ["a", "b", "c"]
    assert "or use unnamed allow if all" in result.refused["d"] and "`" not in result.refused["d"]


def test_a_site_whose_policy_refuses_is_named_with_the_reason(clients, sites, tmp_path):
    strict = tmp_path / "policy.toml"
    strict.write_text("min_patients = 10\n")
    sites = [Site(site.name, site.data, policy=str(strict)) for site in sites]
    with pytest.raises(couplet.RunError, match="client-2 is refused: this site's policy: a job in which 9 patients take part; "
                                               "expected at least 10 .min_patients."):
        run_job(InThisProcess(sites), JobOptions(("--rank=3",)))
    result = run_job(InThisProcess(sites), JobOptions(("--rank=3",), min_sites=3))
    assert result.members == ["client-1", "client-3", "client-4"]
    assert same(result.features, couplet.simulate([clients[k] for k in (0, 2, 3)], rank=3).features)
    # Too large a rank is known only when it is about to be sent.
    strict.write_text("max_rank_share = 0.25\n")
    result = run_job(InThisProcess(sites), JobOptions(("--rank=3",), min_sites=2))
    assert result.members == ["client-1", "client-3"] and "rank 3 for 9 patients" in result.lost["client-2"]
    for text, words in (("max_rnk = 1\n", "the key max_rnk"), ("min_patients = [\n", "policy in TOML")):
        strict.write_text(text)
        with pytest.raises(couplet.RunError, match=words):
            run_job(InThisProcess(sites), JobOptions(("--rank=3",)))


def test_a_site_that_remembers_is_not_asked_for_the_difference_of_two_jobs(clients, sites, tmp_path):
    book = tmp_path / "book"
    forgetful = [Site(site.name, site.data, policy="on") for site in sites]
    careful = [Site(forgetful[0].name, forgetful[0].data, policy="on", book=str(book)), *forgetful[1:]]
    job = JobOptions(("--rank=3",))
    assert same(run_job(InThisProcess(careful), job).features, couplet.simulate(clients, rank=3).features)
    ledger = book / "disclosed.jsonl"
    shown = ledger.read_text()
    assert shown and ledger.stat().st_mode & 0o022 == 0
    # The same again shows nothing new.
    run_job(InThisProcess(careful), job)
    assert ledger.read_text() == shown
    # All patients but one: what the two jobs saw would tell that one.
    np.save(sites[0].data, clients[0][:-1])
    run_job(InThisProcess(forgetful), job)
    with pytest.raises(couplet.RunError, match=r"client-1 is (refused|lost): .*any_cohort"):
        run_job(InThisProcess(careful), job)
    # What cannot be read does not count as nothing.
    ledger.write_text("nonsense\n")
    with pytest.raises(couplet.RunError, match=r"client-1 is refused: .*disclosed\.jsonl"):
        run_job(InThisProcess(careful), job)


def test_a_site_with_a_kit_remembers_in_it(sites, tmp_path):
    site = Site("a", sites[0].data, kit=str(tmp_path / "kit"))
    assert site.ledger() == str(tmp_path / "kit" / "disclosed.jsonl")
    assert Site("a", sites[0].data, kit="/kit", book="/book").ledger() == "/book/disclosed.jsonl"
    assert Site("a", sites[0].data).ledger() == ""


@pytest.mark.parametrize("flags", [("--rank=3",), ("--eps=0.2",)])
def test_many_sites_are_merged_in_a_tree(rng, tmp_path, flags):
    shared = rng.normal(size=(5, 42))
    files = []
    for k in range(20):
        files.append(str(tmp_path / f"x{k}.npy"))
        np.save(files[-1], (rng.normal(size=(9, 5)) @ shared + 0.1 * rng.normal(size=(9, 42))).reshape(9, 7, 6))
    sites = [Site(f"client-{k + 1}", file) for k, file in enumerate(files)]
    flat = run_job(InThisProcess(sites), JobOptions(flags))
    tree = run_job(InThisProcess(sites), JobOptions(flags, tree=4))
    assert tree.mergers == 5 + 2 + 1 and "mergers" not in flat
    assert tree.members == flat.members and tree.bytes_up == flat.bytes_up
    assert tree.rse <= 1.02 * flat.rse and np.sqrt(tree.rse) <= tree.rel_error_bound
    # The order of the sites decides, not who answers first.
    again = InThisProcess(sites)
    again.receive = lambda tickets: [(min(tickets), respond(*again.waiting.pop(min(tickets))))]
    assert same(run_job(again, JobOptions(flags, tree=4)).features, tree.features)
    assert same(run_job(InThisProcess(sites), JobOptions(flags, tree=20)).features, flat.features)
    with pytest.raises(couplet.InputError, match="tree: 4 sites to a merger of aggregate subspace; expected"):
        run_job(InThisProcess(sites), JobOptions(("--rank=3", "--aggregate=subspace"), tree=4))
    with pytest.raises(couplet.InputError, match="tree = -1; expected a whole number"):
        JobOptions.from_config({"tree": -1})


def test_messages_are_held_against_a_policy_without_the_data(clients, sites):
    seen = []
    asking = InThisProcess(plain(sites)[:2])
    send = asking.send
    asking.send = lambda node, question, seconds: seen.append(question) or send(node, question, seconds)
    run_job(asking, JobOptions(("--rank=6",)))
    question = next(question for question in seen if question.common)
    messages = question.welcome + question.common
    _engine.vet(messages, [14, 7, 6], "on")
    answer = respond(plain(sites)[1], question)
    _engine.vet(messages + answer.message, [14, 7, 6], "on")
    with pytest.raises(couplet.InputError, match="rank 6 for 9 patients"):
        _engine.vet(messages + answer.message, [9, 7, 6], "on")
    with pytest.raises(couplet.InputError, match="min_patients"):
        _engine.vet(messages, [5, 7, 6], "on")
    _engine.vet(messages, [5, 7, 6], policy_of("off", "here"))
    with pytest.raises(couplet.InputError, match="here: policy = 'strict.toml'; expected on, off, or the absolute path"):
        policy_of("strict.toml", "here")


@pytest.fixture
def simulated(sites, tmp_path, monkeypatch):
    """Sites of a simulation, whose keys are below the test's own folder."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return [Site(site.name, site.data, number=site.number) for site in sites]


SECURE = ("--rank=3", "--secure", "--policy=off", "--sketch=random", "--passes=2")


@pytest.mark.parametrize("flags, warned", [(SECURE, True), (("--rank=3", "--secure", "--dp-epsilon=1", "--clip=9"), False), (("--rank=3",), False)])
def test_a_masked_job_without_noise_says_what_masks_do_not_hide(simulated, caplog, flags, warned):
    run_job(InThisProcess(simulated), JobOptions(flags))
    told = [line for line in caplog.messages if "masking hides who contributed what, not the records" in line]
    assert len(told) == warned
    assert all("dp_epsilon" in line for line in told)


def test_secure_sums_give_what_simulate_gives_and_show_nothing_but_sums(clients, simulated, tmp_path):
    heard = []
    carrier = InThisProcess(simulated, lambda site, count, answer: heard.append(answer.message) or answer)
    result = run_job(carrier, JobOptions(SECURE))
    expected = couplet.simulate(clients, rank=3, secure=True, policy="off", sketch="random", passes=2)
    assert same(result.features, expected.features)
    assert result.members == ["client-1", "client-2", "client-3", "client-4"]
    assert "rse" not in result and "rse_per_client" not in result
    assert result.privacy.secure and result.privacy.threshold == expected.privacy.threshold
    # Of who is asked last the server learns neither how many patients it has nor their norm.
    norms = [np.float64(np.sum(x * x)).tobytes() for x in clients]
    assert not any(norm in message for norm in norms for message in heard)
    assert not list((tmp_path / "tmp").rglob("*.journal"))


def test_a_site_that_is_lost_to_a_secure_sum_is_not_in_it(clients, simulated):
    first = {}

    def spoil(site, count, answer):
        # A greeting each, keys and shares, numbers and shares of the counts; then numbers of the first sum over the data.
        first.setdefault(site, []).append(count)
        return Answer(site, refusal="the process died") if site == "client-2" and len(first[site]) > 5 else answer

    result = run_job(InThisProcess(simulated, spoil), JobOptions(SECURE, min_sites=3))
    assert result.members == ["client-1", "client-3", "client-4"] and result.lost.to_dict() == {"client-2": "the process died"}
    # The counts were those of all four, and so is the fixed point; the sums are those of the three.
    survivors = [clients[k] for k in (0, 2, 3)]
    expected = couplet.simulate(survivors, rank=3, aggregate="subspace", sketch="random", passes=2)
    joint = np.concatenate([x.reshape(len(x), -1) for x in survivors])
    kept = [np.linalg.norm(joint @ np.linalg.qr(features.full().reshape(3, -1).T)[0])
            for features in (result.features, expected.features)]
    assert np.isclose(*kept, rtol=1e-12)
    first.clear()
    with pytest.raises(couplet.RunError, match="3 clients with numbers; expected at least 4.*client-2 is lost: the process died"):
        run_job(InThisProcess(simulated, spoil), JobOptions(SECURE))


@pytest.mark.parametrize("flags", [(*SECURE, "--heldout=0.3", "--seed=5"), ("--rank=3", "--secure", "--policy=off", "--sketch=gram"),
                                   ("--rank=3", "--secure", "--policy=off", "--clip=4")])
def test_secure_sums_of_every_kind_have_the_bits_of_simulate(clients, simulated, flags):
    result = run_job(InThisProcess(simulated), JobOptions(flags))
    words = [flag.removeprefix("--").replace("-", "_").split("=") for flag in flags]
    numbers = {"rank": int, "passes": int, "seed": int, "heldout": float, "clip": float}
    expected = couplet.simulate(clients, **{key: numbers.get(key, str)(*value) if value else True for key, *value in words})
    assert same(result.features, expected.features) and result.aggregate == "subspace"
    for name in ("sums", "directions", "threshold", "ring_bits", "clip", "policy"):
        assert result.privacy.to_dict().get(name) == expected.privacy.to_dict().get(name), name


def test_a_budget_for_every_patient(clients, simulated):
    result = run_job(InThisProcess(simulated), JobOptions(("--rank=3", "--secure", "--mu=500")))
    privacy = result.privacy.to_dict()
    assert privacy["mu"] == 500 and privacy["against"] and privacy["error"]["low"] <= result.rse <= privacy["error"]["high"]
    assert result.members == ["client-1", "client-2", "client-3", "client-4"] and not result.rse_per_client
    joint = np.concatenate([x.reshape(len(x), -1) for x in clients])
    features = np.linalg.qr(result.features.full().reshape(result.features.ranks[0], -1).T)[0]
    assert np.isclose(1 - np.linalg.norm(joint @ features) ** 2 / np.linalg.norm(joint) ** 2, result.rse, atol=0.05)
    again = run_job(InThisProcess(simulated), JobOptions(("--rank=3", "--secure", "--mu=500")))
    assert not same(result.features, again.features), "noise is drawn anew"


@pytest.mark.parametrize(("flags", "told"), [(("--rank=3", "--mu=4"), "mu: given with no secure"),
                                             (("--rank=3", "--secure", "--mu=4", "--dp-epsilon=1"), "dp_epsilon: given with mu"),
                                             (("--rank=3", "--secure", "--mu=0"), "mu: '0'")])
def test_what_goes_with_no_budget_is_refused(simulated, flags, told):
    with pytest.raises(couplet.InputError, match=told):
        run_job(InThisProcess(simulated), JobOptions(flags))


def test_nobody_makes_the_cohort_smaller_than_the_sites_agree_to(simulated, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text("min_cohort = 5\npatients_per_direction = 0\n")
    careful = [Site(site.name, site.data, number=site.number, policy=str(policy)) for site in simulated]
    with pytest.raises(couplet.RunError, match="client-3 is lost: .*a job of 4 clients; expected at least 5, as this client's policy"):
        run_job(InThisProcess(careful), JobOptions(SECURE, min_sites=3))
    # The job began with four; with the keys of three alone nobody goes on.
    policy.write_text("min_cohort = 4\npatients_per_direction = 0\n")
    heard = {}

    def spoil(site, count, answer):
        heard[site] = heard.get(site, 0) + 1
        return Answer(site, refusal="the process died") if site == "client-2" and heard[site] > 1 else answer

    with pytest.raises(couplet.RunError, match="client-1 is lost: .*a roster of 3 clients; expected at least 4"):
        run_job(InThisProcess(careful, spoil), JobOptions(SECURE, min_sites=3))


@pytest.mark.parametrize(("flags", "told"), [
    (("--rank=3", "--dp-epsilon=1"), "dp_epsilon: given with no secure"),
    (("--rank=3", "--secure", "--aggregate=stack"), "aggregate: stack; expected subspace with secure"),
    (("--rank=3", "--secure", "--dp-epsilon=1"), "clip: missing"),
    (("--rank=3", "--secure", "--dp-epsilon=1", "--clip=9", "--dp-noise=central"), "dp_noise: central with secure"),
    (("--rank=3", "--secure", "--dp-epsilon=1", "--clip=9", "--heldout=0.2"), "heldout: given with dp_epsilon"),
    (("--rank=3", "--secure", "--missing=impute"), "missing: given with secure"),
    (("--secure",), "rank: missing"),
])
def test_what_secure_sums_and_noise_do_not_promise_is_refused_before_anybody_is_asked(simulated, flags, told):
    carrier = InThisProcess(simulated)
    with pytest.raises(couplet.InputError, match=told):
        run_job(carrier, JobOptions(flags))
    assert carrier.asked == 0


def test_secure_sums_with_kits_noise_and_an_account(clients, sites, tmp_path):
    couplet.command("provision", network="star", coordinator="localhost:1", clients=["a", "b", "c", "d"], output=str(tmp_path / "kits"))
    named = [Site(name, site.data, policy="", kit=str(tmp_path / "kits" / name)) for name, site in zip("abcd", sites, strict=True)]
    noisy = ("--rank=3", "--secure", "--sketch=gram", "--dp-epsilon=1", "--clip=10")
    options = JobOptions(noisy, kit=str(tmp_path / "kits" / "coordinator"))
    result = run_job(InThisProcess(named), options)
    assert result.members == ["a", "b", "c", "d"]
    # Noise is drawn anew each time; what is promised is what simulate says.
    expected = couplet.simulate(clients, rank=3, secure=True, dp_epsilon=1, clip=10)
    for name in ("noise", "epsilon", "delta", "against", "clip", "threshold"):
        promised = expected.privacy[name]
        assert result.privacy[name] == (pytest.approx(promised, rel=1e-9) if isinstance(promised, float) else promised), name
    assert not same(result.features, expected.features)
    account = (tmp_path / "kits" / "a" / "privacy-account.txt").read_text()
    assert result.job in account
    # A budget that is spent, and a policy that asks for more patients: each site says so.
    strict = tmp_path / "policy.toml"
    strict.write_text("dp_epsilon = 1.2\n")
    careful = [Site(site.name, site.data, policy=str(strict), kit=site.kit) for site in named]
    with pytest.raises(couplet.RunError, match="a is lost: .*budget|a is lost: .*epsilon"):
        run_job(InThisProcess(careful), options)
    with pytest.raises(couplet.RunError, match="patients_per_direction"):
        run_job(InThisProcess([Site(site.name, site.data, policy="on", kit=site.kit) for site in named]),
                JobOptions(SECURE, kit=options.kit))
    # Somebody else's kit is nobody's.
    shutil.copytree(named[0].kit, tmp_path / "stolen")
    thief = [*named[:3], Site("d", sites[3].data, kit=str(tmp_path / "stolen"))]
    result = run_job(InThisProcess(thief), JobOptions(SECURE, min_sites=3, kit=options.kit))
    assert "keys signed by a" in result.lost["d"]
    with pytest.raises(couplet.RunError, match="that this site has keys for"):
        run_job(InThisProcess(plain(sites)), JobOptions(SECURE))


def test_a_site_that_is_lost_in_mid_round_is_left_out_and_the_others_begin_again(clients, sites):
    sites = plain(sites)

    def spoil(site, count, answer):
        return Answer(site, refusal="the process died") if site == "client-2" and count > 4 else answer

    with pytest.raises(couplet.RunError, match="3 of 4 sites answered .client-1, client-3, client-4.; expected at least 4. "
                                               "client-2 is lost: the process died"):
        run_job(InThisProcess(sites, spoil), JobOptions(("--rank=3",)))
    result = run_job(InThisProcess(sites, spoil), JobOptions(("--rank=3",), min_sites=3))
    assert result.lost.to_dict() == {"client-2": "the process died"}
    assert same(result.features, couplet.simulate([clients[k] for k in (0, 2, 3)], rank=3).features)


def test_a_site_that_says_nothing_is_lost_at_the_deadline(clients, sites):
    sites = plain(sites)
    silent = InThisProcess(sites, lambda site, count, answer: None if site == "client-4" and count > 4 else answer)
    receive = silent.receive
    silent.receive = lambda tickets: receive(tickets) if silent.waiting else []
    result = run_job(silent, JobOptions(("--rank=3",), min_sites=2, deadline=20.0))
    assert result.lost.to_dict() == {"client-4": "no answer within 20 s"}
    assert result.members == ["client-1", "client-2", "client-3"]


def test_an_answer_that_cannot_be_used_is_blamed_on_its_site(clients, sites):
    sites = plain(sites)

    def spoil(site, count, answer):
        return Answer(site, answer.message[:-1]) if site == "client-1" and count > 4 else answer

    result = run_job(InThisProcess(sites, spoil), JobOptions(("--rank=3",), min_sites=3))
    assert "site client-1: a message that ends early" in result.lost["client-1"]


def test_an_answer_in_the_name_of_another_is_not_taken(clients, sites, simulated):
    """An engine may hand a site's question to another's process: what comes back would be merged in the wrong place."""
    def swap(site, count, answer):
        return Answer("client-2", answer.message) if site == "client-1" and count > 4 else answer

    result = run_job(InThisProcess(plain(sites), swap), JobOptions(("--rank=3",), min_sites=3))
    assert result.lost.to_dict() == {"client-1": "an answer in the name of client-2; expected one of client-1, which was asked"}
    assert same(result.features, couplet.simulate(clients[1:], rank=3).features)
    result = run_job(InThisProcess(simulated, swap), JobOptions(SECURE, min_sites=3))
    assert result.members == ["client-2", "client-3", "client-4"] and "in the name of client-2" in result.lost["client-1"]


def test_features_that_a_member_did_not_take_are_still_the_result(clients, sites):
    sites = plain(sites)
    gone = InThisProcess(sites, lambda site, count, answer: Answer(site, refusal="gone") if count == 9 else answer)
    result = run_job(gone, JobOptions(("--rank=3",)))
    assert result.unreported.to_dict() == {"client-1": "gone"} and "rse" not in result
    assert same(result.features, couplet.simulate(clients, rank=3).features)


def test_two_sites_of_one_name_are_told(sites):
    twins = [*plain(sites)[:2], Site("client-2", sites[2].data)]
    with pytest.raises(couplet.RunError, match="client-2 is refused: 2 sites of this name"):
        run_job(InThisProcess(twins), JobOptions(("--rank=3",)))


def test_many_sites_are_asked_a_few_at_a_time(sites, monkeypatch):
    monkeypatch.setattr(_star, "_WINDOW", 3)
    many = [Site(f"s{k}", sites[k % 4].data) for k in range(20)]
    carrier = InThisProcess(many)
    result = run_job(carrier, JobOptions(("--rank=3",)))
    assert result.clients == 20 and carrier.most == 3


def resident_megabytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def test_memory_does_not_grow_with_the_number_of_sites(rng, tmp_path, monkeypatch):
    monkeypatch.setattr(_star, "_WINDOW", 32)
    shared = rng.normal(size=(5, 900))
    files = [str(tmp_path / f"x{k}.npy") for k in range(8)]
    for file in files:
        np.save(file, (rng.normal(size=(20, 5)) @ shared + 0.1 * rng.normal(size=(20, 900))).reshape(20, 30, 30))
    peaks = []
    for count in (40, 240):
        used = []
        carrier = InThisProcess([Site(f"s{k}", files[k % 8]) for k in range(count)],
                                lambda site, number, answer, used=used: used.append(resident_megabytes()) or answer)
        result = run_job(carrier, JobOptions(("--rank=5",), deadline=600.0))
        assert result.clients == count and carrier.most == 32
        peaks.append(max(used))
    # What the 200 further sites send is 7 MB of numbers, and their tensors are 29 MB.
    assert peaks[1] - peaks[0] < 6, peaks


def test_what_is_refused_before_the_work_begins(sites, tmp_path):
    with pytest.raises(couplet.InputError, match="no flag of a job on Flower"):
        run_job(InThisProcess(sites), JobOptions(("--rnk=3",)))
    with pytest.raises(couplet.InputError, match="missing: filled in without a rank"):
        run_job(InThisProcess(sites), JobOptions(("--eps=0.1", "--missing=impute")))
    with pytest.raises(couplet.RunError, match="0 sites came within 0.2 s; expected at least 1"):
        run_job(InThisProcess([]), JobOptions(("--rank=3",), deadline=0.2))
    done = JobOptions(("--rank=3",), output=str(tmp_path / "out"))
    run_job(InThisProcess(sites), done)
    with pytest.raises(couplet.InputError, match="features.npz: it exists"):
        run_job(InThisProcess(sites), done)
    with pytest.raises(couplet.RunError, match="client-1 is refused: .*personal_1.npz: it exists"):
        run_job(InThisProcess(sites), JobOptions(("--rank=3",)))
    for config, words in (({"rank": -1}, "rank = -1"), ({"deadline": 0}, "deadline = 0"), ({"output": "x"}, "absolute")):
        with pytest.raises(couplet.InputError, match=words):
            JobOptions.from_config(config)


def test_a_site_says_what_is_wrong_with_its_data(tmp_path):
    answer = respond(Site("a", str(tmp_path / "none.npy")), Question(b"\0" * 40))
    assert answer.refusal and "none.npy" in answer.refusal and not answer.message
    np.save(tmp_path / "x.npy", np.ones((3, 2)))
    assert "coordinator" in respond(Site("a", str(tmp_path / "x.npy")), Question(b"nonsense" * 9)).refusal
    for name, engine in (("couplet.flower", "flwr"), ("couplet.nvflare", "nvflare")):
        if importlib.util.find_spec(engine) is not None:
            continue
        with pytest.raises(ImportError, match="pip install 'couplet"):
            __import__(name)
