package demo

import (
	"bytes"
	"context"
	_ "embed"
	"html/template"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// panel is the page on which a person breaks things and sees the record of proof. It runs no
// script, loads nothing from elsewhere, and shows no phone number and no token. It is safe for
// concurrent use.
type panel struct {
	url    string
	stop   func()
	chosen chan breakage // for the goroutine that shows the traffic

	dashboard string
	actions   []breakage
	origins   *http.CrossOriginProtection

	mu    sync.Mutex
	state state
	notes []note               // the latest first
	last  map[string]time.Time // when each was chosen
}

// state is what the panel shows of the traffic.
type state struct {
	Proof     proof
	Providers []providerState
	Restarts  int
	Since, At time.Time
}

// providerState is how a provider is at present.
type providerState struct {
	Provider, Channel, Words   string
	InFlight, Capacity, Queued int
}

// note is a sentence about what happened.
type note struct {
	At   time.Time
	Text string
}

const (
	maxNotes     = 12
	maxPanelForm = 4 << 10
	panelRefresh = 2 // seconds
)

//go:embed panel.html
var panelPage string

//go:embed panel.css
var panelStyle []byte

// panelPolicy lets the page load its style and post its forms, and nothing else.
const panelPolicy = "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

func newPanel(dashboard string, actions []breakage) *panel {
	return &panel{
		dashboard: dashboard, actions: actions, chosen: make(chan breakage, 1), origins: http.NewCrossOriginProtection(), last: map[string]time.Time{},
	}
}

// startPanel serves the panel on a port of its own.
func startPanel(ctx context.Context, dashboard string, actions []breakage) (*panel, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := newPanel(dashboard, actions)
	p.url = "http://" + l.Addr().String() + "/"
	server := &http.Server{Handler: p.handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(l) }) // ends when the server is closed
	p.stop = sync.OnceFunc(func() {
		_ = server.Close()
		running.Wait()
	})
	return p, nil
}

func (p *panel) show(s state) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = s
}

// note adds a sentence.
func (p *panel) note(now time.Time, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notes = slices.Insert(p.notes, 0, note{now, text})
	p.notes = p.notes[:min(len(p.notes), maxNotes)]
}

func (p *panel) handler() http.Handler {
	page := template.Must(template.New("panel").Funcs(template.FuncMap{
		"number": number,
		"clock":  func(t time.Time) string { return t.Format("15:04:05") },
		"since":  func(from, to time.Time) string { return to.Sub(from).Round(time.Second).String() },
		"bad":    func(n int) string { return map[bool]string{true: "good", false: "bad"}[n == 0] },
	}).Parse(panelPage))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { p.get(w, r, page) })
	mux.HandleFunc("POST /{$}", p.post)
	mux.HandleFunc("GET /panel.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = w.Write(panelStyle)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", panelPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if !thisMachine(r.Host) { // otherwise any site could point its own name here
			http.Error(w, "The panel answers under 127.0.0.1 and localhost only.", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// thisMachine reports whether a host is a name that only this machine has.
func thisMachine(host string) bool {
	name, _, err := net.SplitHostPort(host)
	return err == nil && slices.Contains([]string{"127.0.0.1", "localhost"}, name)
}

// pageData is the data of the page.
type pageData struct {
	state
	Notes     []note
	Actions   []breakage
	Dashboard string
	Refresh   int // seconds; 0: not by itself
	Still     bool
	Good      bool
}

func (p *panel) get(w http.ResponseWriter, r *http.Request, page *template.Template) {
	p.mu.Lock()
	data := pageData{state: p.state, Notes: slices.Clone(p.notes), Actions: p.actions, Dashboard: p.dashboard, Refresh: panelRefresh}
	p.mu.Unlock()
	data.Good = len(data.Proof.Faults) == 0
	if data.Still = r.URL.Query().Get("still") != ""; data.Still {
		data.Refresh = 0
	}
	var text bytes.Buffer
	if err := page.Execute(&text, data); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text.Bytes())
}

// post passes a choice on, at most one at a time and each at most once in its time.
func (p *panel) post(w http.ResponseWriter, r *http.Request) {
	if err := p.origins.Check(r); err != nil {
		http.Error(w, "The panel takes forms of its own page only.", http.StatusForbidden)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxPanelForm)
	name := r.PostFormValue("break")
	i := slices.IndexFunc(p.actions, func(b breakage) bool { return b.Name == name })
	if i < 0 {
		http.Error(w, "There is nothing of this name to break.", http.StatusUnprocessableEntity)
		return
	}
	if !p.choose(p.actions[i], time.Now()) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "Too fast: the same, or something else, was just chosen. Go back and try again in a moment.", http.StatusTooManyRequests)
		return
	}
	to := "/"
	if r.PostFormValue("still") != "" {
		to = "/?still=1"
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

func (p *panel) choose(b breakage, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last, known := p.last[b.Name]; known && now.Sub(last) < b.every {
		return false
	}
	select {
	case p.chosen <- b:
		p.last[b.Name] = now
		return true
	default:
		return false
	}
}
