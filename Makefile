# The same commands as README.md and .ci/run.
.PHONY: demo test lint bench torture fuzz docs

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
	$(BIN)/python tests/crash/torture.py $(TORTURE)

# One byte parser after the other; needs cargo-fuzz and a nightly toolchain.
FUZZ_SECONDS := 60
fuzz:
	cd rust && for target in segment sealed_segment manifest find_marks text; do \
		cargo +nightly fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) || exit 1; \
	done

# Rewrites the generated parts of docs/; tests/test_docs.py compares them.
docs:
	$(BIN)/python tests/docs_blocks.py
