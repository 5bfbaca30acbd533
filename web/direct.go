package web

import (
	"net/http"
	"strings"

	"weir/web/route"
)

// direct passes requests below a mounted tree straight to its handler. The mux
// would reach the same result at a higher cost. Requests that need the mux
// still go there: paths that it would clean, and patterns mounted within a
// tree.
type direct struct {
	rest  http.Handler // everything else
	trees []tree
}

type tree struct {
	pattern string // ends with a slash, without a method
	handler http.Handler
	others  map[string]bool // first segments below it that other patterns use
}

func newDirect(rest http.Handler, mounted map[string]http.Handler) *direct {
	d := &direct{rest: rest}
	for pattern, h := range mounted {
		if len(pattern) == 1 || pattern[0] != '/' || !strings.HasSuffix(pattern, "/") || strings.Contains(pattern, "{") {
			continue
		}
		if others, ok := within(pattern, mounted); ok {
			d.trees = append(d.trees, tree{pattern, h, others})
		}
	}
	return d
}

// within lists what is mounted below a tree. ok is false if only the mux can
// decide that.
func within(tree string, mounted map[string]http.Handler) (others map[string]bool, ok bool) {
	others = map[string]bool{}
	for pattern := range mounted {
		path := pattern[strings.IndexByte(pattern, '/'):]
		if below, ok := strings.CutPrefix(path, tree); ok && below != "" {
			first, _, _ := strings.Cut(below, "/")
			if strings.Contains(first, "{") {
				return nil, false
			}
			others[first] = true
		}
	}
	return others, true
}

// ServeHTTP implements http.Handler.
func (d *direct) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	for i := range d.trees {
		t := &d.trees[i]
		below, ok := strings.CutPrefix(path, t.pattern)
		if !ok || r.URL.RawPath != "" || strings.Contains(path, "//") || strings.Contains(path, "/.") {
			continue
		}
		if first, _, _ := strings.Cut(below, "/"); !t.others[first] {
			r.Pattern = t.pattern
			route.MarkMatched(w)
			t.handler.ServeHTTP(w, r)
			return
		}
	}
	d.rest.ServeHTTP(w, r)
}
