#include "patients.hpp"

#include "cli_test_support.hpp"
#include "couplet/core/error.hpp"

namespace couplet::testing {
namespace {

class PatientsTest : public CliTest {
  protected:
    PatientsTest() : rows_(make()) {}
    static TensorTrain<double> make() {
        std::vector<Tensor<double>> cores;
        cores.push_back(Tensor<double>::zeros({2, 3, 1}));
        TensorTrain<double> train(std::move(cores));
        train.set_labels({{"test", {"a", "b", "c"}, {}}});
        return train;
    }
    cli::Patients read(const std::string& name) const {
        return cli::open_patients(path(name), {rows_, centring_, features_}, session_);
    }

    TensorTrain<double> rows_;
    Centring centring_ = {};
    std::string features_ = "features.npz";
    cli::Session session_{{.quiet = true}, "couplet project"};
};

TEST_F(PatientsTest, ColumnsAreMatchedByName) {
    python("np.savez('x.npz', tensor=np.array([[1., 2, 3], [4, 5, 6]]), labels_2=np.array(['c', 'a', 'b']))");
    const auto found = read("x.npz");
    EXPECT_EQ(found.x.data()[0], 2);
    EXPECT_EQ(found.x.data()[2], 1);
    EXPECT_NE(found.moved.find("'a', 'b', 'c'"), std::string::npos) << found.moved;
}

TEST_F(PatientsTest, MeansAreTakenOutAsTheFederationDid) {
    centring_.mean = {1, 1, 1};
    rows_.set_labels({});
    python("np.save('x.npy', np.array([[1., 2, 3]]))");
    EXPECT_EQ(read("x.npy").x.data()[2], 2);
}

TEST_F(PatientsTest, OtherModesAreNamed) {
    python("np.save('x.npy', np.ones((2, 4)))");
    try {
        read("x.npy");
        ADD_FAILURE() << "four of three features were taken";
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("mode 2 (test) has size 4"), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find("features.npz"), std::string::npos);
    }
}

}  // namespace
}  // namespace couplet::testing
