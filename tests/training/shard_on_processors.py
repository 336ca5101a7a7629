"""`python shard_on_processors.py SCRIPT ARGUMENT...`: runs a script in which accelerate shards on processors too.

torch's FSDP 2 does, over gloo. accelerate 1.15 takes what a launch file says of FSDP only where there are accelerators.
Into the file LEAVE_ENVIRONMENT, where it is given, goes what accelerate told this process.
"""

import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

from accelerate.state import AcceleratorState
from accelerate.utils import DistributedType

start = AcceleratorState.__init__


def start_sharded(self: AcceleratorState, *args: Any, fsdp_plugin: Any = None, **kwargs: Any) -> None:
    """Does for processors what `AcceleratorState.__init__` ends with for several GPUs."""
    start(self, *args, fsdp_plugin=fsdp_plugin, **kwargs)
    if fsdp_plugin is not None:
        self.distributed_type, self.fsdp_plugin = DistributedType.FSDP, fsdp_plugin


AcceleratorState.__init__ = start_sharded
if path := os.environ.get("LEAVE_ENVIRONMENT"):
    told = {name: value for name, value in os.environ.items() if name.startswith(("ACCELERATE_", "FSDP_"))}
    Path(path).write_text(json.dumps(told))
sys.argv = sys.argv[1:]
sys.path.insert(0, str(Path(sys.argv[0]).parent))  # as Python does for a script
runpy.run_path(sys.argv[0], run_name="__main__")
