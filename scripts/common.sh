# Shared by the verbs: messages, flags, where the build is. Sourced from the repository root. A verb ends at the first
# command that fails.
set -euo pipefail
say() { printf '%s\n' "$*"; }
die() { printf 'dev: %s\n' "$*" >&2; exit 1; }

# The preset of ordinary work; TEGULA_PRESET chooses another one of CMakePresets.json.
preset=${TEGULA_PRESET:-release}
build=build/$preset
tegula=$build/src/cli/tegula

packages() { grep -v '^#' scripts/packages.txt; }
missing_packages() {
  local p
  for p in $(packages); do
    [[ $(dpkg-query -W -f '${db:Status-Abbrev}' "$p" 2>/dev/null) == ii* ]] || echo "$p"
  done
}
as_root() { if [[ $(id -u) -eq 0 ]]; then "$@"; else sudo "$@"; fi; }

# The two ways out of a machine that this project cannot use.
require_debian_12() {
  local id version
  id=$(. /etc/os-release 2>/dev/null && echo "${ID:-unknown}")
  version=$(. /etc/os-release 2>/dev/null && echo "${VERSION_ID:-unknown}")
  [[ $id == debian && $version == 12 ]] && return
  say "this is $id $version; the setup knows Debian 12 only. Install the equivalents of these packages, then run ./dev build:"
  packages | sed 's/^/  /'
  exit 1
}
require_avx2() {
  [[ $(uname -m) == x86_64 ]] || die "this processor is $(uname -m); Tegula's CPU target needs x86-64 with AVX2 and FMA (2013 or later)"
  grep -qw avx2 /proc/cpuinfo && grep -qw fma /proc/cpuinfo && return
  die "this processor ($(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)) has no AVX2 and FMA, the least that Tegula's CPU target needs; use a machine from 2013 or later"
}
