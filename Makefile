# What a person does, CI does: every target here is one command.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# What passes is not listed; at the end stands what took longest.
TEST := node --test --test-reporter=./test/report.ts --test-reporter-destination=stdout
# The tests of a folder share a process.
UNIT_FILES := $$(node test/groups.ts test/unit test/contract test/redteam)
# Two of the groups mostly wait: one more than two cores.
UNIT_TEST = $(UNIT_PRIORITY) $(TEST) --test-concurrency=3
# Coverage of the same tests; release/coverage.ts sums it up.
COVERAGE_FLAGS := --import ./test/coverage.ts --experimental-test-coverage --test-coverage-include='src/**' --test-coverage-exclude='**/*.gen.ts' \
  --test-reporter=lcov --test-reporter-destination=coverage/lcov.info
# Begins the line with a run's totals (test/totals.ts).
test-unit coverage: export TEST_PART := unit
test-integration: export TEST_PART := integration
test-cluster: export TEST_PART := cluster
INSTALLED := node_modules/.package-lock.json
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
# Tests start hundreds of processes of the same code.
export NODE_COMPILE_CACHE := $(CURDIR)/node_modules/.cache/node

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(INSTALLED): package.json package-lock.json
	npm ci --loglevel=error
	@touch $(INSTALLED)

dist/main.js: $(INSTALLED) $(shell find src -type f) release/build.ts release/validators.ts tsconfig.json
	npm run --silent build

.PHONY: build
build: dist/main.js ## Build dist/main.js, the one file that is shipped

dist/THIRD_PARTY_LICENSES.txt: $(INSTALLED) release/licenses.ts dist/main.js
	node release/licenses.ts

VERSION = $(shell node --print 'require("./package.json").version')
IMAGE ?= hookpolicy:$(VERSION)
export IMAGE

# Of this platform, as Node.js names it. Others are made on machines of their own.
EXECUTABLE = dist/executables/hookpolicy-$(shell node --print 'process.platform + "-" + process.arch')

.PHONY: executable
executable: dist/main.js ## Build the program with Node.js in it, one file that needs nothing else
	node release/executable/build.ts $(EXECUTABLE)

.PHONY: image
image: dist/THIRD_PARTY_LICENSES.txt ## Build the container image IMAGE=registry.example.com/hookpolicy:0.1.0 (PLATFORM=linux/arm64, BASE=…)
	docker build $(if $(PLATFORM),--platform='$(PLATFORM)') $(if $(BASE),--build-arg BASE='$(BASE)') \
	  --tag "$$IMAGE" --build-arg VERSION='$(VERSION)' \
	  --build-arg REVISION="$$(git rev-parse HEAD)" --build-arg CREATED="$$(git log -1 --format=%cI)" .

.PHONY: release
release: dist/THIRD_PARTY_LICENSES.txt executable ## Make every artefact of a release into dist/release, with the IMAGE that was pushed
	@node release/release.ts

.PHONY: demo
demo: ## Hold and release a Cluster on a real local control plane (KEEP=1 leaves it running)
	@$(MAKE) --no-print-directory --jobs=2 build modules
	@node test/demo/demo.ts

# The first build of Cluster API's manager begins with this download. If it fails, that build says why.
.PHONY: modules
modules:
	@cd test/controlplane/cluster-api && go list -deps sigs.k8s.io/cluster-api/core >/dev/null 2>&1 || true

# Those on a real API server mostly wait: the others take what they leave of the machine.
.PHONY: test
test: build ## Run every test (FULL=1: all generated cases; COVERAGE=1: as CI does)
	@$(MAKE) --no-print-directory --jobs=2 UNIT_PRIORITY='nice -n 3' $(if $(COVERAGE),coverage,test-unit) test-integration
	node release/size.ts

.PHONY: test-integration
test-integration: build ## Run the tests on a real API server and Cluster API, which are built once
	node test/integration.ts

.PHONY: test-cluster
test-cluster: build ## Run the tests on two real nodes, as root (FILE=…: one of them; BUILD_MINUTES=…: limit of the first build; KEEP=1)
	node test/cluster/run.ts $(FILE)

.PHONY: test-unit
test-unit: build ## Run the tests that need no control plane (FULL=1: all generated cases and time zones)
	files="$(UNIT_FILES)" && $(UNIT_TEST) $$files

.PHONY: coverage
# Of code from the cache, calls are counted less precisely.
coverage: export NODE_DISABLE_COMPILE_CACHE := 1
coverage: build ## The same tests, and how much of the code they run: fails below the limit
	mkdir -p coverage
	files="$(UNIT_FILES)" && $(UNIT_TEST) $(COVERAGE_FLAGS) $$files
	node release/coverage.ts

# Go's own: with that of the tests, 10,000 Clusters of 26 KB let kube-apiserver grow to more than 20 GB.
bench bench-check soak: export GOGC ?= 100

.PHONY: bench
bench: build ## Measure speed, scale, rollouts, admission, tasks, faults and hostile input into bench/results (PART=speed: one of them)
	node bench/bench.ts $(PART)

.PHONY: bench-check
bench-check: build ## Measure the speed for some minutes, and fail where it is far below what is committed
	@node bench/check.ts

.PHONY: bench-report
bench-report: $(INSTALLED) ## Write docs/benchmarks.md from bench/results
	node bench/report/write.ts

.PHONY: lint
lint: $(INSTALLED) ## Check types, style, formatting, what nobody uses, licences and known vulnerabilities
	npm run --silent lint
	node release/dependencies.ts

.PHONY: format
format: $(INSTALLED) ## Format every file
	npm run --silent format

.PHONY: generate
generate: $(INSTALLED) ## Generate the CRDs, their types and the chart's README
	npm run --silent generate

.PHONY: verify
verify: $(INSTALLED) ## Check that generated files are current
	npm run --silent generate
	git diff --exit-code -- '*.gen.*' crds schemas manifests/helm

.PHONY: soak
soak: build ## Look for growing memory: MINUTES=60 of calls and churn, PACE=1 times that of ordinary life, into bench/results/soak.json
	@node bench/bench.ts soak

.PHONY: clean
clean: ## Remove what was built and installed here (not the cached control plane)
	rm -rf dist node_modules coverage
