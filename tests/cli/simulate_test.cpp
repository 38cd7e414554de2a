#include "simulate.hpp"

#include <limits>
#include <memory>

#include "cli_test_support.hpp"
#include "couplet/core/error.hpp"
#include "couplet/io/tensor_file.hpp"

namespace couplet::testing {
namespace {

class SimulateTest : public CliTest {
  protected:
    /// Three clients a.npy, b.npy, c.npy of 12, 9 and 6 patients with features 5 x 4 and noise.
    SimulateTest() {
        python(
            "r = np.random.default_rng(5); w = r.standard_normal((4, 5, 4))\n"
            "for name, rows in zip('abc', (12, 9, 6)):\n"
            "    x = np.einsum('ia,ajk->ijk', r.random((rows, 4)), w) + 0.05 * r.standard_normal((rows, 5, 4))\n"
            "    np.save(name + '.npy', x)\n");
    }
    Outcome simulate(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "simulate");
        arguments.emplace_back("--json");
        return couplet(arguments);
    }
    Json fitted(std::vector<std::string> arguments) {
        const Outcome run = simulate(std::move(arguments));
        EXPECT_EQ(run.status, 0) << run.err;
        return run.status == 0 ? run.json() : Json();
    }
    /// RSE of the best rank-4 rows of all files stacked, by NumPy.
    double stacked_rse() {
        return std::stod(
            python("x = np.concatenate([np.load(n + '.npy') for n in 'abc']).reshape(27, -1)\n"
                   "s = np.linalg.svd(x, compute_uv=False)\n"
                   "print((s[4:]**2).sum() / (s**2).sum())"));
    }
    void refused(std::vector<std::string> arguments, const std::string& message) {
        const Outcome run = simulate(std::move(arguments));
        EXPECT_EQ(run.status, 2) << message << "\n" << run.err;
        EXPECT_NE(run.err.find(message), std::string::npos) << run.err << "should say " << message;
        EXPECT_EQ(run.result(), "");
    }
};

TEST_F(SimulateTest, StarReachesTheStackedError) {
    const Json json = fitted({"a.npy", "b.npy", "c.npy", "--rank", "4"});
    const double best = stacked_rse();
    EXPECT_GE(json["rse"], best * 0.999);
    EXPECT_LE(json["rse"], best * 1.05 + 1e-4);
    EXPECT_LE(std::sqrt(json["rse"].get<double>()), json["rel_error_bound"].get<double>() + 1e-12);
    EXPECT_EQ(json["rse_per_client"].size(), 3U);
    EXPECT_EQ(json["personal_ranks"], Json({4, 4, 4}));
    EXPECT_EQ(json["ranks"].size(), 3U);
    EXPECT_EQ(json["ranks"].front(), 4);
    EXPECT_EQ(json["ranks"].back(), 1);
    EXPECT_EQ(json["rounds"], 2);
    EXPECT_EQ(json["method"], "ctt");
    EXPECT_EQ(json["clients"], 3);
    EXPECT_FALSE(json.contains("rse_heldout") || json.contains("consensus") || json.contains("dry_run"));
    for (const char* field :
         {"numbers_up_per_client", "numbers_down_per_client", "numbers_total", "bytes_up", "bytes_down"}) {
        EXPECT_GT(json[field].get<double>(), 0) << field;
    }
    for (const char* part : {"clients_max", "clients_sum", "server", "total"}) {
        EXPECT_TRUE(json["seconds"].contains(part)) << part;
    }
    EXPECT_TRUE(json.contains("seed") && json.contains("version"));
}

TEST_F(SimulateTest, ALowerRankThanWasAskedForIsTold) {
    python(
        "r = np.random.default_rng(6)\n"
        "for name in 'de': np.save(name + '.npy', r.standard_normal((40, 8)) * ([1e4] + 7 * [1]))\n");
    const Outcome run = simulate({"d.npy", "e.npy", "--rank", "3"});
    EXPECT_EQ(run.status, 0);
    EXPECT_EQ(run.json()["ranks"].front(), 1);
    EXPECT_NE(run.err.find("rank 1 and not 3"), std::string::npos) << run.err;
    EXPECT_NE(run.err.find("--eps1 0.01"), std::string::npos) << run.err;
    const Outcome whole = simulate({"d.npy", "e.npy", "--rank", "3", "--eps1", "0", "--eps2", "0"});
    EXPECT_EQ(whole.json()["ranks"].front(), 3);
    EXPECT_EQ(whole.err.find("and not"), std::string::npos) << whole.err;
}

TEST_F(SimulateTest, WithoutARankTheErrorIsCertified) {
    for (const char* eps : {"0.1", "0.02"}) {
        const Json json = fitted({"a.npy", "b.npy", "c.npy", "--eps", eps});
        EXPECT_LE(json["rel_error_bound"].get<double>(), std::stod(eps));
        EXPECT_LE(std::sqrt(json["rse"].get<double>()), json["rel_error_bound"].get<double>() + 1e-12);
    }
    EXPECT_LE(fitted({"a.npy", "b.npy"})["rel_error_bound"].get<double>(), 0.1);
}

TEST_F(SimulateTest, ABudgetOfBytesIsKept) {
    const Json each = fitted({"a.npy", "b.npy", "c.npy", "--bytes", "2kB"});
    EXPECT_LE(each["bytes_total"].get<double>(), 3 * 2000);
    EXPECT_LE(std::sqrt(each["rse"].get<double>()), each["rel_error_bound"].get<double>() + 1e-12);
    const Json all = fitted({"a.npy", "b.npy", "c.npy", "--bytes-total", "5kB"});
    EXPECT_LE(all["bytes_total"].get<double>(), 5000);
    EXPECT_EQ(all["bytes_total"].get<double>(), all["bytes_up"].get<double>() + all["bytes_down"].get<double>());
    EXPECT_GT(all["bytes_raw"].get<double>(), 0);
    refused({"a.npy", "--bytes", "2kB", "--eps", "0.1"}, "--bytes");
    refused({"a.npy", "--bytes", "two"}, "--bytes: 'two'");
    refused({"a.npy", "--bytes", "200"}, "--bytes");
}

TEST_F(SimulateTest, PrecisionIsTheUsersToChoose) {
    const auto bytes = [&](const char* precision) {
        return fitted({"a.npy", "b.npy", "c.npy", "--rank", "4", "--precision", precision})["bytes_total"]
            .get<double>();
    };
    EXPECT_LT(bytes("auto"), bytes("f32"));
    EXPECT_LT(bytes("f32"), bytes("f64"));
    refused({"a.npy", "--rank", "4", "--precision", "f16"}, "--precision");
    refused({"a.npy", "--rank", "4", "--aggregate", "average", "--precision", "f32"}, "--precision");
}

TEST_F(SimulateTest, DecentralizedAgreesWithTheStar) {
    const double best = stacked_rse();
    for (const char* aggregate : {"subspace", "stack"}) {
        const Json json = fitted({"a.npy", "b.npy", "c.npy", "--network", "decentralized", "--aggregate", aggregate,
                                  "--graph", "path", "--rank", "4"});
        EXPECT_LE(json["rse"], best * 1.05 + 1e-4) << aggregate;
        EXPECT_EQ(json.contains("consensus"), std::string(aggregate) == "subspace");
    }
    const Json plain = fitted({"a.npy", "b.npy", "c.npy", "--network", "decentralized", "--aggregate", "average",
                               "--rank", "4", "--weights", "magic", "--iterations", "3"});
    EXPECT_EQ(plain["consensus"]["iterations"], 3);
    EXPECT_GT(plain["consensus"]["lambda2"].get<double>(), 0);
    EXPECT_EQ(plain["numbers_up_per_client"], 3 * 4 * 20);
}

TEST_F(SimulateTest, CentralizedAndLocalAreReferences) {
    const Json all = fitted({"a.npy", "b.npy", "c.npy", "--rank", "4", "--method", "centralized", "--eps2", "0"});
    EXPECT_NEAR(all["rse"].get<double>(), stacked_rse(), 1e-10);
    EXPECT_EQ(all["method"], "centralized");
    EXPECT_EQ(all["numbers_up_per_client"], 9 * 20);
    const Json alone = fitted({"a.npy", "b.npy", "c.npy", "--rank", "4", "--method", "local"});
    EXPECT_LE(alone["rse"].get<double>(), all["rse"].get<double>() + 1e-4);
    EXPECT_EQ(alone["rounds"], 0);
    EXPECT_EQ(alone["numbers_total"], 0);
    refused({"a.npy", "--rank", "4", "--method", "local", "--network", "star"}, "--network: given with --method local");
    refused({"a.npy", "--rank", "4", "--method", "local", "-o", "r"}, "couplet decompose writes the model");
}

TEST_F(SimulateTest, SplitAndSyntheticMakeClients) {
    EXPECT_EQ(fitted({"--split", "5", "a.npy", "--rank", "2"})["clients"], 5);
    const Json generated = fitted({"--synthetic", "12x4x3", "--clients", "3", "--rank", "4", "--seed", "3"});
    ASSERT_EQ(couplet({"data", "synthetic", "12x4x3", "--clients", "3", "--seed", "3", "-o", "d"}).status, 0);
    const Json read = fitted({"d/client_1.npy", "d/client_2.npy", "d/client_3.npy", "--rank", "4", "--seed", "3"});
    EXPECT_EQ(generated["rse_per_client"], read["rse_per_client"]);
    EXPECT_EQ(generated["seed"], 3);
    EXPECT_EQ(fitted({"--synthetic", "12x4x3", "--rank", "2"})["clients"], 4);
}

TEST_F(SimulateTest, OtherFormatsAreClientsToo) {
    python(
        "x = np.load('a.npy')[:, :, 0]; np.savetxt('a.csv', x, delimiter=','); np.save('f.npy', "
        "x.astype('f4')); np.save('g.npy', np.asfortranarray(x))");
    const Json json = fitted({"a.csv", "f.npy", "g.npy", "--rank", "3"});
    EXPECT_EQ(json["ranks"], Json({3, 1}));
    EXPECT_NEAR(json["rse_per_client"][0].get<double>(), json["rse_per_client"][2].get<double>(), 1e-9);
}

TEST_F(SimulateTest, FolderHoldsCoresWhoseProductIsTheTensor) {
    const Json json = fitted({"a.npy", "b.npy", "c.npy", "--rank", "4", "-o", "new/result"});
    EXPECT_EQ(json["output"], "new/result");
    const std::string measured = python(
        "f = np.load('new/result/features.npz'); e = n = 0\n"
        "assert 'core_1' not in f\n"
        "for k, name in enumerate('abc'):\n"
        "    x = np.load(name + '.npy'); p = np.load(f'new/result/personal_{k + 1}.npz')['core_1']\n"
        "    assert p.shape == (1, x.shape[0], 4), p.shape\n"
        "    y = np.einsum('aib,bjc,ckd->ijk', p, f['core_2'], f['core_3'])\n"
        "    e += ((x - y)**2).sum(); n += (x**2).sum()\n"
        "print(e / n)");
    EXPECT_NEAR(std::stod(measured), json["rse"].get<double>(), 1e-9);
    refused({"a.npy", "--rank", "2", "-o", "new/result"}, "the file exists; expected a folder without results");
    fitted({"a.npy", "--rank", "2", "-o", "new/result", "--force"});
    EXPECT_FALSE(std::filesystem::exists(path("new/result/personal_2.npz")));
    EXPECT_EQ(couplet({"info", "new/result/features.npz"}).status, 0);
}

TEST_F(SimulateTest, LabelsTravelWithTheFeatures) {
    put("l.csv", "height,weight,age\n1,2,3\n4,5,7\n2,2,1\n5,3,1\n");
    fitted({"l.csv", "--rank", "2", "-o", "r"});
    const auto model = to_double(load_model(path("r/features.npz")));
    ASSERT_EQ(model.labels.size(), 1U);
    EXPECT_EQ(model.labels[0].entries, (std::vector<std::string>{"height", "weight", "age"}));
}

TEST_F(SimulateTest, LabelsOfTheManifestTravelToo) {
    put("cms.csv", "1,1,1,1,1\n1,1,2,1,2\n1,2,1,1,1\n1,3,1,1,2\n1,3,2,1,1\n");
    ASSERT_EQ(couplet({"data", "ehr", "--data", "cms.csv", "--top", "2x2", "--clients", "1", "-o", "d"}).status, 0);
    const Json manifest = Json::parse(get("d/manifest.json"));
    fitted({"d/client_1.npy", "--rank", "1", "-o", "r"});
    const auto model = to_double(load_model(path("r/features.npz")));
    ASSERT_EQ(model.labels.size(), 2U);
    EXPECT_EQ(model.labels[1].name, manifest["mode_labels"][2]["name"]);
    EXPECT_EQ(Json(model.labels[1].entries), manifest["mode_labels"][2]["entries"]);
}

TEST_F(SimulateTest, HeldOutPatientsAreScored) {
    const Json json = fitted({"a.npy", "b.npy", "--rank", "4", "--heldout", "0.25"});
    EXPECT_GT(json["rse_heldout"].get<double>(), 0);
    EXPECT_LT(json["rse_heldout"].get<double>(), 0.5);
    const Json scaled = fitted({"a.npy", "b.npy", "--rank", "4", "--scale-clients", "norm"});
    EXPECT_LT(scaled["rse"].get<double>(), 0.1);
}

TEST_F(SimulateTest, WhatDoesNotSettleIsWrittenMarkedAndFails) {
    // Hardly more numbers are known than the model has: what is filled in comes to rest slowly.
    ASSERT_EQ(
        couplet({"data", "synthetic", "40x8x7:rank=4", "--clients", "2", "--missing", "0.5", "-o", "holes"}).status, 0);
    const std::vector<std::string> arguments{
        "simulate", "holes/client_1.npy", "holes/client_2.npy", "--rank", "8", "--missing", "impute", "-o", "fit",
        "--force"};
    auto with_json = arguments;
    with_json.push_back("--json");
    const Outcome run = couplet(with_json);
    EXPECT_EQ(run.status, 1);
    EXPECT_NE(run.err.find("not settled after 200 iterations"), std::string::npos) << run.err;
    EXPECT_EQ(run.json()["missing"]["settled"], false);
    EXPECT_GT(run.json()["missing"]["change"].get<double>(), 1e-5);
    EXPECT_EQ(
        python("import json; print(json.loads(str(np.load('fit/features.npz')['meta_json']))['missing']['settled'])"),
        "False\n");
    EXPECT_NE(couplet(arguments).out.find("NO: the filled values still move"), std::string::npos);
}

TEST_F(SimulateTest, MissingEntriesAreFilledWhenAskedFor) {
    ASSERT_EQ(
        couplet({"data", "synthetic", "60x8x7:rank=3", "--clients", "3", "--missing", "0.1", "-o", "holes"}).status, 0);
    const std::vector<std::string> files{"holes/client_1.npy", "holes/client_2.npy", "holes/client_3.npy", "--rank",
                                         "3"};
    const Outcome refused_run = couplet({"simulate", "holes/client_1.npy", "--rank", "3"});
    EXPECT_EQ(refused_run.status, 2);
    EXPECT_NE(refused_run.err.find("NaN"), std::string::npos) << refused_run.err;
    EXPECT_NE(refused_run.err.find("--missing impute"), std::string::npos) << refused_run.err;
    for (const char* network : {"star", "decentralized"}) {
        auto arguments = files;
        arguments.insert(arguments.end(),
                         {"--missing", "impute", "--network", network, "-o", std::string("fit-") + network});
        const Json json = fitted(arguments);
        EXPECT_NEAR(json["missing"]["fraction"].get<double>(), 0.1, 0.03);
        EXPECT_GT(json["missing"]["iterations"].get<int>(), 1);
        EXPECT_LE(json["missing"]["change"].get<double>(), 1e-5);
        EXPECT_EQ(json["missing"]["settled"], true);
        EXPECT_LT(json["missing"]["rse_validation"].get<double>(), json["missing"]["rse_means"].get<double>());
        EXPECT_LE(json["rse"].get<double>(), 1e-3);
        EXPECT_FALSE(json.contains("rel_error_bound"));
        // What was hidden is found: the files without holes have the same seed.
        couplet({"data", "synthetic", "60x8x7:rank=3", "--clients", "3", "-o", "whole", "--force"});
        EXPECT_LE(
            std::stod(python("e = n = 0\nf = np.load('fit-" + std::string(network) +
                             "/features.npz')\nfor k in '123':\n"
                             "  x = np.load(f'whole/client_{k}.npy'); h = np.isnan(np.load(f'holes/client_{k}.npy'))\n"
                             "  p = np.load(f'fit-" +
                             std::string(network) +
                             "/personal_{k}.npz')['core_1']\n"
                             "  y = np.einsum('aib,bjc,ckd->ijk', p, f['core_2'], f['core_3'])\n"
                             "  e += ((x - y)[h] ** 2).sum(); n += (x[h] ** 2).sum()\nprint(e / n)")),
            1e-2);
    }
}

TEST_F(SimulateTest, FeaturesAndClientsThatNobodyKnowsAreNamed) {
    python(
        "r = np.random.default_rng(1)\n"
        "for k in 'abc':\n"
        "    x = r.normal(size=(20, 2, 3)); x[:, 1, 2] = np.nan\n"
        "    np.save('hole_' + k, x if k < 'c' else x * np.nan)");
    const Outcome run =
        couplet({"simulate", "hole_a.npy", "hole_b.npy", "hole_c.npy", "--rank", "2", "--missing", "impute", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.json()["missing"]["unknown_features"], 1);
    EXPECT_EQ(run.json()["missing"]["unknown_clients"], Json({3}));
    EXPECT_NE(run.err.find("warning: --missing impute: 1 feature is known of nobody, and client 3 knows not one entry"),
              std::string::npos)
        << run.err;
    const Outcome words = couplet({"simulate", "hole_a.npy", "hole_b.npy", "--rank", "2", "--missing", "impute"});
    ASSERT_EQ(words.status, 0) << words.err;
    EXPECT_NE(words.out.find("1 feature is known of nobody"), std::string::npos) << words.out;
    const Outcome nothing = couplet({"simulate", "hole_c.npy", "--rank", "1", "--missing", "impute", "-o", "none"});
    EXPECT_EQ(nothing.status, 2);
    EXPECT_NE(nothing.err.find("--missing: not one known entry at any client"), std::string::npos) << nothing.err;
    EXPECT_FALSE(std::filesystem::exists(path("none/features.npz")));
}

/// Another merge, without a certificate, is not what somebody expects who shortens records.
TEST_F(SimulateTest, ClippingAloneSaysThatClientsSendSums) {
    const Outcome run = couplet({"simulate", "a.npy", "b.npy", "--rank", "2", "--clip", "3", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.json()["aggregate"], "subspace");
    EXPECT_NE(run.err.find("--clip implies --aggregate subspace"), std::string::npos) << run.err;
    const Outcome told =
        couplet({"simulate", "a.npy", "b.npy", "--rank", "2", "--clip", "3", "--aggregate", "subspace", "--json"});
    ASSERT_EQ(told.status, 0) << told.err;
    EXPECT_EQ(told.err.find("implies"), std::string::npos) << told.err;
}

TEST_F(SimulateTest, DryRunSaysWhatWouldBeSent) {
    const Json fit = fitted({"a.npy", "b.npy", "c.npy", "--rank", "4"});
    const Json dry = fitted({"a.npy", "b.npy", "c.npy", "--rank", "4", "--dry-run"});
    EXPECT_EQ(dry["dry_run"], true);
    EXPECT_FALSE(dry.contains("rse") || dry.contains("rse_per_client"));
    for (const char* field : {"numbers_up_per_client", "numbers_down_per_client", "numbers_total", "bytes_up",
                              "bytes_down", "ranks", "personal_ranks", "rounds"}) {
        EXPECT_EQ(dry[field], fit[field]) << field;
    }
    const Json peers = fitted({"a.npy", "b.npy", "c.npy", "--rank", "4", "--network", "decentralized", "--dry-run"});
    EXPECT_FALSE(peers.contains("rse"));
    EXPECT_GT(peers["numbers_total"].get<double>(), 0);
    refused({"a.npy", "--rank", "2", "--dry-run", "-o", "r"}, "--output: given with --dry-run");
}

TEST_F(SimulateTest, OneMoreClientJoinsASavedMerge) {
    const Json all = fitted({"a.npy", "b.npy", "c.npy", "--rank", "4"});
    fitted({"a.npy", "b.npy", "--rank", "4", "--save-state", "s.npz"});
    const Json joined = fitted({"--resume", "s.npz", "c.npy", "--rank", "4", "--save-state", "t.npz", "-o", "r"});
    EXPECT_EQ(joined["clients"], 1);
    EXPECT_EQ(joined["resumed_clients"], 2);
    EXPECT_EQ(joined["rse_per_client"].size(), 1U);
    EXPECT_NEAR(joined["rel_error_bound"].get<double>(), all["rel_error_bound"].get<double>(), 0.01);
    // The features cover those who were merged before.
    const Outcome before = couplet({"project", "r/features.npz", "a.npy", "--json"});
    EXPECT_NEAR(before.json()["rse"].get<double>(), all["rse_per_client"][0].get<double>(), 1e-3);
    // A client that comes again replaces itself, and the same file may be continued in place.
    const Json again = fitted({"--resume", "t.npz", "./a.npy", "--rank", "4"});
    EXPECT_EQ(again["resumed_clients"], 2);
    EXPECT_EQ(again["replaced"], Json::array({std::filesystem::weakly_canonical(path("a.npy")).string()}));
    fitted({"--resume", "t.npz", "a.npy", "--rank", "4", "--save-state", "t.npz", "--force"});

    fitted({"--split", "2", "a.npy", "--rank", "4", "--save-state", "split.npz"});
    refused({"--resume", "split.npz", "--split", "3", "a.npy", "--rank", "4"},
            "a.npy: in 3 parts; expected in 2 parts, as split.npz has it");
    refused({"--resume", "split.npz", "a.npy", "--rank", "4"}, "a.npy: whole; expected in 2 parts");
    EXPECT_FALSE(fitted({"--resume", "split.npz", "--split", "2", "a.npy", "--rank", "4"}).contains("resumed_clients"));
    refused({"--resume", "r/features.npz", "a.npy", "--rank", "4"}, "a file written by --save-state");
    refused({"--resume", "a.npy", "b.npy", "--rank", "4"}, "a.npy");
    save("other.npy", smooth<double>({5, 3, 4}));
    refused({"--resume", "s.npz", "other.npy", "--rank", "4"},
            "other.npy (client 1): mode 2 has size 3; expected 5 as the job has");
    refused({"a.npy", "--rank", "4", "--aggregate", "subspace", "--save-state", "u.npz"}, "--save-state");
}

TEST_F(SimulateTest, WarningsNameClients) {
    const Outcome twice = simulate({"a.npy", "./a.npy", "--rank", "3"});
    EXPECT_EQ(twice.status, 0);
    EXPECT_NE(twice.err.find("warning: a.npy and ./a.npy are the same file"), std::string::npos) << twice.err;
    const Outcome capped = simulate({"a.npy", "b.npy", "c.npy", "--rank", "8"});
    EXPECT_EQ(capped.status, 0);
    EXPECT_NE(capped.err.find("warning: --rank 8 is more than 1 of 3 clients can give: c.npy (6)"), std::string::npos)
        << capped.err;
    EXPECT_EQ(capped.json()["personal_ranks"][2], 6);
    EXPECT_EQ(simulate({"a.npy", "a.npy", "--rank", "3", "--quiet"}).err, "");
}

TEST_F(SimulateTest, AZeroClientIsOneLikeOthers) {
    save("zero.npy", Tensor<double>::zeros({4, 5, 4}));
    for (const char* network : {"star", "decentralized"}) {
        const Json json = fitted({"a.npy", "zero.npy", "--rank", "3", "--network", network});
        EXPECT_EQ(json["rse_per_client"][1], 0.0) << network;
    }
    EXPECT_EQ(fitted({"zero.npy", "--rank", "2"})["rse"], 0.0);
}

TEST_F(SimulateTest, PhasesOfMicrosecondsAreNotMentioned) {
    const Outcome run = simulate({"a.npy", "b.npy", "--rank", "3"});
    for (const char* never : {"hello", "greeting", " us\n"}) {
        EXPECT_EQ(run.err.find(never), std::string::npos) << run.err;
    }
}

TEST_F(SimulateTest, TextForPeopleIsATable) {
    const Outcome run = couplet({"simulate", "a.npy", "b.npy", "--rank", "3"});
    ASSERT_EQ(run.status, 0) << run.err;
    for (const char* part : {"client  patients  rank sent", "a.npy", "RSE", "certified", "rounds", "sent", "time"}) {
        EXPECT_NE(run.out.find(part), std::string::npos) << run.out;
    }
    const Outcome noted = couplet({"simulate", "--synthetic", "3x4x4", "--clients", "40", "--rank", "2"});
    EXPECT_NE(noted.err.find("note: 3 patients are fewer than 40 clients: every client gets 3 (patients=each)"),
              std::string::npos)
        << noted.err;
    const Outcome many = couplet({"simulate", "--synthetic", "3x4x4:patients=each", "--clients", "40", "--rank", "2"});
    EXPECT_EQ(noted.out.substr(0, noted.out.find("\ntime")), many.out.substr(0, many.out.find("\ntime")));
    EXPECT_NE(many.out.find("... and 34 more; RSE of all from"), std::string::npos) << many.out;
}

TEST_F(SimulateTest, ClientsThatDoNotFitAreNamed) {
    refused({"--rank", "3"}, "FILES...: no clients");
    save("wide.npy", smooth<double>({5, 5, 7}));
    refused({"a.npy", "wide.npy", "--rank", "3"}, "wide.npy (client 2): mode 3 has size 7; expected 4 as a.npy has");
    save("flat.npy", smooth<double>({5, 20}));
    refused({"a.npy", "b.npy", "flat.npy", "--rank", "3"},
            "flat.npy (client 3): 2 modes (20 features); expected 3 (5x4) as the job has");
    save("line.npy", smooth<double>({5}));
    refused({"line.npy", "--rank", "1"}, "line.npy: a tensor of order 1");
    Tensor<double> nan = smooth<double>({5, 5, 4});
    nan.data()[27] = std::numeric_limits<double>::quiet_NaN();
    save("nan.npy", nan);
    refused({"a.npy", "nan.npy", "--rank", "3"}, "nan.npy");
    refused({"a.npy", "nan.npy", "--rank", "3"}, "1, 1, 3");
    refused({"a.npy", "gone.npy", "--rank", "3"}, "gone.npy: no such file");
    refused({"a.npy", "--synthetic", "9x3x3", "--rank", "3"}, "a.npy: a file together with --synthetic");
    refused({"a.npy", "--clients", "3", "--rank", "3"}, "--clients: given with files");
}

TEST_F(SimulateTest, RanksAndErrorsThatMeanNothingAreRefused) {
    refused({"a.npy", "b.npy", "c.npy", "--aggregate", "average", "--rank", "8"},
            "a rank every client can give (client 1 12, client 2 9, client 3 6)");
    refused({"a.npy", "--aggregate", "average", "--rank", "3", "--eps", "0.1"}, "--eps: ");
    refused({"a.npy", "--aggregate", "subspace", "--rank", "3", "--eps1", "0.1"}, "--eps1: ");
    refused({"a.npy", "--aggregate", "subspace"}, "--rank: no rank");
    put("flat.csv", "x,y,z\n1,2,4\n3,4,9\n5,7,6\n8,8,1\n");
    for (const std::string aggregate : {"average", "subspace"}) {
        refused({"flat.csv", "--aggregate", aggregate, "--rank", "2", "--eps2", "0.1"},
                "--eps2: given with --aggregate " + aggregate + " for patients by 3 features");
        EXPECT_EQ(couplet({"simulate", "flat.csv", "--aggregate", aggregate, "--rank", "2"}).status, 0);
    }
    refused({"flat.csv", "--aggregate", "average", "--rank", "2", "--eps1", "0.1"}, "--eps1: given with");
    EXPECT_EQ(couplet({"simulate", "flat.csv", "--rank", "2", "--eps2", "0.1"}).status, 0);
    refused({"a.npy", "--eps", "2"}, "--eps: 2");
    refused({"a.npy", "--rank", "0"}, "--rank: 0");
    refused({"--split", "0", "a.npy", "--rank", "3"}, "--split: 0");
    refused({"--split", "13", "a.npy", "--rank", "3"}, "--split: 13 clients; expected 1 to 12");
    refused({"--split", "2", "a.npy", "b.npy", "--rank", "3"}, "--split: 2 files; expected one file to split");
    refused({"a.npy", "--rank", "3", "--heldout", "1"}, "--heldout");
    refused({"a.npy", "--eps", "0.1", "--missing", "impute"}, "--missing");
    refused({"a.npy", "--rank", "3", "--missing", "impute", "--method", "centralized"}, "--missing");
    refused({"a.npy", "--rank", "3", "--no-refit"}, "--no-refit");
    refused({"a.npy", "--rank", "3", "--sketch", "gram"}, "--sketch: given with --aggregate stack");
    refused({"a.npy", "--rank", "3", "--graph", "ring"}, "--graph: given with --network star");
    refused({"a.npy", "--rank", "3", "--secure"}, "1 clients; expected 3 to 255");
}

TEST_F(SimulateTest, NetworksThatCannotAgreeAreRefused) {
    const auto peers = [&](std::vector<std::string> extra, const std::string& message) {
        std::vector<std::string> all{"--synthetic",   "16x4x3", "--clients", "4",           "--network",
                                     "decentralized", "--rank", "3",         "--aggregate", "average"};
        all.insert(all.end(), extra.begin(), extra.end());
        refused(all, message);
    };
    put("apart.txt", "1 2\n3 4\n");
    peers({"--graph", "file:apart.txt"}, "{1, 2}");
    peers({"--graph", "file:none.txt"}, "none.txt");
    peers({"--graph", "torus"}, "--graph: 'torus'");
    put("skew.txt", "0.5 0.5 0 0\n0.25 0.75 0 0\n0 0 0.5 0.5\n0 0 0.5 0.5\n");
    peers({"--weights", "file:skew.txt"}, "expected a symmetric matrix");
    put("sum.txt", "0.5 0.25 0 0\n0.25 0.75 0 0\n0 0 0.5 0.5\n0 0 0.5 0.5\n");
    peers({"--weights", "file:sum.txt"}, "row 1 has the sum 0.75");
    peers({"--weights", "heavy"}, "'heavy'");
    peers({"--consensus", "gossip"}, "--consensus: 'gossip'");
    peers({"--iterations", "many"}, "'many'");
    refused(
        {"a.npy", "b.npy", "--network", "decentralized", "--aggregate", "average", "--rank", "3", "--weights", "magic"},
        "2");
}

TEST_F(SimulateTest, ResultsDoNotDependOnThreads) {
    Json one = fitted({"a.npy", "b.npy", "c.npy", "--rank", "4", "--threads", "1"});
    Json two = fitted({"a.npy", "b.npy", "c.npy", "--rank", "4", "--threads", "2"});
    one.erase("seconds");
    two.erase("seconds");
    EXPECT_EQ(one, two);
}

TEST_F(SimulateTest, EveryMethodGivesTheSameFields) {
    const Json ours = fitted({"a.npy", "b.npy", "c.npy", "--rank", "4", "--heldout", "0.2"});
    for (const char* method :
         {"centralized", "local", "fedsvd", "trip", "fedgtf-ef", "fedgtf-ef-pc", "dpfact", "dpsgd", "cidertf"}) {
        std::vector<std::string> arguments{"a.npy",     "b.npy", "c.npy",    "--rank", "4",
                                           "--heldout", "0.2",   "--method", method};
        const Json json = fitted(arguments);
        for (const auto& [field, value] : ours.items()) {
            if (field == "rel_error_bound" || field == "aggregate" || field == "network" || field == "gain") continue;
            if (field == "masked") continue;  // what ctt would give
            EXPECT_TRUE(json.contains(field)) << method << " " << field;
        }
        EXPECT_LT(json["rse"].get<double>(), 0.9) << method;
        EXPECT_EQ(json["method"], method);
    }
}

TEST_F(SimulateTest, CpMethodsReportTheirTuningAndTrace) {
    const Json json = fitted({"a.npy", "b.npy", "c.npy", "--rank", "4", "--method", "fedgtf-ef", "--rounds", "12",
                              "--step", "0.25", "--tolerance", "0"});
    EXPECT_EQ(json["rounds"], 12);
    EXPECT_EQ(json["stopped"], "rounds");
    EXPECT_EQ(json["tuning"]["step"], 0.25);
    EXPECT_EQ(json["tuned"], false);
    EXPECT_EQ(json["loss"], "square");
    EXPECT_EQ(json["trace"].front()["round"], 0);
    EXPECT_EQ(json["trace"].back()["round"], 12);
    EXPECT_EQ(json["trace"].back()["bytes"], json["bytes_up"].get<double>() + json["bytes_down"].get<double>());
}

/// The clip is relative to the mean record: one patient changes everybody's.
TEST_F(SimulateTest, NoiseInGradientsIsNoGuarantee) {
    const Json json = fitted({"a.npy", "b.npy", "--rank", "2", "--method", "dpfact", "--rounds", "5", "--gradient-clip",
                              "1", "--gradient-noise", "10"});
    EXPECT_FALSE(json.contains("privacy"));
    EXPECT_FALSE(json["gradient_noise"].contains("epsilon"));
    EXPECT_GT(json["gradient_noise"]["nominal_epsilon"], 0);
    EXPECT_EQ(json["gradient_noise"]["releases"], 5 * 4 * 2);
    EXPECT_EQ(json["gradient_noise"]["guarantee"], false);
    const Outcome text = couplet({"simulate", "a.npy", "b.npy", "--rank", "2", "--method", "dpfact", "--rounds", "5",
                                  "--gradient-clip", "1", "--gradient-noise", "10"});
    EXPECT_NE(text.out.find("guarantee"), std::string::npos) << text.out;
    EXPECT_EQ(text.out.find("privacy"), std::string::npos) << text.out;
}

TEST_F(SimulateTest, FilesOfACpMethodAreThoseOfAnyOther) {
    for (const char* refit : {"--refit", "--no-refit"}) {
        const Json json =
            fitted({"a.npy", "b.npy", "c.npy", "--rank", "3", "--method", "trip", "-o", "cp", refit, "--force"});
        const double error2 =
            std::stod(python("w = np.load('cp/features.npz'); w = np.einsum('aib,bjc->aij', w['core_2'], w['core_3'])\n"
                             "e = n = 0.0\n"
                             "for k, name in enumerate('abc'):\n"
                             "    x = np.load(name + '.npy')\n"
                             "    y = np.einsum('ia,ajk->ijk', np.load(f'cp/personal_{k + 1}.npz')['core_1'][0], w)\n"
                             "    e += ((x - y)**2).sum(); n += (x**2).sum()\n"
                             "print(e / n)"));
        EXPECT_NEAR(error2, json["rse"].get<double>(), 1e-9);
        const Outcome projected = couplet({"project", "cp/features.npz", "a.npy", "--json"});
        ASSERT_EQ(projected.status, 0) << projected.err;
        EXPECT_LE(projected.json()["rse"].get<double>(), json["rse_per_client"][0].get<double>() + 1e-9);
    }
}

TEST_F(SimulateTest, WhatMaskedSumsHideIsNotPublishedWithTheFeatures) {
    python(
        "r = np.random.default_rng(8)\n"
        "for k in range(3): np.save(f'h{k}.npy', r.standard_normal((40, 4, 3)))\n");
    const auto metadata = [&](const char* folder, std::vector<std::string> more) {
        std::vector<std::string> words{"simulate", "h0.npy", "h1.npy", "h2.npy", "--rank", "2", "-o", folder};
        words.insert(words.end(), more.begin(), more.end());
        EXPECT_EQ(couplet(words).status, 0);
        return Json::parse(python("print(np.load('" + std::string(folder) + "/features.npz')['meta_json'])"));
    };
    const Json plain = metadata("plain", {});
    const Json masked = metadata("masked", {"--secure"});
    for (const char* own : {"rse", "rse_per_client", "personal_norm2"}) {
        EXPECT_TRUE(plain.contains(own)) << own;
        EXPECT_FALSE(masked.contains(own)) << own;
    }
    // Under a guarantee nobody is counted.
    const Outcome noised = couplet(
        {"simulate", "h0.npy", "h1.npy", "h2.npy", "--rank", "2", "--secure", "--dp-epsilon", "1", "--clip", "3"});
    EXPECT_NE(noised.out.find("client  rank sent"), std::string::npos) << noised.out;
}

TEST_F(SimulateTest, CentringIsMaskedWhereSumsAre) {
    python(
        "r = np.random.default_rng(8); w = r.standard_normal((2, 5, 4))\n"
        "for k in range(4):\n"
        "    np.save(f'c{k}.npy', 30 + np.einsum('ia,ajk->ijk', r.standard_normal((30, 2)), w))\n");
    const auto run = [&](std::vector<std::string> more) {
        std::vector<std::string> words{"simulate", "c0.npy", "c1.npy",  "c2.npy",   "c3.npy", "--rank",
                                       "2",        "--json", "--quiet", "--centre", "--scale"};
        words.insert(words.end(), more.begin(), more.end());
        return couplet(words).json();
    };
    const Json plain = run({"--aggregate", "subspace"});
    for (const char* network : {"star", "decentralized"}) {
        const Json masked = run({"--secure", "--policy", "off", "--network", network});
        EXPECT_NEAR(masked["rse"].get<double>(), plain["rse"].get<double>(), 1e-9);
        EXPECT_GT(masked["bytes_up"].get<double>(), plain["bytes_up"].get<double>());
        const Json bare = couplet({"simulate", "c0.npy", "c1.npy", "c2.npy", "c3.npy", "--rank", "2", "--json",
                                   "--quiet", "--secure", "--policy", "off", "--network", network})
                              .json();
        // Means and squares are seen too, and are counted.
        for (const char* count : {"sums", "directions"}) {
            EXPECT_EQ(masked["privacy"][count], bare["privacy"][count].get<int>() + 2) << count;
        }
    }
    EXPECT_LT(plain["rse"].get<double>(), 1e-12);  // two components beside the means
    const auto refused = [&](std::vector<std::string> more) {
        std::vector<std::string> words{"simulate", "c0.npy", "c1.npy", "c2.npy", "--rank", "2", "--centre"};
        words.insert(words.end(), more.begin(), more.end());
        const Outcome outcome = couplet(words);
        EXPECT_EQ(outcome.status, 2);
        EXPECT_NE(outcome.err.find("--centre"), std::string::npos) << outcome.err;
    };
    refused({"--clip", "3"});
    refused({"--secure", "--dp-epsilon", "1", "--clip", "3"});
}

TEST_F(SimulateTest, ABudgetCountsCentringOnEveryLinkOfThePartyThatHasMost) {
    // All links of a star among peers are at its hub.
    const auto run = [&](const std::string& bytes) {
        return couplet({"simulate", "a.npy", "b.npy", "c.npy", "--network", "decentralized", "--graph", "star",
                        "--bytes", bytes, "--centre", "--scale", "--json", "--quiet"});
    };
    int kept = 0;
    for (const int bytes : {2000, 4000, 6000, 9000}) {
        const Outcome outcome = run(std::to_string(bytes));
        if (outcome.status == 2) {
            EXPECT_NE(outcome.err.find("--bytes"), std::string::npos) << outcome.err;
            continue;
        }
        ++kept;
        EXPECT_LE(outcome.json()["bytes_total"].get<double>(), bytes);
    }
    EXPECT_GT(kept, 0);
}

TEST_F(SimulateTest, FlagsOfOtherMethodsAreRefused) {
    const auto with = [&](const char* method, std::vector<std::string> more) {
        std::vector<std::string> arguments{"a.npy", "b.npy", "--rank", "4", "--method", method};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    };
    refused(with("ctt", {"--rounds", "5"}), "--rounds: given with --method ctt");
    refused(with("centralized", {"--step", "1"}), "--step: given with --method centralized");
    refused(with("fedsvd", {"--graph", "ring"}), "--graph: given with --method fedsvd");
    refused(with("trip", {"--eps", "0.1"}), "--eps: given with --method trip");
    refused(with("trip", {"--step", "1"}), "--step: given with --method trip");
    refused(with("trip", {"--graph", "ring"}), "--graph: given with --method trip");
    refused(with("trip", {"--network", "star"}), "--network: given with --method trip");
    refused(with("trip", {"--cache", "x.json"}), "--cache: given with no --tuned");
    refused(with("cidertf", {"--loss", "logistic"}), "only 0 and 1");
    refused(with("cidertf", {"--loss", "logistic", "-o", "r"}), "log-odds");
    refused(with("dpfact", {"--gradient-noise", "1"}), "--gradient-clip");
    refused({"a.npy", "--rank", "4", "--method", "dpsgd"}, "one client");
    refused({"a.npy", "b.npy", "--method", "dpsgd"}, "--rank");
    refused({"a.npy", "--rank", "4", "--method", "sgd"}, "dpsgd");
}

TEST_F(SimulateTest, AnotherProgramGetsTheSameFromMemory) {
    const Json printed = fitted({"a.npy", "b.npy", "--rank", "4", "-o", "result"});
    cli::EmbeddedCall simulation{.arguments = {"--rank", "4"}};
    for (const char* name : {"a.npy", "b.npy"}) {
        simulation.clients.push_back(std::make_shared<const Tensor<double>>(open_tensor(path(name)).take<double>()));
    }
    const auto result = cli::run_simulation(std::move(simulation));
    for (const char* field : {"rse", "rse_per_client", "ranks", "rel_error_bound", "bytes_up"}) {
        EXPECT_EQ(Json(result.json[field]), printed[field]) << field;
    }
    ASSERT_EQ(result.personal.size(), 2U);
    EXPECT_EQ(result.personal[1].rows(), 9);
    ASSERT_TRUE(result.features);
    EXPECT_EQ(result.features->train.left_rank(), 4);
}

TEST_F(SimulateTest, AnotherProgramIsRefusedInTheSameWords) {
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"--rank", "0"},
                                               {"--rnk", "3"},
                                               {"--help"},
                                               {"--rank"},
                                               {"no.npy"},
                                               {"--sketch", "gram", "--rank", "2"}}) {
        EXPECT_THROW(cli::run_simulation({.arguments = arguments}), InputError) << arguments.front();
    }
}

TEST_F(SimulateTest, SumsHaveARankThatIsChosenToo) {
    const Outcome run = couplet({"simulate", "--synthetic", "60x6x5:rank=2,noise=0.1", "--clients", "3", "--rank",
                                 "auto", "--aggregate", "subspace", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.json()["aggregate"], "subspace");
    EXPECT_EQ(run.json()["ranks"][0], 2);
}

/// A number that names a patient is no measurement, and by its size it would be most of the tensor.
TEST_F(SimulateTest, ANumberedPatientColumnIsPointedOut) {
    const std::string rows = "1001,54,130\n1002,61,142\n1003,47,121\n";
    const auto noted = [&](const std::string& header, const std::string& body) {
        put("a.csv", header + "\n" + body);
        const Outcome run = couplet({"simulate", "a.csv", "--rank", "1"});
        EXPECT_EQ(run.status, 0) << run.err;
        return run.err.find("as identifiers do") != std::string::npos;
    };
    for (const char* name : {"patient", "Patient_ID", "id", "subject no", "MRN", "record_id"}) {
        EXPECT_TRUE(noted(std::string(name) + ",age,bp", rows)) << name;
    }
    EXPECT_TRUE(noted("age,bp,ID", "54,130,3\n61,142,1\n47,121,2\n")) << "wherever it stands";
    EXPECT_FALSE(noted("patients_seen,age,bp", rows)) << "called otherwise";
    EXPECT_FALSE(noted("patient,age,bp", "1,54,130\n1,61,142\n0,47,121\n")) << "a group, not a person";
    put("gaps.csv", "id,age,bp\n1,54,130\nnan,61,142\n3,47,121\nnan,50,119\n2,66,140\n");
    const Outcome gaps = couplet({"simulate", "gaps.csv", "--rank", "1", "--missing", "impute", "--json"});
    EXPECT_EQ(gaps.err.find("as identifiers do"), std::string::npos) << "what is not known is no number: " << gaps.err;
    EXPECT_FALSE(noted("id,age,bp", "0.5,54,130\n0.25,61,142\n0.75,47,121\n")) << "a measurement";
    put("a.csv", "patient,age,bp\n" + rows);
    const Outcome remedy = couplet({"table", "a.csv", "--wide", "--patient", "patient", "-o", "site"});
    EXPECT_EQ(remedy.status, 0) << remedy.err;
}

}  // namespace
}  // namespace couplet::testing
