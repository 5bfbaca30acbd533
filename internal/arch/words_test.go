package arch_test

import (
	"path"
	"slices"
	"testing"

	"weir/internal/house/words"
)

// unwritten lists the folders that still hold words and phrases of the old language. A
// folder leaves this list for good once it is clean.
func unwritten() []string {
	return []string{
		".", "actors", "actors/core", "actors/delivery", "actors/router", "actors/supervise", "actors/surveybroker", "channels", "channels/nuntium",
		"channels/simulation", "channels/simulation/memnet", "channels/workers", "client", "cmd/internal/command", "cmd/internal/terminal", "cmd/weir/cli",
		"cmd/weir/cli/top", "cmd/weir/daemon", "cmd/weir/routerclient", "cmd/weirlab/bench", "cmd/weirlab/cli", "cmd/weirlab/demo", "config",
		"deploy/compose", "deploy/grafana", "deploy/prometheus", "docs", "docs/moving", "docs/runbooks", "events", "internal/compat", "internal/crashtest",
		"internal/deadline", "internal/deploytest", "internal/hmacsign", "internal/outbound", "internal/plainhttp", "internal/plainjson",
		"internal/scaletest", "internal/scenarios", "migrations", "migrations/mysql", "migrations/sqlite", "persistence", "persistence/mysql",
		"persistence/plantest", "persistence/storetest", "routing", "routing/acd", "scripts", "surveys", "test/router-sdk", "test/ui", "test/ui/checks",
		"web", "web/dashboard", "web/dashboard/assets", "web/dashboard/templates", "web/docs", "web/jobrouter",
	}
}

func TestSentencesAreReadOnce(t *testing.T) {
	t.Parallel()
	found, err := words.Scan(root)
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for _, f := range found {
		folder := path.Dir(f.Path)
		if left[folder] = true; !slices.Contains(unwritten(), folder) {
			t.Errorf("%s:%d: %q in %q: say it in a plain sentence, with a standard term", f.Path, f.Line, f.Phrase, f.Text)
		}
	}
	for _, folder := range unwritten() {
		if !left[folder] {
			t.Logf("%s is clean: remove it from the list", folder)
		}
	}
}
