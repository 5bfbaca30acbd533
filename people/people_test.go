package people_test

import (
	"slices"
	"strings"
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
		"5511987654321":         "tel:+5511987654321",
		"551187654321":          "tel:+5511987654321", // as WhatsApp writes Brazil's
		"0015550100777":         "tel:+15550100777",
		"254722123456.0":        "tel:+254722123456",
		"\u202a+254 722 123456": "tel:+254722123456",
		"+254722123456;ext=1":   "tel:+254722123456",
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
	for said, want := range map[string]people.Said{
		"STOP": "stop", " stop. ": "stop", "«Stop!!»": "stop", "\"STOP\"": "stop", "Stop all": "stop", "STOPALL": "stop",
		"opt-out": "stop", "Opt out": "stop", "optout": "stop", "ARRÊT": "stop", "arret": "stop", "Baja": "stop", "SAIR": "stop",
		"ＳＴＯＰ": "stop", "Cancel": "stop", "END": "stop",
		"start": "start", "UNSTOP": "start", "Alta": "start",
		"Help?": "help", "INFO": "help", "ayuda": "help", "Información": "help", "aide!": "help", "informação": "help",
		"yes": "", "SÍ": "", "no": "", "": "", "!!": "", "nonstop": "", "start again": "", "I need help": "",
	} {
		if got, _ := w.Find(said); got != want {
			t.Errorf("%q is %q, want %q", said, got, want)
		}
	}
}

// A message that contains a word that refuses, or a usual phrase, waits for a decision.
func TestWords_WithinAMessageTheyMayRefuse(t *testing.T) {
	t.Parallel()
	w := people.DefaultWords()
	for said, want := range map[string]string{
		"stop please": "stop", "please STOP calling me!": "stop", "don't stop": "stop", "no quiero más, BAJA": "no quiero más", "BAJA por favor": "baja",
		"I want to opt out of this": "opt out", "Please, remove-me from your list": "remove me", "Don’t call again": "don't call", "DON'T CALL AGAIN": "don't call",
		"laissez moi tranquille svp": "laissez-moi tranquille", "Nao quero mais isso": "não quero mais", "at the end of the month": "end",
		strings.Repeat("a", 200) + " stop": "stop",
		"stopwatch":                        "", "unstoppable": "", "the weekend was fine": "", "I was removed, me too": "", "yes please": "", "call me": "",
	} {
		says, found := w.Find(said)
		if wantSays := map[bool]people.Said{true: people.SaidMaybe}[want != ""]; says != wantSays || found != want {
			t.Errorf("%q is %q by %q, want %q", said, says, found, want)
		}
	}
	if says, _ := w.Find(strings.Repeat("very ", 1000) + "stop"); says != "" {
		t.Errorf("the end of an endless message is %q", says)
	}
}

// A word without letters is none, and one may be as long as a message that is looked up.
func TestWords_HaveLettersAndALength(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("a", people.MaxWord)
	w := people.NewWords(people.WordLists{Stop: []string{"!!", "stop"}, Help: []string{longest}, Phrases: []string{"…"}})
	for said, want := range map[string]people.Said{"": "", "?": "", "!!": "", "stop": "stop", longest: "help", longest + ".": "", "hello": ""} {
		if got, _ := w.Find(said); got != want {
			t.Errorf("%q is %q, want %q", said, got, want)
		}
	}
}

// The words of a survey are its own, and what answers its questions is none.
func TestWords_OfASurvey(t *testing.T) {
	t.Parallel()
	general := people.NewWords(people.WordLists{Stop: []string{"stop", "end"}, Start: []string{"start", "yes"}, Help: []string{"help"}, Phrases: []string{"leave me"}})
	for name, tc := range map[string]struct {
		words *people.Words
		want  map[string]people.Said
	}{
		"the installation's": {general, map[string]people.Said{"end": "stop", "yes": "", "quit": "", "help": "help", "please leave me": "maybe"}},
		"its own":            {general.For([]string{"basta"}, []string{"who"}, nil), map[string]people.Said{"basta": "stop", "end": "", "who": "help", "help": "", "start": "start", "end it": ""}},
		"none":               {general.For([]string{}, []string{}, nil), map[string]people.Said{"stop": "", "help": "", "please stop": "", "leave me be": "maybe"}},
		"answers":            {general.For(nil, nil, []string{"End", "help", "START"}), map[string]people.Said{"stop": "stop", "END": "", "help": "", "start": "", "the end": ""}},
	} {
		for said, want := range tc.want {
			if got, _ := tc.words.Find(said); got != want {
				t.Errorf("%s: %q is %q, want %q", name, said, got, want)
			}
		}
	}
}

// Whatever a message is, it says the same in capitals and with punctuation around it, and a
// yes takes nothing back.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"STOP", "don't call me", "ＳＴＯＰ", "a\u0301rret", "Yes!", "sí", "\xff stop", "opt-out", "ﬁn"} {
		f.Add(s)
	}
	w := people.DefaultWords()
	f.Fuzz(func(t *testing.T, s string) {
		says, found := w.Find(s)
		if says == people.SaidStart && people.Affirmative(s) {
			t.Errorf("%q takes a refusal back", s)
		}
		if (found != "") != (says == people.SaidMaybe) {
			t.Errorf("%q is %q by %q", s, says, found)
		}
		if again, _ := w.Find("… " + s + " !"); len(s) < people.MaxWord/2 && again != says {
			t.Errorf("%q is %q, and with punctuation %q", s, says, again)
		}
		if says == people.SaidStop && len(s) < people.MaxWord/2 {
			if got, _ := w.Find(s + " please"); got != people.SaidMaybe {
				t.Errorf("%q with a word behind it is %q", s, got)
			}
		}
	})
}

func TestAnswerTo_TheSurveysPurposeOrTheDefault(t *testing.T) {
	t.Parallel()
	known := map[string]*people.Purpose{"research": {Help: "of research"}, "default": {Help: "of all", Confirmation: "you are out"}}
	for name, tc := range map[string]struct {
		m             people.Message
		kind          people.Answer
		purpose, text string
	}{
		"help":                       {people.Message{Said: "help", Purpose: "research", ReplyTo: "+1"}, "help", "research", "of research"},
		"help of no survey":          {people.Message{Said: "help", ReplyTo: "+1"}, "help", "", "of all"},
		"of a purpose without rules": {people.Message{Said: "help", Purpose: "other", ReplyTo: "+1"}, "help", "", "of all"},
		"a refusal":                  {people.Message{Said: "stop", Purpose: "research", ReplyTo: "+1"}, "confirmation", "", "you are out"},
		"who cannot be answered":     {people.Message{Said: "stop"}, "", "", ""},
		"a word that takes it back":  {people.Message{Said: "start", ReplyTo: "+1"}, "", "", ""},
		"what may be a refusal":      {people.Message{Said: "maybe", ReplyTo: "+1"}, "", "", ""},
	} {
		if kind, purpose, text := people.AnswerTo(&tc.m, known); kind != tc.kind || purpose != tc.purpose || text != tc.text {
			t.Errorf("%s: %q, %q, %q", name, kind, purpose, text)
		}
	}
	if _, _, text := people.AnswerTo(&people.Message{Said: "help", ReplyTo: "+1"}, nil); text != "" {
		t.Errorf("without a text the answer is %q", text)
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
		if got := people.Next(tc.now, &tc.c); tc.now.Source.ByPerson() && tc.now.Status == people.Refused && !tc.c.Source.ByPerson() && got != tc.now {
			t.Errorf("%s: the person's own refusal became %+v, which others could take back", name, got)
		}
		if got := people.Next(tc.now, &tc.c); got.Status != tc.want {
			t.Errorf("%s: %s, want %s", name, got.Status, tc.want)
		}
		if got := people.Next(people.State{}, &tc.c); got.Status != tc.c.Status || got.Version != 2 {
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

func TestNational_NumbersBeginWithZero(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"0722000101": true, " 0722 000-101 ": true, "00254722000101": false, "(0722) 000.101": true,
		"+254722000101": false, "254722000101": false, "0800": false, "0x1234567": false, "": false, "ana": false, "+0722000101": false, "\u202a0722000101": true,
	} {
		if got := people.National(address); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
}

func TestCheckAddress_RefusesWhatOnlyLooksLikeANumber(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"+254722000101": "", "254 722 000-101": "", "\u202a+254722000101": "", "00254722000101": "", "chat-12345678": "", "ana@example.org": "", "@channel_1234567": "", "40404": "", "": "",
		"0722000101": "no country code", "\u200b0722000101": "no country code", "254722000101*": "U+002A", "+254722000101,+254722000102": "U+002C", "5.2155E+11": "scientific",
		"254722000101.7": "fraction", "+1234567890123456789": "is none",
	} {
		err := people.CheckAddress(address)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", address, err, want)
		}
		if err != nil && !strings.HasPrefix(people.Canonical(address), "other:") {
			t.Errorf("%q is refused although it is %s", address, people.Canonical(address))
		}
	}
}

// A provider lifts its own block for a word that may be an answer to a question. It takes back what
// it has reported itself, also under the hash of an older key, and nothing that the person has
// refused otherwise.
func TestDecide_AProviderTakesBackItsOwnRefusalOnly(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	texts := people.OverChannel("texts")
	is := func(purpose string, s people.Status, from people.Source, after time.Duration) people.State {
		return people.State{Purpose: purpose, Status: s, Source: from, At: at.Add(after)}
	}
	out, in := is(texts, people.Refused, people.FromProvider, 1), is(texts, people.Given, people.FromProvider, 2)
	for name, tc := range map[string]struct {
		states         []people.State
		refused, given bool
	}{
		"out":                                {[]people.State{out}, true, false},
		"in":                                 {[]people.State{in}, false, false},
		"out, then in":                       {[]people.State{out, in}, false, false},
		"in, then out":                       {[]people.State{in, is(texts, people.Refused, people.FromProvider, 3)}, true, false},
		"in and out at once":                 {[]people.State{is(texts, people.Given, people.FromProvider, 1), out}, true, false},
		"out over another channel":           {[]people.State{is(people.OverChannel("other"), people.Refused, people.FromProvider, 1)}, false, false},
		"a stop word, then in":               {[]people.State{is("all", people.Refused, people.FromWord, 0), out, in}, true, false},
		"a client's refusal, then in":        {[]people.State{is("all", people.Refused, people.FromAPI, 0), in}, true, false},
		"out, then a word that takes back":   {[]people.State{out, is("all", people.Given, people.FromWord, 2)}, false, true},
		"a consent, out, in":                 {[]people.State{is("all", people.Given, people.FromWord, 0), out, in}, false, true},
		"a refusal of this purpose, then in": {[]people.State{is("research", people.Refused, people.FromOperator, 0), in}, true, false},
	} {
		slices.Reverse(tc.states)
		for range 2 {
			slices.Reverse(tc.states)
			refused, by := people.Decide(tc.states, "research", texts)
			if refused != tc.refused || (by.Status == people.Given) != tc.given {
				t.Errorf("%s: %v by %+v", name, refused, by)
			}
		}
	}
}
