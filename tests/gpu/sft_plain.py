"""The same training as `sft.py` gives to the recipe, as a person writes it with transformers alone.

usage: sft_plain.py MODEL ROWS TOLD LENGTH MICRO STEPS SKIPPED
TOLD gets a line for each step with the time of its end. The GPU is waited for twice: at the first counted step and the last.
"""

import json
import sys
import time

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)


class Told(TrainerCallback):
    """Writes when each step has ended, and the losses."""

    def __init__(self, path, waited_for):
        self.file, self.waited_for = open(path, "w"), waited_for  # noqa: SIM115

    def on_step_end(self, args, state, control, **more):
        if torch.cuda.is_available() and state.global_step in self.waited_for:
            torch.cuda.synchronize()
        self.tell(state.global_step, time=time.time())

    def on_log(self, args, state, control, logs=None, **more):
        if "loss" in (logs or {}):
            self.tell(state.global_step, phase="logging", loss=float(logs["loss"]))

    def tell(self, step, **more):
        self.file.write(json.dumps({"step": step, **more}) + "\n")
        self.file.flush()


def main():
    model, rows, told = sys.argv[1:4]
    length, micro, steps, skipped = map(int, sys.argv[4:8])
    set_seed(42)
    tokenizer = AutoTokenizer.from_pretrained(model)
    with open(rows) as file:
        texts = [json.loads(line)["text"] for line in file]
    ids = tokenizer(texts, truncation=True, max_length=length)["input_ids"]
    has_gpu = torch.cuda.is_available()
    trainer = Trainer(
        model=AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(model), dtype=torch.float32),
        args=TrainingArguments(
            output_dir=f"{told}.out",
            per_device_train_batch_size=micro,
            max_steps=steps,
            learning_rate=5e-5,
            lr_scheduler_type="linear",
            optim="adamw_torch_fused" if has_gpu else "adamw_torch",
            bf16=True,
            logging_steps=10,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            use_cpu=not has_gpu,
        ),
        train_dataset=[{"input_ids": one} for one in ids],
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
        callbacks=[Told(told, (skipped, steps))],
    )
    trainer.train()


if __name__ == "__main__":
    main()
