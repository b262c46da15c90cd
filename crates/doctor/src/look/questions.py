import importlib.metadata
import json
import sys

NAMES = (
    "torch numpy jax jaxlib flax deepspeed transformers accelerate peft trl horovod megatron-core triton "
    "nvidia-nccl-cu11 nvidia-nccl-cu12 nvidia-nccl-cu13"
).split()


def say(**answer):
    print(json.dumps(answer), flush=True)


packages = {}
for name in NAMES:
    try:
        packages[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
say(version=sys.version.split()[0], packages=packages)

if "torch" in packages:
    try:
        import torch
        import torch.distributed as distributed

        def devices():
            names = [torch.cuda.get_device_name(at) for at in range(torch.cuda.device_count())]
            return names or ["cpu"]

        has = distributed.is_available()
        nccl = has and distributed.is_nccl_available()
        version = torch.cuda.nccl.version() if nccl and torch.cuda.is_available() else None
        say(
            torch={
                "version": torch.__version__,
                "cuda": torch.version.cuda,
                "devices": torch.cuda.device_count(),
                "deviceNames": devices() if "torch" in sys.argv[1:] else None,
                "hasDistributed": has,
                "hasNccl": nccl,
                "hasGloo": has and distributed.is_gloo_available(),
                "nccl": ".".join(map(str, version)) if version else None,
            }
        )
    except Exception as error:
        say(torch={"error": f"{type(error).__name__}: {error}"})

if "jax" in packages and "jax" in sys.argv[1:]:
    try:
        import jax

        say(jax={"version": jax.__version__, "devices": [str(device) for device in jax.devices()]})
    except Exception as error:
        say(jax={"error": f"{type(error).__name__}: {error}"})
