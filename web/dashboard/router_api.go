package dashboard

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir"
)

// The router API's responses, with the members that pages show.

type routerWorker struct {
	ID                 string             `json:"id"`
	State              string             `json:"state"`
	Queues             []string           `json:"queues"`
	Capacity           int                `json:"capacity"`
	Labels             routerLabels       `json:"labels"`
	Tags               routerLabels       `json:"tags"`
	Channels           []routerChannel    `json:"channels"`
	Offers             []routerOffer      `json:"offers"`
	AssignedJobs       []routerAssignment `json:"assignedJobs"`
	LoadRatio          float64            `json:"loadRatio"`
	AvailableForOffers bool               `json:"availableForOffers"`
}

type routerChannel struct {
	ID   string `json:"channelId"`
	Cost int    `json:"capacityCostPerJob"`
	Most int    `json:"maxNumberOfJobs"`
}

type routerOffer struct {
	ID        string    `json:"offerId"`
	JobID     string    `json:"jobId"`
	Cost      int       `json:"capacityCost"`
	OfferedAt time.Time `json:"offeredAt"`
	ExpiresAt time.Time `json:"expiresAt"`
}

type routerAssignment struct {
	ID          string    `json:"assignmentId"`
	JobID       string    `json:"jobId"`
	WorkerID    string    `json:"workerId"`
	Cost        int       `json:"capacityCost"`
	AssignedAt  time.Time `json:"assignedAt"`
	CompletedAt time.Time `json:"completedAt"`
	ClosedAt    time.Time `json:"closedAt"`
}

type routerSelector struct {
	Key       string    `json:"key"`
	Operator  string    `json:"labelOperator"`
	Value     any       `json:"value"`
	Status    string    `json:"status"`
	Expedite  bool      `json:"expedite"`
	ExpiresAt time.Time `json:"expiresAt"`
}

type routerNote struct {
	Message string    `json:"message"`
	AddedAt time.Time `json:"addedAt"`
}

type routerJob struct {
	ID                     string                      `json:"id"`
	Status                 string                      `json:"status"`
	ChannelReference       string                      `json:"channelReference"`
	EnqueuedAt             time.Time                   `json:"enqueuedAt"`
	ChannelID              string                      `json:"channelId"`
	ClassificationPolicyID string                      `json:"classificationPolicyId"`
	QueueID                string                      `json:"queueId"`
	Priority               int                         `json:"priority"`
	DispositionCode        string                      `json:"dispositionCode"`
	Requested              []routerSelector            `json:"requestedWorkerSelectors"`
	Attached               []routerSelector            `json:"attachedWorkerSelectors"`
	Labels                 routerLabels                `json:"labels"`
	Tags                   routerLabels                `json:"tags"`
	Assignments            map[string]routerAssignment `json:"assignments"`
	Notes                  []routerNote                `json:"notes"`
	ScheduledAt            time.Time                   `json:"scheduledAt"`
	NotAfter               time.Time                   `json:"notAfter"`
}

type routerQueue struct {
	ID                   string       `json:"id"`
	Name                 string       `json:"name"`
	DistributionPolicyID string       `json:"distributionPolicyId"`
	ExceptionPolicyID    string       `json:"exceptionPolicyId"`
	Labels               routerLabels `json:"labels"`
	Closed               string       `json:"closed"`
}

type queueFigures struct {
	ID            string         `json:"queueId"`
	Name          string         `json:"name"`
	Closed        string         `json:"closed"`
	Length        int            `json:"length"`
	Estimated     map[string]int `json:"estimatedWaitTimeMinutes"`
	LongestInMins *float64       `json:"longestJobWaitTimeMinutes"`
}

// failingFunction is a function of a policy whose last call failed.
type failingFunction struct {
	PolicyKind string    `json:"policyKind"`
	PolicyID   string    `json:"policyId"`
	Host       string    `json:"host"`
	Since      time.Time `json:"since"`
	LastAt     time.Time `json:"lastAt"`
	Reason     string    `json:"reason"`
}

// Longest returns how long the longest-waiting job has waited.
func (q queueFigures) Longest() string {
	if q.LongestInMins == nil {
		return "–"
	}
	return span(time.Duration(*q.LongestInMins * float64(time.Minute)))
}

// Estimate returns the estimated wait of the last job in the queue.
func (q queueFigures) Estimate() string {
	most := 0
	for _, n := range q.Estimated {
		most = max(most, n)
	}
	if most == 0 {
		return "–"
	}
	return span(time.Duration(most) * time.Minute)
}

// routerLabels holds labels or tags.
type routerLabels map[string]any

// Facts lists the labels by name.
func (l routerLabels) Facts() []fact {
	list := make([]fact, 0, len(l))
	for _, name := range slices.Sorted(maps.Keys(l)) {
		list = append(list, fact{name, labelText(l[name])})
	}
	return list
}

// Brief lists the labels on one line: labels that are true by name only, and
// without Id, which the router itself adds.
func (l routerLabels) Brief() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(l)) {
		switch value := l[name]; {
		case name == "Id":
		case value == true:
			parts = append(parts, name)
		default:
			parts = append(parts, name+" "+labelText(value))
		}
	}
	return strings.Join(parts, ", ")
}

func labelText(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return settingText(v)
}

// Text returns the selector's condition.
func (s routerSelector) Text() string {
	signs := map[string]string{"equal": "=", "notEqual": "≠", "lessThan": "<", "lessThanOrEqual": "≤", "greaterThan": ">", "greaterThanOrEqual": "≥"}
	value := ""
	if s.Value != nil {
		value = " " + labelText(s.Value)
	}
	return s.Key + " " + cmp.Or(signs[s.Operator], s.Operator) + value
}

// fault is an error in the format of the router's API.
type fault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Details []struct {
		Message string `json:"message"`
	} `json:"details"`
}

// tell converts the fault to the format of Weir's own API.
func (f *fault) tell(p *problem) {
	p.Code, p.Detail = weir.Code(f.Code), f.Message
	for _, d := range f.Details {
		p.Errors = append(p.Errors, weir.FieldError{Detail: d.Message})
	}
}

// routerList is a page of a list of the router.
type routerList[T any] struct {
	Value    []T    `json:"value"`
	NextLink string `json:"nextLink"`
}

// cursorOf returns the token in the router's link to its next page.
func cursorOf(nextLink string) string {
	u, err := url.Parse(nextLink)
	if err != nil {
		return ""
	}
	return u.Query().Get("skipToken")
}

// routerPath returns a path of the router's API. Text after a colon would be an
// action, so colons in ids are escaped.
func routerPath(segments ...string) string {
	return "/routing" + strings.ReplaceAll(apiPath(segments...), ":", "%3A")
}

// askRouter reads a resource of the router.
func (v *visit) askRouter(path string, query url.Values, into any) error {
	return v.tellRouter(http.MethodGet, path, query, nil, into)
}

// tellRouter sends a request to the router. Errors that explain why the router
// cannot answer are worded for readers of a page.
func (v *visit) tellRouter(method, path string, query url.Values, body, into any) error {
	if query == nil {
		query = url.Values{}
	}
	query.Set("api-version", routerVersion)
	err := v.call(method, path+"?"+query.Encode(), body, into)
	switch status, p := statusOf(err); {
	case err == nil:
		return nil
	case status == http.StatusServiceUnavailable:
		return &problem{Status: status, Code: weir.CodeUnavailable, wait: p.wait, Detail: "The router cannot be asked here now: " + p.Detail +
			". One process at a time runs it. Look at this page of the process that does, or try again: it moves when that one ends."}
	case status == http.StatusUnauthorized && v.who.Open:
		return &problem{Status: http.StatusForbidden, Code: weir.CodeForbidden, Detail: "The router here asks for an access key or a token, " +
			"and this session has none. Make a token and log in with it: weir token create --name ann --scope router --scope pii:read"}
	}
	return err
}

// paged reads a page of a list of the router.
func paged[T any](v *visit, path string, query url.Values, size int) (list []T, p pager, err error) {
	query.Set("maxpagesize", strconv.Itoa(size))
	if cursor := v.r.URL.Query().Get("cursor"); cursor != "" {
		query.Set("skipToken", cursor)
	}
	var page routerList[T]
	if err := v.askRouter(path, query, &page); err != nil {
		return nil, p, err
	}
	return page.Value, v.more(cursorOf(page.NextLink)), nil
}

// some reads the beginning of a list.
func some[T any](v *visit, path string, query url.Values) ([]T, error) {
	query.Set("maxpagesize", strconv.Itoa(mostListed))
	var page routerList[T]
	err := v.askRouter(path, query, &page)
	return page.Value, err
}

// indented formats JSON with indentation.
func indented(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return ""
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return ""
	}
	return string(text)
}
