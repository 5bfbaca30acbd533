package api

// Definition is a questionnaire as clients write it: the member questions of a survey.
type Definition struct {
	Languages       []Language `json:"languages" doc:"the languages in which every text is written"`
	DefaultLanguage string     `json:"default_language,omitempty" doc:"of who has no attribute language, or one that is not among the languages; absent: the first" example:"es"`
	Tries           int        `json:"tries,omitempty" doc:"how often a question is asked in all while answers do not fit; absent: 3"`
	AfterTries      AfterTries `json:"after_tries,omitempty" enum:"breakoff,refused,skip" doc:"what follows the last try: the conversation ends as breakoff or refused, or goes on with the next question; absent: breakoff"`
	Refused         Words      `json:"refused,omitempty" doc:"words by which a question is refused that allows it" example:"{\"es\":[\"paso\"]}"`
	DontKnow        Words      `json:"dont_know,omitempty" doc:"words for not knowing, where a question allows it; absent in a language: usual ones, such as no sé"`
	Messages        Messages   `json:"messages,omitempty" doc:"texts that are no question: not_understood, thanks, reminder, help, over, and for the endings ineligible, refused, breakoff, rejected"`
	Questions       []Question `json:"questions" doc:"in the order in which they are asked"`
}

// Language is a language of a questionnaire.
type Language struct {
	Code  string   `json:"code" doc:"as BCP 47" example:"es"`
	Name  string   `json:"name,omitempty" doc:"as its speakers write it" example:"Español"`
	Words []string `json:"words,omitempty" nullable:"false" doc:"words that switch to it; its name is one"`
}

// Text is a text by the codes of languages. {{name}} stands for the answer to an earlier question
// or an attribute.
type Text map[string]string

// Words are words by the codes of languages.
type Words map[string][]string

// Messages are the texts that are no question. Those that are absent are not sent, but for the
// first three, which exist in English, Spanish, French and Portuguese; those without languages are not
// sent either.
type Messages map[MessageName]Text

// Question is a question, or what stands between questions.
type Question struct {
	Name        string          `json:"name" doc:"unique, ignoring case: a letter or _, then letters, digits, _, - and ." example:"vaccinated"`
	Kind        QuestionKind    `json:"kind" enum:"choice,choices,number,text,date,statement,calculation,end" doc:"how it is answered, or what stands between questions: a text, a value that is not asked, or the end"`
	Text        Text            `json:"text,omitempty" doc:"in each language; a calculation has none" example:"{\"es\":\"¿Se vacunó su hijo?\"}"`
	TextIn      map[string]Text `json:"text_in,omitempty" doc:"other texts in single modes" example:"{\"mobileweb\":{\"es\":\"¿Su hijo está vacunado?\"}}"`
	Relevant    string          `json:"relevant,omitempty" doc:"condition on which it is asked; absent: always" example:"${vaccinated} = 'no'"`
	Choices     []Choice        `json:"choices,omitempty" nullable:"false" doc:"of a choice or choices, in the order in which they are listed"`
	Shuffle     bool            `json:"shuffle,omitempty" doc:"choices in an order of chance for each respondent, which stays"`
	Decimal     bool            `json:"decimal,omitempty" doc:"the number may have a fraction"`
	Min         *float64        `json:"min,omitempty" doc:"least number"`
	Max         *float64        `json:"max,omitempty" doc:"greatest number"`
	Unit        Words           `json:"unit,omitempty" doc:"words that may follow the number" example:"{\"es\":[\"meses\",\"mes\"]}"`
	MinLength   int             `json:"min_length,omitempty" doc:"least characters of a text"`
	MaxLength   int             `json:"max_length,omitempty" doc:"most characters of a text; absent: a longer text than 1,600 is cut"`
	Pattern     string          `json:"pattern,omitempty" doc:"regular expression (RE2) that the whole text matches" example:"[A-Z]{2}[0-9]{4}"`
	Earliest    string          `json:"earliest,omitempty" doc:"first date" example:"2020-01-01"`
	Latest      string          `json:"latest,omitempty" doc:"last date"`
	Constraint  string          `json:"constraint,omitempty" doc:"condition that an answer, which is the full stop, has to meet" example:". >= 0 and . <= 240"`
	Message     Text            `json:"message,omitempty" doc:"before the question that is asked again because an answer is out of bounds or does not meet the constraint; absent: that for an answer that is not understood"`
	Calculation string          `json:"calculation,omitempty" doc:"value of a calculation" example:"${children} + ${adults}"`
	Default     string          `json:"default,omitempty" doc:"value that stands for the answer, in conditions and texts, if the question was asked and has none"`
	Allow       []AnswerStatus  `json:"allow,omitempty" nullable:"false" enum:"refused,dont_know" doc:"what is accepted instead of an answer"`
	Tries       int             `json:"tries,omitempty" doc:"as of the questionnaire"`
	AfterTries  AfterTries      `json:"after_tries,omitempty" enum:"breakoff,refused,skip" doc:"as of the questionnaire"`
	Consent     bool            `json:"consent,omitempty" doc:"it asks for consent: the first question, with a choice that ends as refused"`
	Partial     bool            `json:"partial,omitempty" doc:"whoever has answered it has answered enough to count as partial"`
	SetLanguage bool            `json:"set_language,omitempty" doc:"it asks for the language: the names of its choices are codes, and its texts are sent in all languages"`
	End         Ending          `json:"end,omitempty" enum:"completed,ineligible,refused" doc:"how an end ends the conversation; absent: completed"`
}

// Choice is a choice of a question.
type Choice struct {
	Name      string `json:"name" doc:"the value that is stored: unique in the question, without spaces" example:"yes"`
	Text      Text   `json:"text" doc:"in each language" example:"{\"es\":\"Sí\"}"`
	Words     Words  `json:"words,omitempty" doc:"other words for it" example:"{\"es\":[\"claro\"]}"`
	Key       string `json:"key,omitempty" doc:"number by which it is chosen, of one or two digits; absent: its place. Either all choices of a question have one or none" example:"9"`
	Relevant  string `json:"relevant,omitempty" doc:"condition on which it is offered; absent: always"`
	End       Ending `json:"end,omitempty" enum:"completed,ineligible,refused" doc:"choosing it ends the conversation"`
	Exclusive bool   `json:"exclusive,omitempty" doc:"it cannot be chosen together with another"`
	Fixed     bool   `json:"fixed,omitempty" doc:"it keeps its place when the others are shuffled"`
}

// MessageName names a text that is no question.
type MessageName string

// QuestionKind is the kind of a question.
type QuestionKind string

// AfterTries is what follows the last try of a question.
type AfterTries string

// Ending is how a conversation ended.
type Ending string

// AnswerStatus is whether a question was answered, or why not.
type AnswerStatus string
