// Ctrl-C and SIGTERM: the first asks the loop to stop after its step and save, the second ends the process at once.
#pragma once

namespace tegula {

class Interrupt {
public:
  /// Installs the handlers; the destructor puts the earlier ones back. One at a time in a process.
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  /// Whether a signal has come.
  bool requested() const;

private:
  void* earlier_;
};

} // namespace tegula
