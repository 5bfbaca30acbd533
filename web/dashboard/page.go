package dashboard

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/operators"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
)

// page is one page: its content and its actions. Its template is
// templates/<name>.html, which defines "main" and a block for each live region.
type page struct {
	name   string
	path   string            // pattern without a method, below the prefix
	nav    locale.Message    // text in the navigation; empty: not listed
	scopes []operators.Scope // one is needed to see it; nil: any token
	whole  bool              // and without a limit: it is about the whole installation
	load   func(*visit) (*content, error)
	// live lists the blocks that are sent again when they change. Each is inside an
	// element whose id is the block's name.
	live    []string
	actions []action
	files   map[string]handler // other GET routes, by pattern: downloads, and what leads to the page
	// posted loads the page from a form whose fields must not appear in a URL; nil:
	// there is none.
	posted func(*visit) (*content, error)
	room   int64   // max bytes of a posted form; 0: maxForm
	sent   handler // a file for such a form; nil: there is none
	// uploaded loads the page from a posted form with a file, which it reads itself; nil: there is
	// none.
	uploaded func(*visit, http.ResponseWriter) (*content, error)
}

// content is the content of a page.
type content struct {
	title  string // must not contain phone numbers: it appears in the browser's history and window titles
	crumbs []crumb
	data   any
	status int    // of the response to a posted form; 0: 200
	flash  *flash // the result of a posted form; nil: none
	to     string // the page that follows a posted form, below the prefix; empty: this one
}

// crumb is a step of the path from the overview to a page.
type crumb struct{ Text, Link string }

// view is the data of a template.
type view struct {
	*visit
	Title  string
	Crumbs []crumb
	Nav    []navItem
	Flash  *flash
	Stream string // address of the live updates; empty: none
	Help   string // address of the section that explains the page; empty: none
	Data   any
}

// pageTemplates returns the template set of a page by its name, in one language. Each page has its own set, so
// that the blocks of one page cannot replace those of another. A set is made when it is
// first used: all of them took a third of a program's start.
type pageTemplates map[string]func() (*template.Template, error)

// newTemplates reads the templates of all pages, in one language. own are functions beside those of [display.Functions].
func newTemplates(files fs.FS, l *locale.Locale, own template.FuncMap) (pageTemplates, error) {
	shared := sync.OnceValues(func() (*template.Template, error) {
		return template.New("base").Funcs(display.Functions(l)).Funcs(own).ParseFS(files, "templates/base.html", "templates/parts.html", "templates/fields.html")
	})
	names, err := fs.ReadDir(files, "templates")
	if err != nil {
		return nil, err
	}
	out := pageTemplates{}
	for _, f := range names {
		name := strings.TrimSuffix(f.Name(), ".html")
		if name == "base" || name == "parts" || name == "fields" {
			continue
		}
		out[name] = sync.OnceValues(func() (*template.Template, error) {
			base, err := shared()
			if err != nil {
				return nil, err
			}
			set, err := base.Clone()
			if err != nil {
				return nil, err
			}
			return set.ParseFS(files, path.Join("templates", f.Name()))
		})
	}
	return out, nil
}

// execute runs a block of a page's templates.
func (t pageTemplates) execute(to io.Writer, page, block string, x *view) error {
	set, err := t[page]()
	if err == nil {
		err = set.ExecuteTemplate(to, block, x)
	}
	if err != nil {
		return fmt.Errorf("template %s: %w", page, err)
	}
	return nil
}

// page serves a page.
func (d *Dashboard) page(p *page) handler {
	return func(v *visit, w http.ResponseWriter) error {
		c, err := p.load(v)
		if err != nil {
			return err
		}
		x := d.view(v, w, c)
		x.Help = d.helpAddress(p)
		if len(p.live) > 0 {
			x.Stream = d.Prefix + "/live" + v.r.URL.RequestURI()
		}
		return d.write(w, http.StatusOK, p.name, x)
	}
}

// serveForm serves a page for a posted form. It has no live regions, because a
// stream needs a URL.
func (d *Dashboard) serveForm(p *page) handler {
	return func(v *visit, w http.ResponseWriter) error {
		c, err := p.loadPosted(v, w)
		if err != nil {
			return err
		}
		if c.to != "" {
			if c.flash != nil {
				d.setFlash(v, w, *c.flash)
			}
			d.redirect(w, localPath(c.to))
			return nil
		}
		x := d.view(v, w, c)
		x.Help = d.helpAddress(p)
		return d.write(w, cmp.Or(c.status, http.StatusOK), p.name, x)
	}
}

// loadPosted loads a page for a posted form.
func (p *page) loadPosted(v *visit, w http.ResponseWriter) (*content, error) {
	if p.uploaded != nil {
		return p.uploaded(v, w)
	}
	if err := v.readForm(w, cmp.Or(p.room, maxForm)); err != nil {
		return nil, err
	}
	return p.posted(v)
}

// readForm parses the posted form.
func (v *visit) readForm(w http.ResponseWriter, room int64) error {
	v.r.Body = http.MaxBytesReader(w, v.r.Body, room)
	if err := v.r.ParseForm(); err != nil {
		return &problem{Status: http.StatusBadRequest, Detail: v.T("the form is malformed or larger than %d KiB", room>>10)}
	}
	return v.restore()
}

// render writes a page without live regions.
func (d *Dashboard) render(v *visit, w http.ResponseWriter, status int, name string, c *content) error {
	return d.write(w, status, name, d.view(v, w, c))
}

func (d *Dashboard) view(v *visit, w http.ResponseWriter, c *content) *view {
	if last := len(c.crumbs) - 1; last >= 0 {
		c.crumbs[last].Link = "" // it is this page
	}
	c.crumbs = slices.DeleteFunc(c.crumbs, func(step crumb) bool { return d.hidden(v, step.Link) })
	x := &view{visit: v, Title: c.title, Crumbs: c.crumbs, Data: c.data}
	if !x.Fragment() {
		x.Flash = d.takeFlash(v, w)
	}
	if c.flash != nil {
		x.Flash = c.flash
	}
	if v.Who.Scopes == nil {
		return x // not logged in
	}
	for _, item := range d.nav {
		if !v.May(item.scopes...) || item.whole && !v.MayAll(item.scopes...) {
			continue
		}
		item.Text, item.Link = v.T(item.text), d.Prefix+item.path
		item.Current = item.path == v.r.URL.Path || item.path != "/" && strings.HasPrefix(v.r.URL.Path, item.path+"/")
		x.Nav = append(x.Nav, item)
	}
	return x
}

// hidden reports whether a link leads to a page about the whole installation, which the token may not see.
func (d *Dashboard) hidden(v *visit, link string) bool {
	return slices.ContainsFunc(d.pages, func(p *page) bool { return p.whole && p.path == link && !v.MayAll(p.scopes...) })
}

// helpAddress returns the address of the section that explains a page; empty: there is none.
func (d *Dashboard) helpAddress(p *page) string {
	if to := d.help(p.path); to != "" {
		return d.Prefix + to
	}
	return ""
}

// write executes the whole template before it sends anything.
func (d *Dashboard) write(w http.ResponseWriter, status int, name string, x *view) error {
	block := "page"
	if x.Fragment() {
		block = "main"
	}
	var b bytes.Buffer
	if err := d.templates[x.Code].execute(&b, name, block, x); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Vary", fragmentHeader+", Accept-Language")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the browser may have disconnected
	return nil
}

// action is something a user can do: a GET of its path asks for confirmation and
// shows the consequences, a POST does it. The question is a page of its own, which
// the script shows as a dialog.
type action struct {
	path   string
	scopes []operators.Scope // one is needed; the API checks again
	ask    func(*visit) (*question, error)
	run    func(*visit) (*done, error)
}

// question asks for confirmation of an action.
type question struct {
	title   string
	Text    string  // the consequences
	Facts   []fact  // the objects affected, above all their number
	Check   any     // that the template check shows; nil: nothing
	Fields  []field // inputs to fill in
	Button  string
	Danger  bool
	Refused bool   // as it is, the answer would be refused
	back    string // the page to return to on cancel, below the prefix
	crumbs  []crumb
}

// asking is a question whose words are known before anyone is asked. What it is about is in the title.
type asking struct {
	title, button, text locale.Message
	danger              bool
}

func (a asking) question(l *locale.Locale, about ...any) *question {
	return &question{title: l.T(a.title, about...), Button: l.T(a.button), Text: l.T(a.text), Danger: a.danger}
}

// fact is a line of a question.
type fact struct{ Name, Value string }

// factsOf lists values by name.
func factsOf[V any](values map[string]V, text func(V) string) []fact {
	list := make([]fact, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, fact{name, text(values[name])})
	}
	return list
}

// field is an input of a question.
type field struct {
	Name, Label, Help string
	Type              string // of the input: number, text, checkbox, hidden, select
	Value             string
	Min, Max          string
	Options           []option
	Required          bool
}

// option is a choice of a field of type select.
type option struct{ Value, Text string }

// done is the result of an action.
type done struct {
	text string // shown on the next page
	bad  bool   // the action failed: the text is shown as an error
	to   string // the next page, below the prefix
}

// questionData is the data of the question template.
type questionData struct {
	*question
	Action, Back string
	Wrong        *problem
}

// ask serves the question of an action.
func (d *Dashboard) ask(a *action) handler {
	return func(v *visit, w http.ResponseWriter) error {
		q, err := a.ask(v)
		if err != nil {
			return err
		}
		return d.question(v, w, http.StatusOK, q, nil)
	}
}

func (d *Dashboard) question(v *visit, w http.ResponseWriter, status int, q *question, wrong *problem) error {
	data := questionData{question: q, Action: d.Prefix + v.r.URL.RequestURI(), Back: d.Prefix + q.back, Wrong: wrong}
	if wrong != nil {
		data.Wrong = wrong.in(v.Locale)
	}
	return d.render(v, w, status, "question", &content{title: q.title, crumbs: q.crumbs, data: data})
}

// act performs an action. If the API rejects it with 400, 409 or 422, the question
// is shown again with the errors above it and the values entered.
func (d *Dashboard) act(a *action) handler {
	return func(v *visit, w http.ResponseWriter) error {
		if err := v.readForm(w, maxForm); err != nil {
			return err
		}
		out, err := a.run(v)
		if err == nil {
			d.setFlash(v, w, flash{Text: out.text, Bad: out.bad})
			d.redirect(w, localPath(out.to))
			return nil
		}
		status, p := statusOf(err)
		if status != http.StatusConflict && status != http.StatusUnprocessableEntity && status != http.StatusBadRequest {
			return err
		}
		q, failed := a.ask(v)
		if failed != nil {
			return err
		}
		for i := range q.Fields {
			// A hidden value, such as the instant of a count, is that of the new question.
			if sent, ok := v.r.PostForm[q.Fields[i].Name]; ok && q.Fields[i].Type != "hidden" {
				q.Fields[i].Value = sent[0]
			}
		}
		return d.question(v, w, status, q, p)
	}
}

// flash is the message of an action on the page that follows it.
type flash struct {
	Text string
	Bad  bool
}

const maxFlash = 1000

func (d *Dashboard) setFlash(v *visit, w http.ResponseWriter, f flash) {
	mark := "+"
	if f.Bad {
		mark = "-"
	}
	text := f.Text
	if len(text) > maxFlash {
		text = strings.ToValidUTF8(text[:maxFlash], "") + "…"
	}
	http.SetCookie(w, v.cookie(flashCookie, mark+url.QueryEscape(text), time.Minute))
}

// takeFlash returns the flash and removes it, so that it is shown once.
func (d *Dashboard) takeFlash(v *visit, w http.ResponseWriter) *flash {
	c, err := v.r.Cookie(flashCookie)
	if err != nil || c.Value == "" {
		return nil
	}
	http.SetCookie(w, v.cookie(flashCookie, "", -time.Second))
	text, err := url.QueryUnescape(c.Value[1:])
	if err != nil || text == "" {
		return nil
	}
	return &flash{Text: text, Bad: c.Value[0] == '-'}
}

// redirect sends the browser to a path below the prefix.
func (d *Dashboard) redirect(w http.ResponseWriter, path string) {
	w.Header().Set("Location", d.Prefix+path)
	w.WriteHeader(http.StatusSeeOther)
}

// localPath returns a path below the prefix that is safe for a redirect. Anything
// that could lead elsewhere becomes the overview.
func localPath(path string) string {
	u, err := url.Parse(path)
	// /login is among them, because a login that leads to the login page would never end.
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") ||
		strings.ContainsAny(path, "\\\r\n\t") || strings.HasPrefix(path, "/login") {
		return "/"
	}
	return path
}
