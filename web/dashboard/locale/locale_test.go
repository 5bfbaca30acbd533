package locale

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

func english() *Locale {
	return New().Choose("en", "")
}

func TestLocale_TimesAndNumbersAreForPeople(t *testing.T) {
	t.Parallel()
	l := english()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		0: "now", 3 * time.Second: "now", 17 * time.Second: "15 s ago", 90 * time.Second: "1 min ago", 3 * time.Hour: "3 h ago",
		26*time.Hour + 5*time.Minute: "1 d 2 h ago", -10 * time.Minute: "in 10 min",
	} {
		text := string(l.Ago(now, now.Add(-d)))
		if inner := regexp.MustCompile(`>([^<]*)<`).FindStringSubmatch(text); inner[1] != want || !strings.Contains(text, " UTC\"") {
			t.Errorf("%v ago: %s, want %s", d, text, want)
		}
	}
	var never *time.Time
	if got := string(l.Ago(now, never)); strings.Contains(got, "time") {
		t.Errorf("never: %s", got)
	}
	for want, n := range map[string]any{"0": 0, "999": int64(999), "1,000": 1000, "-12,345,678": -12345678, "1.5": 1.5, "200": 199.7} {
		if got := l.Number(n); got != want {
			t.Errorf("%v: %q, want %q", n, got, want)
		}
	}
	if got := Percent(1, 3); got != "33 %" {
		t.Errorf("a third: %s", got)
	}
	if got := Percent(1, 0); got != "–" {
		t.Errorf("of nothing: %s", got)
	}
}

func TestElapsed_HasTheUnitThatTellsTheMost(t *testing.T) {
	t.Parallel()
	en := english()
	for d, want := range map[time.Duration]string{
		7 * time.Millisecond: "7 ms", 999 * time.Millisecond: "999 ms", 1040 * time.Millisecond: "1 s", 3440 * time.Millisecond: "3.4 s",
		59 * time.Second: "59 s", 90 * time.Second: "1 min", 150 * time.Minute: "2 h 30 min",
	} {
		if got := en.Elapsed(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// Every catalog can be used: a text that names a placeholder of its own, as ${name}, cannot.
func TestLocales_CanBeUsed(t *testing.T) {
	t.Parallel()
	for _, l := range New().List() {
		if l.T("Overview") == "" {
			t.Errorf("%s has no words", l.Code)
		}
	}
}
