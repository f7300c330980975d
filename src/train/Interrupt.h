// Ctrl-C, SIGTERM and a terminal that closes: the first signal asks the loop to stop after its step and save, a second
// Ctrl-C or SIGTERM ends the process at once.
#pragma once

namespace tegula {

class Interrupt {
public:
  /// Installs the handlers; the destructor puts the earlier ones back. A SIGHUP that is ignored (nohup) stays ignored.
  /// One at a time in a process.
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  /// Whether a signal has come.
  bool requested() const;

private:
  void* earlier_;
};

} // namespace tegula
