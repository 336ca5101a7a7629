"""What each layer of an encoder knows of a formula: the truth values of its parts, and where they stand in it.

    python examples/what_layers_know.py prop-base --data data/prop-base

A linear layer reads what is known from the outputs at each token. It is fitted to three quarters of the questions, by
least squares, and tried on the others. The first table has the share of right truth values, in the worlds of
`SymbolTask.worlds`, of parts with so many operators above each other. The second one has the share of variance (R²)
that is explained of the path from a token to the root, step by step. Layer 0 is the embedding; where texts go through
the layers several times, each pass counts.

If a layer knows no more than the one below it, and both miss values of high parts, look at the second table: a layer
that no longer sees where tokens stand cannot find operands. The model must number symbols (`symbol_embedding:
canonical`), and its task must have questions whose parts have truth values.
"""

import argparse

import torch
from transformers.utils import logging

from hf_symbinv import load_data
from hf_symbinv.errors import UserError, refusals
from hf_symbinv.evaluation import Checkpoint, load_checkpoint
from hf_symbinv.logic.formula import ARITY
from hf_symbinv.logic.worlds import Worlds
from hf_symbinv.modeling.layers_symbinv import tree_positions
from hf_symbinv.training.truth import HEIGHTS, TRUTH, TruthCollator

# Our choices: questions read at once, the ridge that keeps equations solvable, and how many parts or tokens a column
# needs to be shown.
BATCH, RIDGE, LEAST = 100, 1e-3, 50


def read(
    checkpoint: Checkpoint, worlds: Worlds, questions: list[str]
) -> tuple[list[torch.Tensor], dict[str, torch.Tensor]]:
    """Of all N tokens of some questions: the outputs `(N, D)` of each layer, and what is to be known.

    That is `truth` `(N, bits)`; `heights` `(N,)`, the operators above each other; and `paths` `(N, D)`, as
    `tree_positions` gives them.
    """
    model, task, tokenizer = checkpoint.model, checkpoint.task, checkpoint.tokenizer
    collate = TruthCollator(tokenizer.pad_token_id, worlds, task.base_tokens)
    arity = torch.tensor([*(ARITY.get(token, -1) for token in task.base_tokens), 0])  # symbols have larger ids
    layers, known = [], []
    for first in range(0, len(questions), BATCH):
        rows = tokenizer([task.prompt(text) for text in questions[first : first + BATCH]])["input_ids"]
        batch = collate([{"input_ids": row, "labels": []} for row in rows])
        ids, mask, parts = batch["input_ids"], batch["attention_mask"], batch[HEIGHTS] >= 0
        found = model.get_encoder()(ids.to(model.device), mask.to(model.device), output_hidden_states=True)
        layers.append([states[:, 0].cpu()[parts] for states in found.hidden_states])
        children = arity[ids.clamp(max=len(arity) - 1)].masked_fill(~parts, -1)
        paths = tree_positions(children, model.config.d_model)
        known.append({"truth": batch[TRUTH][parts], "heights": batch[HEIGHTS][parts], "paths": paths[parts].float()})
    return (
        [torch.cat(states) for states in zip(*layers, strict=True)],
        {key: torch.cat([one[key] for one in known]) for key in known[0]},
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
            "symbols of a question; name a model that has it, such as prop-base"
        )
    worlds = task.worlds(config.num_symbols)
    if worlds is None:
        raise UserError(f"{name}: questions of task {task.name} have no parts with truth values; name another model")
    if len(questions) < 8:
        raise UserError(f"--rows: the split gives {len(questions)} questions, and at least 8 are needed; take more")
    middle = 3 * len(questions) // 4
    fitted, taught = read(checkpoint, worlds, questions[:middle])
    tried, known = read(checkpoint, worlds, questions[middle:])
    heights = [height for height, number in enumerate(known["heights"].bincount()) if number >= LEAST]
    # A step has two columns, to the left and to the right; a token that is nearer to the root has zeros in both.
    steps = [step for step in range(config.d_model // 2) if known["paths"][:, 2 * step :].sum() >= LEAST]
    truth, places = [], []
    for states, others in zip(fitted, tried, strict=True):
        right = ((guesses(states, taught["truth"], others) > 0.5) == known["truth"]).float().mean(1)
        truth.append([float(right[known["heights"] == height].mean()) for height in heights])
        missed = (guesses(states, taught["paths"], others) - known["paths"]).square().sum(0)
        spread = (known["paths"] - known["paths"].mean(0)).square().sum(0).clamp(min=1e-9)
        places.append([float((1 - missed / spread)[2 * step : 2 * step + 2].mean()) for step in steps])
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
    with refusals(parser):
        checkpoint = load_checkpoint(args.model)
        splits = load_data(checkpoint.task.name, {}, args.data)
        if args.split not in splits:
            raise UserError(f"--split {args.split}: {args.data} has {', '.join(splits)}; name one of them")
        questions = splits[args.split][checkpoint.task.columns[0]][: max(0, args.rows)]
        print(what_layers_know(checkpoint, questions))


if __name__ == "__main__":
    main()
