package page

import (
	"net/url"
	"testing"
	"time"
)

func TestKeptForms_AreFewAndEnd(t *testing.T) {
	t.Parallel()
	var k keptForms
	now := time.Now()
	var ids []string
	for range maxForms + 1 {
		ids = append(ids, k.keep("/tokens", url.Values{}, now))
	}
	for i, id := range ids {
		if _, ok := k.find(id, now.Add(keptLife)); ok != (i > 0) {
			t.Fatalf("form %d of %d is kept: %t", i, len(ids), ok)
		}
		if _, ok := k.find(id, now.Add(keptLife+time.Second)); ok {
			t.Fatalf("form %d is kept for longer than %v", i, keptLife)
		}
	}
	k.keep("/tokens", url.Values{}, now.Add(2*keptLife))
	if len(k.list) != 1 {
		t.Errorf("%d forms take memory", len(k.list))
	}
}
