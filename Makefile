# Weir's commands. `make` alone explains them.

GO        ?= go
VERSION   := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS   := -s -w -X main.version=$(VERSION)
LINTER    := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
FUZZTIME  ?= 10s
# These fill tables with many rows, measure, or read source; the race detector would only
# make them slow, and what runs at the same time is tested elsewhere.
UNRACED   := -e weir/persistence/plantest -e weir/internal/scaletest -e weir/internal/arch
# With the race detector comes a check of each conversion of an unsafe pointer. In SQLite,
# which is C in the shape of Go, that is a fifth of the time of all tests.
RACEFLAGS := -race -gcflags='modernc.org/...=-d=checkptr=0'

.DEFAULT_GOAL := help

.PHONY: help
help: ## this list
	@echo "Weir, a durable contact broker. Needs Go and git; make test also gcc and MariaDB or MySQL,"
	@echo "which it installs by itself where it is root and apt is there."
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: ## bin/weir, one static program
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/weir ./cmd/weir

.PHONY: demo
demo: build ## 2,000 contacts through simulated providers, with a kill -9 on the way (about half a minute)
	bin/weir demo

.PHONY: test
test: ## every test, with the race detector, on SQLite and on a private MariaDB (or the server that WEIR_TEST_MYSQL names)
	@scripts/need-gcc
	@$(GO) run ./persistence/testmysql/server run $(MAKE) --no-print-directory test-on-server

# What make test runs once there is a server.
.PHONY: test-on-server
test-on-server:
	@failed=; unraced=$$($(GO) list ./... | grep -xF $(UNRACED)); \
	CGO_ENABLED=1 $(GO) test $(RACEFLAGS) -shuffle=on -timeout 20m $$($(GO) list ./... | grep -vxF $(UNRACED)) || failed=yes; \
	if [ -n "$$unraced" ]; then $(GO) test -shuffle=on -timeout 20m $$unraced || failed=yes; fi; \
	if [ -n "$$failed" ]; then echo "FAIL: at least one test failed; see above"; exit 1; fi; \
	echo "PASS: every test, on SQLite and on MySQL or MariaDB"

.PHONY: test-crash
test-crash: ## the long crash tests: the program killed 20 times at every durable boundary and 400 times at random, drains, MariaDB killed (about 4 minutes)
	WEIR_TEST_CRASH=full $(GO) run ./persistence/testmysql/server run $(GO) test -count=1 -timeout 1h -v ./internal/crashtest

.PHONY: test-scale
test-scale: ## the program started on 1,000 idle channels and 1,000,000 queued contacts, on SQLite and MariaDB (some minutes)
	$(GO) run ./persistence/testmysql/server run $(GO) test -count=1 -timeout 1h -v ./internal/scaletest -scale.full

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (10s) each
	GO='$(GO)' scripts/fuzz $(FUZZTIME)

.PHONY: lint
lint: ## formatting, go vet and golangci-lint
	@test -z "$$(gofmt -l .)" || { echo "make fmt is needed for:"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	@if command -v golangci-lint >/dev/null; then golangci-lint run; \
	else $(GO) run $(LINTER) run || { echo "To have it at hand: go install $(LINTER)"; exit 1; }; fi

.PHONY: fmt
fmt: ## format all Go files
	gofmt -w .

.PHONY: docs
docs: ## write the generated tables into README.md
	$(GO) run ./cmd/weir config markdown | scripts/between config README.md

.PHONY: clean
clean: ## remove what was built
	rm -rf bin .build
