# Weir's commands. `make` alone explains them.

GO        ?= go
VERSION   := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS   := -s -w -X main.version=$(VERSION)
LINTER    := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
FUZZTIME  ?= 10s
FUZZSECONDS ?=
# These fill tables with many rows, measure, or read source; the race detector would only
# make them slow, and what runs at the same time is tested elsewhere. Or they are pure, code
# and tests: nothing in them runs at the same time.
UNRACED   := -e weir/cmd/weirlab/bench -e weir/persistence/plantest -e weir/internal/scaletest -e weir/internal/arch \
	-e weir/routing -e weir/actors/core -e weir/surveys
# With the race detector, which the script adds, comes a check of each conversion of an unsafe pointer. In what SQLite
# stands on, which is C in the shape of Go, that is a fifth of the time of all tests. In SQLite itself the detector, too, is
# left out, which more than doubled the time of tests on it: it watches no memory but Go's, where SQLite has nothing but constant
# tables and its own settings. The driver, and all that is ours, it watches.
RACEFLAGS := -gcflags='modernc.org/...=-d=checkptr=0' -gcflags='modernc.org/sqlite/lib=-race=false -d=checkptr=0'
# The detector needs cgo. All else does without, as what is shipped does, so that nothing is compiled in a third way.
export CGO_ENABLED = 0

.DEFAULT_GOAL := help

.PHONY: help
help: ## this list
	@echo "Weir, a durable contact broker. Needs Go and git; make test also gcc and MariaDB or MySQL,"
	@echo "which it installs by itself where it is root and apt is there."
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: ## bin/weir, one static program, and bin/weirlab: simulated providers, the demonstration, measurements
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/weir ./cmd/weirlab

.PHONY: demo
demo: build ## two surveys of 2,000 respondents through simulated providers, with a kill -9 on the way (about a minute)
	bin/weirlab demo

.PHONY: test
test: ## every test, with the race detector, on SQLite and on a private MariaDB (or the server that WEIR_TEST_MYSQL names)
	@scripts/need-gcc
	@$(GO) run ./persistence/testmysql/server run $(MAKE) --no-print-directory test-on-server

.PHONY: test-mysql
test-mysql: ## the tests that use a database server, on MySQL: the server program that WEIR_TEST_MYSQLD names, or Debian unstable's, installed under .build with debootstrap (needs root, a minute, 560 MB)
	@scripts/need-gcc
	@packages=$$($(GO) list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | sed -n 's/ .*weir.persistence.testmysql.*//p' | tr '\n' ' '); \
	program=$$(scripts/mysql-server) && WEIR_TEST_MYSQLD=$$program $(GO) run ./persistence/testmysql/server run \
		$(MAKE) --no-print-directory test-on-server PACKAGES="$$packages"

# What make test runs once there is a server.
PACKAGES := ./...
.PHONY: test-on-server
test-on-server:
	@failed=; unraced=$$($(GO) list $(PACKAGES) | grep -xF $(UNRACED)); \
	CGO_ENABLED=1 GO='$(GO)' scripts/race-tests $(RACEFLAGS) -shuffle=on -timeout=20m $$($(GO) list $(PACKAGES) | grep -vxF $(UNRACED)) || failed=yes; \
	if [ -n "$$unraced" ]; then $(GO) test -shuffle=on -timeout 20m $$unraced || failed=yes; fi; \
	GO='$(GO)' scripts/benchmarks-once || failed=yes; \
	if [ -n "$$failed" ]; then echo "FAIL: at least one test failed; see above"; exit 1; fi; \
	echo "PASS: every test, on SQLite and on MySQL or MariaDB"

.PHONY: test-crash
test-crash: ## the long crash tests: the program killed 20 times at every durable boundary and 820 times at random (queues, surveys, router), drains, MariaDB killed (about 8 minutes)
	WEIR_TEST_CRASH=full $(GO) run ./persistence/testmysql/server run $(GO) test -count=1 -timeout 1h -v ./internal/crashtest

.PHONY: test-surveys
test-surveys: ## 1,000 seeded simulations of surveys over days of virtual time, with crashes (some minutes)
	WEIR_TEST_SIMULATIONS=1000 $(GO) test -count=1 -timeout 1h -v -run '^TestSimulations$$' ./actors/surveybroker

.PHONY: test-scale
test-scale: ## 1,000 idle channels and 1,000,000 queued contacts, a survey of 1,000,000 respondents, 100,000 waiting jobs, on SQLite and MariaDB (some 15 minutes)
	$(GO) run ./persistence/testmysql/server run $(GO) test -count=1 -timeout 1h -v ./internal/scaletest -scale.full

.PHONY: test-router-sdk
test-router-sdk: build ## the router's API driven with Microsoft's JavaScript packages, installed with npm, and Python client, installed under .build with debootstrap; needs Node 20 and root (a minute, two more the first time)
	cd test/router-sdk && npm ci --no-audit --no-fund --loglevel=error && WEIR=../../bin/weir node main.mjs
	@mkdir -p .build/router-tls && cd .build/router-tls && $(GO) run "$$($(GO) env GOROOT)/src/crypto/tls/generate_cert.go" --host 127.0.0.1,localhost --ecdsa-curve P256 --ca
	WEIR=$(CURDIR)/bin/weir WEIR_TLS_CERT=$(CURDIR)/.build/router-tls/cert.pem WEIR_TLS_KEY=$(CURDIR)/.build/router-tls/key.pem \
		scripts/azure-python test/router-sdk/python/lifecycle.py

.PHONY: test-ui
test-ui: build ## the dashboard in a headless Chromium: every page and action, keyboard, rights, accessibility; needs Node 20, apt installs Chromium (some three minutes)
	@scripts/need-browser
	cd test/ui && npm ci --no-audit --no-fund --loglevel=error && WEIR=../../bin/weir WEIRLAB=../../bin/weirlab node main.mjs

.PHONY: screenshots
screenshots: LDFLAGS = -s -w -X main.version=devel
screenshots: build ## the pictures of the dashboard in docs/images, taken from a Weir with simulated providers (about a minute)
	@scripts/need-browser
	@mkdir -p .build
	$(GO) build -o .build/history ./test/ui/history
	cd test/ui && npm ci --no-audit --no-fund --loglevel=error && HISTORY=../../.build/history WEIR=../../bin/weir WEIRLAB=../../bin/weirlab node screenshots.mjs

.PHONY: test-deploy
test-deploy: ## what is under deploy/: its files, alerts and dashboard, against a real Prometheus, and Weir behind nginx and Caddy; installs all three with apt (half a minute)
	@scripts/need-deploy
	$(GO) test -count=1 -tags prometheus ./internal/deploytest

.PHONY: bench
bench: build ## the aims and what is reached, on SQLite and on a private MariaDB, beside a floor without a store, in small runs (about 6 minutes)
	bin/weirlab bench --set short --n 10000 --latency 5s --idle 15s

.PHONY: bench-full
bench-full: build ## the same in runs of the size that docs/performance.md has (about an hour)
	bin/weirlab bench --set full

.PHONY: bench-growth
bench-growth: build ## how a contact's cost grows beside 0, 1,000,000 and 10,000,000 rows, on both stores (about 25 minutes, 15 GB of disk)
	bin/weirlab bench --mode growth --peer inside --database sqlite,mysql

.PHONY: test-bench
test-bench: build ## the broker against the release before, in turns on this machine; fails if it is slower (some two minutes)
	@GO='$(GO)' scripts/bench-against bin/weirlab

.PHONY: bench-peers
bench-peers: build ## Weir and the programs of a folder in turns, side by side: make bench-peers PEERS=FOLDER; ONLY="NAME NAME" for some of them, N and REPEAT for the size
	@scripts/bench-peers bin/weirlab '$(PEERS)'

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (10s) each, or for FUZZSECONDS together: make fuzz FUZZSECONDS=600
	GO='$(GO)' scripts/fuzz $(FUZZTIME) $(FUZZSECONDS)

.PHONY: lint
lint: ## formatting, go vet and golangci-lint
	@test -z "$$(gofmt -l .)" || { echo "make fmt is needed for:"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	@if command -v golangci-lint >/dev/null; then golangci-lint run; \
	else $(GO) run $(LINTER) run || { echo "To have it at hand: go install $(LINTER)"; exit 1; }; fi

.PHONY: house
house: ## the tree's own figures beside their targets: path of a contact, sizes, words, arrows between files (a minute; HOUSE=-v lists what is behind them)
	@$(GO) run ./internal/house $(HOUSE)

.PHONY: path
path: ## write the files that a contact executes beside those of the table into ARCHITECTURE.md (half a minute)
	$(GO) run ./internal/house -beside | scripts/between path ARCHITECTURE.md

.PHONY: fmt
fmt: ## format all Go files
	gofmt -w .

.PHONY: docs
docs: ## write the table of variables into docs/configuration.md, and that of packages into docs/packages.md
	$(GO) run ./cmd/weir config markdown | scripts/between config docs/configuration.md
	$(GO) run ./internal/house -packages | scripts/between packages docs/packages.md

# The generator is no dependency of Weir's: it is run as a program of its own.
CODEGEN := github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2

.PHONY: generate
generate: ## write the description of the API into docs/openapi.json, and make client/client.gen.go of it
	@mkdir -p .build
	$(GO) run ./cmd/weir openapi > .build/openapi.json
	mv .build/openapi.json docs/openapi.json
	$(GO) run $(CODEGEN) -config client/generate/config.yaml -o client/client.gen.go docs/openapi.json
	sha256sum docs/openapi.json client/generate/*.yaml client/generate/templates/* client/client.gen.go > client/generate/sums.txt

.PHONY: baseline
baseline: ## at a release: from now on the API is held against the description of it as it is
	cp docs/openapi.json docs/openapi-baseline.json

.PHONY: man
man: ## write the man pages in docs/man, docs/cli.md and docs/weirlab.md from the commands
	@mkdir -p docs/man
	$(GO) run ./cmd/weir docs man >docs/man/weir.1.new && mv docs/man/weir.1.new docs/man/weir.1
	$(GO) run ./cmd/weir docs markdown >docs/cli.md.new && mv docs/cli.md.new docs/cli.md
	$(GO) run ./cmd/weirlab docs man >docs/man/weirlab.1.new && mv docs/man/weirlab.1.new docs/man/weirlab.1
	$(GO) run ./cmd/weirlab docs markdown >docs/weirlab.md.new && mv docs/weirlab.md.new docs/weirlab.md

.PHONY: clean
clean: ## remove what was built
	rm -rf bin .build
