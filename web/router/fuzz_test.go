package router_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/web/router"
)

// The parser accepts only what it documents.
func FuzzAuthorization(f *testing.F) {
	const good = "HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
	for _, s := range []string{good, strings.ToLower(good), "Bearer x", "", "HMAC-SHA256 ", good + "&", "HMAC-SHA256 Signature==&SignedHeaders="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, header string) {
		date, signature, err := router.ParseAuthorization(header)
		if err != nil {
			return
		}
		if len(signature) != 32 || date != "Date" && date != "X-Ms-Date" || !strings.Contains(strings.ToLower(header), ";host;x-ms-content-sha256") {
			t.Errorf("%q gives %q and %d bytes", header, date, len(signature))
		}
	})
}

// Reserializing a query keeps names, values and their order, and is idempotent.
func FuzzReserialize(f *testing.F) {
	for _, s := range []string{"a=b&c=d", "q%20a%2Bb~!%27()*=1", "a", "=", "&&", "a=%zz&b=%", "%C3%A9=é", "a=+&b=%00", "a=b=c", "a=1&", "a&b=1", "a=é", "api-version=2023-11-01&x=*_."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		form := router.ReserializeForm(query)
		if router.IsCanonicalForm(query) && form != query {
			t.Errorf("%q is plain and gives %q", query, form)
		}
		if again := router.ReserializeForm(form); again != form {
			t.Errorf("%q gives %q and then %q", query, form, again)
		}
		got, err := url.ParseQuery(form)
		if err != nil {
			t.Fatalf("%q gives %q: %v", query, form, err)
		}
		want, err := url.ParseQuery(query)
		if err != nil || strings.ContainsRune(query, 0xFFFD) {
			return // unreadable parts are kept as they are
		}
		for name, values := range want {
			if valid(name) && slices.IndexFunc(values, func(v string) bool { return !valid(v) }) < 0 && !slices.Equal(got[name], values) {
				t.Errorf("%q gives %q: %q instead of %q", query, form, got[name], values)
			}
		}
	})
}

func valid(s string) bool { return strings.ToValidUTF8(s, "") == s }

// No body causes a 5xx or a panic. An accepted resource can be read, and sent back
// without a change.
func FuzzPatch(f *testing.F) {
	kinds := router.Kinds()
	slices.Sort(kinds)
	for i, s := range []string{
		`{"fallbackQueueId":"q","prioritizationRule":{"kind":"static","value":1}}`, `{"mode":{"kind":"bestWorker","scoringRule":{"kind":"directMap"}}}`,
		`{"exceptionRules":[{"id":"r","trigger":{"kind":"waitTime","thresholdSeconds":1e300},"actions":[{"kind":"cancel"}]}]}`,
		`{"channelId":"c","queueId":"q","labels":{"a":1},"matchingMode":{"kind":"scheduleAndSuspend","scheduleAt":"0001-01-01T00:00:00+23:59"}}`,
		`{"name":"n","labels":{"":"\ud83d\ude00"}}`, `{"queues":["q"],"channels":[{"channelId":"c","capacityCostPerJob":1}],"capacity":2147483647,"availableForOffers":true}`,
		secretPolicy,
	} {
		f.Add(uint8(i), s, s)
	}
	f.Fuzz(func(t *testing.T, kind uint8, first, second string) {
		r := newRig(t)
		r.put("/routing/queues/q", `{}`)
		path := "/routing/" + kinds[int(kind)%len(kinds)] + "/x"
		for _, body := range []string{first, second} {
			a := r.do("PATCH", path, body)
			if a.status >= 500 || a.status >= 400 && a.body["error"] == nil {
				t.Fatalf("%s: %d %s", body, a.status, a.text)
			}
			if a.status >= 400 {
				continue
			}
			was := r.ok(200, "GET", path, "")
			if is := r.ok(200, "PATCH", path, was.text); is.header.Get("ETag") != was.header.Get("ETag") {
				t.Errorf("%s sent back:\n%s", body, cmp.Diff(was.body, is.body))
			}
		}
		r.engine.wait(time.Hour)
		r.ok(http.StatusOK, "GET", strings.TrimSuffix(path, "/x"), "")
	})
}

// No target causes a 5xx or a response without a body.
func FuzzTarget(f *testing.F) {
	for _, s := range []string{"/routing/jobs/a%2Fb:cancel?api-version=2023-11-01", "/routing/queues?skipToken=AAAA&maxpagesize=1", "/routing//", "/routing/jobs/%zz", "/routing/workers?state=all&api-version=2024-01-18-preview"} {
		f.Add("GET", s)
		f.Add("POST", s)
	}
	f.Fuzz(func(t *testing.T, method, target string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || !strings.HasPrefix(target, "/") || method == "" {
			return
		}
		r := newRig(t)
		req := r.request("GET", "/routing/queues", "")
		req.Method, req.URL, req.RequestURI = method, u, target
		a := r.send(r.sign(req, ""))
		if a.status >= 500 || a.status != 204 && !json.Valid([]byte(a.text)) {
			t.Errorf("%s %q: %d %s", method, target, a.status, a.text)
		}
	})
}
