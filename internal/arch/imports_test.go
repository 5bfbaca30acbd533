package arch_test

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

// helpers returns packages that only tests, and other helpers, may import.
func helpers() []string {
	return []string{"cmd/internal/clitest", "test/daemontest", "test/scenarios/world", "internal/polling", "internal/race", "persistence/storetest", "persistence/conformance", "persistence/plantest", "persistence/testmysql", "persistence/testmysql/*", "persistence/testmysql/internal/*", "channels/simulation/memnet", "channels/drivertest", "channels/drivertest/peers", "router/routertest", "web/openid/openidtest", "web/webtest", "internal/tracing/tracingtest"}
}

func TestImports_OnlyTestsImportTestHelpers(t *testing.T) {
	t.Parallel()
	for _, f := range load(t).files {
		if f.test || matches(helpers(), f.folder) {
			continue
		}
		for _, imported := range f.imports {
			if to, ours := within(imported); ours && matches(helpers(), to) || strings.HasPrefix(imported, "testing") || imported == "pgregory.net/rapid" || imported == "github.com/anishathalye/porcupine" || imported == "go.uber.org/goleak" {
				t.Errorf("%s imports %s: what ships must not carry what only tests need", f.path, imported)
			}
		}
	}
}

// No file imports unsafe: make test runs without the check of its conversions.
func TestImports_NothingIsUnsafe(t *testing.T) {
	t.Parallel()
	for _, f := range load(t).files {
		if slices.Contains(f.imports, "unsafe") {
			t.Errorf("%s imports unsafe; see scripts/race-tests", f.path)
		}
	}
}

// lab returns the packages for trying, showing and measuring Weir.
func lab() []string {
	return []string{"cmd/weirlab", "cmd/weirlab/*", "cmd/weirlab/*/*", "channels/simulation", "channels/*/simulator", "persistence/fill", "internal/mariadb"}
}

// The program weir imports none of the lab, directly or not.
func TestImports_ProductionDoesNotImportTheLab(t *testing.T) {
	t.Parallel()
	imports := map[string][]string{} // by package: the packages of this module that it imports
	for _, f := range load(t).files {
		for _, imported := range f.imports {
			if to, ours := within(imported); ours && !f.test {
				imports[f.folder] = append(imports[f.folder], to)
			}
		}
	}
	if !slices.Contains(imports["cmd/weirlab/bench"], "internal/mariadb") {
		t.Error("the lab is not found; adapt this test")
	}
	seen := map[string]bool{}
	var walk func(folder, by string)
	walk = func(folder, by string) {
		if matches(lab(), folder) {
			t.Errorf("%s imports %s: what ships contains no simulator, demonstration or measurement; it belongs into weirlab", by, folder)
			return
		}
		if seen[folder] {
			return
		}
		seen[folder] = true
		for _, to := range imports[folder] {
			walk(to, folder)
		}
	}
	walk("cmd/weir", "")
}

// No file of a channel type or its simulator, tests included, imports another channel
// type or its simulator.
func TestImports_ChannelTypesAreStrangersInTestsToo(t *testing.T) {
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

func TestImports_TheDomainUsesTheStandardLibraryOnly(t *testing.T) {
	t.Parallel()
	for _, f := range load(t).files {
		if f.folder != "." && f.folder != "operators" || f.test {
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

// within returns the folder of an import path, if it belongs to this module.
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

// channelTypes lists the folders of channel types, which have a simulator.
func channelTypes(tr tree) []string {
	var out []string
	for _, p := range tr.packages() {
		if ok, _ := path.Match("channels/*/simulator", p); ok {
			out = append(out, path.Dir(p))
		}
	}
	return out
}

// ownType returns the channel type that a folder belongs to, if any.
func ownType(types []string, folder string) string {
	for _, t := range types {
		if folder == t || strings.HasPrefix(folder, t+"/") {
			return t
		}
	}
	return ""
}

// Every CSV file that Weir writes has the guards of internal/csvfile, and one package reads such files: web/imports, at
// the server, by the readers of surveys/respondents and internal/workbook. The command line and the dashboard pass files on.
func TestImports_OneReaderAndOneWriterOfCSV(t *testing.T) {
	t.Parallel()
	// Data of the lab, and of an example: read by programs, without texts of people.
	others := []string{"internal/csvfile", "cmd/weirlab/demo", "examples/outreach"}
	// Prices are parts of a document, and no rows that are imported one by one.
	readers := []string{"web/imports", "cmd/weir/cli/channels"}
	opened := map[string]bool{}
	for _, f := range load(t).files {
		if f.test {
			continue
		}
		if slices.Contains(f.imports, "encoding/csv") && !slices.Contains(others, f.folder) {
			t.Errorf("%s imports encoding/csv: files are written by internal/csvfile and read by web/imports", f.path)
		}
		for name := range opensTables(f.syntax) {
			if opened[f.folder] = true; f.folder == "internal/csvfile" || !slices.Contains(others, f.folder) && !slices.Contains(readers, f.folder) {
				t.Errorf("%s calls %s: files are read by web/imports", f.path, name)
			}
		}
	}
	for _, folder := range readers {
		if !opened[folder] {
			t.Errorf("%s reads no CSV; adapt this test", folder)
		}
	}
}

// opensTables returns the functions that begin to read a file of rows, as a file calls them.
func opensTables(f *ast.File) map[string]bool {
	out := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		of, ok := s.X.(*ast.Ident)
		if ok && (of.Name == "respondents" && (s.Sel.Name == "NewTable" || s.Sel.Name == "NewLines") || of.Name == "csv" && s.Sel.Name == "NewReader" || of.Name == "workbook" && s.Sel.Name == "Open") {
			out[of.Name+"."+s.Sel.Name] = true
		}
		return true
	})
	return out
}
