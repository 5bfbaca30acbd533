package deploytest

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/cmd/weir/daemon"
	"weir/config"
)

// load returns the configuration from the variables of a file, and all warnings and
// errors about it. It makes up the content of secret files: other tests check where
// they are mounted.
func load(t *testing.T, variables map[string]string) (config.Config, []string) {
	t.Helper()
	var environ []string
	for name, value := range variables {
		if strings.HasSuffix(name, "_FILE") {
			content := map[string]string{
				"DATABASE_URL_FILE": "mysql://weir:password@mysql:3306/weir?tls=preferred", "JOB_ROUTER_ACCESS_KEYS_FILE": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldC0=",
			}[name]
			if content == "" {
				content = "0123456789abcdef0123456789abcdef"
			}
			value = filepath.Join(t.TempDir(), "secret")
			if err := os.WriteFile(value, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		environ = append(environ, name+"="+value)
	}
	cfg, complaints, err := config.Load(environ)
	if err != nil {
		complaints = append(complaints, err.Error())
	}
	return cfg, complaints
}

// known reports whether a variable is Weir's.
func known(t *testing.T, name string) bool {
	t.Helper()
	table, err := os.ReadFile(filepath.Join(root, "config/config.go"))
	if err != nil {
		t.Fatal(err)
	}
	tag := regexp.MustCompile("`envconfig:\"" + strings.TrimSuffix(name, "_FILE") + "\"([^`]*)`").FindSubmatch(table)
	return tag != nil && (!strings.HasSuffix(name, "_FILE") || strings.Contains(string(tag[1]), `secret:"true"`))
}

func checkVariables(t *testing.T, where string, variables map[string]string) config.Config {
	t.Helper()
	for name := range variables {
		if !known(t, name) {
			t.Errorf("%s sets %s, which nothing reads", where, name)
		}
	}
	cfg, complaints := load(t, variables)
	for _, c := range complaints {
		t.Errorf("%s: %s", where, c)
	}
	return cfg
}

// seconds parses a number of seconds, with or without the unit s.
func seconds(t *testing.T, v any) time.Duration {
	t.Helper()
	s, _ := v.(string)
	n, err := strconv.Atoi(strings.TrimSuffix(s, "s"))
	if err != nil {
		t.Errorf("%v is not a time", v)
	}
	return time.Duration(n) * time.Second
}

func TestCompose_PublishesOnLoopbackAndChecksHealth(t *testing.T) {
	t.Parallel()
	file := readYAML(t, "deploy/compose/compose.yml")
	services, _ := file["services"].(object)
	secrets, _ := file["secrets"].(object)
	port := regexp.MustCompile(`^127\.0\.0\.1:(\$\{[A-Z_]+:-[0-9]+\}|[0-9]+):[0-9]+$`)
	profiles := map[string]string{"mysql": "mysql", "prometheus": "monitoring", "grafana": "monitoring", "verboice": "demo", "nuntium": "demo", "standby": "standbys", "balancer": "standbys"}
	for name, s := range services {
		if want := profiles[name]; want != "" && dig(s, "profiles", 0) != want || want == "" && dig(s, "profiles") != nil {
			t.Errorf("%s is in the profiles %v", name, dig(s, "profiles"))
		}
		ports, _ := dig(s, "ports").([]any)
		for _, p := range ports {
			if text, _ := p.(string); !port.MatchString(text) {
				t.Errorf("%s publishes %v, not on loopback", name, p)
			}
		}
		if dig(s, "healthcheck") == nil {
			t.Errorf("%s has no check of its health", name)
		}
		used, _ := dig(s, "secrets").([]any)
		env, _ := dig(s, "environment").(object)
		for _, secret := range used {
			if text, _ := secret.(string); secrets[text] == nil {
				t.Errorf("%s uses the secret %v, which is not defined", name, secret)
			}
		}
		for variable, value := range env {
			text, _ := value.(string)
			if at, is := strings.CutPrefix(text, "/run/secrets/"); is && !slices.Contains(used, any(at)) {
				t.Errorf("%s: %s names a secret that is not mounted", name, variable)
			}
			if regexp.MustCompile(`PASSWORD|TOKEN|KEY`).MatchString(variable) && !strings.HasSuffix(variable, "_FILE") {
				t.Errorf("%s: %s holds a secret in the open", name, variable)
			}
		}
	}
	weir := services["weir"]
	variables := map[string]string{}
	for name, value := range weir.(object)["environment"].(object) {
		text, _ := value.(string)
		variables[name] = regexp.MustCompile(`^\$\{\w+:-(.*)\}$`).ReplaceAllString(text, "$1")
	}
	checkVariables(t, "compose.yml", variables)
	if grace := seconds(t, dig(weir, "stop_grace_period")); grace <= daemon.Limit {
		t.Errorf("Weir is killed after %v; it may take %v", grace, daemon.Limit)
	}
	for _, name := range []string{"weir", "standby", "verboice", "nuntium"} {
		if s := services[name]; dig(s, "read_only") != "true" || dig(s, "cap_drop", 0) != "ALL" || dig(s, "security_opt", 0) != "no-new-privileges:true" {
			t.Errorf("%s may do more than it needs", name)
		}
	}
	if tmp, _ := dig(weir, "tmpfs", 0).(string); !strings.HasPrefix(tmp, "/tmp:") {
		t.Error("imports have nowhere to spool to")
	}
}

// The three processes of the profile standbys differ in their ports alone, and the balancer
// knows all of them.
func TestCompose_StandbysDifferInTheirPortsAlone(t *testing.T) {
	t.Parallel()
	services := readYAML(t, "deploy/compose/compose.yml")["services"]
	weir, _ := dig(services, "weir").(object)
	standby, _ := dig(services, "standby").(object)
	if dig(standby, "deploy", "replicas") != "2" {
		t.Errorf("%v further processes", dig(standby, "deploy", "replicas"))
	}
	one, other := maps.Clone(weir), maps.Clone(standby)
	delete(one, "ports")
	delete(other, "profiles")
	delete(other, "deploy")
	if diff := cmp.Diff(one, other); diff != "" {
		t.Errorf("weir (-) and standby (+): %s", diff)
	}
	file, _ := dig(services, "balancer", "volumes", 0).(string)
	file, _, _ = strings.Cut(file, ":")
	text, err := os.ReadFile(filepath.Join(root, "deploy/compose", file))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"weir", "standby"} {
		if !strings.Contains(string(text), "\tserver "+name+":8080 resolve ") {
			t.Errorf("the balancer does not know %s", name)
		}
	}
}

// Every mounted secret is created by init.
func TestCompose_HasItsSecretsMade(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(filepath.Join(root, "deploy/compose/init"))
	if err != nil {
		t.Fatal(err)
	}
	secrets, _ := readYAML(t, "deploy/compose/compose.yml")["secrets"].(object)
	for name, s := range secrets {
		file, _ := dig(s, "file").(string)
		file = strings.ReplaceAll(strings.TrimPrefix(file, "./secrets/"), "${WEIR_DATABASE:-sqlite}", "sqlite")
		if !strings.Contains(string(script), "\nmake "+file+" ") {
			t.Errorf("%s is mounted from %s, which init does not make", name, file)
		}
	}
}

// Scenario 193: each secret of compose is complete and on one line even if base64 wraps
// lines and has no option against it; if a tool is missing, no secret is created.
func TestCompose_SecretsAreCompleteAndOnOneLine(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		base64 string // script that replaces base64; empty: the real one
		fails  bool
	}{
		"as it is": {}, "without -w": {"[ $# -eq 0 ] || exit 1; od -An -v -tx1 | head -2 | tr -d ' '", false}, "none": {"exit 127", true},
	} {
		folder := t.TempDir()
		if err := os.Mkdir(filepath.Join(folder, "bin"), 0o700); err != nil {
			t.Fatal(err)
		}
		script, err := os.ReadFile(filepath.Join(root, "deploy/compose/init"))
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{"init": string(script)}
		if tc.base64 != "" {
			files["bin/base64"] = "#!/bin/sh\n" + tc.base64 + "\n"
		}
		for file, text := range files {
			if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), "sh", "init")
		cmd.Dir, cmd.Env = folder, append(os.Environ(), "PATH="+filepath.Join(folder, "bin")+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if (err != nil) != tc.fails {
			t.Errorf("%s: %v %s", name, err, out)
		}
		key, _ := os.ReadFile(filepath.Join(folder, "secrets/job_router_access_keys"))
		if lines := strings.Count(string(key), "\n"); !tc.fails && (len(key) < 30 || lines != 1) || tc.fails && len(key) > 0 {
			t.Errorf("%s: the router's key is %q", name, key)
		}
	}
}

// container returns the only container of a Deployment, and its pod.
func container(t *testing.T, file string) (pod, c object) {
	t.Helper()
	pod, _ = dig(readYAML(t, file), "spec", "template", "spec").(object)
	list := items(pod["containers"])
	if len(list) != 1 {
		t.Fatalf("%s has %d containers", file, len(list))
	}
	return pod, list[0]
}

func environmentOf(c object) map[string]string {
	out := map[string]string{}
	for _, v := range items(c["env"]) {
		name, _ := v["name"].(string)
		out[name], _ = v["value"].(string)
	}
	return out
}

func TestKubernetes_RunsOneProcessPerSQLiteFile(t *testing.T) {
	t.Parallel()
	const file = "deploy/kubernetes/base/deployment.yaml"
	pod, c := container(t, file)
	spec := readYAML(t, file)["spec"]
	if dig(spec, "replicas") != "1" || dig(spec, "strategy", "type") != "Recreate" {
		t.Error("two processes could be at one SQLite file")
	}
	if grace := seconds(t, pod["terminationGracePeriodSeconds"]); grace <= daemon.Limit {
		t.Errorf("Weir is killed after %v; it may take %v", grace, daemon.Limit)
	}
	for probe, path := range map[string]string{"startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"} {
		if got := dig(c, probe, "httpGet", "path"); got != path {
			t.Errorf("%s asks %v, want %s", probe, got, path)
		}
	}
	if dig(pod, "securityContext", "runAsNonRoot") != "true" || dig(pod, "securityContext", "seccompProfile", "type") != "RuntimeDefault" ||
		dig(c, "securityContext", "allowPrivilegeEscalation") != "false" || dig(c, "securityContext", "readOnlyRootFilesystem") != "true" ||
		dig(c, "securityContext", "capabilities", "drop", 0) != "ALL" {
		t.Error("the pod does not keep to the restricted standard")
	}
	mounts := map[any]any{}
	for _, m := range items(c["volumeMounts"]) {
		mounts[m["name"]] = m["mountPath"]
	}
	for _, v := range items(pod["volumes"]) {
		if mounts[v["name"]] == nil {
			t.Errorf("the volume %v is not mounted", v["name"])
		}
		if v["name"] == "tmp" && (v["emptyDir"] == nil || mounts["tmp"] != "/tmp") {
			t.Error("imports have nowhere to spool to")
		}
	}
	variables := environmentOf(c)
	cfg := checkVariables(t, file, variables)
	if cfg.DatabaseURL != "sqlite:///data/weir.db" || mounts["data"] != "/data" {
		t.Errorf("contacts are kept in %s, and %v is mounted", cfg.DatabaseURL, mounts["data"])
	}
}

func TestKubernetesWithMySQL_UsesMySQL(t *testing.T) {
	t.Parallel()
	const base, file = "deploy/kubernetes/base/deployment.yaml", "deploy/kubernetes/mysql/deployment.yaml"
	_, c := container(t, base)
	variables := environmentOf(c)
	_, c = container(t, file)
	for name, value := range environmentOf(c) {
		variables[name] = value
	}
	if cfg := checkVariables(t, file, variables); !strings.HasPrefix(cfg.DatabaseURL, "mysql://") {
		t.Error("it would not use MySQL")
	}
	if cfg := checkVariables(t, file, variables); len(cfg.RouterKeys) == 0 {
		t.Error("the router's access keys are not mounted")
	}
	if secret := readYAML(t, "deploy/kubernetes/secret.example.yaml"); dig(secret, "stringData", "database_url") != "" || dig(secret, "stringData", "api_tokens") != "" {
		t.Error("the example of the Secret holds values, or not the names that are mounted")
	}
}

// On MySQL three pods share the database. An upgrade ends none before a new one is ready, and
// the pods reach each other at a port that is closed to everything else.
func TestKubernetesWithMySQL_ThreePodsShareTheDatabase(t *testing.T) {
	t.Parallel()
	const file = "deploy/kubernetes/mysql/deployment.yaml"
	spec := readYAML(t, file)["spec"]
	rolling, _ := dig(spec, "strategy", "rollingUpdate").(object)
	if dig(spec, "replicas") != "3" || dig(spec, "strategy", "type") != "RollingUpdate" || rolling["maxUnavailable"] != "0" || rolling["maxSurge"] != "1" {
		t.Errorf("%v pods, replaced by %v", dig(spec, "replicas"), dig(spec, "strategy"))
	}
	base, plain := container(t, "deploy/kubernetes/base/deployment.yaml")
	_, c := container(t, file)
	// A standby is ready for 10 s without an owner; then the number of probes that may fail.
	fails := 10*time.Second + 2*seconds(t, dig(plain, "readinessProbe", "periodSeconds"))
	if dig(plain, "readinessProbe", "failureThreshold") != "2" || seconds(t, dig(spec, "minReadySeconds")) <= fails {
		t.Errorf("a pod that does not reach the owner counts before it is not ready, which may take %v", fails)
	}
	waits := seconds(t, dig(c, "lifecycle", "preStop", "sleep", "seconds"))
	if grace := seconds(t, base["terminationGracePeriodSeconds"]); grace-waits <= daemon.Limit {
		t.Errorf("Weir is killed %v after SIGTERM; it may take %v", grace-waits, daemon.Limit)
	}
	if budget := readYAML(t, "deploy/kubernetes/mysql/poddisruptionbudget.yaml"); dig(budget, "spec", "maxUnavailable") != "1" {
		t.Error("the cluster may end several pods at once")
	}
	port, _ := strings.CutPrefix(environmentOf(c)["WEIR_PEER_ADDR"], ":")
	if port == "" || dig(c, "ports", 0, "containerPort") != port {
		t.Errorf("the pods listen for each other at port %q, and %v is declared", port, dig(c, "ports"))
	}
	text, err := os.ReadFile(filepath.Join(root, "deploy/kubernetes/mysql/networkpolicy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	patches, err := parseYAML(string(text))
	if err != nil {
		t.Fatal(err)
	}
	open := map[any]any{} // who may use the port, by the list that has the rule
	for _, patch := range items(patches) {
		rule := patch["value"]
		if dig(rule, "ports", 0, "port") != port {
			continue
		}
		for _, end := range []string{"from", "to"} {
			if list := items(dig(rule, end)); len(list) == 1 && len(list[0]) == 1 {
				open[patch["path"]] = dig(list[0], "podSelector", "matchLabels", "app.kubernetes.io/name")
			}
		}
	}
	if want := map[any]any{"/spec/ingress/-": "weir", "/spec/egress/-": "weir"}; !maps.Equal(open, want) {
		t.Errorf("the port of the pods is open by %v, want %v", open, want)
	}
}

// Every file that a kustomization names exists, and every file is named.
func TestFiles_KustomizationsAreComplete(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"base", "mysql", "podmonitor"} {
		at := "deploy/kubernetes/" + folder
		k := readYAML(t, at+"/kustomization.yaml")
		named := map[string]bool{"kustomization.yaml": true}
		list, _ := k["resources"].([]any)
		for _, r := range list {
			name, _ := r.(string)
			named[name] = true
			if _, err := os.Stat(filepath.Join(root, at, name)); err != nil {
				t.Error(err)
			}
		}
		for _, p := range items(k["patches"]) {
			if name, ok := p["path"].(string); ok {
				named[name] = true
			}
		}
		files, err := os.ReadDir(filepath.Join(root, at))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !named[f.Name()] {
				t.Errorf("%s/%s is not in its kustomization", at, f.Name())
			}
		}
	}
}

func TestSystemd_UnitFitsTheProgram(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "deploy/systemd/weir.service"))
	if err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{}
	set := map[string]string{}
	for l := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(l), "=")
		if name == "Environment" {
			name, value, _ = strings.Cut(value, "=")
			variables[name] = value
			continue
		}
		set[name] = value
	}
	checkVariables(t, "weir.service", variables)
	if stop := seconds(t, set["TimeoutStopSec"]); stop <= daemon.Limit {
		t.Errorf("Weir is killed after %v; it may take %v", stop, daemon.Limit)
	}
	for name, want := range map[string]string{
		"Type": "notify", "ExecStart": "/usr/local/bin/weir serve", "DynamicUser": "yes", "ProtectSystem": "strict", "StateDirectory": "weir",
		"NoNewPrivileges": "yes", "CapabilityBoundingSet": "", "Restart": "on-failure", "RestartPreventExitStatus": "2", "EnvironmentFile": "-/etc/weir/weir.env",
	} {
		if got, ok := set[name]; !ok || got != want {
			t.Errorf("%s=%s, want %q", name, got, want)
		}
	}
	credential, _, _ := strings.Cut(set["LoadCredential"], ":")
	if variables["WEIR_API_TOKENS_FILE"] != "%d/"+credential {
		t.Errorf("tokens are read from %s, and loaded as %s", variables["WEIR_API_TOKENS_FILE"], credential)
	}
}
