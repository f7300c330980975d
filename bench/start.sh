#!/usr/bin/env bash
# GPT-2 124M (B 4, T 64): seconds from the start of the process to the end of step 1, with an empty kernel cache and with
# the cache that the first run left.
#
# usage: bench/start.sh TEGULA [TEXT]
set -euo pipefail
tegula=$1 text=${2:-build/bench/kjv.txt}
[[ -f $text ]] || scripts/prepare-kjv "$text"
export TEGULA_CACHE=build/bench/cache-$$
trap 'rm -rf "$TEGULA_CACHE" build/bench/start-$$' EXIT
once() {
  rm -rf "build/bench/start-$$"
  local t0 t1=0 line
  t0=$(date +%s.%N)
  while IFS= read -r line; do
    [[ $line == step:*loss:* ]] && t1=$(date +%s.%N)
    [[ $line == plan:* || $line == step:*loss:* ]] && echo "  $1: $line"
  done < <(
    "$tegula" train --data "$text" --set "job.dump_folder=build/bench/start-$$" --set model.n_layers=12 --set model.n_heads=12 --set model.dim=768 \
      --set model.vocab_size=50257 --set training.seq_len=64 --set training.local_batch_size=4 --set training.steps=1 --set metrics.log_freq=1 \
      --set validation.enable=false --set checkpoint.enable=false)
  awk "BEGIN {printf \"$1: %.2f s to the end of step 1 (bar: $2 s)\n\", $t1 - $t0}"
}
once cold 30
for _ in 1 2 3; do once warm 3; done
