package people_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/people"
)

func TestCanonical_OneFormForEachNumber(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"+15550100234":          "tel:+15550100234",
		"15550100234":           "tel:+15550100234",
		" +1 (555) 010-0234 ":   "tel:+15550100234",
		"sms://+15550100234":    "tel:+15550100234",
		"whatsapp:+15550100234": "tel:+15550100234",
		"tel:15550100234":       "tel:+15550100234",
		"+525512345678":         "tel:+525512345678",
		"+5215512345678":        "tel:+525512345678", // as Mexico wrote mobile numbers until 2019
		"5215512345678":         "tel:+525512345678",
		"+5491123456789":        "tel:+541123456789", // as WhatsApp writes Argentina's
		"+541123456789":         "tel:+541123456789",
		"Chat-12AB":             "other:chat-12ab",
		"12":                    "other:12",
		"":                      "other:",
	} {
		if got := people.Canonical(given); got != want {
			t.Errorf("%q is %q, want %q", given, got, want)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{"+15550100234", "sms://5215512345678", "x", "tel:", "+549", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := people.Canonical(s)
		if again := people.Canonical(once); len(once) > 4 && once[:4] == "tel:" && again != once {
			t.Errorf("%q becomes %q and then %q", s, once, again)
		}
	})
}

func TestWords_WholeMessagesOnly(t *testing.T) {
	t.Parallel()
	w := people.DefaultWords()
	for said, want := range map[string]people.Status{
		"STOP": people.Refused, " stop. ": people.Refused, "«Stop!!»": people.Refused, "\"STOP\"": people.Refused, "Stop all": people.Refused, "STOPALL": people.Refused,
		"opt-out": people.Refused, "Opt out": people.Refused, "optout": people.Refused, "ARRÊT": people.Refused, "arret": people.Refused, "Baja": people.Refused, "SAIR": people.Refused,
		"ＳＴＯＰ": people.Refused, "Cancel": people.Refused, "END": people.Refused,
		"start": people.Given, "UNSTOP": people.Given, "Alta": people.Given,
		"yes": "", "no": "", "stop please": "", "please stop": "", "don't stop": "", "": "", "!!": "", "nonstop": "",
	} {
		if got := w.Find(said); got != want {
			t.Errorf("%q is %q, want %q", said, got, want)
		}
	}
}

func TestNext_OnlyThePersonTakesARefusalBack(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	later, earlier := at.Add(time.Hour), at.Add(-time.Hour)
	is := func(s people.Status, from people.Source) people.State {
		return people.State{Purpose: "all", Status: s, Source: from, At: at, Version: 1}
	}
	for name, tc := range map[string]struct {
		now  people.State
		c    people.Consent
		want people.Status
	}{
		"the person again":                     {is(people.Refused, people.FromWord), people.Consent{Status: people.Given, Source: people.FromWord, At: later}, people.Given},
		"an import over the person":            {is(people.Refused, people.FromWord), people.Consent{Status: people.Given, Source: people.FromImport, At: later}, people.Refused},
		"a client over the person":             {is(people.Refused, people.FromProvider), people.Consent{Status: people.Given, Source: people.FromAPI, At: later}, people.Refused},
		"a client's refusal over the person's": {is(people.Refused, people.FromWord), people.Consent{Status: people.Refused, Source: people.FromAPI, At: later}, people.Refused},
		"a client over a client":               {is(people.Refused, people.FromAPI), people.Consent{Status: people.Given, Source: people.FromAPI, At: later}, people.Given},
		"an old list":                          {is(people.Given, people.FromAPI), people.Consent{Status: people.Refused, Source: people.FromImport, At: earlier}, people.Given},
		"a refusal at the same time":           {is(people.Given, people.FromAPI), people.Consent{Status: people.Refused, Source: people.FromImport, At: at}, people.Refused},
		"a refusal over the person's":          {is(people.Given, people.FromWord), people.Consent{Status: people.Refused, Source: people.FromImport, At: later}, people.Refused},
	} {
		tc.c.Purpose, tc.c.ID = "all", 2
		if got := people.Next(tc.now, true, &tc.c); tc.now.Source.ByPerson() && tc.now.Status == people.Refused && !tc.c.Source.ByPerson() && got != tc.now {
			t.Errorf("%s: the person's own refusal became %+v, which others could take back", name, got)
		}
		if got := people.Next(tc.now, true, &tc.c); got.Status != tc.want {
			t.Errorf("%s: %s, want %s", name, got.Status, tc.want)
		}
		if got := people.Next(people.State{}, false, &tc.c); got.Status != tc.c.Status || got.Version != 2 {
			t.Errorf("%s: of nobody known it makes %+v", name, got)
		}
	}
}

func TestDecide_TheLaterOfPurposeAndAllCounts(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	is := func(purpose string, s people.Status, after time.Duration) people.State {
		return people.State{Purpose: purpose, Status: s, At: at.Add(after)}
	}
	for name, tc := range map[string]struct {
		states []people.State
		want   bool
	}{
		"nothing":                         {nil, false},
		"refused all":                     {[]people.State{is("all", people.Refused, 0)}, true},
		"refused another":                 {[]people.State{is("marketing", people.Refused, 0)}, false},
		"refused this":                    {[]people.State{is("research", people.Refused, 0)}, true},
		"refused all, then wanted this":   {[]people.State{is("all", people.Refused, 0), is("research", people.Given, 1)}, false},
		"wanted this, then refused all":   {[]people.State{is("research", people.Given, 0), is("all", people.Refused, 1)}, true},
		"both at once":                    {[]people.State{is("research", people.Given, 0), is("all", people.Refused, 0)}, true},
		"refused this, then took it back": {[]people.State{is("research", people.Refused, 0), is("all", people.Given, 1)}, false},
	} {
		if got, _ := people.Decide(tc.states, "research"); got != tc.want {
			t.Errorf("%s: refused %v, want %v", name, got, tc.want)
		}
	}
}

func TestKey_HashesDependOnKeyAndAddress(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		one, two := people.NewKey(rapid.SliceOfN(rapid.Byte(), 8, 40).Draw(t, "one")), people.NewKey(rapid.SliceOfN(rapid.Byte(), 8, 40).Draw(t, "two"))
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		if (one.Hash(a) == one.Hash(b)) != (a == b) {
			t.Error("hashes of addresses are not theirs alone")
		}
		if (one.ID() == two.ID()) != (one.Hash(a) == two.Hash(a)) {
			t.Error("hashes of keys are not theirs alone")
		}
	})
}
