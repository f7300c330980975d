// Signal handlers of the training loop.
#include "train/Interrupt.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <unistd.h>

namespace tegula {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
constexpr int kExitInterrupted = 130; // 128 + SIGINT, as shells have it
std::atomic<bool> signalled{false};
static_assert(std::atomic<bool>::is_always_lock_free, "handlers may only use lock-free atomics");

void say(const char* text) { (void)!::write(STDERR_FILENO, text, std::strlen(text)); }

void onSignal(int signal) {
  // A closing terminal's SIGHUP comes from the kernel and from the shell, and after SIGTERM from systemd: it never ends
  // the process.
  if (signalled.exchange(true)) {
    if (signal != SIGHUP) ::_exit(kExitInterrupted);
    return;
  }
  say("\ninterrupted: finishing this step and saving; once more ends at once\n");
}

struct Earlier {
  struct sigaction actions[std::size(kSignals)];
};

} // namespace

Interrupt::Interrupt() {
  signalled = false;
  auto* earlier = new Earlier;
  struct sigaction action{};
  action.sa_handler = onSignal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    ::sigaction(kSignals[i], &action, &earlier->actions[i]);
    bool stays = kSignals[i] == SIGHUP && earlier->actions[i].sa_handler == SIG_IGN;
    if (stays) ::sigaction(SIGHUP, &earlier->actions[i], nullptr);
  }
  earlier_ = earlier;
}

Interrupt::~Interrupt() {
  auto* earlier = static_cast<Earlier*>(earlier_);
  for (size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &earlier->actions[i], nullptr);
  delete earlier;
}

bool Interrupt::requested() const { return signalled; }

} // namespace tegula
