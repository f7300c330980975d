"""Tokens per second of one GPT training configuration in PyTorch, eager, on the CPU.

usage: nanogpt_torch.py TEXT --steps N [--layers 4 --heads 4 --dim 128 --seq 64 --batch 12 --threads 2 --dtype f32]
Prints one line of JSON: {"median_tps": …, "steps": N, "torch": version}. The first 10 steps are warm-up.
The model is a GPT-2-style decoder without biases, erf GELU, tied head, AdamW with clipping: what `bench/train.sh` trains
with Tegula.
"""
import argparse
import json
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim, bias=False), nn.LayerNorm(dim, bias=False)
        self.qkv, self.out = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.up, self.down = nn.Linear(dim, 4 * dim, bias=False), nn.Linear(4 * dim, dim, bias=False)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (p.view(b, t, self.heads, -1).transpose(1, 2) for p in self.qkv(self.norm1(x)).split(c, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, vocab, layers, heads, dim, seq):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab, dim), nn.Embedding(seq, dim)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(dim, bias=False)
        self.apply(lambda m: nn.init.normal_(m.weight, std=0.02) if isinstance(m, (nn.Linear, nn.Embedding)) else None)

    def forward(self, ids, targets):
        x = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = self.norm(x) @ self.tokens.weight.T
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def main():
    p = argparse.ArgumentParser()
    p.add_argument("text")
    for name, default in dict(steps=60, layers=4, heads=4, dim=128, seq=64, batch=12, threads=2).items():
        p.add_argument(f"--{name}", type=int, default=default)
    p.add_argument("--dtype", choices=["f32", "bf16"], default="f32")
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(1)
    text = open(a.text, encoding="utf-8").read()
    index = {c: i for i, c in enumerate(sorted(set(text)))}
    data = torch.tensor([index[c] for c in text])
    model = Gpt(len(index), a.layers, a.heads, a.dim, a.seq)
    decay = [q for q in model.parameters() if q.dim() >= 2]
    rest = [q for q in model.parameters() if q.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}],
                                  lr=1e-3, betas=(0.9, 0.99))
    times = []
    for _ in range(a.steps + 10):
        start = time.perf_counter()
        at = torch.randint(len(data) - a.seq - 1, (a.batch,))
        ids = torch.stack([data[i : i + a.seq] for i in at])
        targets = torch.stack([data[i + 1 : i + a.seq + 1] for i in at])
        with torch.autocast("cpu", torch.bfloat16, enabled=a.dtype == "bf16"):
            loss = model(ids, targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()
        times.append(time.perf_counter() - start)
    tps = a.batch * a.seq / statistics.median(times[10:])
    print(json.dumps({"median_tps": tps, "steps": a.steps, "torch": torch.__version__}))


if __name__ == "__main__":
    main()
