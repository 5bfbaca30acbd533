package surveys

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"weir"
)

// Survey is one survey as it is kept.
type Survey struct {
	ID          int64  // the store's
	Name        string // what clients call it; [a-z0-9][a-z0-9._-]{0,62}
	Title       string // for people
	State       State
	Cause       Cause // why it is stopping or done
	Definition  Definition
	Application Application
	Version     int64 // counts the changes
	Deleting    bool  // its respondents are being removed
	Created     time.Time
	Updated     time.Time
	Launched    time.Time // zero: never
	Ended       time.Time // when it became done
	// Warnings are those of the launch that returns this survey; not stored.
	Warnings []weir.FieldError
}

// Cause says why a survey came to its end.
type Cause string

// The causes.
const (
	Exhausted  Cause = "exhausted"   // nobody is left to be contacted
	Reached    Cause = "reached"     // cut-off or quotas
	WindowOver Cause = "window_over" // the last window of its schedule has closed
	ByUser     Cause = "stopped"
)

// Application is the program that holds the conversation with respondents who
// answer by text. Without a URL nobody is told.
type Application struct {
	URL    string `json:"url,omitempty" doc:"where messages of respondents are POSTed"`
	Secret string `json:"secret,omitempty" doc:"key of the HMAC-SHA256 in each request; never shown"`
}

// RespondentID is the store's number of a respondent, unique over all surveys.
type RespondentID int64

// respondentPrefix begins the text form of an id.
const respondentPrefix = "r"

// String is the form in the API, in keys of contacts and in callback URLs.
func (id RespondentID) String() string { return respondentPrefix + strconv.FormatInt(int64(id), 36) }

var errNoRespondent = errors.New("not the id of a respondent")

// ParseRespondentID reads what String wrote.
func ParseRespondentID(s string) (RespondentID, error) {
	digits, ok := strings.CutPrefix(s, respondentPrefix)
	n, err := strconv.ParseInt(digits, 36, 64)
	if !ok || err != nil || n <= 0 || RespondentID(n).String() != s {
		return 0, errNoRespondent
	}
	return RespondentID(n), nil
}

// Respondent is one person in a survey as it is kept.
type Respondent struct {
	Survey     int64
	ID         RespondentID
	Rev        int64  // counts the changes
	Phone      string // E.164, unique in the survey
	Attributes map[string]string
	Bucket     int // of the quotas, or NoBucket
	Progress
	Contact  weir.Ref  // the latest contact; zero: none
	Reached  time.Time // when the latest contact was handed over
	Added    time.Time
	Started  time.Time // when the status became active
	Finished time.Time // when the status became final
}

// Happening is the kind of a [Notice].
type Happening string

// What a broker hears of.
const (
	HandedOver Happening = "handed_over" // a contact was taken by its provider
	Answered   Happening = "answered"    // the person picked a call up
	Ended      Happening = "ended"       // a contact is done
	Incoming   Happening = "incoming"    // a person sent a message to a channel
)

// Notice is something that happened to a contact of a respondent, or a message
// that came in. The store writes it in the transaction in which it happened and
// keeps it until a [Work] names it as taken.
type Notice struct {
	ID         int64
	Kind       Happening
	At         time.Time
	Channel    weir.ChannelID
	Respondent weir.Respondent // of what happened to a contact
	Contact    weir.Ref
	Outcome    weir.Outcome  // of Ended
	Reason     string        // of Ended: the provider's
	Message    weir.Incoming // of Incoming
	Result     weir.Result   // of Ended: what an interviewer recorded
}

// Entry is a line of a survey's log.
type Entry struct {
	ID         int64 // the store's, in order
	At         time.Time
	Respondent RespondentID
	Event      string // "enqueued", "handed_over", "ended", "disposition", "message", "finished", …
	Mode       Mode
	Channel    string
	Attempt    int
	Outcome    weir.Outcome
	Reason     string      // of "ended": the provider's
	From, To   Disposition // of "disposition" and "finished"
}
