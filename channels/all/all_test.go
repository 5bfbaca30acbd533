package all_test

import (
	"regexp"
	"testing"

	"weir/channels"
	"weir/channels/all"
)

func TestTypesAreComplete(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, typ := range all.Types() {
		if !regexp.MustCompile(`^[a-z][a-z0-9_]*$`).MatchString(typ.Name) || names[typ.Name] {
			t.Errorf("the name %q is no label or is there twice", typ.Name)
		}
		names[typ.Name] = true
		if typ.Summary == "" || typ.New == nil || typ.Content != channels.Text && typ.Content != channels.Voice {
			t.Errorf("%s lacks a summary, a constructor or a kind of content", typ.Name)
		}
		keys := map[string]bool{}
		for _, s := range append(channels.CommonSettings(), typ.Settings...) {
			if keys[s.Key] || s.Help == "" {
				t.Errorf("%s: the setting %q is there twice or is not explained", typ.Name, s.Key)
			}
			keys[s.Key] = true
		}
	}
}
