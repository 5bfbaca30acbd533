package all_test

import (
	"regexp"
	"testing"
	"time"

	"weir/channels"
	"weir/channels/all"
	"weir/router/routertest"
)

func TestTypes_IncludeWorkersOnlyWithARouter(t *testing.T) {
	t.Parallel()
	with, without := len(all.Types(routertest.New(time.Now))), len(all.Types(nil))
	if with != without+1 {
		t.Errorf("%d types with a router, %d without", with, without)
	}
}

func TestTypes_AreComplete(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, typ := range all.Types(routertest.New(time.Now)) {
		if !regexp.MustCompile(`^[a-z][a-z0-9_]*$`).MatchString(typ.Name) || names[typ.Name] {
			t.Errorf("the name %q is no label or is there twice", typ.Name)
		}
		names[typ.Name] = true
		if typ.Summary == "" || typ.New == nil || !typ.Carries(channels.Text) && !typ.Carries(channels.Voice) {
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
