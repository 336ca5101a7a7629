# `make` lists the targets. Everything runs in .venv, which the first target creates; PYTHON chooses its interpreter.
PYTHON ?= python3
BIN := .venv/bin
# Python compiles modules when they are first imported; compiling all of torch now would take half a minute.
PIP := $(BIN)/python -m pip install --quiet --no-compile -c constraints.txt
RUN_STAMP := .venv/.installed-run
SPACE_STAMP := .venv/.installed-space
DEV_STAMP := .venv/.installed-dev
# Tests of what the dependencies touch, those of them that run what transformers changes most often, what they need, and
# the packages whose pre-releases are tried.
TOUCHED := tests/hub tests/modeling tests/metrics tests/datasets_scripts tests/training tests/test_pipelines.py \
	tests/cli/test_push.py tests/cli/test_plot.py tests/cli/test_data_train_evaluate.py
CHANGING := tests/modeling/test_generation.py tests/modeling/test_generation_arguments.py tests/modeling/test_model.py \
	tests/modeling/test_remote_code.py tests/modeling/test_renaming_law.py tests/modeling/test_search.py \
	tests/modeling/test_tokenization.py tests/modeling/test_versions.py tests/test_auto_classes.py tests/test_pipelines.py
# Tests of what stands beside the product: tables that are made at a tiny size, and benchmarks that run on toys.
SHOWCASE := papers/tests benchmarks/tests
# Tests of what stands around the product: every program and picture of the documentation, examples, the Space in a
# browser, the suites that transformers has for models of any kind, and attacks.
AROUND := tests/attack tests/docs tests/examples tests/peers tests/space
NEEDED := -e ".[algebra,plot,test,train]"
# The build of torch for a CPU; elsewhere its newest, with TORCH=.
TORCH ?= torch==2.13.0
PRE ?= accelerate datasets evaluate huggingface_hub peft safetensors tokenizers transformers

.DEFAULT_GOAL := help
.PHONY: help demo space test test-fast test-around test-papers attack test-min test-mid test-new test-pre check docs format bench dist clean

help: ## show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(RUN_STAMP) ## solve a handful of formulas with the bundled checkpoint and verify the answers
	@$(BIN)/python examples/demo.py
	@echo
	@echo "The command symbinv is in $(BIN). To have it in this shell, and to ask it a first question:"
	@echo
	@echo "  . $(BIN)/activate"
	@echo "  symbinv solve 'G(request -> F grant)'"

space: $(SPACE_STAMP) ## serve the page on which formulas are typed, solved and renamed
	@$(BIN)/python examples/space/app.py

test: $(DEV_STAMP) ## run all tests of the product, slow ones too, in two processes
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 tests $(addprefix --ignore=,$(AROUND))

test-fast: $(DEV_STAMP) ## run those of them that take at most a few seconds each
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 -m "not slow" tests $(addprefix --ignore=,$(AROUND))

test-around: $(DEV_STAMP) ## run the tests of documentation, examples, the Space, others' suites, and attacks
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 $(AROUND)

test-papers: $(DEV_STAMP) ## run the tests of the papers' tables and of the benchmarks
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 $(SHOWCASE)

# SECONDS of all attacks together. Each run has a new seed, which it prints; SEED=... repeats one.
attack: SECONDS ?= 3600
attack: SEED ?= $(shell date +%s)
attack: $(DEV_STAMP) ## throw random damage at the package for an hour, or for SECONDS=...
	OMP_NUM_THREADS=1 ATTACK_SEED=$(SEED) ATTACK_SECONDS=$(SECONDS) $(BIN)/pytest -n 2 tests/attack papers/tests/code/test_law.py

test-min: ## run what the dependencies touch with the lowest versions that are allowed, in .venv-min
test-pre: ## the same with the newest pre-releases of PRE="...", in .venv-pre
test-min test-pre: test-%: .venv-%/.installed
	OMP_NUM_THREADS=1 .venv-$*/bin/python -m pytest -n 2 -m "not slow" $(TOUCHED)

test-mid: ## run models and pipelines with versions between the lowest and the newest, in .venv-mid
test-new: ## the same, and what the README shows, as its reader installs it today: the newest of everything, in .venv-new
test-mid test-new: test-%: .venv-%/.installed
	OMP_NUM_THREADS=1 .venv-$*/bin/python -m pytest -n 2 -m "not slow" $(CHANGING)

check: $(DEV_STAMP) ## check style, layout and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

docs: $(DEV_STAMP) ## build the documentation into build/docs; every warning is an error
	$(BIN)/sphinx-build -W --keep-going -q docs build/docs

format: $(DEV_STAMP) ## correct what can be corrected of style and layout
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(DEV_STAMP) ## measure speed and memory beside named peers, all benchmarks or those in NAMES="..."
	$(BIN)/python benchmarks/run.py $(or $(NAMES),all)

dist: $(DEV_STAMP) ## build the source distribution and the wheel into dist/
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	$(BIN)/python -c "import setuptools.build_meta as b; b.build_sdist('dist')"

clean: ## remove .venv, builds and caches
	rm -rf .venv .venv-* build dist *.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hf_symbinv needs Python 3.11 or newer, which transformers 5.23 needs too; choose one with make PYTHON=...")'
	@echo "creating .venv"
	@$(PYTHON) -m venv .venv

$(RUN_STAMP): pyproject.toml constraints.txt | .venv/bin/python
	@echo "installing hf_symbinv and its dependencies into .venv"
	@$(PIP) -e ".[logic]"
	@touch $@

$(SPACE_STAMP): pyproject.toml constraints.txt | .venv/bin/python
	@echo "installing hf_symbinv with Gradio into .venv"
	@$(PIP) -e ".[demo,logic]"
	@touch $@ $(RUN_STAMP)

$(DEV_STAMP): pyproject.toml constraints.txt | .venv/bin/python
	@echo "installing hf_symbinv with the development tools into .venv"
	@$(PIP) -e ".[dev]"
	@touch $@ $(RUN_STAMP) $(SPACE_STAMP)

.venv-min/.installed .venv-mid/.installed: .venv-%/.installed: pyproject.toml constraints-%.txt
	@echo "installing hf_symbinv and the versions of constraints-$*.txt into .venv-$*"
	@$(PYTHON) -m venv --clear .venv-$*
	@.venv-$*/bin/python -m pip install --quiet --no-compile -c constraints-$*.txt $(NEEDED)
	@touch $@

# Never up to date: there may be newer ones.
.PHONY: .venv-new/.installed .venv-pre/.installed
.venv-new/.installed:
	@echo "installing hf_symbinv into .venv-new as the README says, with no constraint, and then what its tests need"
	@$(PYTHON) -m venv --clear .venv-new
	@.venv-new/bin/python -m pip install --quiet --no-compile $(TORCH) '.[logic]'
	@.venv-new/bin/python tests/first_lines.py
	@.venv-new/bin/python -m pip install --quiet --no-compile $(TORCH) $(NEEDED)
	@.venv-new/bin/python -m pip list | grep -iE "^(accelerate|datasets|evaluate|huggingface|peft|safetensors|tokenizers|torch|transformers) "

.venv-pre/.installed:
	@echo "installing hf_symbinv with the versions of constraints.txt, then pre-releases, into .venv-pre"
	@$(PYTHON) -m venv --clear .venv-pre
	@.venv-pre/bin/python -m pip install --quiet --no-compile -c constraints.txt $(NEEDED)
	@.venv-pre/bin/python -m pip install --quiet --no-compile --upgrade --pre $(PRE)
	@.venv-pre/bin/python -m pip list
