#include "couplet/io/foreign_file.hpp"

#include <gtest/gtest.h>

namespace couplet {
namespace {

TEST(ForeignFile, TwoLinesOfPythonBringInWhatOtherProgramsWrite) {
    EXPECT_EQ(tensor_import("labs/book.XLSX"),
              "In Python: import numpy, pandas; numpy.save('x.npy', "
              "numpy.asarray(pandas.read_excel('labs/book.XLSX').select_dtypes('number'), float))");
    EXPECT_EQ(table_import("visits.parquet"),
              "In Python: import pandas; pandas.read_parquet('visits.parquet').to_csv('x.csv', index=False)");
    EXPECT_EQ(table_import("visits.json"),
              "In Python: import pandas; pandas.read_json('visits.json').to_csv('x.csv', index=False)");
    for (const char* name :
         {"x.dta", "x.feather", "x.pkl", "x.mat", "x.h5", "x.h5ad", "x.parquet", "x.zarr/", "x.json"}) {
        const auto lines = tensor_import(name);
        ASSERT_TRUE(lines) << name;
        EXPECT_NE(lines->find("numpy.save('x.npy'"), std::string::npos) << *lines;
    }
    EXPECT_NE(sparse_import("s.npz").find("scipy.sparse.load_npz('s.npz').toarray()"), std::string::npos);
    EXPECT_NE(tensor_import("it's.mat")->find("'FILE'"), std::string::npos) << "a name that would end the quotes";
    for (const char* name : {"x.npy", "x.csv", "x", "x.tns.gz"}) {
        EXPECT_FALSE(tensor_import(name)) << name;
        EXPECT_FALSE(table_import(name)) << name;
    }
    EXPECT_FALSE(table_import("x.mat"));
}

}  // namespace
}  // namespace couplet
