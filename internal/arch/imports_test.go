package arch_test

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// rule says what the packages of a pattern may import from this module, and
// why not more.
type rule struct {
	pattern string // as of path.Match
	may     []string
	reason  string
}

// rules are in order; the first whose pattern matches a package holds.
func rules() []rule {
	return []rule{
		{".", nil, "the domain stands on the standard library alone, so that every part can stand on it"},
		{"config", []string{"."}, "configuration is a leaf: whoever needs a value is handed it"},
		{"migrations", nil, "migrations are SQL and nothing else"},
		{"surveys", []string{"."}, "pure rules: no I/O, no clock, nobody to ask"},
		{"routing", []string{"."}, "pure rules: no I/O, no clock, nobody to ask"},
		{"channels", []string{"."}, "what a channel type is must not know which there are"},
		{"channels/provider", []string{".", "channels"}, "what the drivers share knows none of them"},
		{"channels/simulation", nil, "a simulated provider must not share code with what it is to convict"},
		{"channels/all", []string{"channels", "channels/*"}, "the table of channel types, and nothing else, knows them all"},
		{"channels/*/simulator", []string{".", "channels/simulation"}, "a simulated provider must not share code with the driver that it is to convict; of the domain it needs the form of an attempt's id"},
		{"channels/*", []string{".", "channels", "channels/provider"}, "a channel type knows no other, no store and no actor"},
		{"persistence", []string{".", "migrations", "persistence/*", "internal/failpoint"}, "the store serves the domain; who uses it is not its business"},
		{"persistence/dialect", []string{"."}, "what a dialect is must not know which there are"},
		{"persistence/mysql", []string{".", "persistence/dialect"}, "a dialect knows no other and not the store"},
		{"persistence/sqlite", []string{".", "persistence/dialect"}, "a dialect knows no other and not the store"},
		{"actors/core", []string{".", "channels"}, "the pure core: no store, no actor runtime"},
		{"actors", []string{".", "channels", "surveys", "routing", "actors/core", "internal/failpoint"}, "actors see stores through the domain's interfaces"},
		{"web", []string{".", "channels", "internal/failpoint"}, "HTTP sees the broker through an interface of its own"},
		{"cmd/weir", []string{"cmd/weir/cli"}, "main holds no logic"},
		{"cmd/weir/daemon", []string{".", "actors", "actors/core", "channels", "channels/all", "config", "persistence", "web"}, "the composition root knows every part, and only it does"},
		{"cmd/weir/cli", []string{".", "cmd/weir/*", "config", "persistence", "channels/all", "channels/simulation", "channels/*/simulator"}, "commands parse, call and print"},
		{"cmd/weir/demo", []string{".", "config", "channels/simulation", "channels/*/simulator"}, "the demo judges the broker from outside: over HTTP and by the providers' records"},
		{"internal/failpoint", nil, "it is called from everywhere"},
		{"internal/arch", nil, "it looks at files, not at packages"},
	}
}

// helpers are packages that only tests, and other helpers, may import.
func helpers() []string {
	return []string{"persistence/storetest", "persistence/plantest", "persistence/testmysql", "persistence/testmysql/*", "persistence/testmysql/internal/*", "channels/simulation/memnet"}
}

func TestImportsGoOneWay(t *testing.T) {
	t.Parallel()
	for _, f := range load(t).files {
		if f.test || matches(helpers(), f.folder) {
			continue
		}
		i := slices.IndexFunc(rules(), func(r rule) bool { return matches([]string{r.pattern}, f.folder) })
		if i < 0 {
			t.Errorf("%s: no rule says what package %s may import; write one, with its reason", f.path, f.folder)
			continue
		}
		r := rules()[i]
		for _, imported := range f.imports {
			to, ours := within(imported)
			if ours && to != f.folder && !matches(r.may, to) {
				t.Errorf("%s imports %s, but %s may import only %v: %s", f.path, imported, f.folder, r.may, r.reason)
			}
		}
	}
}

func TestNobodyButTestsImportsTestHelpers(t *testing.T) {
	t.Parallel()
	for _, f := range load(t).files {
		if f.test || matches(helpers(), f.folder) {
			continue
		}
		for _, imported := range f.imports {
			if to, ours := within(imported); ours && matches(helpers(), to) || strings.HasPrefix(imported, "testing") || imported == "pgregory.net/rapid" || imported == "go.uber.org/goleak" {
				t.Errorf("%s imports %s: what ships must not carry what only tests need", f.path, imported)
			}
		}
	}
}

// Tests of a channel type keep to it, too, and those of the simulators do not
// lean on the drivers.
func TestChannelTypesAreStrangersInTestsToo(t *testing.T) {
	t.Parallel()
	types := channelTypes(load(t))
	for _, f := range load(t).files {
		own := ownType(types, f.folder)
		if own == "" {
			continue
		}
		for _, imported := range f.imports {
			to, _ := within(imported)
			if other := ownType(types, to); other != "" && other != own {
				t.Errorf("%s imports %s: a channel type knows no other", f.path, imported)
			}
		}
	}
}

// external are the modules that Weir stands on, and the parts of the tree to
// which they belong. A new one is a decision: see docs/adr/0001.
func external() map[string][]string {
	return map[string][]string{
		"database/sql":                     {"persistence", "persistence/*", "persistence/testmysql/internal/*"},
		"github.com/jmoiron/sqlx":          {"persistence", "persistence/*"},
		"github.com/go-sql-driver/mysql":   {"persistence/mysql", "persistence/testmysql/internal/*"},
		"modernc.org/sqlite":               {"persistence/sqlite"},
		"github.com/pressly/goose":         {"persistence", "persistence/*"},
		"github.com/asynkron/protoactor":   {"actors", "cmd/weir/daemon"}, // the daemon hands middleware on
		"github.com/danielgtaylor/huma":    {"web"},
		"github.com/kelseyhightower":       {"config"},
		"github.com/spf13/cobra":           {"cmd/weir/cli"},
		"github.com/nyaruka/phonenumbers":  {"surveys"},
		"golang.org/x/sync":                {"web"},
		"golang.org/x/term":                {"cmd/weir/cli"},
		"github.com/prometheus/client_gol": {"actors", "persistence", "persistence/*", "web", "cmd/weir/daemon", "channels"},
	}
}

func TestEveryLibraryHasItsPlace(t *testing.T) {
	t.Parallel()
	for _, f := range load(t).files {
		if f.test {
			continue
		}
		for _, imported := range f.imports {
			known := false
			for prefix, places := range external() {
				if !strings.HasPrefix(imported, prefix) {
					continue
				}
				known = true
				if !matches(places, f.folder) {
					t.Errorf("%s imports %s, which belongs into %v", f.path, imported, places)
				}
			}
			if first, _, _ := strings.Cut(imported, "/"); strings.Contains(first, ".") && !known && !matches(helpers(), f.folder) {
				t.Errorf("%s imports %s, which Weir does not stand on", f.path, imported)
			}
		}
	}
}

func TestTheDomainUsesTheStandardLibraryOnly(t *testing.T) {
	t.Parallel()
	for _, f := range load(t).files {
		if f.folder != "." || f.test {
			continue
		}
		for _, imported := range f.imports {
			first, _, _ := strings.Cut(imported, "/")
			if strings.Contains(first, ".") || slices.Contains([]string{"os", "net", "net/http", "database/sql", "log", "log/slog"}, imported) {
				t.Errorf("%s imports %s: the domain does no I/O and needs no library", f.path, imported)
			}
		}
	}
}

// within gives the folder of an import path of this module.
func within(imported string) (folder string, ours bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

func matches(patterns []string, folder string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, folder)
		return err == nil && ok
	})
}

// channelTypes lists the folders of channel types: those that have a simulator.
func channelTypes(tr tree) []string {
	var out []string
	for _, p := range tr.packages() {
		if ok, _ := path.Match("channels/*/simulator", p); ok {
			out = append(out, path.Dir(p))
		}
	}
	return out
}

// ownType is the channel type that a folder belongs to, if any.
func ownType(types []string, folder string) string {
	for _, t := range types {
		if folder == t || strings.HasPrefix(folder, t+"/") {
			return t
		}
	}
	return ""
}
