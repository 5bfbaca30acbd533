package kannel_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"weir/channels"
	"weir/channels/kannel/simulator"

	"pgregory.net/rapid"
)

// Any text reaches Kannel unchanged, with GSM coding only if that alphabet has it.
func TestText_ArrivesAsItIs(t *testing.T) {
	t.Parallel()
	const gsm = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà^{}\\[~]|€\f"
	if n := utf8.RuneCountInString(gsm); n != 137 {
		t.Fatalf("%d characters", n)
	}
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.OneOf(
			rapid.StringN(1, 200, -1), rapid.StringMatching(`[ -~]{1,20}`), rapid.StringOf(rapid.RuneFrom([]rune(gsm))),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 12), func(b []byte) string { return string(b) }),
		).Filter(func(s string) bool { return s != "" }).Draw(rt, "text")
		want, coding := strings.ToValidUTF8(text, "\uFFFD"), 0
		if strings.Trim(want, gsm) != "" {
			coding = 2
		}
		inWorld(t, simulator.Options{}, basicSettings(), func(w *world) {
			if got := w.send(attempt(71, text)); got.Status != channels.Accepted {
				rt.Fatalf("got %+v", got)
			}
			if got := w.sim.Records().Messages[0]; got.Text != want || got.Coding != coding {
				rt.Errorf("%q arrived as %q with coding %d", text, got.Text, got.Coding)
			}
		})
	})
}
