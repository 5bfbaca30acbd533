package callbacks

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestUsualCallbacksAreReadAsTheMuxReadsThem: bypassing the mux makes no
// difference, whatever the path; and the URLs that Weir gives do bypass it.
func TestUsualCallbacksAreReadAsTheMuxReadsThem(t *testing.T) {
	t.Parallel()
	var got address
	var pattern string
	mux := http.NewServeMux()
	for _, route := range []string{"GET " + Pattern, "GET " + PatternBare, "POST " + Pattern, "POST " + PatternBare} {
		mux.HandleFunc(route, func(_ http.ResponseWriter, r *http.Request) {
			pattern = r.Pattern
			got = address{r.PathValue("channel"), r.PathValue("secret"), r.PathValue("path")}
		})
	}
	usual := 0
	for _, path := range paths(4, []string{"a", "b.c", "", ".", "..", ".x", "a%2Fb", "%2e", "%41é", "?x=/"}) {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodHead} {
			r, err := http.NewRequest(method, "http://weir.test/callbacks"+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			place, ok := parseAddress(r)
			if !ok {
				continue
			}
			usual++
			got, pattern = address{}, ""
			mux.ServeHTTP(httptest.NewRecorder(), r)
			if got != place || pattern != method+" "+Pattern {
				t.Fatalf("%s %s: read as %q, by the mux as %q, by %q", method, path, place, got, pattern)
			}
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/callbacks/sms-1/SECRET/ack", nil)
	if place, ok := parseAddress(r); !ok || place != (address{"sms-1", "SECRET", "ack"}) || usual < 100 {
		t.Errorf("got %q, %v; %d of the paths are usual", place, ok, usual)
	}
}

// paths returns all paths of up to most segments.
func paths(most int, segments []string) []string {
	var all []string
	last := []string{""}
	for range most {
		var longer []string
		for _, p := range last {
			for _, s := range segments {
				longer = append(longer, p+"/"+s)
			}
		}
		all, last = append(all, longer...), longer
	}
	return all
}
