package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"weir/operators"
	"weir/web/api"

	"weir/web/dashboard/locale"
)

const tokensPath = "/tokens"

// tokensData is the data of the page of tokens: the list, and the form of a new one.
type tokensData struct {
	List     []tokenCard
	Pager    pager
	Name     string
	Days     string
	Scopes   []scopeChoice
	Limit    string            // the beginning of names to which the chosen scopes are limited
	More     string            // further scopes, as texts
	Mistakes map[string]string // by field
	Problem  *problem          // what no field has
	Made     *api.TokenView    // just now: its text is shown once

	Limitable string // the scopes that can be limited
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
	d.Limitable = operators.JoinScopes(operators.LimitableScopes())
	return &content{title: v.T("Tokens"), crumbs: []crumb{{Text: v.T("Tokens")}}, data: d}, nil
}

// createToken creates a token, or shows the form again with every mistake.
func createToken(v *visit) (*content, error) {
	form := v.r.PostForm
	d := &tokensData{
		Name: form.Get("name"), Days: strings.TrimSpace(form.Get("days")), Limit: strings.TrimSpace(form.Get("limit")), More: strings.TrimSpace(form.Get("more")), Mistakes: map[string]string{},
	}
	scopes, fields := d.chosen(v.Locale, form["scopes"])
	body := map[string]any{"name": d.Name, "scopes": scopes}
	if len(d.Mistakes) > 0 {
		body["name"] = "" // as below
	}
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
	d.place(v.Locale, p, scopes, fields)
	c, err := tokensPage(v, d)
	if err != nil {
		return nil, err
	}
	c.status, c.flash = status, &flash{Bad: true, Text: v.T("No token was created. Correct the marked fields of the form.")}
	return c, nil
}

// chosen returns the scopes that the form asks for, and the field of each.
func (d *tokensData) chosen(l *locale.Locale, checked []string) (scopes, fields []string) {
	scopes = []string{}
	for _, text := range checked {
		field := "scopes"
		if scope := operators.Scope(text); d.Limit != "" && slices.Contains(operators.LimitableScopes(), scope) {
			text, field = string(scope.Limit(d.Limit)), "limit"
		}
		scopes, fields = append(scopes, text), append(fields, field)
	}
	if d.Limit != "" && !slices.Contains(fields, "limit") {
		d.Mistakes["limit"] = l.T("None of the chosen scopes can be limited.")
	}
	for _, text := range strings.FieldsFunc(d.More, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		scopes, fields = append(scopes, text), append(fields, "more")
	}
	return scopes, fields
}

// place shows the errors of the API beside the fields that they are about; fields has the field of each of the scopes.
func (d *tokensData) place(l *locale.Locale, p *problem, scopes, fields []string) {
	rest := *p
	rest.Errors = nil
	for _, e := range p.Errors {
		field, below, _ := strings.Cut(strings.TrimPrefix(e.Pointer, "/"), "/")
		i, err := strconv.Atoi(below)
		if field == "scopes" && err == nil && i < len(fields) {
			field = fields[i]
		}
		switch {
		case field == "name" && strings.TrimSpace(d.Name) != "" && d.Mistakes["days"]+d.Mistakes["limit"] != "": // it was left out on purpose
		case field == "name" || field == "scopes":
			d.Mistakes[field] = asSentence(e.Detail)
		case field == "limit":
			d.Mistakes[field] = l.T("1 to 63 characters: a-z, 0-9, dot, underscore and hyphen. The first is a letter or a digit.")
		case field == "more":
			d.Mistakes[field] = strings.TrimSpace(d.Mistakes[field] + " " + asSentence("“"+scopes[i]+"” "+e.Detail))
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
