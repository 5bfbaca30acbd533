package web_test

import (
	"strings"
	"testing"

	"weir"
	"weir/web/webtest"
)

// A provider explains in its own words why it refused a number, and a program
// that derives keys from numbers may omit the country code.
func TestAuthMaskOwn_OnesOwnNumberIsMaskedHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	r, tokens, _, _ := everybody(t)
	ch := r.Channel("b", "texts")
	for _, x := range []struct{ reason, want string }{
		{"cannot reach (555) 999-8877 now", "cannot reach ***77 now"},
		{"no route to 5559998877", "no route to ***77"},
		{"no route to 05559998877", "no route to ***77"},
		{"no route to 001 555 999 88 77.", "no route to ***77."},
		{"999.8877 is busy", "***77 is busy"},
		{"guid 1700000000000000 is not known", "guid 1700000000000000 is not known"},
	} {
		c := r.Contact(ch, weir.Progress{State: weir.Done, Outcome: weir.Failed, Reason: x.reason, Attempt: 1}, func(c *weir.Contact) {
			c.Key = "r17-" + webtest.PhoneCanary[2:]
			c.Labels = map[string]string{"number": webtest.PhoneCanary[2:], "case": "a-" + webtest.PhoneCanary[2:]}
		})
		for _, path := range []string{"/v1/contacts/" + c.Ref.String(), "/v1/contacts/" + c.Ref.String() + "/timeline"} {
			g := r.As("GET", path, "", tokens.Text["contacts:read"])
			if g.Status != 200 || !strings.Contains(g.Body, `"`+x.want+`"`) || strings.Contains(g.Body, webtest.PhoneCanary[5:]) {
				t.Errorf("%s: %s: %d %s", x.reason, path, g.Status, g.Body)
			}
		}
	}
}
