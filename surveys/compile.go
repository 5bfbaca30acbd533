package surveys

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"weir"
	"weir/internal/phonenumber"
	"weir/internal/validation"
	"weir/limits"
	"weir/people"
	"weir/surveys/calendar"
	"weir/surveys/questions"
	"weir/surveys/respondents"
)

// Compile checks a definition and returns every validation failure. [Quotas.CheckKnown]
// and [MissingAttributes] check what depends on the respondents, [calendar.Schedule.CheckAhead] what depends
// on the instant.
func (d Definition) Compile(def Defaults) (*Plan, []weir.FieldError) {
	var m validation.Errors
	schedule, wrong := calendar.Compile(d.Schedule)
	m.AddPart("/schedule", wrong)
	m.AddPart("/quotas", Quotas(d.Quotas).check())
	m.AddPart("/breakdowns", Breakdowns(d.Breakdowns).check())
	m.AddPart("/brake", (*weir.Brake)(d.Brake).Check())
	m.AddPart("/budget", (*limits.Budget)(d.Budget).Check())
	pl := &Plan{
		Schedule: schedule, Arms: checkArms(d.Arms, &m), CountPartial: d.CountPartial, Quotas: d.Quotas,
		FallbackDelay: DefaultFallbackDelay, words: d.words(def.Words, &m), Purpose: d.Purpose, Labels: d.labels(&m),
		Cutoff:             bounded(d.Cutoff, 0, math.MaxInt32, 0, "/cutoff", &m),
		Weight:             bounded(d.Weight, 1, MaxWeight, 1, "/weight", &m),
		LimitPerMinute:     bounded(d.LimitPerMinute, 1, math.MaxInt32, def.LimitPerMinute, "/limit_per_minute", &m),
		Batch:              bounded(d.BatchSize, 1, math.MaxInt32, def.Batch, "/batch_size", &m),
		InitialSuccessRate: def.InitialSuccessRate,
	}
	if d.FallbackDelay != "" {
		var err error
		if pl.FallbackDelay, err = validation.ParseDelay(d.FallbackDelay); err != nil {
			m.Add("/fallback_delay", "format", "%v", err)
		}
	}
	if r := d.InitialSuccessRate; r != nil {
		if pl.InitialSuccessRate = *r; *r < 0 || *r > 1 {
			m.Add("/initial_success_rate", "range", "must be from 0 to 1")
		}
	}
	if d.Region != "" && !phonenumber.KnownRegion(d.Region) {
		m.Add("/region", "unknown", "%q is not a region of phone numbers, like MX", validation.Clip(d.Region))
	}
	pl.Retries, pl.Channels = d.modes(&m)
	pl.content = d.compileContent(pl.Arms, &m)
	if d.QuotaMessage != "" {
		pl.quotaMessage = compileMessage(d.QuotaMessage, "/quota_message", &m)
	}
	d.compileAnswer(pl, &m)
	d.compileQuestions(pl, &m)
	if len(m) > 0 {
		return nil, m
	}
	return pl, nil
}

func (d Definition) compileAnswer(pl *Plan, m *validation.Errors) {
	if d.Answer == nil {
		return
	}
	if _, sms := d.Modes[SMS]; !sms {
		if _, web := d.Modes[MobileWeb]; !web {
			m.Add("/answer", "conflict", "needs a mode by text, such as sms")
		}
	}
	switch pl.answer = cmp.Or(d.Answer.Attribute, DefaultAnswer); {
	case !respondents.ValidName(pl.answer):
		m.Add("/answer/attribute", "format", respondents.NameRule)
	case respondents.BuiltIn(pl.answer) || pl.answer == respondents.FieldPhone || pl.answer == respondents.FieldToken || pl.answer == respondents.FieldTimeZone:
		m.Add("/answer/attribute", "reserved", "is a reserved name: it means something else already")
	}
	if d.Answer.Thanks != "" {
		pl.thanks = compileMessage(d.Answer.Thanks, "/answer/thanks", m)
	}
}

// compileQuestions checks the questions, and that nothing else evaluates the answers.
func (d Definition) compileQuestions(pl *Plan, m *validation.Errors) {
	if d.Questions == nil {
		if len(d.Breakdowns) > 0 {
			m.Add("/breakdowns", "conflict", "is for questions that Weir asks; leave it out")
		}
		return
	}
	for _, other := range []struct {
		at    string
		given bool
	}{{"/questionnaires", len(d.Questionnaires) > 0}, {"/answer", d.Answer != nil}, {"/quota_message", d.QuotaMessage != ""}} {
		if other.given {
			m.Add(other.at, "conflict", "cannot be combined with questions; leave one of the two out")
		}
	}
	for _, mode := range sortedKeys(d.Modes) {
		if mode != SMS && slices.Contains(Modes(), mode) {
			m.Add("/modes/"+string(mode), "conflict", "questions are asked by text: use the mode sms")
		}
	}
	ctx := questions.Context{StopWords: pl.Words().Lists().Stop}
	for _, mode := range Modes() {
		ctx.Modes = append(ctx.Modes, string(mode))
	}
	qs, wrong, doubts := questions.Compile(*d.Questions, ctx)
	m.AddPart("/questions", wrong)
	pl.doubts.AddPart("/questions", doubts)
	if pl.Questions = qs; qs == nil {
		return
	}
	inserted, compared := qs.Attributes()
	for _, name := range slices.Concat(inserted, compared) {
		if ofWeir(name) {
			pl.builtIn = append(pl.builtIn, name)
		}
	}
	pl.inserted, pl.compared = slices.DeleteFunc(inserted, ofWeir), slices.DeleteFunc(compared, ofWeir)
}

// bounded returns n after checking its range, or the default if n is 0.
// A client that writes 0 gets the default, too: it cannot be distinguished from an absent field.
func bounded(n, low, high, def int, pointer string, m *validation.Errors) int {
	if n == 0 {
		return def
	}
	if n < low || n > high {
		m.Add(pointer, "range", "must be from %d to %d", low, high)
	}
	return n
}

// words returns the words of the survey: its own, and those of the installation.
func (d Definition) words(general *people.Words, m *validation.Errors) *people.Words {
	checkWords(d.StopWords, "/stop_words", m)
	checkWords(d.HelpWords, "/help_words", m)
	checkWords(d.AnswerWords, "/answer_words", m)
	if d.StopWords == nil && d.HelpWords == nil && len(d.AnswerWords) == 0 {
		return general
	}
	if general == nil {
		general = people.DefaultWords()
	}
	return general.For(d.StopWords, d.HelpWords, d.AnswerWords)
}

func checkWords(list []string, pointer string, m *validation.Errors) {
	if len(list) > maxWords {
		m.Add(pointer, "length", "must have at most %d words", maxWords)
		return
	}
	for i, w := range list {
		if w = trimPunctuation(w); w == "" || len(w) > people.MaxWord {
			m.Add(pointer+"/"+strconv.Itoa(i), "length", "must have 1 to %d bytes, not counting punctuation around it", people.MaxWord)
		}
	}
}

// labels returns the attributes that contacts carry as labels.
func (d Definition) labels(m *validation.Errors) []string {
	if len(d.Labels) > maxLabels {
		m.Add("/labels", "length", "must have at most %d names", maxLabels)
		return nil
	}
	for i, name := range d.Labels {
		at := "/labels/" + strconv.Itoa(i)
		switch {
		case !respondents.ValidName(name):
			m.Add(at, "format", respondents.NameRule)
		case respondents.BuiltIn(name) || name == respondents.FieldPhone || name == labelQuestionnaire:
			m.Add(at, "reserved", "is a reserved name: it is a label already, or must not be one")
		}
	}
	return d.Labels
}

// modes parses the retry schedules and channels of the modes. Every mode that an arm
// uses needs a channel.
func (d Definition) modes(m *validation.Errors) (map[Mode]RetrySchedule, map[Mode]string) {
	schedules, names := map[Mode]RetrySchedule{}, map[Mode]string{}
	for _, mode := range sortedKeys(d.Modes) {
		spec, at := d.Modes[mode], "/modes/"+validation.Token(string(mode))
		if !slices.Contains(Modes(), mode) {
			m.Add(at, "unknown", "is not one of %v", Modes())
			continue
		}
		if spec.Channel == "" {
			m.Add(at+"/channel", "required", "must be the name of a channel")
		}
		l, err := ParseRetrySchedule(spec.Retries)
		if err != nil {
			m.Add(at+"/retries", "format", "%v", err)
		}
		schedules[mode], names[mode] = l, spec.Channel
	}
	for i, a := range d.Arms {
		for j, mode := range a.Modes {
			if _, ok := d.Modes[mode]; !ok && slices.Contains(Modes(), mode) {
				m.Add("/arms/"+strconv.Itoa(i)+"/modes/"+strconv.Itoa(j), "unknown", "mode %s is not defined in /modes", mode)
			}
		}
	}
	return schedules, names
}

// Invalid returns one error for the validation failures of a definition; nil if
// there are none.
func Invalid(fields []weir.FieldError) error {
	if len(fields) == 0 {
		return nil
	}
	return &weir.Error{Code: weir.CodeInvalid, Message: "the survey definition is not valid", Fields: fields}
}
