package page

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	keptPath  = "/kept"
	keptField = "kept"           // of a form: the id of the values that it stands for
	keptLife  = 30 * time.Minute // of what was entered when the session had ended
	maxForms  = 100              // more push out the oldest; each has at most maxForm bytes
)

// keptForms are forms that were posted without a session, until the log-in that they led to. They
// are in memory only: a page has their ids, and no secret that was typed is sent back.
type keptForms struct {
	mu   sync.Mutex
	list []keptForm // oldest first
}

type keptForm struct {
	id, path string
	values   url.Values
	until    time.Time
}

// keep returns the id of a form.
func (k *keptForms) keep(path string, values url.Values, now time.Time) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = slices.DeleteFunc(k.list, func(f keptForm) bool { return f.until.Before(now) })
	k.list = append(k.list[max(0, len(k.list)+1-maxForms):], keptForm{rand.Text(), path, values, now.Add(keptLife)})
	return k.list[len(k.list)-1].id
}

// find returns a form that is kept.
func (k *keptForms) find(id string, now time.Time) (f keptForm, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.list, func(f keptForm) bool { return f.id == id && !f.until.Before(now) })
	if i < 0 {
		return f, false
	}
	return k.list[i], true
}

// drop ends a form, which is sent once.
func (k *keptForms) drop(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = slices.DeleteFunc(k.list, func(f keptForm) bool { return f.id == id })
}

// keepForm keeps a form that was posted without a session, if it is not too large and has no file. It
// returns the path from which it can be sent after the log-in; otherwise that of its page.
func (d *Site) keepForm(v *Visit, w http.ResponseWriter) string {
	path := v.Request.URL.RequestURI()
	if !strings.HasPrefix(v.Request.Header.Get("Content-Type"), "application/x-www-form-urlencoded") || v.ReadForm(w, MaxForm) != nil {
		return v.Request.URL.Path
	}
	return keptPath + "?" + url.Values{"form": {d.kept.keep(path, v.Request.PostForm, v.Now())}}.Encode()
}

// KeptPage returns the page that sends a kept form.
func KeptPage() *Page { return &Page{Name: "kept", Path: keptPath, Load: loadKept} }

// keptData is the data of the page that sends a kept form.
type keptData struct{ ID, Action, Path string }

func loadKept(v *Visit) (*Content, error) {
	f, ok := v.d.kept.find(v.Request.URL.Query().Get("form"), v.Now())
	if !ok {
		return nil, noKept(v)
	}
	path, _, _ := strings.Cut(f.path, "?")
	title := v.T("What you entered is kept")
	return &Content{Title: title, Crumbs: []Crumb{{Text: title}}, Data: keptData{f.id, v.d.Prefix + f.path, v.d.Prefix + path}}, nil
}

// restore replaces a form that stands for a kept one by what was entered.
func (v *Visit) restore() error {
	id := v.Request.PostForm.Get(keptField)
	if id == "" {
		return nil
	}
	f, ok := v.d.kept.find(id, v.Now())
	if !ok || f.path != v.Request.URL.RequestURI() {
		return noKept(v)
	}
	v.d.kept.drop(id)
	v.Request.PostForm = f.values
	return nil
}

func noKept(v *Visit) error {
	return &Problem{Status: http.StatusNotFound, Detail: v.T("what was entered before the log-in is no longer kept; enter it again")}
}
