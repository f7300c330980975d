#!/usr/bin/env bash
# Tokens per second of the nanoGPT character configuration (4 layers, 4 heads, 128 wide, T 64, B 12): Tegula against
# current PyTorch, eager, both on two threads, rounds interleaved in one run; prints medians and the ratio.
#
# usage: bench/train.sh TEGULA [TEXT] [ROUNDS]
# PyTorch comes from PyPI into build/peers. TEXT is any UTF-8 text (the King James text of bible-kjv by default).
set -euo pipefail
tegula=$1 text=${2:-build/bench/kjv.txt} rounds=${3:-5} steps=60
dtype=${TEGULA_BENCH_DTYPE:-f32}
[[ -f $text ]] || scripts/prepare-kjv "$text"
if ! build/peers/bin/python -c 'import torch' 2>/dev/null; then
  echo "bench: installing PyTorch from PyPI into build/peers (about 90 s and 5.6 GB)"
  python3 -m venv build/peers
  build/peers/bin/pip install -q torch numpy
fi
median() { sort -g | awk '{v[NR] = $1} END {print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }
ours=() theirs=()
for ((round = 1; round <= rounds; round++)); do
  run=build/bench/train-$$
  rm -rf "$run"
  "$tegula" train --data "$text" --set "job.dump_folder=$run" --set data.tokenizer=char --set model.n_layers=4 --set model.n_heads=4 \
    --set model.dim=128 --set training.seq_len=64 --set training.local_batch_size=12 --set "training.steps=$((steps + 10))" --set lr_scheduler.warmup_steps=10 --set metrics.log_freq=1 \
    --set "training.dtype=$dtype" --set validation.enable=false --set checkpoint.enable=false --set hardware.threads=2 >/dev/null
  a=$(grep -o '"tps": *[0-9.]*' "$run/log.jsonl" | tail -n "$steps" | grep -o '[0-9.]*$' | median)
  rm -rf "$run"
  b=$(build/peers/bin/python bench/peers/nanogpt_torch.py "$text" --steps "$steps" --dtype "$dtype" | sed -n 's/.*"median_tps": *\([0-9.]*\).*/\1/p')
  printf 'round %d: tegula %.0f tok/s, torch %.0f tok/s, ratio %.2f\n' "$round" "$a" "$b" "$(awk "BEGIN {print $a / $b}")"
  ours+=("$a") theirs+=("$b")
done
a=$(printf '%s\n' "${ours[@]}" | median) b=$(printf '%s\n' "${theirs[@]}" | median)
version=$(build/peers/bin/python -c 'import torch; print(torch.__version__)')
printf 'train %s: tegula %.0f tok/s, torch %s %.0f tok/s, ratio of medians %.2f (bar: 1.00)\n' "$dtype" "$a" "$version" "$b" "$(awk "BEGIN {print $a / $b}")"
