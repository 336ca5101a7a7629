"""The code that a checkpoint needs where this package is not installed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hf_symbinv.auto_classes import AUTO_CLASSES, register_auto_classes
from hf_symbinv.hub.gate import PushError

CONFIG, TOKENIZER_CONFIG = "config.json", "tokenizer_config.json"


def with_code(folder: Path, config: Mapping[str, Any]) -> dict[str, bytes]:
    """What `save_pretrained` would add to a checkpoint that was stored without code, as those of the package are.

    Args:
        folder: The checkpoint's.
        config: Its config.json.

    Returns:
        Name → content of the code, and of the configurations of model and tokenizer with an `auto_map` that names it.

    Raises:
        PushError: If the checkpoint names no model of this package, or has a configuration that the model refuses.
    """
    import transformers
    from huggingface_hub.errors import StrictDataclassError

    architecture = next(iter(config.get("architectures") or []), None)
    if architecture not in AUTO_CLASSES:
        raise PushError(
            f"{folder / CONFIG}: has no auto_map, and its architecture is {architecture!r}, which is none of this "
            f"package's ({', '.join(AUTO_CLASSES)}); save the model again with save_pretrained"
        )
    register_auto_classes()
    names = [CONFIG]
    with TemporaryDirectory() as saved:
        try:
            # A model of the same class is enough: its weights, random ones, are not pushed.
            model_config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False)
            getattr(transformers, AUTO_CLASSES[architecture]).from_config(model_config).save_pretrained(saved)
            if (folder / TOKENIZER_CONFIG).is_file():
                tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
                tokenizer.save_pretrained(saved)
                names.append(TOKENIZER_CONFIG)
        except (OSError, StrictDataclassError, ValueError) as error:
            raise PushError(f"{folder}: does not load ({' '.join(str(error).split())}); save it again") from error
        files = {path.name: path.read_bytes() for path in sorted(Path(saved).glob("*.py"))}
        for name in names:
            own, again = (json.loads((Path(home) / name).read_text(encoding="utf-8")) for home in (folder, saved))
            content = {**own, "auto_map": again["auto_map"]}
            in_order = dict(sorted(content.items()))  # as transformers writes it
            files[name] = (json.dumps(in_order, indent=2, ensure_ascii=False) + "\n").encode()
    return files
