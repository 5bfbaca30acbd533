package weir_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"weir"
)

func TestRef_IsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := weir.AttemptRef{
			Ref: weir.Ref{
				Channel: weir.ChannelID(rapid.Int64Range(1, math.MaxInt64).Draw(t, "channel")),
				ID:      weir.ContactID(rapid.Int64Range(1, math.MaxInt64).Draw(t, "id")),
			},
			Number: rapid.IntRange(1, math.MaxInt32).Draw(t, "number"),
		}
		if got, err := weir.ParseRef(a.Ref.String()); err != nil || got != a.Ref {
			t.Fatalf("%v: %v, %v", a.Ref, got, err)
		}
		if got, err := weir.ParseAttemptRef(a.String()); err != nil || got != a {
			t.Fatalf("%v: %v, %v", a, got, err)
		}
	})
}

func TestRef_RefusesForeignForms(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "-", "1", "1-", "-1", "0-1", "1-0", "01-1", "A-1", "1-1-1", "+1-1", "1--1", " 1-1", "zzzzzzzzzzzzzz-1", "1_0-1"} {
		if r, err := weir.ParseRef(s); err == nil {
			t.Errorf("%q is read as %v", s, r)
		}
	}
	for _, s := range []string{"", "1-1", "1-1-", "1-1-0", "1-1-01", "1-1--1", "1-1-1-1", "1-1-+1", "1-1-99999999999999999999"} {
		if r, err := weir.ParseAttemptRef(s); err == nil {
			t.Errorf("%q is read as %v", s, r)
		}
	}
}

// FuzzParseAttemptRef checks that each reference has exactly one spelling.
func FuzzParseAttemptRef(f *testing.F) {
	for _, s := range []string{"1-1-1", "7-zz-12", "1-1", "01-1-1", "-1-1", "1-1-0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if a, err := weir.ParseAttemptRef(s); err == nil && (a.String() != s || a.Number < 1) {
			t.Fatalf("%q is read as %v", s, a)
		}
		if r, err := weir.ParseRef(s); err == nil && r.String() != s {
			t.Fatalf("%q is read as %v", s, r)
		}
	})
}
