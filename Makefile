# The same commands as README.md and .ci/run.
.PHONY: demo test lint wheels release-check bench learn learn-codes eval torture fuzz docs

BIN := .venv/bin

demo test:
	python3 .ci/readme_command.py $@ | bash -euo pipefail

lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest --mypy-config-file pyproject.toml vestig._core vestig.aio
	$(BIN)/deptry python
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

# dist/: a wheel for every Linux since glibc 2.17 and CPython since 3.11, of each processor whose standard
# library of Rust is installed or can be had, and the source. Zig links against the old glibc.
WHEEL_TARGETS := x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu
wheels: export PATH := $(abspath $(BIN)):$(PATH)
wheels:
	rm -rf dist
	@for target in $(WHEEL_TARGETS); do \
		if ls "$$(rustc --print target-libdir --target $$target)"/libstd-*.rlib >/dev/null 2>&1 || \
			RUST_BACKTRACE=0 rustup --quiet target add $$target; \
		then maturin build --release --zig --compatibility manylinux_2_17 --target $$target -o dist || exit 1; \
		else echo "no wheel for $$target: its standard library is not there (rustup target add $$target)"; \
		fi; \
	done
	maturin sdist -o dist

# Wheel and source in dist/, with all that a release needs checked; nothing is uploaded.
release-check:
	python3 .ci/release_check.py

bench:
	$(BIN)/pytest benches

# Recall on labelled benchmarks, that of benches/shipped by default: make eval EVAL="FOLDER --cache DIR"
eval:
	$(BIN)/python benches/evaluate.py --gate --ablate $(EVAL)

# Everything that is learned, from labelled folders: python/vestig/data/weights.json and
# confidence.json, then the figures in docs/evaluation.md:
# make learn DATA="folder folder" LEARN="--shipped --cache .cache --gains"
learn:
	$(BIN)/python benches/learn.py $(DATA) $(LEARN)
	$(MAKE) docs

# python/vestig/data/piece_mean.txt and piece_axes.txt: what codes of word pieces are made with, from the
# documentation of this repository. Their hashes stand in rust/vestig-core/src/embed/piece_axes.rs.
learn-codes:
	$(BIN)/python benches/learn_codes.py

torture:
	$(BIN)/pytest -m torture
	VESTIG_TEST_EXAMPLES=500 $(BIN)/pytest -m hypothesis
	$(BIN)/python tests/crash/torture.py $(TORTURE)

# One byte parser after the other; needs a nightly toolchain (or: cargo fuzz run --fuzz-dir rust/fuzz).
FUZZ_SECONDS := 60
FUZZ_FLAGS := --cfg fuzzing -Zsanitizer=address -Cdebug-assertions -Cpasses=sancov-module \
	-Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-trace-compares \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
fuzz: export CARGO_TARGET_DIR := $(CURDIR)/target/fuzz
fuzz:
	cd rust/fuzz && cargo run --release --bin seeds && \
	host=$$(rustc -vV | sed -n 's/host: //p') && mkdir -p artifacts && \
	for name in segment sealed_segment manifest onnx find_marks text; do \
		RUSTFLAGS="$(FUZZ_FLAGS)" cargo +nightly run --release --locked --target $$host --bin $$name -- \
			-max_total_time=$(FUZZ_SECONDS) -artifact_prefix=artifacts/ corpus/$$name || exit 1; \
	done

# Rewrites the generated parts of docs/, which tests/test_docs.py compares, and python/vestig/aio.pyi, and builds
# the site: build/site/index.html. The site needs the extra `site`.
docs:
	$(BIN)/python tests/docs_blocks.py
	$(BIN)/python tests/aio_stub.py
	$(BIN)/python tests/docs_picture.py
	$(BIN)/python tests/docs_site.py
