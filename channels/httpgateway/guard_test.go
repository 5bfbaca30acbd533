package httpgateway

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir"
	"weir/channels"
)

// A channel that does not exist is held to the guard of outgoing calls, as one that does.
func TestStatus_OfNoChannelIsGuarded(t *testing.T) {
	t.Parallel()
	called := false
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	defer inside.Close()
	const template = `{"send":{"method":"POST","url":"URL"},"answer":[{"status":"2xx","fate":"completed"}],"check":{"method":"GET","url":"URL"}}`
	d := channels.NewDirectory([]channels.Type{Type()}, "http://weir.test", nil)
	status, err := d.Status(t.Context(), weir.Channel{Type: "http", Settings: weir.Settings{"template": strings.ReplaceAll(template, "URL", inside.URL)}})
	if err != nil || status.Health != weir.Erring || called {
		t.Errorf("%+v %v, called: %v", status, err, called)
	}
}

// Without a question in the template, nothing was checked.
func TestStatus_WithoutAQuestionIsNoAnswer(t *testing.T) {
	t.Parallel()
	const template = `{"send":{"method":"POST","url":"https://gateway.example"},"answer":[{"status":"2xx","fate":"completed"}]}`
	d := channels.NewDirectory([]channels.Type{Type()}, "http://weir.test", nil)
	status, err := d.Status(t.Context(), weir.Channel{Type: "http", Settings: weir.Settings{"template": template}})
	if err != nil || status.Health != weir.Up || !status.Unchecked {
		t.Errorf("%+v %v", status, err)
	}
}

// What a template is said to need is all that it needs, and each of it.
func TestTemplates_NeedWhatTheyOffer(t *testing.T) {
	t.Parallel()
	typ := Type()
	for _, offer := range typ.Templates {
		if offer.Summary == offer.Name || len(offer.SetUp) == 0 {
			t.Errorf("%s is not described", offer.Name)
		}
		check := func(without string) int {
			texts := func(names []string) map[string]any {
				out := map[string]any{}
				for _, name := range names {
					if name != without {
						out[name] = "x"
					}
				}
				return out
			}
			return len(typ.CheckSettings(weir.Settings{"template": string(offer.Value), "values": texts(offer.Values), "secrets": texts(offer.Secrets)}, 10))
		}
		if n := check(""); n > 0 {
			t.Errorf("%s: %d mistakes", offer.Name, n)
		}
		for _, name := range append(offer.Values, offer.Secrets...) {
			if check(name) == 0 {
				t.Errorf("%s does not need %s", offer.Name, name)
			}
		}
	}
}
