"""The same training as `sft_plain.py`, in a loop of bare PyTorch.

usage: sft_loop.py MODEL ROWS TOLD LENGTH MICRO STEPS SKIPPED
"""

import json
import sys
import time

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, set_seed


def main():
    model, rows, told = sys.argv[1:4]
    length, micro, steps, skipped = map(int, sys.argv[4:8])
    set_seed(42)
    tokenizer = AutoTokenizer.from_pretrained(model)
    with open(rows) as file:
        texts = [json.loads(line)["text"] for line in file]
    ids = torch.tensor(tokenizer(texts, truncation=True, max_length=length)["input_ids"])
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(model), dtype=torch.float32).to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    order = torch.utils.data.DataLoader(ids, batch_size=micro, shuffle=True, pin_memory=device.type == "cuda")
    with open(told, "w") as file:
        for step, batch in enumerate(order, 1):
            batch = batch.to(device, non_blocking=True)
            with torch.autocast(device.type, dtype=torch.bfloat16):
                loss = model(input_ids=batch, labels=batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            if step in (skipped, steps) and device.type == "cuda":
                torch.cuda.synchronize()
            more = {"loss": float(loss)} if step % 10 == 0 else {}
            file.write(json.dumps({"step": step, "time": time.time()}) + "\n")
            if more:
                file.write(json.dumps({"step": step, "phase": "logging", **more}) + "\n")


if __name__ == "__main__":
    main()
