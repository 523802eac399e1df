"""A DDPM pipeline, and a text-conditioned network with the attention of the device."""

import json

import torch
from diffusers import DDPMPipeline, DDPMScheduler, UNet2DConditionModel, UNet2DModel
from diffusers.models.attention_processor import AttnProcessor2_0, AttnProcessorNPU
from diffusers.utils import is_torch_npu_available

device = "npu" if is_torch_npu_available() else "cpu"
torch.manual_seed(3)
network = UNet2DModel(
    sample_size=8,
    in_channels=3,
    out_channels=3,
    block_out_channels=(8, 16),
    layers_per_block=1,
    norm_num_groups=4,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
)
pipeline = DDPMPipeline(network, DDPMScheduler(num_train_timesteps=20)).to(device)
pipeline.set_progress_bar_config(disable=True)
images = pipeline(generator=torch.Generator().manual_seed(5), num_inference_steps=3, output_type="np").images

conditioned = UNet2DConditionModel(
    sample_size=8,
    block_out_channels=(8, 16),
    layers_per_block=1,
    norm_num_groups=4,
    cross_attention_dim=16,
    attention_head_dim=4,
    down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
    up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
)
conditioned.set_attn_processor(AttnProcessorNPU() if device == "npu" else AttnProcessor2_0())
conditioned.to(device, torch.float16)
sample = torch.randn(1, 4, 8, 8, generator=torch.Generator().manual_seed(6)).to(device, torch.float16)
text = torch.randn(1, 5, 16, generator=torch.Generator().manual_seed(7)).to(device, torch.float16)
with torch.no_grad():
    noise = conditioned(sample, 3, text).sample.float().cpu()
result = {"images": images.flatten().tolist(), "noise": noise.flatten().tolist(), "device": device}
print("RESULT", json.dumps(result))
