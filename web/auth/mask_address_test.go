package auth_test

import (
	"testing"

	"weir/web/auth"
)

// An address of another kind is masked whole, and a number within it by itself.
func TestMaskOwnOfAnyAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, address, want string }{
		{"to whatsapp:+15550001234 now", "whatsapp:+15550001234", "to ***34 now"},
		{"wa-15550001234", "whatsapp:+15550001234", "wa-***34"},
		{"key of ann@example.org", "ann@example.org", "key of ***rg"},
		{"chat 7654321", "chat:7654321", "chat ***21"},
		{"250608400856100864 a100b 100, from +100 (1001)", "100", "250608400856100864 a100b ***00, from +***00 (1001)"},
		{"nothing of it", "chat:7654321", "nothing of it"},
	} {
		if got := auth.MaskOwn(c.text, c.address); got != c.want {
			t.Errorf("%s in %q: %q, want %q", c.address, c.text, got, c.want)
		}
	}
}
