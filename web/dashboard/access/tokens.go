package access

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"weir"
	"weir/api"
	"weir/operators"
	"weir/web/dashboard/form"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

const tokensPath = "/tokens"

// tokensData is the data of the page of tokens: the list, and the form of a new one.
type tokensData struct {
	*form.Form
	List    []tokenCard
	Pager   page.Pager
	Problem *page.Problem  // what no field has
	Made    *api.TokenView // just now: its text is shown once
}

// tokenCard is a token as the page shows it.
type tokenCard struct{ api.TokenView }

// Rights returns the scopes in one text.
func (t tokenCard) Rights() string { return strings.Join(t.Scopes, ", ") }

// tokenFields declares the form of a new token. Limits of scopes, and the time until it expires, are written in other ways than the API
// has them.
func tokenFields() *form.Declaration {
	return form.Of(api.TokenBody{}, []string{"expires_at"},
		form.Field{Name: "name", Kind: form.Text, Required: true, MaxLength: 200, Label: "Name", Help: "Who or what uses it."},
		form.Field{Name: "scopes", Kind: form.Checks, Item: "scope", Wide: true, Label: "Scopes", Help: "A token has only scopes that you have."},
		form.Field{
			Name: "limit", At: []string{"scopes", "limit"}, Kind: form.Code, MaxLength: 63, Label: "Only for names that begin with",
			Help: "Such as <code>north-</code>, if the channels and surveys of a team are called so. It limits those of %s that are chosen above. Empty: no limit.",
		},
		form.Field{
			Name: "more", At: []string{"scopes", "more"}, Kind: form.Code, MaxLength: 500, All: true, Label: "More scopes",
			Help: "With other limits, such as <code>surveys:admin@sms</code>, which lets surveys use the channel sms. Separated by blanks.",
		},
		form.Field{Name: "days", At: []string{"expires_at", "days"}, Kind: form.Number, Min: 1, Max: maxTokenDays, Label: "Expires after days", Help: "Empty: never."},
	)
}

const maxTokenDays = 3650

func loadTokens(v *page.Visit) (*page.Content, error) {
	return tokensPage(v, &tokensData{Form: tokenFields().New(true)})
}

// tokensPage adds the list and the choices to a page.
func tokensPage(v *page.Visit, d *tokensData) (*page.Content, error) {
	var list api.TokenList
	if err := v.Get("/v1/tokens", v.ListQuery(page.RowsPerPage), &list); err != nil {
		return nil, err
	}
	d.Pager = v.More(list.NextCursor)
	for _, t := range list.Tokens {
		d.List = append(d.List, tokenCard{t})
	}
	var choices []form.Choice
	for _, scope := range v.Who.Scopes {
		choices = append(choices, form.Choice{Value: scope})
	}
	scopes := d.Input("scopes")
	scopes.Chosen = slices.DeleteFunc(slices.Clone(scopes.Chosen), func(s string) bool { return !slices.Contains(v.Who.Scopes, s) })
	scopes.Choose(choices, true)
	d.Input("limit").Advice = []any{operators.JoinScopes(operators.LimitableScopes())}
	return &page.Content{Title: v.T("Tokens"), Crumbs: []page.Crumb{{Text: v.T("Tokens")}}, Data: d}, nil
}

// createToken creates a token, or shows the form again with every mistake.
func createToken(v *page.Visit) (*page.Content, error) {
	d := &tokensData{Form: tokenFields().New(true)}
	d.Fill(v.Request.PostForm)
	scopes, fields := d.chosen(v.Locale)
	body := map[string]any{"name": v.Request.PostForm.Get("name"), "scopes": scopes}
	if text := d.Input("days").Value; text != "" {
		if days, err := strconv.Atoi(text); err != nil || days < 1 || days > maxTokenDays {
			d.Wrong("days", v.T("Must be a number from 1 to 3650, or empty."))
		} else {
			body["expires_at"] = time.Now().Add(time.Duration(days) * 24 * time.Hour).UTC().Format(time.RFC3339)
		}
	}
	var made api.TokenView
	failed := v.Save(http.MethodPost, "/v1/tokens", body, d.Mistakes, &made)
	if failed == nil {
		d = &tokensData{Form: tokenFields().New(true), Made: &made}
		if v.Who.Open { // it was the first token: this page needs one from now on
			return &page.Content{Title: v.T("Tokens"), Crumbs: []page.Crumb{{Text: v.T("Tokens")}}, Data: d}, nil
		}
		return tokensPage(v, d)
	}
	c, err := tokensPage(v, d)
	if err != nil {
		return nil, err
	}
	const none = "No token was created. Correct the marked fields of the form."
	d.Problem, err = c.Refused(v.Locale, d.Form, failed, placeToken(v.Locale, scopes, fields), page.RefusedWords{Nothing: none, Correct: none})
	return c, err
}

// chosen returns the scopes that the form asks for, and the field of each.
func (d *tokensData) chosen(l *locale.Locale) (scopes, fields []string) {
	limit := d.Input("limit").Value
	scopes = []string{}
	for _, text := range d.Input("scopes").Chosen {
		field := "scopes"
		if scope := operators.Scope(text); limit != "" && slices.Contains(operators.LimitableScopes(), scope) {
			text, field = string(scope.Limit(limit)), "limit"
		}
		scopes, fields = append(scopes, text), append(fields, field)
	}
	if limit != "" && !slices.Contains(fields, "limit") {
		d.Wrong("limit", l.T("None of the chosen scopes can be limited."))
	}
	for _, text := range strings.FieldsFunc(d.Input("more").Value, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		scopes, fields = append(scopes, text), append(fields, "more")
	}
	return scopes, fields
}

// placeToken says which field a mistake of a scope is about; fields has the field of each of the scopes.
func placeToken(l *locale.Locale, scopes, fields []string) page.OwnPlace {
	return func(field string, e *weir.FieldError) string {
		i, err := strconv.Atoi(strings.TrimPrefix(e.Pointer, "/scopes/"))
		if field != "scopes" || err != nil || i >= len(fields) {
			return field
		}
		switch fields[i] {
		case "limit":
			e.Detail = l.T("1 to 63 characters: a-z, 0-9, dot, underscore and hyphen. The first is a letter or a digit.")
		case "more":
			e.Detail = "“" + scopes[i] + "” " + e.Detail
		}
		return fields[i]
	}
}

// askRevoke asks whether to revoke a token.
func askRevoke(v *page.Visit) (*page.Question, error) {
	id := v.Request.PathValue("id")
	return &page.Question{
		Title: v.T("Revoke token %s", id), Button: v.T("Revoke"), Danger: true, Back: tokensPath,
		Crumbs: []page.Crumb{{Text: v.T("Tokens"), Link: tokensPath}, {Text: id}, {Text: v.T("Revoke")}},
		Text:   v.T("This cannot be undone. Requests with the token are refused within seconds, and its sessions end."),
	}, nil
}

func revokeToken(v *page.Visit) (*page.Done, error) {
	id := v.Request.PathValue("id")
	err := v.Call(http.MethodDelete, page.Path("v1", "tokens", id), nil, nil)
	return &page.Done{Text: v.T("Token %s is revoked.", id), To: tokensPath}, err
}
