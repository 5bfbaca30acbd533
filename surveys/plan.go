package surveys

import (
	"slices"
	"time"

	"weir/api"
	"weir/internal/validation"
	"weir/people"
	"weir/surveys/calendar"
	"weir/surveys/questions"
)

// Definition is a survey as clients write it, without its respondents.
type Definition api.SurveyDefinition

// Parts of a [Definition], as the API has them.
type (
	Answer   = api.Answer
	Arm      = api.Arm
	Bucket   = api.Bucket
	Content  = api.Content
	Match    = api.Match
	ModeSpec = api.ModeSpec
)

// DefaultAnswer is the attribute that an answer becomes if the survey does not name one.
const DefaultAnswer = "answer"

// Defaults are the values for fields that a definition omits.
type Defaults struct {
	Batch              int
	LimitPerMinute     int
	InitialSuccessRate float64
	Words              *people.Words // of the installation; nil: [people.DefaultWords]
}

// Plan is a checked definition. It is immutable.
type Plan struct {
	Schedule           *calendar.Schedule
	Arms               []Arm
	Retries            map[Mode]RetrySchedule
	Channels           map[Mode]string
	FallbackDelay      time.Duration
	Cutoff             int
	CountPartial       bool
	Quotas             Quotas
	Purpose            string
	Labels             []string
	Weight             int
	LimitPerMinute     int
	Batch              int
	InitialSuccessRate float64
	Questions          *questions.Questionnaire // nil: Weir asks none

	inserted     []string          // attributes that the texts of the questions insert
	compared     []string          // attributes that their conditions look at
	doubts       validation.Errors // what is strange about them
	builtIn      []string          // of the names in questions those that are no attributes
	content      map[string]map[Mode][]template
	quotaMessage text
	answer       string // attribute that the answer becomes; empty: Weir evaluates no answers
	thanks       text
	words        *people.Words // nil: [people.DefaultWords]
}

// template is a checked content.
type template struct {
	messages []text
	called   bool // the content has a call
	url      text
	flow     int64
	twiml    text
}

func (t template) texts() []text { return append(slices.Clone(t.messages), t.url, t.twiml) }

// Bounds of a definition.
const (
	MaxWeight = 1000
	maxWords  = 50
	maxLabels = 16
	maxLabel  = 256 // characters of a label's value
)
