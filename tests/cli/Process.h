// Running the `tegula` command in a test: with its own environment, output collected, and killed where the test says
// so.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

struct Finished {
  int exitCode = -1;  // -1: ended by a signal
  std::string output; // standard output and error together
};

class Process {
public:
  /// `environment` holds NAME=value pairs over this process's.
  explicit Process(std::vector<std::string> arguments, std::vector<std::string> environment = {},
                   const std::string& input = {}) {
    int out[2], in[2];
    EXPECT_EQ(::pipe(out), 0);
    EXPECT_EQ(::pipe(in), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      ::dup2(out[1], 2);
      for (int fd : {out[0], out[1], in[0], in[1]}) ::close(fd);
      for (const std::string& e : environment) ::putenv(const_cast<char*>(e.c_str()));
      std::string program = TEGULA_EXECUTABLE;
      std::vector<char*> argv{program.data()};
      for (std::string& a : arguments) argv.push_back(a.data());
      argv.push_back(nullptr);
      ::execv(program.c_str(), argv.data());
      ::_exit(127);
    }
    ::close(out[1]);
    ::close(in[0]);
    if (!input.empty()) EXPECT_EQ(::write(in[1], input.data(), input.size()), static_cast<ssize_t>(input.size()));
    ::close(in[1]);
    read_ = out[0];
  }
  ~Process() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      wait();
    }
  }
  Process(const Process&) = delete;

  /// Reads until the output holds `text` or ends; whether it was found.
  bool waitFor(const std::string& text) {
    while (output_.find(text) == std::string::npos)
      if (!readSome()) return false;
    return true;
  }
  void send(int signal) { ::kill(pid_, signal); }
  /// As `head` does once it has its lines.
  void closeOutput() { ::close(std::exchange(read_, -1)); }
  Finished wait() {
    while (readSome()) {
    }
    if (read_ >= 0) ::close(read_);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output_};
  }

private:
  bool readSome() {
    char buffer[4096];
    ssize_t n = ::read(read_, buffer, sizeof buffer);
    if (n > 0) output_.append(buffer, static_cast<size_t>(n));
    return n > 0;
  }
  pid_t pid_ = -1;
  int read_ = -1;
  std::string output_;
};

inline Finished runTegula(std::vector<std::string> arguments, std::vector<std::string> environment = {},
                          const std::string& input = {}) {
  return Process(std::move(arguments), std::move(environment), input).wait();
}
