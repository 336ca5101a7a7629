"""LLVM's assembler and its simulator of processors as functions: what text and bytes say, and how long a block takes.

    >>> normalise("mov 64(%rsp), %rax")
    'movq 64(%rsp), %rax'
    >>> throughputs(["movq 64(%rsp), %rax;subl $1, 56(%rbp);movl 16(%rax), %eax"])
    [1.68]

They run `llvm-mc` and `llvm-mca` of any version that is on the path. A program that takes too long is killed.

Source: Renamer, section 2 (what is predicted); the labels of its Figure 1, 1.68 and 10.03 cycles, are those of
`-mcpu=haswell -iterations=100` with LLVM 14.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache

from hf_symbinv.errors import UserError

TRIPLE = "x86_64-linux-gnu"
PROCESSOR, ITERATIONS = "haswell", 100
# Seconds for one call of a program. Ours: a batch takes about 0.1 s, and the longest blocks of BHive a few seconds.
TIMEOUT = 60.0
# Blocks that travel in one call: starting a program costs as much as simulating ten short blocks.
BATCH = 50
_REGION = re.compile(r"^\[\d+\] Code Region - b(\d+)$.*?^Total Cycles:\s+(\d+)$", re.MULTILINE | re.DOTALL)


class LlvmMissingError(UserError):
    """LLVM is not installed."""


class LlvmError(UserError):
    """What LLVM does not take for x86-64, with its own words, or what takes it too long."""


@cache
def version() -> str:
    """What `llvm-mca --version` calls itself, such as `LLVM 14.0.6`.

    Raises:
        LlvmMissingError: If it is not installed.
    """
    found = re.search(r"LLVM version (\S+)", _run("llvm-mca", ["--version"], "", TIMEOUT))
    return f"LLVM {found[1]}" if found else "LLVM"


def normalise(text: str, *, timeout: float = TIMEOUT) -> str:
    """Assembly in AT&T syntax as LLVM prints it, with suffixes and operands written out, separated by `;`.

    Raises:
        LlvmError: If it is no x86-64 assembly.
        LlvmMissingError: If LLVM is not installed.
    """
    return _printed(_run("llvm-mc", [f"--triple={TRIPLE}"], text.replace(";", "\n") + "\n", timeout), text)


def disassemble(code: str, *, timeout: float = TIMEOUT) -> str:
    """Machine code as assembly.

    Args:
        code: Bytes in hexadecimal, such as `4889de`.
        timeout: Seconds.

    Raises:
        LlvmError: If they are no bytes, or no instructions of x86-64.
        LlvmMissingError: If LLVM is not installed.
    """
    try:
        content = bytes.fromhex(code)
    except ValueError as error:
        raise LlvmError(f"{code!r}: no bytes in hexadecimal; write two digits a byte, such as 4889de") from error
    lines = " ".join(f"0x{byte:02x}" for byte in content)
    return _printed(_run("llvm-mc", ["--disassemble", f"--triple={TRIPLE}"], lines, timeout), code)


def throughputs(blocks: Sequence[str], *, timeout: float = TIMEOUT) -> list[float | str]:
    """Cycles that each block takes on average when it is run over and over, or why llvm-mca does not say.

    Args:
        blocks: Assembly in AT&T syntax, instructions separated by lines or `;`.
        timeout: Seconds for one call of the program, which has up to 50 blocks.

    Raises:
        LlvmMissingError: If LLVM is not installed.
    """
    found: list[float | str] = []
    for start in range(0, len(blocks), BATCH):
        found += _batch(blocks[start : start + BATCH], timeout)
    return found


def _batch(blocks: Sequence[str], timeout: float) -> list[float | str]:
    regions = [
        f"# LLVM-MCA-BEGIN b{number}\n{block.replace(';', chr(10))}\n# LLVM-MCA-END b{number}\n"
        for number, block in enumerate(blocks)
    ]
    options = [f"-mtriple={TRIPLE}", f"-mcpu={PROCESSOR}", f"-iterations={ITERATIONS}"]
    try:
        printed = _run("llvm-mca", [*options, "-all-views=0", "-summary-view"], "".join(regions), timeout)
    except LlvmError as error:  # one of them is wrong: find out which
        if len(blocks) == 1:
            return [str(error)]
        return [cycles for block in blocks for cycles in _batch([block], timeout)]
    cycles = {int(number): int(total) / ITERATIONS for number, total in _REGION.findall(printed)}
    return [cycles.get(number, f"{block!r}: llvm-mca says nothing") for number, block in enumerate(blocks)]


def _printed(output: str, source: str) -> str:
    lines = [line.partition("#")[0].split() for line in output.splitlines()]
    instructions = [" ".join(line) for line in lines if line and not line[0].startswith(".")]
    if not instructions:
        raise LlvmError(f"{source!r}: holds no instruction")
    # `lock` and `rep` are printed before what they apply to, as instructions of their own.
    return ";".join(re.sub(r"^(lock|rep|repne) ", r"\1;", instruction) for instruction in instructions)


def _run(program: str, arguments: list[str], text: str, timeout: float) -> str:
    path = shutil.which(program)
    if path is None:
        raise LlvmMissingError(f"{program} is not installed; on Debian and Ubuntu: apt install llvm")
    try:
        done = subprocess.run(
            [path, *arguments], input=text, capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise LlvmError(f"{program} took over {timeout:g} s and was stopped; leave the block out") from error
    # llvm-mca leaves out an instruction that it cannot read, says so, and ends as if all were well.
    problem = re.search(r"error: (.*)|(invalid instruction encoding)", done.stderr)
    if done.returncode or problem:
        lines = done.stderr.splitlines()
        where = lines[1].strip() if len(lines) > 1 else text.strip()[:60]
        reason = (problem[1] or problem[2]) if problem else f"exit code {done.returncode}"
        raise LlvmError(f"{where!r}: {program} says: {reason}")
    return done.stdout
