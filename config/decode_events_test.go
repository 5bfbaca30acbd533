package config_test

import (
	"net/url"
	"strings"
	"testing"

	"weir/config"
)

// FuzzSubscriptions checks that accepted addresses can be called, are unique and
// have neither credentials nor a fragment, and that no text shows them.
func FuzzSubscriptions(f *testing.F) {
	for _, s := range []string{
		"https://a.example/hook", "https://a.example/hook#cloudevents, http://[::1]:8080/x?code=s%2Cecret#EventGrid", "", ",", "https://",
		"https://u:p@a.example", "https://a.example#", "https://a.example#x", "ftp://a.example", "//a.example", "https://a.example,https://a.example#cloudevents",
		"https://:443/", "https://a.example/%zz", "http://a\x00b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list := config.Subscriptions{{URL: "https://before.example"}}
		if err := list.Decode(text); err != nil {
			if len(list) != 1 || list[0].URL != "https://before.example" {
				t.Errorf("%q was refused and left %d addresses", text, len(list))
			}
			return
		}
		seen := map[string]bool{}
		for _, s := range list {
			u, err := url.Parse(s.URL)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.Contains(s.URL, "#") || seen[s.URL] {
				t.Errorf("%q gives %q", text, s.URL)
			}
			if s.Format != "" && s.Format != "eventgrid" && s.Format != "cloudevents" {
				t.Errorf("%q gives the format %q", text, s.Format)
			}
			seen[s.URL] = true
		}
		if len(list) == 0 || strings.Contains(list.String(), "://") {
			t.Errorf("%q gives %d addresses, shown as %q", text, len(list), list.String())
		}
	})
}
