"""The functions of the library that sessions call, under the names that a recording shows."""

from __future__ import annotations

from drynpu_acl.binding import Binder
from drynpu_acl.runtime import Process


class Calls:
    """The library of a process as a program in C calls it; each function returns what ``acl``'s returns."""

    def __init__(self, process: Process) -> None:
        rt = Binder("aclrt", "aclrt", lambda: process.listener, process.ready)
        mdl = Binder("aclmdl", "aclmdl", lambda: process.listener, process.ready)
        acl = Binder("acl", "acl", lambda: process.listener, process.ready)
        devices, models, data, shapes = process.devices, process.models, process.data, process.shapes
        self.set_device = rt("set_device", "i", devices.set_device, zeros=0)
        self.reset_device = rt("reset_device", "i", process.reset_device, zeros=0)
        self.create_context = rt("create_context", "i", devices.create_context, zeros=1)
        self.destroy_context = rt("destroy_context", "k", devices.destroy_context, zeros=0)
        self.set_context = rt("set_context", "k", devices.set_context, zeros=0, api="aclrtSetCurrentContext")
        self.malloc = rt("malloc", "ki", process.malloc, zeros=1)
        self.free = rt("free", "k", process.free, zeros=0)
        self.memcpy = rt("memcpy", "kkkki", process.memcpy, zeros=0)
        self.load = mdl("load_from_file", "s", models.load_from_file, zeros=1)
        self.unload = mdl("unload", "I", models.unload, zeros=0)
        self.execute = mdl("execute", "Ikk", models.execute, zeros=0)
        self.create_description = mdl("create_desc", "", data.create_desc)
        self.describe = mdl("get_desc", "kI", models.get_desc, zeros=0)
        self.destroy_description = mdl("destroy_desc", "k", data.destroy_desc)
        self.create_dataset = mdl("create_dataset", "", data.create_dataset)
        self.destroy_dataset = mdl("destroy_dataset", "k", data.destroy_dataset)
        self.add_buffer = mdl("add_dataset_buffer", "kk", data.add_dataset_buffer)
        self.create_buffer = acl("create_data_buffer", "kk", data.create_data_buffer)
        self.update_buffer = acl("update_data_buffer", "kkk", data.update_data_buffer)
        self.destroy_buffer = acl("destroy_data_buffer", "k", data.destroy_data_buffer)
        self.choose_batch = mdl("set_dynamic_batch_size", "IkkK", shapes.set_dynamic_batch_size, zeros=0)
        self.choose_image = mdl(
            "set_dynamic_hw_size", "IkkKK", shapes.set_dynamic_hw_size, zeros=0, api="aclmdlSetDynamicHWSize"
        )
        self.choose_dims = mdl("set_input_dynamic_dims", "IkkO", shapes.set_input_dynamic_dims, zeros=0)
        self.set_aipp = mdl("set_input_aipp", "Ikkk", process.aipp.set_input_aipp, zeros=0, api="aclmdlSetInputAIPP")
