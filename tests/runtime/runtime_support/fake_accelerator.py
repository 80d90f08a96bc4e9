"""An accelerator in pure Python: device `fakegpu` with two indices, for tests on machines that have none.

A tensor on it keeps its values in a CPU tensor; an operation that mixes devices raises what CUDA raises. So the trainer
runs on it unchanged, to the same numbers as on the CPU, and a transfer that was forgotten shows. Limits: install it
before the first backward pass of the process, once a process; backward works on index 0; memory cannot be pinned.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import library
from torch.utils import _pytree as pytree
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "fakegpu"
aten = torch.ops.aten
MAY_CROSS = {aten.copy_.default, aten._to_copy.default, aten._copy_from.default}
MAY_INDEX_FROM_CPU = {aten.index.Tensor, aten.index_put_.default, aten._index_put_impl_.default}
LIBRARIES: list[Any] = []  # registrations last as long as these live


class Backend:
    """What `torch.fakegpu` answers."""

    is_available = is_initialized = staticmethod(lambda: True)
    device_count = staticmethod(lambda: 2)
    current_device = staticmethod(lambda: 0)
    _lazy_init = staticmethod(lambda: None)
    _is_in_bad_fork = staticmethod(lambda: False)
    manual_seed = manual_seed_all = staticmethod(lambda seed: None)
    synchronize = staticmethod(lambda device=None: None)
    get_amp_supported_dtype = staticmethod(lambda: [torch.float16, torch.bfloat16])
    get_rng_state = staticmethod(lambda device=None: torch.zeros(16, dtype=torch.uint8))
    set_rng_state = staticmethod(lambda state, device=None: None)


class OnFake(torch.Tensor):
    """A tensor on the fake device; `values` is the CPU tensor behind it."""

    values: torch.Tensor

    @staticmethod
    def __new__(cls, values: torch.Tensor, device: torch.device) -> OnFake:
        place = torch.device(device.type, device.index or 0)
        tensor = torch.Tensor._make_wrapper_subclass(
            cls,
            values.size(),
            strides=values.stride(),
            storage_offset=values.storage_offset(),
            dtype=values.dtype,
            layout=values.layout,
            device=place,
        )
        tensor.values = values
        return tensor

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return computed(func, args, kwargs or {})

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Saved as a real device's tensors are: bytes, and the name of the device beside them."""
        TAGS[self.values.untyped_storage().data_ptr()] = str(self.device)
        return torch.Tensor._reduce_ex_internal(self.values.detach(), protocol)


TAGS: dict[int, str] = {}


def computed(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """One operation, on the CPU tensors behind the arguments; raises RuntimeError when devices are mixed."""
    tensors = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    devices: list[torch.device] = []
    for tensor in tensors:
        if (isinstance(tensor, OnFake) or tensor.dim() > 0) and tensor.device not in devices:
            devices.append(tensor.device)  # a CPU tensor without dimensions may meet any device
    if len(devices) > 1 and func not in MAY_CROSS | MAY_INDEX_FROM_CPU:
        found = f"{devices[0]} and {devices[1]}"
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {found}! ({func})"
        )
    place = next((device for device in devices if device.type == NAME), torch.device(NAME, 0))
    if kwargs.get("device") is not None:
        place = torch.device(kwargs["device"])
    elif func is aten.copy_.default:
        place = args[0].device
    plain_args, plain_kwargs = pytree.tree_map(
        lambda leaf: leaf.values if isinstance(leaf, OnFake) else leaf, (args, kwargs)
    )
    if "device" in plain_kwargs:
        plain_kwargs["device"] = torch.device("cpu")
    if "pin_memory" in plain_kwargs:
        plain_kwargs["pin_memory"] = False
    result = func(*plain_args, **plain_kwargs)
    if func._schema.is_mutable and len(func._schema.returns) == 1 and not func._schema.name.startswith("aten::set_"):
        for argument, given in zip(func._schema.arguments, args, strict=False):
            if argument.alias_info is not None and argument.alias_info.is_write:
                return given  # an operation in place hands back what it was given
    if place.type != NAME:
        return result
    return pytree.tree_map(
        lambda leaf: OnFake(leaf, place) if isinstance(leaf, torch.Tensor) and not isinstance(leaf, OnFake) else leaf,
        result,
    )


def install() -> None:
    """Register the device with PyTorch in this process."""
    _setup_privateuseone_for_python_backend(NAME, backend_module=Backend)
    factories = library.Library("aten", "IMPL")
    autocast = library.Library("_", "IMPL")
    LIBRARIES.extend([factories, autocast])
    autocast.fallback(library.fallthrough_kernel, "AutocastPrivateUse1")

    @library.impl(factories, "empty.memory_format", "PrivateUse1")
    def empty(
        size: Any,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: Any = None,
        memory_format: Any = None,
    ) -> Any:
        kind = {"dtype": dtype or torch.get_default_dtype(), "memory_format": memory_format or torch.contiguous_format}
        return OnFake(torch.empty(size, device="cpu", **kind), device)

    @library.impl(factories, "empty_strided", "PrivateUse1")
    def empty_strided(
        size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None
    ) -> Any:
        return OnFake(torch.empty_strided(size, stride, dtype=dtype or torch.get_default_dtype(), device="cpu"), device)

    torch.serialization.register_package(
        0,
        lambda storage: TAGS.get(storage.data_ptr()) if isinstance(storage, torch.UntypedStorage) else None,
        lambda storage, location: storage if location.startswith(NAME) else None,
    )
