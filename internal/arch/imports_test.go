package arch_test

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// rule lists what the packages that match a pattern may import from this module, and
// the reason for the limit.
type rule struct {
	pattern string // see path.Match
	may     []string
	reason  string
}

// rules returns the rules in order; the first whose pattern matches a package applies.
// The domain is two packages: whoever may import "." may import "ops".
func rules() []rule {
	return []rule{
		{".", nil, "the domain stands on the standard library alone, so that every part can stand on it"},
		{"ops", []string{"."}, "what operators see and do is said in the words of the domain"},
		{"config", []string{"."}, "configuration is a leaf: whoever needs a value is handed it"},
		{"migrations", nil, "migrations are SQL and nothing else"},
		{"events", []string{"."}, "what an event is must not know who makes it"},
		{"surveys", []string{".", "events", "ops", "internal/validation", "surveys/*"}, "pure rules: no I/O and no clock"},
		{"surveys/*", []string{".", "ops", "internal/validation"}, "parts of the rules that know neither the others nor the whole"},
		{"routing", []string{".", "routing/*", "routing/internal/*"}, "pure rules: no I/O and no clock"},
		{"routing/label", []string{"internal/plainjson"}, "values and their comparison know nothing of the router"},
		{"routing/resource", []string{".", "routing/label", "internal/validation"}, "what clients state knows no state of the router"},
		{"routing/eventlog", []string{".", "events", "routing/label", "routing/resource", "routing/internal/codec"}, "an event does not know how it changes the state"},
		{"routing/internal/codec", []string{"routing/label", "routing/resource", "internal/plainjson"}, "a form of text, for events and snapshots alike"},
		{"routing/acd", []string{".", "routing", "routing/label", "routing/resource"}, "pure: the language of contact centres over the engine"},
		{"channels", []string{".", "internal/outbound", "internal/plainhttp"}, "what a channel type is must not know which there are"},
		{"channels/provider", []string{".", "channels", "internal/backoff", "internal/outbound", "internal/plainhttp"}, "what the drivers share knows none of them"},
		{"channels/simulation", nil, "a simulated provider must not share code with what it is to convict"},
		{"channels/all", []string{"channels", "channels/*", "routing"}, "the table of channel types, and nothing else, knows them all"},
		{"channels/*/simulator", []string{".", "channels/simulation"}, "a simulated provider must not share code with the driver that it is to convict; of the domain it needs the form of an attempt's id"},
		{"channels/workers", []string{".", "channels", "routing", "routing/*"}, "its provider is the router, which it knows by its interface; no other type, no store, no actor"},
		{"channels/*", []string{".", "channels", "channels/provider", "internal/backoff", "internal/plainjson", "internal/segments"}, "a channel type knows no other, no store and no actor"},
		{"persistence", []string{".", "events", "surveys", "routing/eventlog", "migrations", "persistence/*", "internal/failpoint"}, "the store serves the domain; who uses it is not its business"},
		{"persistence/values", []string{"."}, "it knows SQL as text, and no database"},
		{"persistence/member", []string{".", "persistence/dialect"}, "who is a member knows nothing of what members store"},
		{"persistence/commit", []string{".", "events", "ops", "internal/failpoint", "persistence/dialect", "persistence/member", "persistence/values"}, "the kernel commits what the stores of all kinds write, and knows none of them"},
		{"persistence/bulk", []string{"persistence/commit", "persistence/dialect", "persistence/values"}, "rows are rows, of whichever table"},
		{"persistence/channels", []string{".", "ops", "persistence/commit", "persistence/member", "persistence/values"}, "of the other stores it knows what it is given"},
		{"persistence/queue", []string{".", "events", "ops", "surveys", "internal/plainjson", "persistence/commit", "persistence/bulk", "persistence/member", "persistence/channels", "persistence/eventlog", "persistence/values"}, "contacts belong to channels; what happens to them are events; the outbox has the kinds of entries that surveys read"},
		{"persistence/survey", []string{".", "events", "ops", "surveys", "internal/plainjson", "persistence/commit", "persistence/bulk", "persistence/member", "persistence/dialect", "persistence/queue", "persistence/values"}, "respondents get contacts"},
		{"persistence/eventlog", []string{".", "events", "ops", "internal/plainjson", "persistence/commit", "persistence/bulk", "persistence/member", "persistence/values"}, "events are of all kinds"},
		{"persistence/router", []string{".", "ops", "routing/eventlog", "persistence/commit", "persistence/bulk", "persistence/values"}, "its journal is no other store's business"},
		{"persistence/admin", []string{".", "ops", "persistence/commit", "persistence/member", "persistence/values"}, "what operators see is no other store's business"},
		{"persistence/dialect", []string{"."}, "what a dialect is must not know which there are"},
		{"persistence/mysql", []string{".", "persistence/dialect", "internal/backoff"}, "a dialect knows no other and not the store"},
		{"persistence/sqlite", []string{".", "persistence/dialect"}, "a dialect knows no other and not the store"},
		{"persistence/fill", []string{".", "persistence", "persistence/dialect"}, "it writes rows past the store, which it knows by its tables"},
		{"actors/core", []string{".", "channels", "internal/backoff", "internal/segments"}, "the pure core: no store, no actor runtime"},
		{"actors/supervise", []string{".", "internal/backoff"}, "what every tree of actors needs knows none of them"},
		{"actors/surveybroker", []string{".", "actors/supervise", "channels", "events", "surveys", "surveys/*", "internal/backoff", "internal/failpoint", "internal/validation"}, "the survey broker knows channels by what it asks of them, not their brokers"},
		{"actors/router", []string{".", "actors/supervise", "events", "routing", "routing/*", "internal/backoff", "internal/failpoint", "internal/plainjson"}, "the router knows jobs and workers, not how they are reached"},
		{"actors/delivery", []string{".", "actors/supervise", "events", "internal/backoff", "internal/failpoint", "internal/outbound", "internal/tracing", "internal/webhooksign"}, "who delivers events does not know what they mean"},
		{"actors", []string{".", "channels", "actors/supervise", "actors/core", "internal/backoff", "internal/deadline", "internal/failpoint", "internal/tracing"}, "actors see stores through the domain's interfaces"},
		{"web/jobrouter", []string{".", "routing", "routing/*", "internal/failpoint", "internal/plainjson", "internal/validation"}, "the router's own API, in another's form, shares nothing with Weir's"},
		{"web/dashboard/display", nil, "how a value looks does not depend on where it comes from"},
		{"web/dashboard", []string{".", "routing", "routing/*", "surveys", "surveys/calendar", "web/api", "web/auth", "web/dashboard/display", "web/surveyapi"}, "a client of the API, which it knows by the forms of its answers; no store, no actor"},
		{"web/docs", nil, "a page is made of the description, and knows nothing else"},
		{"web/wire", []string{".", "internal/plainjson", "internal/validation"}, "how requests are read and answers written does not depend on what they are about"},
		{"web/auth", []string{".", "web/wire"}, "who may do what does not depend on the routes"},
		{"web/route", []string{".", "web/auth", "web/wire", "internal/validation"}, "what a route is must not know which there are"},
		{"web/callbacks", []string{".", "channels", "internal/deadline", "internal/tracing", "web/route", "web/wire"}, "callbacks see the broker through an interface of their own"},
		{"web/api", []string{".", "channels", "events", "surveys", "web/auth", "web/callbacks", "web/route", "web/wire", "internal/plainjson", "internal/segments", "internal/tracing", "internal/validation", "internal/webhooksign"}, "the API sees the broker through an interface of its own"},
		{"web/surveyapi", []string{".", "events", "surveys", "surveys/*", "web/auth", "web/route", "web/wire", "internal/validation"}, "the API sees the survey broker through an interface of its own"},
		{"web/openapi", []string{".", "internal/plainjson", "surveys", "surveys/*", "web/api", "web/auth", "web/route", "web/surveyapi", "web/wire"}, "the description is made from the routes"},
		{"web", []string{".", "channels", "events", "surveys", "internal/tracing", "web/api", "web/auth", "web/callbacks", "web/docs", "web/openapi", "web/route", "web/surveyapi", "web/wire"}, "HTTP sees the broker through an interface of its own"},
		{"cmd/weir", []string{"cmd/internal/command", "cmd/weir/cli"}, "main holds no logic"},
		{"cmd/weir/daemon", []string{".", "actors", "actors/*", "channels", "channels/all", "channels/workers", "config", "events", "internal/outbound", "internal/tracing", "persistence", "routing", "surveys", "web", "web/*"}, "the composition root knows every part, and only it does"},
		{"cmd/weir/cli/app", []string{".", "client", "cmd/internal/*", "cmd/weir/routerclient", "config"}, "the commands share it; it knows none of them"},
		{"cmd/weir/cli/server", []string{".", "client", "cmd/internal/*", "cmd/weir/cli/app", "cmd/weir/daemon", "config", "persistence"}, "only commands on the machine of the broker know more than its API"},
		{"cmd/weir/cli/router", []string{"cmd/internal/*", "cmd/weir/cli/app", "cmd/weir/routerclient", "internal/hmacsign", "routing", "routing/*"}, "commands parse, call the router's API and print"},
		{"cmd/weir/cli/channel", []string{".", "channels/all", "channels/httpgateway", "client", "cmd/internal/*", "cmd/weir/cli/app"}, "it prints the templates that come with Weir"},
		{"cmd/weir/cli/webhook", []string{"client", "cmd/internal/*", "cmd/weir/cli/app", "internal/backoff", "internal/webhooksign"}, "weir listen signs and retries as the server does"},
		{"cmd/weir/cli/*", []string{".", "channels/all", "client", "cmd/internal/*", "cmd/weir/cli/app"}, "commands parse, call the API and print; no group knows another"},
		{"cmd/weir/cli", []string{"cmd/internal/*", "cmd/weir/cli/*", "cmd/weir/daemon"}, "it lists the commands"},
		{"cmd/internal/*", nil, "both command lines use it; it knows neither"},
		{"examples/*", []string{"client"}, "examples have what a client program has"},
		{"cmd/weirlab", []string{"cmd/internal/command", "cmd/weirlab/cli"}, "main holds no logic"},
		{"cmd/weirlab/cli", []string{"cmd/internal/*", "cmd/weirlab/*", "cmd/weirlab/bench/provider", "config", "routing/acd", "channels/simulation", "channels/*/simulator"}, "commands parse, call and print"},
		{"cmd/weirlab/bench/judge", nil, "what counts is decided by the record alone"},
		{"cmd/weirlab/machine", nil, "what a process uses is no matter of what it does"},
		{"cmd/weirlab/bench/load", []string{"cmd/weirlab/bench/judge", "cmd/weirlab/machine"}, "the load knows the broker by one method"},
		{"cmd/weirlab/bench/provider", []string{"cmd/weirlab/bench/judge", "cmd/weirlab/machine"}, "a simulated provider must not share code with what it is to convict"},
		{"cmd/weirlab/bench", []string{".", "config", "cmd/weir/daemon", "cmd/weirlab/bench/*", "cmd/weirlab/machine", "internal/mariadb", "persistence/fill", "routing", "routing/*"}, "it measures the broker whole, from outside or with calls instead of HTTP"},
		{"client", nil, "a client knows the API, not what is behind it; whoever takes it along takes nothing else"},
		{"cmd/weir/routerclient", []string{".", "internal/hmacsign", "routing", "routing/*"}, "a client knows the API and the words of the router, not what runs it"},
		{"cmd/weirlab/demo", []string{".", "client", "cmd/weirlab/machine", "config", "channels/simulation", "channels/*/simulator"}, "the demo judges the broker from outside: over HTTP and by the providers' records"},
		{"internal/tracing", []string{".", "internal/backoff"}, "a contact and a channel are all that a trace is about"},
		{"internal/outbound", nil, "whom to call is no matter of the domain"},
		{"internal/validation", []string{"."}, "a list of failures, for all that check input"},
		{"internal/failpoint", nil, "it is called from everywhere"},
		{"internal/backoff", nil, "how long to wait is arithmetic"},
		{"internal/segments", nil, "the size of a text is arithmetic"},
		{"internal/deadline", nil, "a context, for whoever is called often"},
		{"internal/plainhttp", []string{"internal/deadline"}, "a way to make requests, whatever they are for"},
		{"internal/plainjson", nil, "a form of text, for whoever writes it often"},
		{"internal/hmacsign", nil, "how a request is signed is arithmetic"},
		{"internal/webhooksign", nil, "how a request is signed is arithmetic"},
		{"internal/mariadb", nil, "it runs other programs and knows nothing of ours"},
		{"test/ui/history", []string{".", "persistence"}, "it writes what no API lets anybody write"},
		{"internal/arch", nil, "it looks at files, not at packages"},
	}
}

// helpers returns packages that only tests, and other helpers, may import.
func helpers() []string {
	return []string{"cmd/internal/clitest", "internal/daemontest", "internal/polling", "persistence/storetest", "persistence/conformance", "persistence/plantest", "persistence/testmysql", "persistence/testmysql/*", "persistence/testmysql/internal/*", "channels/simulation/memnet", "channels/drivertest", "channels/drivertest/peers", "routing/routingtest", "internal/tracing/tracingtest"}
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
			domain := to == "ops" && slices.Contains(r.may, ".")
			if ours && to != f.folder && !domain && !matches(r.may, to) {
				t.Errorf("%s imports %s, but %s may import only %v: %s", f.path, imported, f.folder, r.may, r.reason)
			}
		}
	}
}

func TestOnlyTestsImportTestHelpers(t *testing.T) {
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
func TestNothingIsUnsafe(t *testing.T) {
	t.Parallel()
	for _, f := range load(t).files {
		if slices.Contains(f.imports, "unsafe") {
			t.Errorf("%s imports unsafe; see RACEFLAGS in the Makefile", f.path)
		}
	}
}

// lab returns the packages for trying, showing and measuring Weir.
func lab() []string {
	return []string{"cmd/weirlab", "cmd/weirlab/*", "cmd/weirlab/*/*", "channels/simulation", "channels/*/simulator", "persistence/fill", "internal/mariadb"}
}

// The program weir imports none of the lab, directly or not.
func TestProductionDoesNotImportTheLab(t *testing.T) {
	t.Parallel()
	imports := map[string][]string{} // by package: the packages of this module that it imports
	for _, f := range load(t).files {
		for _, imported := range f.imports {
			if to, ours := within(imported); ours && !f.test {
				imports[f.folder] = append(imports[f.folder], to)
			}
		}
	}
	if !slices.Contains(imports["cmd/weirlab/bench"], "persistence/fill") {
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

// external returns the modules that Weir depends on, and the parts of the tree that
// may import them. A new one is a decision: see docs/adr/0001.
func external() map[string][]string {
	return map[string][]string{
		"database/sql":                     {"persistence", "persistence/*", "internal/mariadb"},
		"github.com/jmoiron/sqlx":          {"persistence", "persistence/*"},
		"github.com/go-sql-driver/mysql":   {"persistence/mysql", "internal/mariadb"},
		"modernc.org/sqlite":               {"persistence/sqlite"},
		"github.com/pressly/goose":         {"persistence", "persistence/*"},
		"github.com/asynkron/protoactor":   {"actors", "actors/*", "cmd/weir/daemon"}, // the daemon passes middleware on
		"github.com/danielgtaylor/huma":    {"web/openapi", "web/wire"},
		"github.com/kelseyhightower":       {"config"},
		"github.com/spf13/cobra":           {"cmd/weir/cli", "cmd/weir/cli/*", "cmd/weirlab/cli", "cmd/internal/command", "cmd/internal/manual"},
		"github.com/spf13/pflag":           {"cmd/internal/manual"},
		"github.com/nyaruka/phonenumbers":  {"surveys/respondents"},
		"go.opentelemetry.io/":             {"internal/tracing", "internal/tracing/tracingtest"},
		"google.golang.org/protobuf":       {"internal/tracing", "internal/tracing/tracingtest"}, // the form of what is exported
		"golang.org/x/sync":                {"web/callbacks"},
		"golang.org/x/term":                {"cmd/weir/cli/*", "cmd/weirlab/cli", "cmd/internal/command"},
		"github.com/prometheus/client_gol": {"actors", "actors/*", "persistence", "persistence/*", "web", "web/callbacks", "cmd/weir/daemon", "channels"},
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
		if f.folder != "." && f.folder != "ops" || f.test {
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
