#pragma once

#include <memory>
#include <string>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/tensor/shape.hpp"

namespace couplet::net {

/// The keys of a TOML file, each read once and checked. A key that is not there leaves its value as it is; every
/// reader throws InputError, naming file and line, for a value that is none.
class TomlKeys {
  public:
    /// `where` is the file and `what` it should be; throws InputError for text that is no TOML.
    TomlKeys(const std::string& text, std::string where, const std::string& what);
    ~TomlKeys();
    TomlKeys(const TomlKeys&) = delete;
    TomlKeys& operator=(const TomlKeys&) = delete;

    void count(const char* key, Index& value, Index least);
    /// At least 0.
    void number(const char* key, double& value);
    /// From 0 to 1.
    void share(const char* key, double& value);
    /// Between 0 and 1.
    void probability(const char* key, double& value);
    void flag(const char* key, bool& value);
    /// One of `words`.
    void word(const char* key, std::string& value, const std::vector<std::string>& words);
    /// Any of `words`.
    void list(const char* key, std::vector<std::string>& value, const std::vector<std::string>& words);

    /// Throws InputError when the file has a key that was not read; `why` says what that would mean.
    void require_all_known(const std::string& why) const;

  private:
    struct Parts;
    InputError wrong(const char* key, const std::string& expected) const;

    std::unique_ptr<Parts> parts_;
};

}  // namespace couplet::net
