#pragma once

#include <stdexcept>
#include <string>

namespace couplet {

/// What went wrong, in the four parts of every message. Parameters are named `max_rank`: spelling.hpp says why.
struct ErrorParts {
    std::string where;     ///< the argument, file or peer at fault
    std::string found;     ///< what was there
    std::string expected;  ///< what would have been right
    std::string remedy;    ///< what the user can do; may be empty
};

/// Base of everything this library throws.
class Error : public std::runtime_error {
  public:
    explicit Error(ErrorParts parts);
    const ErrorParts& parts() const noexcept { return parts_; }

  private:
    ErrorParts parts_;
};

/// The caller's argument or file is wrong; trying again with the same input cannot help.
class InputError : public Error {
  public:
    using Error::Error;
};

/// The input was fine but the work failed: disk full, file vanished, no convergence.
class RunError : public Error {
  public:
    using Error::Error;
};

/// Version of the library, "major.minor.patch".
const char* version() noexcept;

}  // namespace couplet
