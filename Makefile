# Weir's commands. `make` alone explains them.

GO        ?= go
VERSION   := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS   := -s -w -X main.version=$(VERSION)
# Programs that are no dependencies of Weir; tools/go.mod pins them.
TOOL      := $(GO) tool -modfile=tools/go.mod
FUZZTIME  ?= 10s
FUZZSECONDS ?=
# The race detector needs cgo. Everything else is built without it, like the released programs, so that there are two builds, not three.
export CGO_ENABLED = 0

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@echo "Weir, a durable contact broker. Needs Go and git; make test also gcc and MariaDB or MySQL,"
	@echo "which it installs by itself where it is root and apt is there."
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: ## Build bin/weir, one static program, and bin/weirlab: simulated providers, the demonstration, measurements
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/weir ./cmd/weirlab

.PHONY: demo
demo: build ## Run two surveys of 2,000 respondents through simulated providers, with a kill -9 on the way, and the rules for people who write STOP (about a minute)
	bin/weirlab demo

.PHONY: demo-serve
demo-serve: build ## Run Weir with live traffic through simulated providers until Ctrl-C, with the dashboard and a panel to break things
	bin/weirlab demo --serve

.PHONY: demo-cluster
demo-cluster: build ## Run the surveys with three processes and a balancer on a private MariaDB: the owner of the database is killed, ended and stopped, a standby killed, a process added (about a minute)
	bin/weirlab demo --processes 3

.PHONY: test
test: ## Run every test on SQLite and on a private MariaDB (or the server that WEIR_TEST_MYSQL names), with the race detector where goroutines meet; results are reused
	@scripts/need-gcc
	@$(GO) run ./persistence/testmysql/server run $(MAKE) --no-print-directory test-on-server

# What finds most for the time: the rules, the actors, the API and the drivers, and the suite of the store on SQLite.
FAST := . ./actors/... ./router/... ./surveys/... ./channels/... ./web/...
.PHONY: test-fast
test-fast: ## Run the tests that find most, without the race detector and without a database server (about a minute on two cores)
	$(GO) test $(FAST)
	$(GO) test -skip '^TestConformance_HoldsOnMySQL$$' ./persistence/conformance

.PHONY: test-mysql
test-mysql: ## Run the tests that use a database server, on MySQL: the server program that WEIR_TEST_MYSQLD names, or Debian unstable's, installed under .build with debootstrap (needs root, a minute, 560 MB)
	@scripts/need-gcc
	@packages=$$($(GO) list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | sed -nE 's,^([^ ]+) .*weir/(persistence/testmysql|test/scenarios/world).*,\1,p' | tr '\n' ' '); \
	program=$$(scripts/mysql-server) && WEIR_TEST_MYSQLD=$$program $(GO) run ./persistence/testmysql/server run \
		$(MAKE) --no-print-directory test-on-server PACKAGES="$$packages"

.PHONY: test-on-server
test-on-server:
	@GO='$(GO)' PACKAGES="$(PACKAGES)" scripts/test-on-server

.PHONY: nightly
nightly: ## Run every suite there is, in hours, and print one table of results: make nightly; NIGHTLY="race fuzz" chooses steps
	@GO='$(GO)' scripts/nightly $(NIGHTLY)

.PHONY: test-crash
test-crash: ## Run the long crash tests: the program killed 20 times at every durable boundary and 820 times at random (queues, surveys, router), drains, MariaDB killed (about 8 minutes)
	WEIR_TEST_CRASH=full $(GO) run ./persistence/testmysql/server run $(GO) test -count=1 -timeout 1h -v ./test/crashtest

.PHONY: test-group
test-group: ## Test three processes on a group of three MySQL servers whose primary is killed, stopped, cut off and switched, under load; needs root for scripts/mysql-server (a few minutes)
	$(GO) vet -tags group ./test/crashtest
	@program=$$(scripts/mysql-server) && WEIR_TEST_MYSQLD=$$program $(GO) test -count=1 -timeout 30m -v -tags group -run '^TestGroup' ./test/crashtest

.PHONY: test-surveys
test-surveys: ## Run 1,000 seeded simulations of surveys over days of virtual time, with crashes (a few minutes)
	WEIR_TEST_SIMULATIONS=1000 $(GO) test -count=1 -timeout 1h -v -run '^TestSimulations$$' ./actors/surveys

.PHONY: test-upgrade
test-upgrade: ## Replace an earlier version by this one under load, and go back: the latest release, or the commit that FROM names (about a minute)
	older=$$(scripts/older-weir $(FROM)) && WEIR_TEST_OLDER=$$older $(GO) run ./persistence/testmysql/server run $(GO) test -count=1 -v -run '^TestCrashUpgrade$$' ./test/crashtest

.PHONY: test-sim
test-sim: ## Run 1,000 seeded simulations of several processes on one database in virtual time, with crashes, lost replies and fail-overs (a minute)
	$(GO) test -count=1 -timeout 1h -v -run '^TestRun$$' ./test/ownersim -ownersim.seeds=1000

.PHONY: test-scale
test-scale: ## Test 1,000 idle channels and 1,000,000 queued contacts, a survey of 1,000,000 respondents, 100,000 waiting jobs, on SQLite and MariaDB, and 100,000 respondents in five time zones (about 15 minutes)
	WEIR_TEST_SCALE=full $(GO) test -count=1 -timeout 1h -v -run '^TestPurposes_LargeSurvey' ./test/scenarios/people
	$(GO) run ./persistence/testmysql/server run $(GO) test -count=1 -timeout 1h -v ./test/scaletest -scale.full

.PHONY: test-router-sdk
test-router-sdk: build ## Drive the router's API with Microsoft's JavaScript packages, installed with npm, and Python client, installed under .build with debootstrap; needs Node 20 and root (a minute, two more the first time)
	cd test/router-sdk && npm ci --no-audit --no-fund --loglevel=error && WEIR=../../bin/weir node main.mjs
	@mkdir -p .build/router-tls && cd .build/router-tls && $(GO) run "$$($(GO) env GOROOT)/src/crypto/tls/generate_cert.go" --host 127.0.0.1,localhost --ecdsa-curve P256 --ca
	WEIR=$(CURDIR)/bin/weir WEIR_TLS_CERT=$(CURDIR)/.build/router-tls/cert.pem WEIR_TLS_KEY=$(CURDIR)/.build/router-tls/key.pem \
		scripts/azure-python test/router-sdk/python/lifecycle.py

.PHONY: test-typescript
test-typescript: ## Check a client program with TypeScript types of docs/openapi.json, by a generator fetched with npm; needs Node 20 (ten seconds)
	@scripts/test-typescript

.PHONY: compare-expressions
compare-expressions: ## Compare the values of expressions with those of the engine of Enketo, fetched with npm; needs Node 20 (ten seconds)
	@scripts/compare-expressions

.PHONY: test-twilio
test-twilio: ## Compare the channel types for Twilio and the simulated Twilio with Twilio's Go and Node libraries, fetched with go and npm; needs Node 20 (half a minute)
	@GO='$(GO)' scripts/test-twilio

.PHONY: test-oidc
test-oidc: ## Test log-in by name against a provider that misbehaves in every way: wrong signatures, nonces, audiences, replays, outages (half a minute)
	$(GO) test -count=1 ./web/openid/...
	$(GO) test -count=1 ./web/dashboard -run Names
	$(GO) test -count=1 ./config -run OIDC

.PHONY: test-webhooks
test-webhooks: ## Verify what Weir sends to webhooks with the official Go and Node libraries of Standard Webhooks, fetched with go and npm; needs Node 20 (ten seconds)
	@GO='$(GO)' scripts/test-webhooks

.PHONY: test-ui
test-ui: build ## Test the dashboard in a headless Chromium: every page and action, keyboard, rights, accessibility; needs Node 20, apt installs Chromium (about three minutes)
	@scripts/need-browser
	cd test/ui && npm ci --no-audit --no-fund --loglevel=error && WEIR=../../bin/weir WEIRLAB=../../bin/weirlab node main.mjs

.PHONY: lighthouse
lighthouse: build ## Measure every page of the dashboard with Lighthouse, fetched with npm; fails below 95 of 100; needs Node 20 and a quiet machine, apt installs Chromium (about ten minutes)
	@scripts/need-browser
	cd test/lighthouse && npm ci --no-audit --no-fund --loglevel=error && WEIR=../../bin/weir WEIRLAB=../../bin/weirlab node main.mjs $(ONLY)

.PHONY: screenshots
screenshots: LDFLAGS = -s -w -X main.version=devel
screenshots: build ## Take the pictures of the dashboard in docs/images from a Weir with simulated providers (about a minute)
	@scripts/need-browser
	@mkdir -p .build
	$(GO) build -o .build/history ./test/ui/history
	cd test/ui && npm ci --no-audit --no-fund --loglevel=error && HISTORY=../../.build/history WEIR=../../bin/weir WEIRLAB=../../bin/weirlab node screenshots.mjs

.PHONY: test-disk
test-disk: ## Test a start on a disk that is full, and what happens as it fills, on a small file system; Linux, needs root to mount it (seconds)
	$(GO) vet -tags disk ./cmd/weir/daemon
	$(GO) test -count=1 -tags disk -run '^TestDisk' ./cmd/weir/daemon

.PHONY: test-deploy
test-deploy: ## Test deploy/: its files, alerts and dashboard, against a real Prometheus, and Weir behind nginx and Caddy; installs all three with apt (half a minute)
	@scripts/need-deploy
	$(GO) test -count=1 -tags prometheus ./test/deploytest

.PHONY: test-kannel
test-kannel: ## Test SMS through a real Kannel, beside the simulated one, which has to agree; apt installs Kannel (a minute)
	@scripts/need-kannel
	$(GO) vet -tags kannel ./test/kanneltest
	$(GO) test -count=1 -tags kannel ./test/kanneltest

.PHONY: bench
bench: build ## Measure the targets on SQLite and on a private MariaDB, beside a baseline without a store, and three processes beside one, in small runs (about 10 minutes)
	bin/weirlab bench --set short --n 10000 --latency 5s --idle 15s

.PHONY: bench-full
bench-full: build ## Measure the same in runs of the size of docs/performance.md (about an hour)
	bin/weirlab bench --set full

.PHONY: test-bench
test-bench: build ## Compare the broker with the previous release, alternating on this machine; fails if it is slower, without or with a webhook, or than a fixed revision, or if events of contacts that nothing reads cost anything (about six minutes)
	@GO='$(GO)' scripts/bench-against bin/weirlab

.PHONY: bench-peers
bench-peers: build ## Measure Weir and the programs of a folder, alternating: make bench-peers PEERS=FOLDER; ONLY="NAME NAME" for some of them, N and REPEAT for the size
	@scripts/bench-peers bin/weirlab '$(PEERS)'

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (10s) each, or for FUZZSECONDS together: make fuzz FUZZSECONDS=600
	GO='$(GO)' scripts/fuzz $(FUZZTIME) $(FUZZSECONDS)

.PHONY: lint
lint: ## Check formatting, go vet and golangci-lint (three minutes the first time, which compiles it)
	@test -z "$$(gofmt -l .)" || { echo "make fmt is needed for:"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	@for module in test/twilio test/webhooks; do \
		(cd $$module && $(GO) list -deps -test ./... >/dev/null) || { echo "go mod tidy is needed in $$module"; exit 1; }; done
	$(TOOL) golangci-lint run

.PHONY: vuln
vuln: ## Report known vulnerabilities that Weir's code reaches; VULNDB=FOLDER is a copy of the Go vulnerability database, without it the public one is asked
	$(TOOL) govulncheck $(if $(VULNDB),-db file://$(abspath $(VULNDB))) ./... || { \
		echo "FAIL: a vulnerability was found, or the database cannot be read: VULNDB=FOLDER names a copy of it" >&2; exit 1; }

.PHONY: fmt
fmt: ## Format all Go files
	gofmt -w .

.PHONY: docs
docs: ## Write the table of variables into docs/configuration.md
	$(GO) run ./cmd/weir config markdown | scripts/between config docs/configuration.md

.PHONY: generate
generate: ## Write the description of the API into docs/openapi.json, and make client/client.gen.go of it
	@mkdir -p .build
	$(GO) run ./cmd/weir openapi > .build/openapi.json
	mv .build/openapi.json docs/openapi.json
	$(TOOL) oapi-codegen -config client/generate/config.yaml -o client/client.gen.go docs/openapi.json
	sha256sum docs/openapi.json client/generate/*.yaml client/generate/templates/* client/client.gen.go > client/generate/sums.txt

.PHONY: release-files
release-files: ## Write what a release holds beside the programs into .build/release: notices of third parties, man pages, shell completions
	@GO='$(GO)' scripts/release-files .build/release

.PHONY: snapshot
snapshot: ## Build the archives of a release into dist without publishing them; needs goreleaser v2
	goreleaser check
	goreleaser release --snapshot --clean --skip=sbom

.PHONY: clean
clean: ## Remove everything that was built
	rm -rf bin .build dist
