package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/operators"
	"weir/web/api"
)

const tokensPath = "/tokens"

// tokensData is the data of the page of tokens: the list, and the form of a new one.
type tokensData struct {
	List     []tokenCard
	Pager    pager
	Name     string
	Days     string
	Scopes   []scopeChoice
	Mistakes map[string]string // by field
	Problem  *problem          // what no field has
	Made     *api.TokenView    // just now: its text is shown once
}

// tokenCard is a token as the page shows it.
type tokenCard struct{ api.TokenView }

// Rights returns the scopes in one text.
func (t tokenCard) Rights() string { return strings.Join(t.Scopes, ", ") }

// scopeChoice is a scope that the user may give.
type scopeChoice struct {
	Name    operators.Scope
	Checked bool
}

func loadTokens(v *visit) (*content, error) { return tokensPage(v, &tokensData{}) }

// tokensPage adds the list and the choices to a page.
func tokensPage(v *visit, d *tokensData) (*content, error) {
	var page api.TokenList
	if err := v.get("/v1/tokens", v.listQuery(rowsPerPage), &page); err != nil {
		return nil, err
	}
	d.Pager = v.more(page.NextCursor)
	for _, t := range page.Tokens {
		d.List = append(d.List, tokenCard{t})
	}
	for _, scope := range v.Who.Scopes {
		d.Scopes = append(d.Scopes, scopeChoice{scope, slices.Contains(v.r.PostForm["scopes"], string(scope))})
	}
	return &content{title: v.T("Tokens"), crumbs: []crumb{{Text: v.T("Tokens")}}, data: d}, nil
}

// createToken creates a token, or shows the form again with every mistake.
func createToken(v *visit) (*content, error) {
	d := &tokensData{Name: v.r.PostForm.Get("name"), Days: strings.TrimSpace(v.r.PostForm.Get("days")), Mistakes: map[string]string{}}
	body := map[string]any{"name": d.Name, "scopes": append([]string{}, v.r.PostForm["scopes"]...)}
	if d.Days != "" {
		days, err := strconv.Atoi(d.Days)
		if err != nil || days < 1 || days > 3650 {
			d.Mistakes["days"] = v.T("Must be a number from 1 to 3650, or empty.")
			body["name"] = "" // so the API changes nothing and reports the other mistakes
		} else {
			body["expires_at"] = time.Now().Add(time.Duration(days) * 24 * time.Hour).UTC().Format(time.RFC3339)
		}
	}
	var made api.TokenView
	err := v.call(http.MethodPost, "/v1/tokens", body, &made)
	if err == nil {
		if v.Who.Open { // it was the first token: this page needs one from now on
			return &content{title: v.T("Tokens"), crumbs: []crumb{{Text: v.T("Tokens")}}, data: &tokensData{Made: &made}}, nil
		}
		v.r.PostForm = url.Values{}
		return tokensPage(v, &tokensData{Made: &made})
	}
	status, p := statusOf(err)
	if status != http.StatusUnprocessableEntity && status != http.StatusBadRequest && status != http.StatusConflict {
		return nil, err
	}
	d.place(p)
	c, err := tokensPage(v, d)
	if err != nil {
		return nil, err
	}
	c.status, c.flash = status, &flash{Bad: true, Text: v.T("No token was created. Correct the marked fields of the form.")}
	return c, nil
}

// place shows the errors of the API beside the fields that they are about.
func (d *tokensData) place(p *problem) {
	rest := *p
	rest.Errors = nil
	for _, e := range p.Errors {
		field, _, _ := strings.Cut(strings.TrimPrefix(e.Pointer, "/"), "/")
		switch {
		case field == "name" && strings.TrimSpace(d.Name) != "" && d.Mistakes["days"] != "": // it was left out on purpose
		case field == "name" || field == "scopes":
			d.Mistakes[field] = asSentence(e.Detail)
		default:
			rest.Errors = append(rest.Errors, e)
		}
	}
	if len(d.Mistakes) == 0 || len(rest.Errors) > 0 {
		d.Problem = &rest
	}
}

// askRevoke asks whether to revoke a token.
func askRevoke(v *visit) (*question, error) {
	id := v.r.PathValue("id")
	return &question{
		title: v.T("Revoke token %s", id), Button: v.T("Revoke"), Danger: true, back: tokensPath,
		crumbs: []crumb{{Text: v.T("Tokens"), Link: tokensPath}, {Text: id}, {Text: v.T("Revoke")}},
		Text:   v.T("This cannot be undone. Requests with the token are refused within seconds, and its sessions end."),
	}, nil
}

func revokeToken(v *visit) (*done, error) {
	id := v.r.PathValue("id")
	err := v.call(http.MethodDelete, apiPath("v1", "tokens", id), nil, nil)
	return &done{text: v.T("Token %s is revoked.", id), to: tokensPath}, err
}
