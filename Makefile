# The same commands as README.md and .ci/run.
.PHONY: demo test lint bench torture docs

BIN := .venv/bin

demo test:
	python3 .ci/readme_command.py $@ | bash -euo pipefail

lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest vestig._core
	$(BIN)/deptry python
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

bench:
	$(BIN)/pytest benches

torture:
	$(BIN)/pytest -m torture

# Rewrites the generated parts of docs/; tests/test_docs.py compares them.
docs:
	$(BIN)/python tests/docs_blocks.py
