# What a person does, CI does: every target here is one command.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

NODE_TEST := node --test --test-reporter=spec
INSTALLED := node_modules/.package-lock.json
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(INSTALLED): package.json package-lock.json
	npm ci --loglevel=error
	@touch $(INSTALLED)

dist/main.js: $(INSTALLED) $(shell find src -name '*.ts') tsconfig.json
	npm run --silent build

.PHONY: build
build: dist/main.js ## Build dist/main.js, the one file that is shipped

.PHONY: demo
demo: build ## Hold and release a Cluster on a real local control plane (KEEP=1 leaves it running)
	@node test/demo/demo.ts

.PHONY: test
test: build ## Run every test: unit, contract, API server, Cluster API
	$(NODE_TEST) 'test/unit/**/*.test.ts' 'test/contract/**/*.test.ts'
	$(NODE_TEST) --test-concurrency=1 'test/apiserver/**/*.test.ts' 'test/e2e/**/*.test.ts'

.PHONY: test-unit
test-unit: $(INSTALLED) ## Run the tests that need no control plane (seconds)
	$(NODE_TEST) 'test/unit/**/*.test.ts' 'test/contract/**/*.test.ts'

.PHONY: lint
lint: $(INSTALLED) ## Check types, style and formatting
	npm run --silent lint

.PHONY: format
format: $(INSTALLED) ## Format every file
	npm run --silent format

.PHONY: generate
generate: $(INSTALLED) ## Generate the CRDs and their types from crds/source
	npm run --silent generate

.PHONY: verify
verify: $(INSTALLED) ## Check that generated files are current
	npm run --silent generate
	git diff --exit-code -- '*.gen.ts' crds schemas

.PHONY: clean
clean: ## Remove what was built and installed here (not the cached control plane)
	rm -rf dist node_modules coverage
