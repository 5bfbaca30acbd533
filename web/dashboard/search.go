package dashboard

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"weir/api"
	"weir/operators"
	"weir/people"
	"weir/surveys"
	"weir/web/auth"
	"weir/web/dashboard/choices"
	"weir/web/dashboard/contacts"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
	peoplepages "weir/web/dashboard/people"
	surveypages "weir/web/dashboard/surveys"
)

const searchPath = "/search"

// Limits of a search.
const (
	maxHits        = 10 // of a kind
	maxSurveyPages = 10 // of 100 surveys
)

// hits is the data of the page of a search.
type hits struct {
	Text              string // as it was typed; it may be a number, and must not get into a URL
	Contacts          []api.ContactView
	Respondents       []api.PersonRespondentView
	Channels, Surveys []nameHit
	Number            string // if the text is a phone number, and the token may search for it
	More              bool   // there is more of the number
	Person            bool   // the token may search for the person
	National          bool   // the number has no country code
}

// nameHit is a channel or a survey.
type nameHit struct{ Name, Title string }

func (h *hits) count() int {
	return len(h.Contacts) + len(h.Respondents) + len(h.Channels) + len(h.Surveys)
}

// Hint says how a number is found that is written without its country code.
func (h *hits) Hint() locale.Message {
	return "A number that begins with 0 has no country code: write it with + and the country code."
}

// None reports whether nothing was found.
func (h *hits) None() bool { return h.count() == 0 }

// only returns the page of the only hit; empty: there are more, or none.
func (h *hits) only() string {
	if h.count() != 1 || h.More {
		return ""
	}
	switch {
	case len(h.Contacts) == 1:
		return contacts.Link(h.Contacts[0].ID)
	case len(h.Respondents) == 1:
		return surveypages.Link(h.Respondents[0].Survey) + "/respondents/" + url.PathEscape(h.Respondents[0].ID)
	case len(h.Channels) == 1:
		return "/channels/" + url.PathEscape(h.Channels[0].Name)
	default:
		return "/surveys/" + url.PathEscape(h.Surveys[0].Name)
	}
}

func searchContent(v *page.Visit, h *hits) *page.Content {
	return &page.Content{Title: v.T("Search"), Crumbs: []page.Crumb{{Text: v.T("Search")}}, Data: h}
}

func loadSearch(v *page.Visit) (*page.Content, error) { return searchContent(v, &hits{}), nil }

// likeNumber matches a phone number as people write it.
var likeNumber = regexp.MustCompile(`^[+0-9 ().\-/]+$`)

// search finds what a text names. It is posted in a form, because it may be a phone number.
func search(v *page.Visit) (*page.Content, error) {
	h := &hits{Text: strings.TrimSpace(v.Request.PostForm.Get("q"))}
	c := searchContent(v, h)
	if h.Text == "" {
		return c, nil
	}
	for _, find := range []func(*page.Visit) error{h.findContacts, h.findNumber, h.findRespondent, h.findChannels, h.findSurveys} {
		if err := find(v); err != nil {
			return nil, err
		}
	}
	c.To = h.only()
	return c, nil
}

// findContacts finds a contact by its id, or contacts by their key.
func (h *hits) findContacts(v *page.Visit) error {
	if !v.May(operators.ScopeContactsRead) || len(h.Text) > 200 {
		return nil
	}
	l := &contacts.ContactList{Text: h.Text}
	if err := l.Search(v, ""); err != nil {
		if status, _ := page.StatusOf(err); status == http.StatusUnprocessableEntity {
			return nil // it can be no key
		}
		return err
	}
	h.Contacts = l.List[:min(len(l.List), maxHits)]
	return nil
}

// findNumber finds the contacts of a phone number, and the respondents with it.
func (h *hits) findNumber(v *page.Visit) error {
	digits := auth.Digits(h.Text)
	if !likeNumber.MatchString(h.Text) || len(digits) < 3 || len(digits) > 15 {
		return nil
	}
	h.Person = v.MaySearch()
	if !h.Person || !v.May(operators.ScopeContactsRead) {
		return nil
	}
	h.Number = h.Text
	if people.National(h.Text) { // the regions of channels say whose it is, and nobody else can
		h.National, h.Person = true, false
		var found api.ContactList
		err := v.Call(http.MethodPost, "/v1/contacts:search", map[string]any{"to": h.Text, "limit": maxHits}, &found)
		h.addContacts(found.Contacts, found.NextCursor)
		return err
	}
	person, err := (&peoplepages.Query{To: h.Text}).Find(v.Caller, maxHits)
	h.addContacts(person.Contacts, person.NextCursor)
	h.Respondents = person.Respondents[:min(len(person.Respondents), maxHits)]
	h.More = h.More || len(person.Respondents) > maxHits
	return err
}

// addContacts adds the contacts of a number that were not found by their key.
func (h *hits) addContacts(list []api.ContactView, next string) {
	for i := range list {
		if !slices.ContainsFunc(h.Contacts, func(c api.ContactView) bool { return c.ID == list[i].ID }) {
			h.Contacts = append(h.Contacts, list[i])
		}
	}
	h.More = next != ""
}

func isRespondentID(text string) bool {
	_, err := surveys.ParseRespondentID(text)
	return err == nil
}

// findRespondent finds a respondent by its id.
func (h *hits) findRespondent(v *page.Visit) error {
	if !isRespondentID(h.Text) || !v.MaySearch() {
		return nil
	}
	list, err := (&peoplepages.Query{Respondent: h.Text}).Find(v.Caller, 1)
	if err != nil {
		if status, _ := page.StatusOf(err); status == http.StatusNotFound {
			return nil
		}
		return err
	}
	for _, r := range list.Respondents {
		if r.ID == h.Text {
			h.Respondents = append(h.Respondents, r)
		}
	}
	return nil
}

// matches reports whether a name or a title contains the text.
func (h *hits) matches(name, title string) bool {
	text := strings.ToLower(h.Text)
	return strings.Contains(strings.ToLower(name), text) || strings.Contains(strings.ToLower(title), text)
}

// pick returns the exact hit alone, if there is one.
func (h *hits) pick(list []nameHit) []nameHit {
	for _, hit := range list {
		if hit.Name == h.Text {
			return []nameHit{hit}
		}
	}
	return list[:min(len(list), maxHits)]
}

func (h *hits) findChannels(v *page.Visit) error {
	if !v.May(page.Readers()...) {
		return nil
	}
	list, _, err := choices.Channels(v.Caller)
	for i := range list {
		if h.matches(list[i].Channel, list[i].Name) {
			h.Channels = append(h.Channels, nameHit{list[i].Channel, list[i].Name})
		}
	}
	h.Channels = h.pick(h.Channels)
	return err
}

func (h *hits) findSurveys(v *page.Visit) error {
	if !v.May(page.SurveyReaders()...) {
		return nil
	}
	query := url.Values{"limit": {"100"}}
	for range maxSurveyPages {
		var summaries api.SurveyList
		if err := v.Get("/v1/surveys", query, &summaries); err != nil {
			return err
		}
		for i := range summaries.Surveys {
			if h.matches(summaries.Surveys[i].Survey, summaries.Surveys[i].Title) {
				h.Surveys = append(h.Surveys, nameHit{summaries.Surveys[i].Survey, summaries.Surveys[i].Title})
			}
		}
		if summaries.NextCursor == "" {
			break
		}
		query.Set("cursor", summaries.NextCursor)
	}
	h.Surveys = h.pick(h.Surveys)
	return nil
}
