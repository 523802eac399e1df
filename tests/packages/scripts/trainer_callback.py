"""transformers' Trainer with a callback that drives the profiler of torch_npu, where there is an NPU."""

import json

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments, set_seed
from transformers.utils import is_torch_npu_available


class Profile(TrainerCallback):
    """Records two steps behind one that warms up, as the vendor's guide shows for a loop."""

    def on_train_begin(self, args, state, control, **others):
        import torch_npu

        profiler = torch_npu.profiler
        self.profiler = profiler.profile(
            activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.NPU],
            schedule=profiler.schedule(wait=0, warmup=1, active=2, repeat=1, skip_first=1),
            on_trace_ready=profiler.tensorboard_trace_handler("profiles"),
            record_shapes=True,
            profile_memory=True,
            with_stack=True,
            experimental_config=profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1),
        )
        self.profiler.start()

    def on_step_end(self, args, state, control, **others):
        self.profiler.step()

    def on_train_end(self, args, state, control, **others):
        self.profiler.stop()


set_seed(3)
config = LlamaConfig(
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    vocab_size=61,
    max_position_embeddings=64,
)
ids = torch.randint(0, 61, (24, 11), generator=torch.Generator().manual_seed(5))
arguments = TrainingArguments(
    output_dir="out",
    per_device_train_batch_size=4,
    max_steps=5,
    logging_steps=1,
    learning_rate=3e-3,
    report_to=[],
    seed=3,
    save_strategy="no",
    disable_tqdm=True,
)
trainer = Trainer(
    model=LlamaForCausalLM(config),
    args=arguments,
    train_dataset=[{"input_ids": row, "labels": row} for row in ids],
    callbacks=[Profile()] if is_torch_npu_available() else [],
)
trainer.train()
losses = [row["loss"] for row in trainer.state.log_history if "loss" in row]
print("RESULT", json.dumps({"losses": losses, "device": arguments.device.type}))
