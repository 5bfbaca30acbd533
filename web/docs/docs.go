package docs

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"sync"
)

//go:embed page.html
var pageText string

//go:embed style.css
var style []byte

// policy allows the page its style sheet and nothing else.
const policy = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Page serves the page of an OpenAPI 3.1 description, which is read at the first
// request. fail writes the response if that fails.
func Page(description func() ([]byte, error), fail func(http.ResponseWriter, error)) http.Handler {
	once := sync.OnceValues(func() ([]byte, error) {
		text, err := description()
		if err != nil {
			return nil, err
		}
		return render(text)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		body, err := once()
		if err != nil {
			fail(w, err)
			return
		}
		write(w, "text/html; charset=utf-8", body)
	})
}

// Style serves the style sheet, which the page expects at its own path plus
// /style.css.
func Style() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { write(w, "text/css; charset=utf-8", style) })
}

func write(w http.ResponseWriter, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	_, _ = w.Write(body) // the client may have disconnected
}

func render(text []byte) ([]byte, error) {
	d, err := read(text)
	if err != nil {
		return nil, err
	}
	t, err := template.New("page").Funcs(template.FuncMap{"blocks": blocks, "indented": indented}).Parse(pageText)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, d); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
