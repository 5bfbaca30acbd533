package arch_test

import (
	"fmt"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ARCHITECTURE.md stays a page that is read.
func TestDocuments_ArchitectureIsOnePage(t *testing.T) {
	t.Parallel()
	const most = 150
	if lines := strings.Count(read(t, "ARCHITECTURE.md"), "\n"); lines > most {
		t.Errorf("ARCHITECTURE.md has %d lines; at most %d", lines, most)
	}
}

// Every make target that the documents name exists.
func TestDocuments_CommandsOfThePapersExist(t *testing.T) {
	t.Parallel()
	recipes := read(t, "Makefile")
	command := regexp.MustCompile("`make ([a-z-]+)")
	for _, name := range texts(t) {
		if path.Ext(name) != ".md" {
			continue
		}
		for _, m := range command.FindAllStringSubmatch(read(t, name), -1) {
			if !strings.Contains(recipes, "\n"+m[1]+": ") {
				t.Errorf("%s names make %s, which does not exist", name, m[1])
			}
		}
	}
}

// Go examples in the documents are quoted from examples that compile.
func TestDocuments_GoInThePapersCompiles(t *testing.T) {
	t.Parallel()
	block := regexp.MustCompile("(?s)```go\n(.*?)```")
	indent := regexp.MustCompile(`(?m)^\s+`)
	var all strings.Builder
	found := 0
	for _, name := range texts(t) {
		if path.Base(name) == "example_test.go" {
			all.WriteString(indent.ReplaceAllString(read(t, name), ""))
		}
	}
	compiled := all.String()
	for _, name := range texts(t) {
		if path.Ext(name) != ".md" {
			continue
		}
		for _, m := range block.FindAllStringSubmatch(read(t, name), -1) {
			if found++; !strings.Contains(compiled, indent.ReplaceAllString(m[1], "")) {
				t.Errorf("%s: no example_test.go has this code:\n%s", name, m[1])
			}
		}
	}
	if found == 0 {
		t.Error("the documents have no Go code")
	}
}

// What a runbook quotes from the log, an answer or a channel's state is in the code.
func TestRunbooksQuoteTextsThatExist(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, f := range load(t).files {
		if !f.test {
			all.WriteString(strings.ToLower(read(t, f.path)))
		}
	}
	code := all.String()
	plain := regexp.MustCompile("`[^`]*`")
	quoted := regexp.MustCompile(`"([^"]* [^"]*)"`)
	found := 0
	for _, name := range texts(t) {
		if path.Dir(name) != "docs/runbooks" {
			continue
		}
		text := strings.Join(strings.Fields(plain.ReplaceAllString(read(t, name), "")), " ")
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			for part := range strings.SplitSeq(strings.ToLower(m[1]), "…") {
				if found++; !strings.Contains(code, strings.TrimSpace(part)) {
					t.Errorf("%s quotes %q, which no code has", name, m[1])
				}
			}
		}
	}
	if found == 0 {
		t.Error("no runbook quotes a text")
	}
}

// Decisions are numbered without gaps and state their reasons.
func TestDocuments_DecisionsAreComplete(t *testing.T) {
	t.Parallel()
	found := 0
	for _, name := range texts(t) {
		if path.Dir(name) != "docs/adr" {
			continue
		}
		found++
		if !strings.HasPrefix(path.Base(name), fmt.Sprintf("%04d-", found)) {
			t.Errorf("%s: the next number is %04d", name, found)
		}
		if !strings.Contains(read(t, name), "\n## Why\n") {
			t.Errorf("%s lacks the section ## Why", name)
		}
	}
	if found == 0 {
		t.Error("docs/adr is empty")
	}
}

// The repository builds anywhere: no absolute paths of one machine, and no name of the
// configured module proxy.
func TestDocuments_NoPathsAndProxiesOfOneMachine(t *testing.T) {
	t.Parallel()
	places := regexp.MustCompile(`(^|[\s"'` + "`" + `(=])/(work|root|home)/[a-z]`)
	proxy := proxyHost(t)
	for _, name := range texts(t) {
		text := read(t, name)
		if m := places.FindString(text); m != "" {
			t.Errorf("%s mentions a path of one machine: %q", name, m)
		}
		if proxy != "" && strings.Contains(text, proxy) {
			t.Errorf("%s mentions the host of a module proxy", name)
		}
	}
}

// proxyHost returns the host of the configured module proxy, unless it is Go's own.
func proxyHost(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), ",")
	_, host, _ := strings.Cut(first, "://")
	host, _, _ = strings.Cut(host, "/")
	if _, after, ok := strings.Cut(host, "@"); ok {
		host = after
	}
	if host == "proxy.golang.org" {
		return ""
	}
	return host
}

// The data model names every table, and no other.
func TestDocuments_DataModelNamesEveryTable(t *testing.T) {
	t.Parallel()
	change := regexp.MustCompile(`(CREATE TABLE IF NOT EXISTS|DROP TABLE IF EXISTS) (\w+)`)
	tables := map[string]bool{}
	for _, name := range texts(t) {
		if strings.HasPrefix(name, "migrations/sqlite/") || name == "persistence/database/owner.go" {
			up, _, _ := strings.Cut(read(t, name), "-- +goose Down")
			for _, m := range change.FindAllStringSubmatch(up, -1) {
				if tables[m[2]] = true; strings.HasPrefix(m[1], "DROP") {
					delete(tables, m[2])
				}
			}
		}
	}
	named := map[string]bool{}
	for line := range strings.Lines(read(t, "docs/data-model.md")) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 || cells[0] != "" {
			continue
		}
		for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cells[1], -1) {
			named[m[1]] = true
		}
	}
	if len(tables) < 30 {
		t.Errorf("%d tables found", len(tables))
	}
	if diff := cmp.Diff(tables, named); diff != "" {
		t.Errorf("docs/data-model.md and the tables differ (-tables +named):\n%s", diff)
	}
}
