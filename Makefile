# What a person and CI do here. The Makefile only names the steps: finding the
# Firestore emulator, Java, gcc, Python, hermes-agent, ruff and mypy is in testenv/, in Go.
#
#   make test     everything: lint, the plugin's unit tests, all Go tests with the
#                 race detector, end to end with a real hermes, 2,000 simulated histories,
#                 20 s of chaos
#   make lint     gofmt, go vet, staticcheck; for the plugin ruff and mypy --strict
#   make terraform  fmt, validate and test of the module in terraform/, as far as
#                 terraform and its providers are there; says what it skips
#   make test-hermes  the plugin and end to end; with HERMES_SOURCE=DIR on that source
#                 tree of hermes-agent instead of the installed one
#   make bench    benchmarks
#   make chaos    gateways killed, frozen and cut off at random for CHAOS_TIME (10m)
#   make build    the binaries, into bin/

# A binary instead of `go run`, which does not pass signals on.
TESTENV := .cache/bin/testenv

CHAOS_TIME ?= 10m

.PHONY: test test-hermes lint terraform bench chaos build testenv all-tests hermes-tests plugin-test go-test simulation chaos-test

# What is missing on this machine is said before anything is built.
test: testenv
	$(TESTENV) -race -hermes -checkers -- $(MAKE) --no-print-directory all-tests

# One after the other: they would only take the cores from each other.
all-tests:
	$(MAKE) --no-print-directory lint
	$(MAKE) --no-print-directory terraform
	$(MAKE) --no-print-directory plugin-test
	$(MAKE) --no-print-directory go-test
	$(MAKE) --no-print-directory simulation
	$(MAKE) --no-print-directory chaos-test

# The dependencies are those of the installed hermes-agent.
test-hermes: testenv
	$(TESTENV) -race -hermes -- $(MAKE) --no-print-directory hermes-tests

hermes-tests:
	PYTHONPATH="$(abspath $(HERMES_SOURCE))" $(MAKE) --no-print-directory plugin-test
	HERMES_SOURCE="$(abspath $(HERMES_SOURCE))" go test -race -count=1 -timeout=30m ./e2e/...

# -count=1: the end-to-end tests build other packages, which the test cache does not see.
go-test:
	go test -race -count=1 -timeout=30m $$(go list ./... | grep -v /chaos$$)

# Thousands of histories, without the race detector: it has seen 300 of them in go-test.
simulation:
	go test -count=1 -timeout=10m ./handlers/simtest -run='^TestSimulation$$' -sim.histories=2000

# By itself, because its gateways have deadlines that the load of other tests would miss.
# A seed of its own each time: what it prints replays a failure, about.
chaos-test:
	go test -race -count=1 -timeout=10m ./chaos -chaos.time=20s

plugin-test:
	"$$IRIS_HERMES_PYTHON" -m unittest discover -s plugin/tests

lint: testenv
	@out=$$(gofmt -l .); test -z "$$out" || { echo "not gofmt'ed: $$out"; exit 1; }
	go vet ./...
	go tool staticcheck ./...
	$(TESTENV) -checkers -firestore=false -- $(MAKE) --no-print-directory plugin-lint

plugin-lint:
	cd plugin && "$$IRIS_CHECKERS/ruff" check . && "$$IRIS_CHECKERS/ruff" format --check . && "$$IRIS_CHECKERS/mypy"

terraform:
	@go run ./testenv/cmd/terraformtest terraform

bench: testenv
	$(TESTENV) -- go test -run='^$$' -bench=. -benchmem ./...

# The two scenarios of it share the time; replay with -chaos.seed (chaos/main_test.go).
chaos: testenv
	$(TESTENV) -race -- go test -race -count=1 -timeout=0 -v ./chaos -chaos.time=$(CHAOS_TIME)

build:
	go build -trimpath -o bin/ ./cmd/...

testenv:
	@go build -o $(TESTENV) ./testenv/cmd/testenv
