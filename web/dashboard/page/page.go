package page

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

// Page is one page: its content and its actions. Its template is
// templates/<name>.html, which defines "main" and a block for each live region.
type Page struct {
	Name   string
	Path   string            // pattern without a method, below the prefix
	Nav    locale.Message    // text in the navigation; empty: not listed
	Scopes []operators.Scope // one is needed to see it; nil: any token
	Whole  bool              // and without a limit: it is about the whole installation
	Load   func(*Visit) (*Content, error)
	// Live lists the blocks that are sent again when they change. Each is inside an
	// element whose id is the block's name.
	Live    []string
	Actions []Action
	Files   map[string]Handler // other GET routes, by pattern: downloads, and what leads to the page
	// Posted loads the page from a form whose fields must not appear in a URL; nil:
	// there is none.
	Posted func(*Visit) (*Content, error)
	Room   int64   // max bytes of a posted form; 0: maxForm
	Sent   Handler // a file for such a form; nil: there is none
	// Uploaded loads the page from a posted form with a file, which it reads itself; nil: there is
	// none.
	Uploaded func(*Visit, http.ResponseWriter) (*Content, error)
}

// Content is the content of a page.
type Content struct {
	Title  string // must not contain phone numbers: it appears in the browser's history and window titles
	Crumbs []Crumb
	Data   any
	Status int    // of the response to a posted form; 0: 200
	Flash  *Flash // the result of a posted form; nil: none
	To     string // the page that follows a posted form, below the prefix; empty: this one
}

// Crumb is a step of the path from the overview to a page.
type Crumb struct{ Text, Link string }

// View is the data of a template.
type View struct {
	*Visit
	Title  string
	Crumbs []Crumb
	Nav    []navItem
	Flash  *Flash
	Stream string // address of the live updates; empty: none
	Help   string // address of the section that explains the page; empty: none
	Data   any
}

// Templates returns the template set of a page by its name, in one language. Each page has its own set, so
// that the blocks of one page cannot replace those of another. A set is made when it is
// first used: all of them took a third of a program's start.
type Templates map[string]func() (*template.Template, error)

// NewTemplates reads the templates of all pages, in one language. own are functions beside those of [display.Functions].
func NewTemplates(files fs.FS, l *locale.Locale, own template.FuncMap) (Templates, error) {
	shared := sync.OnceValues(func() (*template.Template, error) {
		return template.New("base").Funcs(display.Functions(l)).Funcs(own).ParseFS(files, "templates/base.html", "templates/parts.html", "templates/fields.html")
	})
	names, err := fs.ReadDir(files, "templates")
	if err != nil {
		return nil, err
	}
	out := Templates{}
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
func (t Templates) execute(to io.Writer, page, block string, x *View) error {
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
func (d *Site) page(p *Page) Handler {
	return func(v *Visit, w http.ResponseWriter) error {
		c, err := p.Load(v)
		if err != nil {
			return err
		}
		x := d.view(v, w, c)
		x.Help = d.helpAddress(p)
		if len(p.Live) > 0 {
			x.Stream = d.Prefix + "/live" + v.Request.URL.RequestURI()
		}
		return d.write(w, http.StatusOK, p.Name, x)
	}
}

// serveForm serves a page for a posted form. It has no live regions, because a
// stream needs a URL.
func (d *Site) serveForm(p *Page) Handler {
	return func(v *Visit, w http.ResponseWriter) error {
		c, err := p.loadPosted(v, w)
		if err != nil {
			return err
		}
		if c.To != "" {
			if c.Flash != nil {
				d.setFlash(v, w, *c.Flash)
			}
			d.redirect(w, LocalPath(c.To))
			return nil
		}
		x := d.view(v, w, c)
		x.Help = d.helpAddress(p)
		return d.write(w, cmp.Or(c.Status, http.StatusOK), p.Name, x)
	}
}

// loadPosted loads a page for a posted form.
func (p *Page) loadPosted(v *Visit, w http.ResponseWriter) (*Content, error) {
	if p.Uploaded != nil {
		return p.Uploaded(v, w)
	}
	if err := v.ReadForm(w, cmp.Or(p.Room, MaxForm)); err != nil {
		return nil, err
	}
	return p.Posted(v)
}

// ReadForm parses the posted form.
func (v *Visit) ReadForm(w http.ResponseWriter, room int64) error {
	v.Request.Body = http.MaxBytesReader(w, v.Request.Body, room)
	if err := v.Request.ParseForm(); err != nil {
		return &Problem{Status: http.StatusBadRequest, Detail: v.T("the form is malformed or larger than %d KiB", room>>10)}
	}
	return v.restore()
}

// render writes a page without live regions.
func (d *Site) render(v *Visit, w http.ResponseWriter, status int, name string, c *Content) error {
	return d.write(w, status, name, d.view(v, w, c))
}

func (d *Site) view(v *Visit, w http.ResponseWriter, c *Content) *View {
	if last := len(c.Crumbs) - 1; last >= 0 {
		c.Crumbs[last].Link = "" // it is this page
	}
	c.Crumbs = slices.DeleteFunc(c.Crumbs, func(step Crumb) bool { return d.hidden(v, step.Link) })
	x := &View{Visit: v, Title: c.Title, Crumbs: c.Crumbs, Data: c.Data}
	if !x.Fragment() {
		x.Flash = d.takeFlash(v, w)
	}
	if c.Flash != nil {
		x.Flash = c.Flash
	}
	if v.Who.Scopes == nil {
		return x // not logged in
	}
	for _, item := range d.nav {
		if !v.May(item.scopes...) || item.whole && !v.MayAll(item.scopes...) {
			continue
		}
		item.Text, item.Link = v.T(item.text), d.Prefix+item.path
		item.Current = item.path == v.Request.URL.Path || item.path != "/" && strings.HasPrefix(v.Request.URL.Path, item.path+"/")
		x.Nav = append(x.Nav, item)
	}
	return x
}

// hidden reports whether a link leads to a page about the whole installation, which the token may not see.
func (d *Site) hidden(v *Visit, link string) bool {
	return slices.ContainsFunc(d.pages, func(p *Page) bool { return p.Whole && p.Path == link && !v.MayAll(p.Scopes...) })
}

// helpAddress returns the address of the section that explains a page; empty: there is none.
func (d *Site) helpAddress(p *Page) string {
	if to := d.help(p.Path); to != "" {
		return d.Prefix + to
	}
	return ""
}

// write executes the whole template before it sends anything.
func (d *Site) write(w http.ResponseWriter, status int, name string, x *View) error {
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

// Action is something a user can do: a GET of its path asks for confirmation and
// shows the consequences, a POST does it. The question is a page of its own, which
// the script shows as a dialog.
type Action struct {
	Path   string
	Scopes []operators.Scope // one is needed; the API checks again
	Ask    func(*Visit) (*Question, error)
	Run    func(*Visit) (*Done, error)
}

// Question asks for confirmation of an action.
type Question struct {
	Title   string
	Text    string  // the consequences
	Facts   []Fact  // the objects affected, above all their number
	Check   any     // that the template check shows; nil: nothing
	Fields  []Field // inputs to fill in
	Button  string
	Danger  bool
	Refused bool   // as it is, the answer would be refused
	Back    string // the page to return to on cancel, below the prefix
	Crumbs  []Crumb
}

// Asking is a question whose words are known before anyone is asked. What it is about is in the title.
type Asking struct {
	Title, Button, Text locale.Message
	Danger              bool
}

// Question returns the question about something.
func (a Asking) Question(l *locale.Locale, about ...any) *Question {
	return &Question{Title: l.T(a.Title, about...), Button: l.T(a.Button), Text: l.T(a.Text), Danger: a.Danger}
}

// Fact is a line of a question.
type Fact struct{ Name, Value string }

// FactsOf lists values by name.
func FactsOf[V any](values map[string]V, text func(V) string) []Fact {
	list := make([]Fact, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, Fact{name, text(values[name])})
	}
	return list
}

// Field is an input of a question.
type Field struct {
	Name, Label, Help string
	Type              string // of the input: number, text, checkbox, hidden, select
	Value             string
	Min, Max          string
	Options           []Option
	Required          bool
}

// Option is a choice of a field of type select.
type Option struct{ Value, Text string }

// Done is the result of an action.
type Done struct {
	Text string // shown on the next page
	Bad  bool   // the action failed: the text is shown as an error
	To   string // the next page, below the prefix
}

// questionData is the data of the question template.
type questionData struct {
	*Question
	Action, Back string
	Wrong        *Problem
}

// ask serves the question of an action.
func (d *Site) ask(a *Action) Handler {
	return func(v *Visit, w http.ResponseWriter) error {
		q, err := a.Ask(v)
		if err != nil {
			return err
		}
		return d.question(v, w, http.StatusOK, q, nil)
	}
}

func (d *Site) question(v *Visit, w http.ResponseWriter, status int, q *Question, wrong *Problem) error {
	data := questionData{Question: q, Action: d.Prefix + v.Request.URL.RequestURI(), Back: d.Prefix + q.Back, Wrong: wrong}
	if wrong != nil {
		data.Wrong = wrong.In(v.Locale)
	}
	return d.render(v, w, status, "question", &Content{Title: q.Title, Crumbs: q.Crumbs, Data: data})
}

// act performs an action. If the API rejects it with 400, 409 or 422, the question
// is shown again with the errors above it and the values entered.
func (d *Site) act(a *Action) Handler {
	return func(v *Visit, w http.ResponseWriter) error {
		if err := v.ReadForm(w, MaxForm); err != nil {
			return err
		}
		out, err := a.Run(v)
		if err == nil {
			d.setFlash(v, w, Flash{Text: out.Text, Bad: out.Bad})
			d.redirect(w, LocalPath(out.To))
			return nil
		}
		status, p := StatusOf(err)
		if status != http.StatusConflict && status != http.StatusUnprocessableEntity && status != http.StatusBadRequest {
			return err
		}
		q, failed := a.Ask(v)
		if failed != nil {
			return err
		}
		for i := range q.Fields {
			// A hidden value, such as the instant of a count, is that of the new question.
			if sent, ok := v.Request.PostForm[q.Fields[i].Name]; ok && q.Fields[i].Type != "hidden" {
				q.Fields[i].Value = sent[0]
			}
		}
		return d.question(v, w, status, q, p)
	}
}

// Flash is the message of an action on the page that follows it.
type Flash struct {
	Text string
	Bad  bool
}

const maxFlash = 1000

func (d *Site) setFlash(v *Visit, w http.ResponseWriter, f Flash) {
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
func (d *Site) takeFlash(v *Visit, w http.ResponseWriter) *Flash {
	c, err := v.Request.Cookie(flashCookie)
	if err != nil || c.Value == "" {
		return nil
	}
	http.SetCookie(w, v.cookie(flashCookie, "", -time.Second))
	text, err := url.QueryUnescape(c.Value[1:])
	if err != nil || text == "" {
		return nil
	}
	return &Flash{Text: text, Bad: c.Value[0] == '-'}
}

// redirect sends the browser to a path below the prefix.
func (d *Site) redirect(w http.ResponseWriter, path string) {
	w.Header().Set("Location", d.Prefix+path)
	w.WriteHeader(http.StatusSeeOther)
}

// LocalPath returns a path below the prefix that is safe for a redirect. Anything
// that could lead elsewhere becomes the overview.
func LocalPath(path string) string {
	u, err := url.Parse(path)
	// /login is among them, because a login that leads to the login page would never end.
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") ||
		strings.ContainsAny(path, "\\\r\n\t") || strings.HasPrefix(path, "/login") {
		return "/"
	}
	return path
}
