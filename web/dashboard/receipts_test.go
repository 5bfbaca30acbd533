package dashboard_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"html"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/api"
	"weir/operators"
	"weir/people"
	"weir/web/dashboard"
)

// receiptFacts are facts that make every clause of a receipt. What the operator wrote looks like clauses and reasons.
func receiptFacts() []people.Facts {
	const own = "limit research: the channel is not connected; no refusal recorded"
	return []people.Facts{
		{Purpose: "research", Zone: "Africa/Nairobi", Left: []people.Left{{Cap: "2 in 7d", N: 1}, {Cap: "1 a calendar day over all purposes", N: 0}}, Cost: 1_230_000, Currency: "USD"},
		{Purpose: "research", Consent: 7, Zone: "Africa/Nairobi", More: 2, Left: []people.Left{{Cap: "9 in 2 calendar days", N: 5}}, Cost: 1_230_000, Currency: "USD", Settled: true},
		{Purpose: "research", Consent: 7, Refused: true, Exempt: own},
		{Purpose: "research", Consent: 7, Refused: true, Confirms: true},
	}
}

// receiptSentences returns the clauses that receipts can have, by the source.
func receiptSentences(t *testing.T) (list []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../people/receipt.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, text)
		}
		return true
	})
	return list
}

// Every clause that a receipt can have is in the language of the page; names, and what an operator wrote, stay as they are.
func TestReceipts_AreInTheLanguageOfThePage(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 5, 11, 3, 0, 0, time.UTC)
	contact, english := api.ContactView{ID: "1-2", State: "done"}, []string{}
	unseen := receiptSentences(t)
	if len(unseen) < 11 {
		t.Fatalf("only %d clauses were found", len(unseen))
	}
	for i, f := range receiptFacts() {
		clauses := f.Clauses(at)
		contact.Attempts = append(contact.Attempts, api.AttemptView{Number: i + 1, ClaimedAt: at, Receipt: &api.ReceiptView{Text: f.Text(at), Clauses: clauses}})
		english = append(english, f.Text(at))
		for _, c := range clauses {
			unseen = slices.DeleteFunc(unseen, func(s string) bool { return s == c.Sentence })
		}
	}
	if len(unseen) > 0 {
		t.Errorf("no receipt here has %q", unseen)
	}
	d, err := dashboard.New(dashboard.Options{Logger: slog.New(slog.DiscardHandler), Ending: func() bool { return false }, API: answers{
		"/v1/whoami":       api.WhoView{Token: "t", Scopes: []string{string(operators.ScopeContactsRead)}},
		"/v1/contacts/1-2": contact,
	}})
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string][]string{
		"en": english,
		"es": {
			"finalidad research; ninguna negativa registrada; 14:03 en Africa/Nairobi; tope de 2 en 7d: quedan 1; tope de 1 en un día en todas las finalidades: quedan 0; 1,23 USD reservados",
			"finalidad research; consentimiento según el registro 7; 14:03 en Africa/Nairobi o en otra de 2 zonas más; tope de 9 en 2 días: quedan 5; costó 1,23 USD",
			"finalidad research; rechazado, registro 7; exenta: limit research: the channel is not connected; no refusal recorded", "finalidad research; confirma la negativa, registro 7",
		},
		"fr": {
			"finalité research; aucun refus enregistré; 14:03 à Africa/Nairobi; plafond de 2 en 7d : reste 1; plafond de 1 en un jour calendaire, toutes finalités confondues : reste 0; 1,23 USD réservés",
			"finalité research; consentement selon l’enregistrement 7; 14:03 à Africa/Nairobi ou dans l’un des 2 autres fuseaux; plafond de 9 en 2 jours calendaires : reste 5; a coûté 1,23 USD",
			"finalité research; refusé, enregistrement 7; exemptée : limit research: the channel is not connected; no refusal recorded", "finalité research; confirme le refus, enregistrement 7",
		},
		"pt": {
			"finalidade research; nenhuma recusa registrada; 14:03 em Africa/Nairobi; limite de 2 em 7d: restam 1; limite de 1 em um dia em todas as finalidades: restam 0; 1,23 USD reservados",
			"finalidade research; consentimento conforme o registro 7; 14:03 em Africa/Nairobi ou em um de mais 2 fusos; limite de 9 em 2 dias: restam 5; custou 1,23 USD",
			"finalidade research; recusado, registro 7; isenta: limit research: the channel is not connected; no refusal recorded", "finalidade research; confirma a recusa, registro 7",
		},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/contacts/1-2", nil)
		r.SetPathValue("id", "1-2")
		r.Header.Set("Accept-Language", code)
		d.Routes()["GET /contacts/{id}"].ServeHTTP(w, r)
		page := html.UnescapeString(w.Body.String())
		for _, text := range want {
			if !strings.Contains(page, "<dd>"+text+"</dd>") {
				t.Errorf("%s: no %q in\n%s", code, text, page)
			}
		}
	}
}
