package hmacsign_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/hmacsign"
)

// FuzzSign: every text is a key or rejected; a key signs every target and body, and never prints.
func FuzzSign(f *testing.F) {
	f.Add("c2VjcmV0LXNlY3JldA==", "/routing/jobs?api-version=1", []byte("{}"))
	f.Add(" bm9uZQ== ", "", []byte(nil))
	f.Add("c2VjcmV0LXNlY3JldA==", "/%2F?a=b&a=;", []byte{0xff})
	f.Fuzz(func(t *testing.T, text, target string, body []byte) {
		key, err := hmacsign.ParseKey(text)
		if err != nil {
			return
		}
		if printed := fmt.Sprintf("%v %+v %#v %s %q %x", key, key, key, key, key, key); printed != strings.TrimSpace(strings.Repeat("[redacted] ", 6)) {
			t.Errorf("printed as %s", printed)
		}
		r, err := http.NewRequest(http.MethodPost, "http://localhost/"+target, nil)
		if err != nil {
			return
		}
		key.Sign(r, body, time.Unix(0, 0))
		if a := r.Header.Get("Authorization"); a == "" || strings.ContainsAny(a, "\r\n") {
			t.Errorf("Authorization is %q", a)
		}
	})
}
