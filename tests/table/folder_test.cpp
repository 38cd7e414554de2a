#include "folder.hpp"

#include <nlohmann/json.hpp>

#include "table_test_support.hpp"

namespace couplet {
namespace {

using testing::TableTest;
using FolderTest = TableTest;

TEST_F(FolderTest, RefusesToReplaceAndCleansUp) {
    put("t.csv", "p,c\n1,x\n");
    build({"t.csv"}, {.patient = {"p"}, .modes = {"c"}});
    EXPECT_THROW(build({"t.csv"}, {.patient = {"p"}, .modes = {"c"}}), InputError);
    {
        const TableFolder made(path("new/deep"), false);
        EXPECT_TRUE(std::filesystem::exists(path("new/deep")));
    }
    EXPECT_FALSE(std::filesystem::exists(path("new")));
    put("file", "x");
    EXPECT_THROW(TableFolder(path("file"), false), InputError);
}

TEST_F(FolderTest, AnotherLayoutReplacesTheOldFile) {
    put("t.csv", "p,c\n1,x\n2,y\n3,z\n4,w\n");
    put("u.csv", "p,c\n1,x\n");
    const auto write = [&](const char* name, TableLayout layout, bool force) {
        const std::vector<TableInput> tables{file_input(path(name), {})};
        return build_table(tables, {.patient = {"p"}, .modes = {"c"}, .layout = layout}, path("out"), force);
    };
    EXPECT_EQ(write("t.csv", TableLayout::automatic, false).file, "tensor.tns");
    EXPECT_EQ(write("t.csv", TableLayout::dense, true).file, "tensor.npy");
    EXPECT_EQ(files("out"), (std::vector<std::string>{"manifest.json", "patients.csv", "schema.json", "tensor.npy"}));
}

TEST_F(FolderTest, FilesOfOthersAreNotReplacedByForce) {
    put("t.csv", "p,c\n1,x\n");
    std::filesystem::create_directory(path("theirs"));
    put("theirs/patients.csv", "Id,BIRTHDATE\n");
    const std::vector<TableInput> tables{file_input(path("t.csv"), {})};
    EXPECT_THROW(build_table(tables, {.patient = {"p"}, .modes = {"c"}}, path("theirs"), true), InputError);
    EXPECT_EQ(files("theirs"), (std::vector<std::string>{"patients.csv"}));
    put("theirs/manifest.json", "{\"kind\": \"other\"}");
    EXPECT_THROW(build_table(tables, {.patient = {"p"}, .modes = {"c"}}, path("theirs"), true), InputError);
}

TEST_F(FolderTest, WhatOthersWroteIsNotComputed) {
    put("t.csv", "p,c,t\n1,x,\n1,=1+1,@a\x1b[31m\n1,-5,-a\n");
    const Vocabulary schema{{{"c", TermKind::codes, {{"x", "x", "", 0}}}}, 0};
    build({"t.csv"}, {.patient = {"p"}, .modes = {"c/t"}, .schema = schema});
    EXPECT_EQ(get("out/unknown.csv"), "mode,code,label,events\nc,'=1+1,'@a?[31m,1\nc,-5,'-a,1\n");
}

TEST_F(FolderTest, SaysWhoIsWhereAndKeepsItPrivate) {
    put("t.csv", "p,c\n\"b,1\",x\na,y\n\"q\"\"\",x\n");
    build({"t.csv"}, {.patient = {"p"}, .modes = {"c"}, .layout = TableLayout::sparse});
    EXPECT_EQ(get("out/patients.csv"), "row,patient\n1,a\n2,\"b,1\"\n3,\"q\"\"\"\n");
    for (const char* name : {"out/patients.csv", "out/tensor.tns"}) {
        const auto mode = std::filesystem::status(path(name)).permissions();
        EXPECT_EQ(mode & (std::filesystem::perms::group_all | std::filesystem::perms::others_all),
                  std::filesystem::perms::none)
            << name;
    }
    for (const char* name : {"out/tensor.tns", "out/schema.json", "out/manifest.json"}) {
        EXPECT_EQ(get(name).find("b,1"), std::string::npos) << name;
    }
    const auto manifest = nlohmann::json::parse(get("out/manifest.json"));
    EXPECT_EQ(manifest["shape"], (std::vector<Index>{3, 2}));
    EXPECT_EQ(manifest["vocabulary"]["modes"][0]["patients"], (std::vector<Index>{2, 1}));
    EXPECT_FALSE(nlohmann::json::parse(get("out/schema.json"))["modes"][0].contains("patients"));
}

}  // namespace
}  // namespace couplet
