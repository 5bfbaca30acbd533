package nuntium_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"weir"
	"weir/channels"
	"weir/channels/nuntium"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// taken answers every request with 200 and keeps its body.
type taken struct{ body []byte }

func (k *taken) RoundTrip(r *http.Request) (*http.Response, error) {
	k.body, _ = io.ReadAll(r.Body)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// Any text reaches Nuntium unchanged; invalid UTF-8 arrives as encoding/json
// writes it.
func TestText_ArrivesAsItIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.OneOf(
			rapid.String(), rapid.StringMatching(`[ -~]{0,20}`),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 12), func(b []byte) string { return string(b) }),
		)
		texts := rapid.SliceOfN(text, 1, 4).Draw(rt, "texts")
		channel := text.Draw(rt, "channel")
		var k taken
		d, err := nuntium.Type().New(channels.Config{
			Settings: basicSettings(weir.Settings{"channel": channel}), HTTP: &http.Client{Transport: &k},
		})
		if err != nil {
			rt.Fatal(err)
		}
		if got := d.Send(rt.Context(), attempt(71, texts...)); got.Status != channels.Accepted {
			rt.Fatalf("got %+v", got)
		}
		var got []map[string]string
		if err := json.Unmarshal(k.body, &got); err != nil {
			rt.Fatalf("%s: %v", k.body, err)
		}
		var want []map[string]string
		for i, text := range texts {
			guid := "7-1z." + string(rune('0'+i))
			want = append(want, map[string]string{
				"to": "sms://15550001234", "body": strings.ToValidUTF8(text, "\uFFFD"), "guid": guid, "token": "7-1z",
				"channel": strings.ToValidUTF8(channel, "\uFFFD"), "weir_guid": guid,
			})
		}
		for _, m := range append(got, want...) { // a run of bad bytes becomes one replacement character or several
			for key := range m {
				m[key] = squeeze(m[key])
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Error(diff)
		}
	})
}

func squeeze(s string) string {
	for strings.Contains(s, "\uFFFD\uFFFD") {
		s = strings.ReplaceAll(s, "\uFFFD\uFFFD", "\uFFFD")
	}
	return s
}
