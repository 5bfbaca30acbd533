package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/config"
)

func load(t *testing.T, environ ...string) config.Config {
	t.Helper()
	c, _, err := config.Load(environ)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// mistakes returns the variables that Load rejects.
func mistakes(t *testing.T, environ ...string) []string {
	t.Helper()
	_, _, err := config.Load(environ)
	var wrong *config.Error
	if err != nil && !errors.As(err, &wrong) {
		t.Fatalf("%T instead of *config.Error", err)
	}
	var names []string
	if wrong != nil {
		for _, m := range wrong.Invalid {
			names = append(names, m.Variable)
		}
	}
	return names
}

func TestConfig_AnEmptyEnvironmentGivesTheDefaults(t *testing.T) {
	t.Parallel()
	c := load(t)
	got := map[string]any{
		"database": c.DatabaseURL, "listen": c.ListenAddr, "public": c.PublicURL, "capacity": c.DefaultChannelCapacity,
		"idle": c.GCIdle.Duration(), "interval": c.GCInterval.Duration(), "lost": c.LostAfter.Duration(), "shut down": c.ShutDown.Duration(),
		"settle": c.SettleAfter.Duration(), "send timeout": c.SendTimeout.Duration(), "lease": c.LeaseTTL.Duration(),
		"retention": c.Retention.Duration(), "sends": c.SendConcurrency, "asks": c.CollectConcurrency,
		"migrate": c.AutoMigrate, "level": c.LogLevel.Level().String(), "format": string(c.LogFormat), "tokens": len(c.APITokens),
	}
	want := map[string]any{
		"database": "sqlite://weir.db", "listen": "127.0.0.1:8080", "public": "http://127.0.0.1:8080", "capacity": 100,
		"idle": 2 * time.Minute, "interval": 2 * time.Minute, "lost": time.Hour, "shut down": 30 * time.Minute,
		"settle": time.Minute, "send timeout": 15 * time.Second, "lease": 5 * time.Second,
		"retention": 30 * 24 * time.Hour, "sends": 0, "asks": 4,
		"migrate": true, "level": "INFO", "format": "", "tokens": 0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestConfig_ValuesAreRead(t *testing.T) {
	t.Parallel()
	c := load(t, "CHNL_BKR_GC_IDLE_MINUTES=0.05", "WEIR_RETENTION=30d", "WEIR_SEND_TIMEOUT=1500ms", "WEIR_API_TOKENS=one, two",
		"LISTEN_ADDR=0.0.0.0:9000", "LOG_LEVEL=WARN", "WEIR_AUTO_MIGRATE=false", "SHUT_DOWN_MINUTES=", "PUBLIC_URL=https://weir.example/base")
	if got := c.GCIdle.Duration(); got != 3*time.Second {
		t.Errorf("0.05 minutes are %v", got)
	}
	if got := c.Retention.Duration(); got != 720*time.Hour {
		t.Errorf("30d are %v", got)
	}
	if got := c.SendTimeout.Duration(); got != 1500*time.Millisecond {
		t.Errorf("1500ms are %v", got)
	}
	if diff := cmp.Diff(config.Tokens{"one", "two"}, c.APITokens); diff != "" {
		t.Error(diff)
	}
	if c.AutoMigrate || c.LogLevel.Level().String() != "WARN" || c.PublicURL != "https://weir.example/base" {
		t.Errorf("auto-migrate %v, level %v, public URL %v", c.AutoMigrate, c.LogLevel.Level(), c.PublicURL)
	}
	if got := c.ShutDown.Duration(); got != 30*time.Minute {
		t.Errorf("an empty variable gives %v, not the default", got)
	}
}

func TestConfig_WrongValuesAreRefused(t *testing.T) {
	t.Parallel()
	wrong := map[string][]string{
		"DATABASE_URL":                 {"weir.db", "postgres://u:p@h/d", "sqlite://", "mysql://h:3306/weir", "mysql://u:p@h:3306", "mysql://u:p@/weir", "mysql://u:p%zz@h/d", "mysql://u:p@h:port/d", "mysql://u:p@h:0/d", "mysql://u:p@h:65536/d", "mysql://u:p@h1,h1:3306/d", "mysql://u:p@h1,,h2/d", "mysql://u:p@h1,/d", "mysql://u:p@:3306,h2/d", "mysql://u:p@h1,h2:0/d", "sqlite://u:p@h1:3306,h2:3306/d"},
		"LISTEN_ADDR":                  {"8080", "127.0.0.1", "127.0.0.1:http", "127.0.0.1:65536", "127.0.0.1:-1", "0.0.0.0", "[::]:http"},
		"WEIR_PATH_PREFIX":             {"weir", "/weir/", "/", "/a b", "/v1", "/channels/x", "/limits", "/spending", "/prices/x", "/a/../b", "/ä"},
		"PUBLIC_URL":                   {"weir.example", "ftp://weir.example", "http://", "https://weir.example/?a=b", "https://weir.example/#a", "https://u:p@weir.example"},
		"WEIR_API_TOKENS":              {",", "a,,b", "a b", "ä"},
		"JOB_ROUTER_ACCESS_KEYS":       {",", "c2VjcmV0LXNlY3JldA==,", "c2VjcmV0", "not base64", "c2VjcmV0LXNlY3JldA", "c2VjcmV0LXNlY3JldB==", "https://u:p@h/"},
		"DEFAULT_CHANNEL_CAPACITY":     {"0", "-1", "1000001", "many", "1.5"},
		"CHNL_BKR_GC_IDLE_MINUTES":     {"0", "-1", "NaN", "Inf", "1e300", "2m", "20000"},
		"CHNL_BKR_GC_INTERVAL_MINUTES": {"0"},
		"LOST_AFTER_MINUTES":           {"0"},
		"SHUT_DOWN_MINUTES":            {"0"},
		"WEIR_RETENTION":               {"0", "1s", "30", "4000d", "NaNd", "1e300d", "d"},
		"WEIR_EVENT_RETENTION":         {"24h", "4000d", "7"},
		"JOB_ROUTER_EVENT_FORMAT":      {"xml"},
		"JOB_ROUTER_EVENT_SUBSCRIPTIONS": {",", "hooks.example", "ftp://hooks.example", "https://", "https://u:p@hooks.example/", "https://a.example,,https://b.example",
			"https://a.example/#xml", "https://a.example/#", "https://a.example/,https://a.example/#cloudevents", "https://a.example/%zz"},
		"WEIR_OUTBOUND_ALLOW":      {",", "plain,,private", "https://a.example", "a.example:443", "10.0.0.0/8", "ä.example"},
		"WEIR_SETTLE_AFTER":        {"0s", "2h", "60"},
		"WEIR_SEND_TIMEOUT":        {"0s", "6m"},
		"WEIR_LEASE_TTL":           {"1ms", "6m"},
		"WEIR_SEND_CONCURRENCY":    {"-1", "10001"},
		"WEIR_COLLECT_CONCURRENCY": {"0", "1001"},
		"WEIR_AUTO_MIGRATE":        {"maybe"},
		"LOG_LEVEL":                {"loud"},
		"LOG_FORMAT":               {"xml"},
	}
	for name, values := range wrong {
		for _, value := range values {
			t.Run(name+"="+value, func(t *testing.T) {
				t.Parallel()
				if diff := cmp.Diff([]string{name}, mistakes(t, name+"="+value)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestConfig_AllMistakesAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	_, _, err := config.Load([]string{
		"DATABASE_URL=mongodb://ann:hunter2@db.example/x", "DEFAULT_CHANNEL_CAPACITY=0", "LOG_LEVEL=loud", "WEIR_API_TOKENS=hunter2,,", "WEIR_LEASE_TTL=soon",
	})
	want := strings.Join([]string{
		`DATABASE_URL is "mongodb://ann:REDACTED@db.example/x"; allowed: sqlite://FILE, or mysql://USER:PASSWORD@HOST:PORT/DATABASE; several HOST:PORT are separated by commas, each at most once`,
		`WEIR_API_TOKENS is "REDACTED"; allowed: one or more tokens, separated by commas, of printable ASCII without blanks`,
		`DEFAULT_CHANNEL_CAPACITY is "0"; allowed: 1 to 1000000`,
		`WEIR_LEASE_TTL is "soon"; allowed: 3s to 5m`,
		`LOG_LEVEL is "loud"; allowed: debug, info, warn or error`,
	}, "\n")
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestConfig_SecretsAreReadFromFiles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("mysql://u:p@h:3306/weir\n")
	if c := load(t, "DATABASE_URL_FILE="+file); c.DatabaseURL != "mysql://u:p@h:3306/weir" {
		t.Errorf("read %q", c.DatabaseURL)
	}
	c := load(t, "DATABASE_URL_FILE="+file)
	for text, valid := range map[string]bool{"mysql://u:new@h:3306/weir\n": true, "mysql://": false, "": false} {
		write(text)
		if url, err := c.CurrentDatabaseURL()(); (err == nil) != valid || valid && url != strings.TrimSpace(text) {
			t.Errorf("the file has changed to %q: %q, %v", text, url, err)
		}
	}
	if c := load(t, "DATABASE_URL=mysql://u:p@h:3306/weir"); c.CurrentDatabaseURL() != nil {
		t.Error("a variable without a file changes")
	}
	write("mysql://u:p@h:3306/weir")
	want := []string{"DATABASE_URL_FILE"}
	if diff := cmp.Diff(want, mistakes(t, "DATABASE_URL_FILE="+file, "DATABASE_URL=sqlite://x")); diff != "" {
		t.Errorf("both set: %s", diff)
	}
	if diff := cmp.Diff(want, mistakes(t, "DATABASE_URL_FILE="+file+".none")); diff != "" {
		t.Errorf("no such file: %s", diff)
	}
	write("\n")
	if diff := cmp.Diff([]string{"WEIR_API_TOKENS_FILE"}, mistakes(t, "WEIR_API_TOKENS_FILE="+file, "LISTEN_ADDR=:80")); diff != "" {
		t.Errorf("empty file: %s", diff)
	}
	write("a-secret-that-is-long,another-secret-as-long\n")
	if c := load(t, "WEIR_API_TOKENS_FILE="+file, "LISTEN_ADDR=:80"); len(c.APITokens) != 2 {
		t.Errorf("read %d tokens", len(c.APITokens))
	}
}

func TestConfig_AccessKeysAreReadAndNotShown(t *testing.T) {
	t.Parallel()
	c, warnings, err := config.Load([]string{"PUBLIC_URL=https://weir.example", "JOB_ROUTER_ACCESS_KEYS=c2VjcmV0LXNlY3JldA==, c2VjcmV0LXNlY3JldC1zZWNyZXQ="})
	if err != nil {
		t.Fatal(err)
	}
	want := config.AccessKeys{[]byte("secret-secret"), []byte("secret-secret-secret")}
	if diff := cmp.Diff(want, c.RouterKeys); diff != "" {
		t.Error(diff)
	}
	if len(warnings) != 1 || strings.Contains(warnings[0], "secret-") || strings.Contains(warnings[0], "c2Vj") {
		t.Errorf("warnings %q; want one about the short key, without it", warnings)
	}
	var out strings.Builder
	if err := c.Print(&out); err != nil || strings.Contains(out.String(), "c2Vj") || !strings.Contains(out.String(), "REDACTED,REDACTED") {
		t.Errorf("error %v, printed:\n%s", err, out.String())
	}
	_, _, err = config.Load([]string{"JOB_ROUTER_ACCESS_KEYS=hunter2"})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v", err)
	}
}

func TestConfig_UnknownVariablesAreWarnedAbout(t *testing.T) {
	t.Parallel()
	_, warnings, err := config.Load([]string{
		"WEIR_API_TOKEN=a-secret-that-is-long", "CHNL_BKR_GC_IDLE_MINUTE=3", "WEIR_TEST_MYSQL=mysql://x", "WEIR_PORT=tcp://10.0.0.1:80", "PATH=/bin", "WEIR_DATABASE_URL=x", "WEIR_XYZ=1",
		"DEFAULT_CHANEL_CAPACITY=5", "LOST_AFTER_MINUTE=5", "LISTEN_ADR=:1", "LOG_LEVL=debug", "LOG_LEVEL=warn", "DEFAULT_SHELL=sh", "LOGNAME=ann", "WEIR_TOKEN=x",
	})
	want := []string{
		"CHNL_BKR_GC_IDLE_MINUTE is not a variable of Weir and has no effect; did you mean CHNL_BKR_GC_IDLE_MINUTES?",
		"DEFAULT_CHANEL_CAPACITY is not a variable of Weir and has no effect; did you mean DEFAULT_CHANNEL_CAPACITY?",
		"LISTEN_ADR is not a variable of Weir and has no effect; did you mean LISTEN_ADDR?",
		"LOST_AFTER_MINUTE is not a variable of Weir and has no effect; did you mean LOST_AFTER_MINUTES?",
		"WEIR_API_TOKEN is not a variable of Weir and has no effect; did you mean WEIR_API_TOKENS?",
		"WEIR_DATABASE_URL is not a variable of Weir and has no effect; did you mean DATABASE_URL?",
		"WEIR_XYZ is not a variable of Weir and has no effect",
	}
	if diff := cmp.Diff(want, warnings); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestConfig_ShortTokensAreWarnedAboutWithoutShowingThem(t *testing.T) {
	t.Parallel()
	_, warnings, _ := config.Load([]string{"WEIR_API_TOKENS=hunter2"})
	if len(warnings) != 1 || strings.Contains(warnings[0], "hunter2") {
		t.Errorf("%q", warnings)
	}
}

func TestConfig_PublicURLIsDerivedFromTheAddress(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080", ":80": "http://127.0.0.1:80", "0.0.0.0:81": "http://127.0.0.1:81",
		"[::]:82": "http://127.0.0.1:82", "[::1]:83": "http://[::1]:83", "weir.example:84": "http://weir.example:84", "127.0.0.1:0": "", "nonsense": "",
	} {
		if got := new(config.Config).DerivePublicURL(addr); got != want {
			t.Errorf("%s gives %q, want %q", addr, got, want)
		}
	}
}

func TestConfig_PrintShowsOriginsAndNoSecrets(t *testing.T) {
	t.Parallel()
	c := load(t, "DATABASE_URL=mysql://ann:hun:t@er2@db.example:3306/weir", "WEIR_API_TOKENS=hunter2-hunter2-hunter2,swordfish-swordfish", "LOG_LEVEL=debug")
	var out strings.Builder
	if err := c.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hun", "er2", "swordfish"} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%q is shown", secret)
		}
	}
	var lines []string
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	for _, want := range []string{
		"VARIABLE VALUE FROM",
		"DATABASE_URL mysql://ann:REDACTED@db.example:3306/weir environment",
		"WEIR_API_TOKENS REDACTED,REDACTED environment",
		"PUBLIC_URL http://127.0.0.1:8080 LISTEN_ADDR",
		"LOG_LEVEL debug environment",
		"SHUT_DOWN_MINUTES 30 default",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q in\n%s", want, out.String())
		}
	}
}

// A duration reads back as printed, so that the output of Print can be set.
func TestConfig_SpansReadBackAsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := config.Period(rapid.Int64().Draw(t, "period"))
		var back config.Period
		if err := back.Decode(p.String()); err != nil || back != p {
			t.Fatalf("%v became %v (%v)", p, back, err)
		}
		m := config.Minutes(rapid.Int64Range(0, int64(10080*time.Minute)).Draw(t, "minutes"))
		var again config.Minutes
		if err := again.Decode(m.String()); err != nil || again != m {
			t.Fatalf("%v became %v (%v)", m, again, err)
		}
	})
}

// FuzzDecode searches for values that crash a decoder or that it decodes wrongly.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"0.05", "30d", "15s", "NaN", "-1e300", "a,b", "1h2m3.5s", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		var p, p2 config.Period
		if p.Decode(value) == nil && (p2.Decode(p.String()) != nil || p2 != p) {
			t.Errorf("%q is the period %v, which is %v", value, p, p2)
		}
		var m, m2 config.Minutes
		if m.Decode(value) == nil && (m2.Decode(m.String()) != nil || m2.Duration().Round(time.Millisecond) != m.Duration().Round(time.Millisecond)) {
			t.Errorf("%q is %v minutes, which are %v", value, m, m2)
		}
		var tokens config.Tokens
		if tokens.Decode(value) == nil && (len(tokens) == 0 || strings.ContainsAny(strings.Join(tokens, ""), ", \n")) {
			t.Errorf("%q gives the tokens %q", value, []string(tokens))
		}
	})
}

// FuzzRedact searches for malformed URLs whose password is shown.
func FuzzRedact(f *testing.F) {
	f.Add("mysql", "h/d")
	f.Add("", "h://x")
	f.Add("mysql:", "@@:/")
	f.Fuzz(func(t *testing.T, scheme, rest string) {
		const secret = "hunter2"
		if strings.Contains(scheme+rest, "hunter") || strings.Contains(scheme, "://") {
			return
		}
		for _, s := range []string{scheme + "://ann:" + secret + "@" + rest, "ann:" + secret + "@" + rest} {
			if shown := config.Redact(s); strings.Contains(shown, secret) {
				t.Errorf("%q is shown as %q", s, shown)
			}
		}
	})
}

func TestConfig_SettlingBeforeTheTimeoutIsWarnedAbout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		environ []string
		want    int
	}{
		"defaults":      {nil, 0},
		"settle early":  {[]string{"WEIR_SETTLE_AFTER=5s"}, 1},
		"idle early":    {[]string{"CHNL_BKR_GC_IDLE_MINUTES=0.1"}, 1},
		"both in order": {[]string{"WEIR_SETTLE_AFTER=5s", "WEIR_SEND_TIMEOUT=4s"}, 0},
	} {
		_, warnings, err := config.Load(c.environ)
		if err != nil || len(warnings) != c.want {
			t.Errorf("%s: %v, %v; want %d warnings", name, warnings, err, c.want)
		}
	}
}

func TestConfig_AddressThatProvidersCannotReachIsWarnedAbout(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{"0.0.0.0:8080": "http://127.0.0.1:8080,", ":0": "at a port", "10.0.0.7:8080": "http://10.0.0.7:8080,", "127.0.0.1:8080": "", "localhost:8080": ""} {
		environ := []string{"LISTEN_ADDR=" + listen, "WEIR_API_TOKENS=0123456789abcdef0123456789abcdef"}
		_, warnings, err := config.Load(environ)
		if got := strings.Join(warnings, ""); err != nil || !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q (%v), want %q", listen, got, err, want)
		}
		if _, warnings, _ = config.Load(append(environ, "PUBLIC_URL=https://weir.example.org")); len(warnings) != 0 {
			t.Errorf("%s: %q", listen, warnings)
		}
	}
}

func TestConfig_EventSubscriptionsAreRead(t *testing.T) {
	t.Parallel()
	c := load(t, "JOB_ROUTER_EVENT_SUBSCRIPTIONS=https://a.example/in?code=hunter2, http://127.0.0.1:7071/api#CloudEvents,https://b.example#eventgrid",
		"WEIR_OUTBOUND_ALLOW=Plain, hooks.internal,10.0.0.7,[fd00::1],private", "JOB_ROUTER_EVENT_FORMAT=cloudevents")
	want := config.Subscriptions{
		{URL: "https://a.example/in?code=hunter2"}, {URL: "http://127.0.0.1:7071/api", Format: "cloudevents"}, {URL: "https://b.example", Format: "eventgrid"},
	}
	if diff := cmp.Diff(want, c.EventSubscriptions); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"hooks.internal", "10.0.0.7", "[fd00::1]"}, c.OutboundAllow.Hosts()); diff != "" {
		t.Error(diff)
	}
	if !c.OutboundAllow.Plain() || !c.OutboundAllow.Private() || c.EventFormat != "cloudevents" || c.EventRetention.Duration() != 7*24*time.Hour {
		t.Errorf("%v %v %v", c.OutboundAllow, c.EventFormat, c.EventRetention)
	}
	if none := load(t); len(none.EventSubscriptions) != 0 || len(none.OutboundAllow) != 0 || none.EventFormat != "eventgrid" || none.OutboundAllow.Plain() {
		t.Errorf("by default: %+v", none)
	}
	var out strings.Builder
	if err := c.Print(&out); err != nil || strings.Contains(out.String(), "hunter2") || strings.Contains(out.String(), "a.example") {
		t.Errorf("%v: %s", err, &out)
	}
	_, _, err := config.Load([]string{"JOB_ROUTER_EVENT_SUBSCRIPTIONS=https://a.example/?code=hunter2,x"})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
}

// Loopback addresses are targets while Weir itself is reached there alone, or if they are
// named.
func TestConfig_LoopbackTargetsAreAllowedInDevelopmentOnly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		environ string
		want    bool
	}{
		{"", true},
		{"LISTEN_ADDR=localhost:80", true},
		{"LISTEN_ADDR=[::1]:80 PUBLIC_URL=https://localhost/base", true},
		{"PUBLIC_URL=http://127.0.0.1:8080", true},
		{"PUBLIC_URL=https://weir.example", false}, // a proxy on the same machine
		{"PUBLIC_URL=https://weir.example WEIR_OUTBOUND_ALLOW=plain,private,127.0.0.1", false},
		{"PUBLIC_URL=https://weir.example WEIR_OUTBOUND_ALLOW=private,Loopback", true},
		{"LISTEN_ADDR=:80", false},
		{"LISTEN_ADDR=10.0.0.7:80 PUBLIC_URL=http://127.0.0.1:80", false},
		{"LISTEN_ADDR=10.0.0.7:80 WEIR_OUTBOUND_ALLOW=loopback", true},
	} {
		c := load(t, strings.Fields(tt.environ)...)
		if got := c.CallsLoopback(); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.environ, got, tt.want)
		}
		if hosts := c.OutboundAllow.Hosts(); slices.Contains(hosts, "loopback") {
			t.Errorf("%s: hosts %v", tt.environ, hosts)
		}
	}
}
