"""The tasks, one module each: base tokens and arities, notations, checker and metric of a kind of question."""
