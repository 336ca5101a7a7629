"""What each layer of an encoder knows of a formula: the truth values of its parts, and where they stand in it.

    python examples/what_layers_know.py prop-canonical --data data/prop-base

A linear layer reads what is known from the outputs at each token. It is fitted to three quarters of the questions, by
least squares, and tried on the others. The first table has the share of right truth values, in the worlds of
`SymbolTask.worlds`, of parts with so many operators above each other. The second one has the share of variance (R²)
that is explained of the path from a token to the root, step by step. Layer 0 is the embedding; where texts go through
the layers several times, each pass counts.

If a layer knows no more than the one below it, and both miss values of high parts, look at the second table: a layer
cannot find operands if it no longer sees where tokens stand, unless `encoder_positions_in_layers` tells it anew. The
model must number symbols (`symbol_embedding: canonical`), and the parts of its task's questions must have truth values.
"""

import argparse
from collections.abc import Iterator

import datasets
import torch
from transformers.utils import logging

from hf_symbinv import Formula, load_data, parse_prefix
from hf_symbinv.errors import UserError, refusals
from hf_symbinv.evaluation import Checkpoint, load_checkpoint
from hf_symbinv.logic import Worlds

# Our choices: questions read at once, the ridge that keeps equations solvable, and how many tokens a column of a table
# needs to be shown.
BATCH, RIDGE, LEAST = 100, 1e-3, 50
# Of a path, at most.
STEPS = 20


def parts(formula: Formula, path: tuple[int, ...] = ()) -> Iterator[tuple[Formula, tuple[int, ...]]]:
    """The parts of a formula, as they begin in prefix notation, with the steps up to the root: 0 from a left or only
    operand, 1 from a right one.
    """
    yield formula, path
    for side, operand in enumerate(formula.operands):
        yield from parts(operand, (side, *path))


def height(formula: Formula) -> int:
    """How many operators are above each other in a formula."""
    return 1 + max(map(height, formula.operands)) if formula.operands else 0


def read(
    checkpoint: Checkpoint, worlds: Worlds, questions: list[str]
) -> tuple[list[torch.Tensor], dict[str, torch.Tensor]]:
    """Of all N tokens of some questions: the outputs `(N, D)` of each layer, and what is to be known.

    That is `truth` `(N, bits)`; `height` `(N,)`; and `path` `(N, steps, 2)`, for each step up to the root a one for
    the side that it comes from, and zeros from the root on.
    """
    known: dict[str, list[torch.Tensor]] = {"truth": [], "height": [], "path": []}
    for question in questions:
        formula = parse_prefix(checkpoint.task.prompt(question))
        numbers = {name: number for number, name in enumerate(formula.symbols())}
        found = list(parts(formula))
        truth = worlds.truth([part.operator if part.name is None else numbers[part.name] for part, _ in found])
        known["truth"].append(torch.tensor([[value >> bit & 1 for bit in range(worlds.bits)] for value in truth]))
        known["height"].append(torch.tensor([height(part) for part, _ in found]))
        path = torch.zeros(len(found), STEPS, 2)
        for row, (_, steps) in zip(path, found, strict=True):
            for step, side in enumerate(steps[:STEPS]):
                row[step, side] = 1.0
        known["path"].append(path)
    layers = []
    for first in range(0, len(questions), BATCH):
        texts = [checkpoint.task.prompt(text) for text in questions[first : first + BATCH]]
        inputs = checkpoint.tokenizer(texts, padding=True, return_tensors="pt")
        is_word = ~torch.isin(inputs["input_ids"], torch.tensor(checkpoint.tokenizer.all_special_ids))
        inputs = inputs.to(checkpoint.model.device)
        outputs = checkpoint.model.get_encoder()(**inputs, output_hidden_states=True)
        layers.append([states[:, 0].cpu()[is_word] for states in outputs.hidden_states])
    return (
        [torch.cat(states) for states in zip(*layers, strict=True)],
        {key: torch.cat(values) for key, values in known.items()},
    )


def guesses(fitted: torch.Tensor, values: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """What a linear layer, fitted to values `(N, V)` of states `(N, D)`, says of other states `(M, D)`: `(M, V)`."""
    states, others = (torch.nn.functional.pad(one.double(), (0, 1), value=1.0) for one in (fitted, others))
    squares = states.T @ states + RIDGE * torch.eye(states.shape[1], dtype=states.dtype)
    return (others @ torch.linalg.solve(squares, states.T @ values.double())).float()


def table(title: str, columns: list[int], rows: list[list[float]]) -> str:
    lines = [title, "", f"| layer | {' | '.join(map(str, columns))} |", "|---:" * (len(columns) + 1) + "|"]
    cells = [" | ".join(f"{value:.3f}" for value in row) for row in rows]
    return "\n".join([*lines, *(f"| {layer} | {row} |" for layer, row in enumerate(cells))])


@torch.inference_mode()
def what_layers_know(checkpoint: Checkpoint, questions: list[str]) -> str:
    """Both tables, as Markdown.

    Raises:
        UserError: If the model reads several sequences, its task's questions have no parts, or there are too few.
    """
    name, task, config = checkpoint.name, checkpoint.task, checkpoint.model.config
    if config.symbol_embedding != "canonical":
        raise UserError(
            f"{name}: has symbol_embedding={config.symbol_embedding}, and canonical is needed, which numbers the "
            "symbols of a question; name a model that has it, such as prop-canonical"
        )
    worlds = task.worlds(config.num_symbols)
    if worlds is None:
        raise UserError(f"{name}: questions of task {task.name} have no parts with truth values; name another model")
    if len(questions) < 8:
        raise UserError(f"--rows: the split gives {len(questions)} questions, and at least 8 are needed; take more")
    middle = 3 * len(questions) // 4
    fitted, taught = read(checkpoint, worlds, questions[:middle])
    tried, known = read(checkpoint, worlds, questions[middle:])
    heights = [number for number, count in enumerate(known["height"].bincount()) if count >= LEAST]
    steps = [step for step in range(STEPS) if known["path"][:, step].sum() >= LEAST]
    truth, places = [], []
    for states, others in zip(fitted, tried, strict=True):
        right = ((guesses(states, taught["truth"], others) > 0.5) == known["truth"]).float().mean(1)
        truth.append([float(right[known["height"] == number].mean()) for number in heights])
        places.append([])
        for step in steps:
            path = known["path"][:, step]
            missed = guesses(states, taught["path"][:, step], others) - path
            places[-1].append(float(1 - missed.square().mean() / (path - path.mean(0)).square().mean()))
    return "\n\n".join(
        (
            table("Right truth values of parts, by operators above each other:", heights, truth),
            table("R² of the path, by steps from the token up:", [step + 1 for step in steps], places),
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a folder, a bundled model or OWNER/NAME on the Hub")
    parser.add_argument("--data", required=True, help="a folder that `symbinv data` wrote, or a data set on the Hub")
    parser.add_argument("--split", default="test", help="which questions (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=2000, help="at most so many (default: %(default)s)")
    args = parser.parse_args()
    logging.disable_progress_bar()
    datasets.disable_progress_bars()
    with refusals(parser):
        checkpoint = load_checkpoint(args.model)
        splits = load_data(checkpoint.task.name, {}, args.data)
        if args.split not in splits:
            raise UserError(f"--split {args.split}: {args.data} has {', '.join(splits)}; name one of them")
        questions = splits[args.split][checkpoint.task.columns[0]][: max(0, args.rows)]
        try:
            print(what_layers_know(checkpoint, questions))
        except UserError:
            raise
        except ValueError as error:
            raise UserError(f"--data {args.data}: {args.model} cannot read it ({error}); name other data") from error


if __name__ == "__main__":
    main()
