package dashboard

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"path"
	"strings"

	"weir/web/dashboard/display"

	"weir"
	"weir/ops"
)

// page is one page: its content and its actions. Its template is
// templates/<name>.html, which defines "main" and a block for each live region.
type page struct {
	name   string
	path   string      // pattern without a method, below the prefix
	nav    string      // text in the navigation; empty: not listed
	scopes []ops.Scope // one is needed to see it; nil: any token
	load   func(*visit) (*content, error)
	// live lists the blocks that are sent again when they change. Each is inside an
	// element whose id is the block's name.
	live    []string
	actions []action
	files   map[string]handler // other GET routes, by pattern: downloads
	// posted loads the page from a form whose fields must not appear in a URL; nil:
	// there is none.
	posted func(*visit) (*content, error)
}

// content is the content of a page.
type content struct {
	title  string // must not contain phone numbers: it appears in the browser's history and window titles
	crumbs []crumb
	data   any
}

// crumb is a step of the path from the overview to a page.
type crumb struct{ Text, Link string }

// navItem is a page in the navigation.
type navItem struct {
	Text, Link string
	Current    bool
	path       string
	scopes     []ops.Scope
}

// view is the data of a template.
type view struct {
	*visit
	Title  string
	Crumbs []crumb
	Nav    []navItem
	Flash  *flash
	Stream string // address of the live updates; empty: none
	Data   any
}

//go:embed templates/*.html
var templateFiles embed.FS

// templates holds the parsed pages.
type templates struct {
	pages map[string]*template.Template
}

// parseTemplates gives each page its own template set, so that the blocks of one
// page cannot replace those of another.
func parseTemplates() (*templates, error) {
	base, err := template.New("base").Funcs(display.Functions()).Funcs(routerFunctions()).ParseFS(templateFiles, "templates/base.html", "templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("dashboard: %w", err)
	}
	names, err := templateFiles.ReadDir("templates")
	if err != nil {
		return nil, err
	}
	out := &templates{pages: map[string]*template.Template{}}
	for _, f := range names {
		name := strings.TrimSuffix(f.Name(), ".html")
		if name == "base" || name == "parts" {
			continue
		}
		set, err := base.Clone()
		if err == nil {
			_, err = set.ParseFS(templateFiles, path.Join("templates", f.Name()))
		}
		if err != nil {
			return nil, fmt.Errorf("dashboard: %w", err)
		}
		out.pages[name] = set
	}
	return out, nil
}

// page serves a page.
func (d *Dashboard) page(p *page) handler {
	return func(v *visit, w http.ResponseWriter) error {
		c, err := p.load(v)
		if err != nil {
			return err
		}
		return d.renderLive(v, w, p, c)
	}
}

// serveForm serves a page for a posted form. It has no live regions, because a
// stream needs a URL.
func (d *Dashboard) serveForm(p *page) handler {
	return func(v *visit, w http.ResponseWriter) error {
		if err := v.readForm(w); err != nil {
			return err
		}
		c, err := p.posted(v)
		if err != nil {
			return err
		}
		return d.render(v, w, http.StatusOK, p.name, c)
	}
}

// readForm parses the posted form.
func (v *visit) readForm(w http.ResponseWriter) error {
	v.r.Body = http.MaxBytesReader(w, v.r.Body, maxForm)
	if err := v.r.ParseForm(); err != nil {
		return &problem{Status: http.StatusBadRequest, Code: weir.CodeInvalid, Detail: "the form is malformed or larger than 64 KiB"}
	}
	return nil
}

// renderLive writes a page that may have live regions.
func (d *Dashboard) renderLive(v *visit, w http.ResponseWriter, p *page, c *content) error {
	x := d.view(v, w, c)
	if len(p.live) > 0 {
		x.Stream = d.Prefix + "/live" + v.r.URL.EscapedPath()
		if v.r.URL.RawQuery != "" {
			x.Stream += "?" + v.r.URL.RawQuery
		}
	}
	return d.write(w, http.StatusOK, p.name, x)
}

// render writes a page without live regions.
func (d *Dashboard) render(v *visit, w http.ResponseWriter, status int, name string, c *content) error {
	return d.write(w, status, name, d.view(v, w, c))
}

func (d *Dashboard) view(v *visit, w http.ResponseWriter, c *content) *view {
	x := &view{visit: v, Title: c.title, Crumbs: c.crumbs, Data: c.data}
	if !x.Fragment() {
		x.Flash = d.takeFlash(v, w)
	}
	if v.who.Scopes == nil {
		return x // not logged in
	}
	for _, item := range d.nav {
		if !v.may(item.scopes) {
			continue
		}
		item.Link = d.Prefix + item.path
		item.Current = item.path == v.r.URL.Path || item.path != "/" && strings.HasPrefix(v.r.URL.Path, item.path+"/")
		x.Nav = append(x.Nav, item)
	}
	return x
}

// fragmentHeader marks a request of the script for the content of a page alone.
const fragmentHeader = "Weir-Fragment"

// Fragment reports whether the script requested a part of a page.
func (v *visit) Fragment() bool { return v.r.Header.Get(fragmentHeader) != "" }

// Here returns the path of the page, below the prefix.
func (v *visit) Here() string { return v.r.URL.EscapedPath() }

// write executes the whole template before it sends anything.
func (d *Dashboard) write(w http.ResponseWriter, status int, name string, x *view) error {
	block := "page"
	if x.Fragment() {
		block = "main"
	}
	var b bytes.Buffer
	if err := d.sets.pages[name].ExecuteTemplate(&b, block, x); err != nil {
		return fmt.Errorf("template %s: %w", name, err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Vary", fragmentHeader)
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the browser may have disconnected
	return nil
}

// writeError writes an error response.
func (d *Dashboard) writeError(v *visit, w http.ResponseWriter, err error) {
	status, p := statusOf(err)
	if status == http.StatusUnauthorized {
		d.toLogin(v, w)
		return
	}
	if status == http.StatusInternalServerError {
		d.Logger.LogAttrs(v.r.Context(), slog.LevelError, "dashboard page failed", slog.String("request", v.id), slog.Any("error", err))
	}
	if p.wait != "" {
		w.Header().Set("Retry-After", p.wait)
	}
	c := &content{title: titleOf(status), crumbs: []crumb{{Text: titleOf(status)}}, data: failure{p, v.id}}
	if err := d.render(v, w, status, "error", c); err != nil {
		http.Error(w, titleOf(status), status)
	}
}

// failure is the data of the error page.
type failure struct {
	Problem *problem
	Request string
}

func titleOf(status int) string {
	switch status {
	case http.StatusForbidden:
		return "Not allowed"
	case http.StatusNotFound:
		return "Not found"
	case http.StatusConflict:
		return "Conflict"
	case http.StatusUnprocessableEntity, http.StatusBadRequest:
		return "Invalid request"
	case http.StatusTooManyRequests:
		return "Too many requests"
	case http.StatusServiceUnavailable:
		return "Unavailable"
	default:
		return "Internal error"
	}
}
