#include "run.hpp"

int main(int argc, char** argv) { return couplet::cli::run(argc, argv); }
