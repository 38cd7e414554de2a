#include "couplet/net/status.hpp"

#include <limits>

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

StatusReport some_status() {
    StatusReport status;
    status.job = "00ff";
    status.phase = "joining";
    status.aggregate = "stack";
    status.attempt = 1;
    status.round = 2;
    status.waiting = {"hospital-c"};
    status.seconds_left = 11.2;
    for (const char* name : {"a", "b", "hospital-c", "d"}) {
        status.clients.push_back({name, "joined", 50, 1024, 2048.0 * 1024, {}, ""});
    }
    status.clients[0].rse = 0.25;
    status.clients[1].last_refusal = "<script>alert(1)</script>";
    status.refused = 3;
    status.version = "0.1.0";
    return status;
}

TEST(StatusTest, SaysForWhomItWaits) {
    EXPECT_EQ(waiting_text(some_status()), "waiting for 1 of 4: hospital-c, 00:12 left");
    StatusReport status = some_status();
    status.seconds_left.reset();
    EXPECT_EQ(waiting_text(status), "waiting for 1 of 4: hospital-c");
    status.waiting.assign(9, "x");
    EXPECT_EQ(waiting_text(status), "waiting for 9 of 4: x, x, x, x, x, x and 3 more");
    status.waiting.clear();
    EXPECT_EQ(waiting_text(status), "");
}

TEST(StatusTest, IsReadBackFromJson) {
    const StatusReport status = parse_status(status_json(some_status()).dump(), "x");
    EXPECT_EQ(status_json(status), status_json(some_status()));
    EXPECT_EQ(status.clients[0].rse, 0.25);
    EXPECT_FALSE(status.clients[2].rse);
    StatusReport spoiled = some_status();
    spoiled.clients[0].rse = std::numeric_limits<double>::infinity();
    EXPECT_FALSE(parse_status(status_json(spoiled).dump(), "x").clients[0].rse) << "JSON has no infinity";
    auto older = status_json(some_status());
    older["clients"][0]["rse"] = nullptr;  // as infinity is written where nobody looks
    EXPECT_FALSE(parse_status(older.dump(), "x").clients[0].rse);
    for (const char* bad : {"", "[]", "{}", "{\"job\":1}"}) EXPECT_THROW(parse_status(bad, "x"), InputError) << bad;
}

TEST(StatusTest, EveryFieldIsReadBack) {
    StatusReport status = some_status();
    status.uptime = 12.5;
    const StatusReport back = parse_status(status_json(status).dump(), "x");
    EXPECT_EQ(back.job, "00ff");
    EXPECT_EQ(back.phase, "joining");
    EXPECT_EQ(back.aggregate, "stack");
    EXPECT_EQ(back.attempt, 1);
    EXPECT_EQ(back.round, 2);
    EXPECT_EQ(back.waiting, status.waiting);
    EXPECT_EQ(back.seconds_left, 11.2);
    EXPECT_EQ(back.refused, 3);
    EXPECT_EQ(back.uptime, 12.5);
    EXPECT_EQ(back.version, "0.1.0");
    ASSERT_EQ(back.clients.size(), 4U);
    EXPECT_EQ(back.clients[2].name, "hospital-c");
    EXPECT_EQ(back.clients[2].state, "joined");
    EXPECT_EQ(back.clients[2].rows, 50);
    EXPECT_EQ(back.clients[2].bytes_up, 1024);
    EXPECT_EQ(back.clients[2].bytes_down, 2048.0 * 1024);
    EXPECT_EQ(back.clients[1].last_refusal, status.clients[1].last_refusal);
    status.seconds_left.reset();
    status.clients[2].rows.reset();
    const StatusReport less = parse_status(status_json(status).dump(), "x");
    EXPECT_FALSE(less.seconds_left);
    EXPECT_FALSE(less.clients[2].rows);
}

TEST(StatusTest, SizesAndTimesAreForPeople) {
    const auto shown = [](double bytes, double seconds) {
        StatusReport status = some_status();
        status.clients.resize(1);
        status.clients[0].bytes_up = bytes;
        status.seconds_left = seconds;
        const std::string page = status_page(status, {});
        const std::size_t cell = page.find("<td>50</td><td>") + 15;
        const std::string waiting = waiting_text(status);
        return page.substr(cell, page.find("</td>", cell) - cell) + waiting.substr(waiting.find(", "));
    };
    EXPECT_EQ(shown(0, 0), "0 B, 00:00 left");
    EXPECT_EQ(shown(1023, 59.1), "1023 B, 01:00 left");
    EXPECT_EQ(shown(1024, 60.1), "1.0 KiB, 01:01 left");
    EXPECT_EQ(shown(1024 * 1023, 3600), "1023.0 KiB, 60:00 left");
    EXPECT_EQ(shown(1024 * 1024, -5), "1.0 MiB, 00:00 left");
    EXPECT_EQ(shown(1.5 * 1024 * 1024, 1), "1.5 MiB, 00:01 left");
}

TEST(StatusTest, AllMetricsAreThere) {
    StatusReport status = some_status();
    status.uptime = 7;
    const std::string text = status_metrics(status);
    for (const char* line :
         {"couplet_attempt 1\n", "couplet_round 2\n", "couplet_clients 4\n", "couplet_uptime_seconds 7\n",
          "couplet_client_bytes_total{client=\"d\",direction=\"down\"} 2097152\n",
          "couplet_phase{phase=\"running\"} 0\n", "# TYPE couplet_client_bytes_total counter\n",
          "# TYPE couplet_client_rse gauge\n"}) {
        EXPECT_NE(text.find(line), std::string::npos) << line << text;
    }
    EXPECT_EQ(text.find("couplet_client_rse{client=\"b\"}"), std::string::npos) << "who has not reported has no error";
}

TEST(StatusTest, MetricsAreLinesOfNamesAndNumbers) {
    const std::string text = status_metrics(some_status());
    for (const char* line :
         {"couplet_phase{phase=\"joining\"} 1\n", "couplet_phase{phase=\"closed\"} 0\n", "couplet_waiting 1\n",
          "couplet_client_bytes_total{client=\"a\",direction=\"up\"} 1024\n", "couplet_client_rse{client=\"a\"} 0.25\n",
          "# TYPE couplet_refused_total counter\n", "couplet_refused_total 3\n"}) {
        EXPECT_NE(text.find(line), std::string::npos) << line << text;
    }
}

TEST(StatusTest, ThePageShowsEverythingAndEscapesIt) {
    const std::string page = status_page(some_status(), {"12:00:00 a <b>joined</b>"});
    for (const char* part : {"waiting for 1 of 4: hospital-c, 00:12 left", "<td>hospital-c</td>", "1.0 KiB", "2.0 MiB",
                             "0.25", "attempt 1, round 2", "a &lt;b&gt;joined&lt;/b&gt;", "http-equiv=\"refresh\""}) {
        EXPECT_NE(page.find(part), std::string::npos) << part;
    }
    EXPECT_EQ(page.find("<script>"), std::string::npos);
}

/// What a coordinator says comes to a client's terminal, what a client says to the coordinator's page.
TEST(StatusTest, TextsOfOthersAreOnlyShown) {
    const std::string bad = "x\r\n\x1b[2J\u009b2J\u202e\u2028";
    StatusReport status = some_status();
    status.job = status.phase = status.aggregate = status.version = bad;
    status.waiting = {bad};
    status.clients[0].name = status.clients[0].state = status.clients[0].last_refusal = bad;
    const StatusReport heard = parse_status(status_json(status).dump(), "x");
    const std::string plain = "x???[2J?2J??";
    for (const std::string& text : {heard.job, heard.phase, heard.aggregate, heard.version, heard.waiting[0],
                                    heard.clients[0].name, heard.clients[0].state, heard.clients[0].last_refusal}) {
        EXPECT_EQ(text, plain);
    }
    const std::string page = status_page(status, {bad});
    for (const char* raw : {"\r", "\x1b", "\u009b", "\u202e", "\u2028"}) EXPECT_EQ(page.find(raw), std::string::npos);
}

/// Of others a client sees who they are and whether they are there.
TEST(StatusTest, AClientSeesFiguresOfItselfAlone) {
    StatusReport status;
    status.refused = 3;
    status.clients = {{"a", "done", 10, 1.0, 2.0, 0.5, "why a"}, {"b", "computing", 20, 3.0, 4.0, 0.25, "why b"}};
    const StatusReport seen = status_for(status, "b");
    EXPECT_EQ(seen.refused, std::nullopt);
    EXPECT_EQ(status_json(seen)["clients"][0].dump(), "{\"name\":\"a\",\"state\":\"done\"}");
    EXPECT_EQ(seen.clients[1].rows, 20);
    EXPECT_EQ(seen.clients[1].rse, 0.25);
    EXPECT_EQ(seen.clients[1].last_refusal, "why b");
    const StatusReport back = parse_status(status_json(seen).dump(), "x");
    EXPECT_EQ(back.clients[0].rows, std::nullopt);
    EXPECT_EQ(back.clients[0].bytes_up, std::nullopt);
    EXPECT_EQ(back.refused, std::nullopt);
}

}  // namespace
}  // namespace couplet::net
