package deploytest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// source names a data source.
type source struct{ Type, UID string }

// query is a query of a panel.
type query struct {
	RefID, Expr string
	Datasource  source
}

// panel is a panel of the dashboard.
type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               source
	GridPos                  struct{ H, W, X, Y int }
	Targets                  []query
}

// dashboard holds the tested parts of deploy/grafana/weir.json.
type dashboard struct {
	UID, Title string
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
	Annotations struct {
		List []struct{ Name, Expr string }
	}
	Panels []panel
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "deploy/grafana/weir.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestGrafana_DashboardUsesFiguresThatExist(t *testing.T) {
	t.Parallel()
	known, d := registered(t), readDashboard(t)
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			known.check(t, p.Title, q.Expr)
		}
	}
	for _, a := range d.Annotations.List {
		known.check(t, a.Name, a.Expr)
	}
}

func TestGrafana_DashboardIsInOrder(t *testing.T) {
	t.Parallel()
	d := readDashboard(t)
	var rows, variables []string
	had := map[int]bool{}
	for _, p := range d.Panels {
		if had[p.ID] || p.ID == 0 {
			t.Errorf("%s: the id %d is taken", p.Title, p.ID)
		}
		had[p.ID] = true
		if p.GridPos.X+p.GridPos.W > 24 || p.GridPos.W <= 0 || p.GridPos.H <= 0 {
			t.Errorf("%s does not fit: %+v", p.Title, p.GridPos)
		}
		if p.Type == "row" {
			rows = append(rows, p.Title)
			continue
		}
		if p.Title == "" || p.Description == "" || len(p.Targets) == 0 {
			t.Errorf("panel %d lacks a title, a description or queries", p.ID)
		}
		for _, q := range p.Targets {
			if q.Datasource.UID != "${datasource}" || p.Datasource.UID != "${datasource}" {
				t.Errorf("%s is bound to a data source of its own", p.Title)
			}
		}
	}
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name)
	}
	if want := []string{"datasource", "instance", "channel"}; !slices.Equal(variables, want) {
		t.Errorf("variables %q, want %q", variables, want)
	}
	if want := []string{"Overview", "Channels", "Providers", "Surveys", "Router", "Store", "HTTP", "Several processes", "Events", "Process"}; !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
}

// The dashboard is mounted in the folder from which Grafana provisions dashboards.
func TestGrafana_DashboardIsProvisioned(t *testing.T) {
	t.Parallel()
	compose := readYAML(t, "deploy/compose/compose.yml")
	mounts, _ := dig(compose, "services", "grafana", "volumes").([]any)
	folder, _ := dig(readYAML(t, "deploy/grafana/provisioning/dashboards/weir.yml"), "providers", 0, "options", "path").(string)
	if !slices.Contains(mounts, any("../grafana/weir.json:"+folder+"/weir.json:ro")) {
		t.Errorf("the dashboard is looked for in %s and mounted by %v", folder, mounts)
	}
	if got := dig(compose, "services", "grafana", "environment", "GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"); got != folder+"/weir.json" {
		t.Errorf("the home dashboard is %v", got)
	}
	source := items(readYAML(t, "deploy/grafana/provisioning/datasources/prometheus.yml")["datasources"])
	if len(source) != 1 || source[0]["url"] != "http://prometheus:9090" || dig(compose, "services", "prometheus") == nil {
		t.Errorf("data sources %v", source)
	}
}
