package dashboard_test

import (
	"strings"
	"testing"
)

// pagesOf are what pages of people, rules and money say in a language.
type pagesOf struct {
	people, purposes, limits, spending, tokens, webhooks, mistakes []string
	numbers                                                        string // of the limit
}

func translatedPages() map[string]pagesOf {
	return map[string]pagesOf{
		"en": {
			people: []string{"<h1>People</h1>", "A phone number has its country code.", "does not want to be contacted"}, purposes: []string{"1 holiday<", "2 holidays<", "only people whose consent is recorded are contacted", "at most 2 in 7d over all purposes"},
			limits: []string{"Shared limits", "New people in 24 hours", "Edit portfolio"}, spending: []string{"Nothing was spent."}, tokens: []string{"New token", "Who or what uses it."}, webhooks: []string{"No webhooks yet"},
			mistakes: []string{"Nothing was saved. Correct the marked fields of the form.", "Enter at least one limit, of these three or of money."}, numbers: "0 of 1,234",
		},
		"es": {
			people: []string{"<h1>Personas</h1>", "Un número de teléfono lleva el código del país.", "no quiere que se la contacte"}, purposes: []string{"1 día festivo<", "2 días festivos<", "solo se contacta a personas cuyo consentimiento está registrado", "como máximo 2 en 7d entre todas las finalidades"},
			limits: []string{"Límites compartidos", "Personas nuevas en 24 horas", "Editar portfolio"}, spending: []string{"No se ha gastado nada."}, tokens: []string{"Nuevo token", "Quién o qué lo usa."}, webhooks: []string{"Aún no hay webhooks"},
			mistakes: []string{"No se ha guardado nada. Corrija los campos marcados del formulario.", "Introduzca al menos un límite, de estos tres o de dinero."}, numbers: "0 de 1.234",
		},
		"fr": {
			people: []string{"<h1>Personnes</h1>", "Un numéro de téléphone comprend l’indicatif du pays.", "ne veut pas être contactée"}, purposes: []string{"1 jour férié<", "2 jours fériés<", "seules les personnes dont le consentement est enregistré sont contactées", "au plus 2 en 7d, toutes finalités confondues"},
			limits: []string{"Limites partagées", "Nouvelles personnes en 24 heures", "Modifier portfolio"}, spending: []string{"Rien n’a été dépensé."}, tokens: []string{"Nouveau jeton", "Qui ou quoi l’utilise."}, webhooks: []string{"Aucun webhook pour le moment"},
			mistakes: []string{"Rien n’a été enregistré. Corrigez les champs signalés du formulaire.", "Saisissez au moins une limite, parmi ces trois ou d’argent."}, numbers: "0 sur 1\u00a0234",
		},
		"pt": {
			people: []string{"<h1>Pessoas</h1>", "Um número de telefone tem o código do país.", "não quer ser contatada"}, purposes: []string{"1 feriado<", "2 feriados<", "só são contatadas pessoas cujo consentimento está registrado", "no máximo 2 em 7d, somando todas as finalidades"},
			limits: []string{"Limites compartilhados", "Pessoas novas em 24 horas", "Editar portfolio"}, spending: []string{"Nada foi gasto."}, tokens: []string{"Novo token", "Quem ou o que o usa."}, webhooks: []string{"Ainda não há webhooks"},
			mistakes: []string{"Nada foi salvo. Corrija os campos marcados do formulário.", "Informe ao menos um limite, destes três ou de dinheiro."}, numbers: "0 de 1.234",
		},
	}
}

// Pages of people, rules, money and access are in the language that was chosen, and so are the mistakes of forms.
func TestLanguage_OfPagesOfPeopleAndRules(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router")
	r.channel("texts")
	r.api("PUT", "/v1/limits/portfolio", `{"channels":["texts"],"in_flight":1234,"new_people_per_day":7}`, nil)
	r.api("PUT", "/v1/purposes/one", `{"consent":"recorded","holidays":[{"date":"2026-12-25"}]}`, nil)
	r.api("PUT", "/v1/purposes/two", `{"holidays":[{"date":"2026-12-25"},{"date":"2027-01-01"}],"caps":[{"max":2,"within":"7d","over":"all"}]}`, nil)
	b := r.login("admin")
	for code, want := range translatedPages() {
		b.cookies["weir_language"] = code
		b.get("/people").want(200).has(want.people[:2]...)
		for _, name := range []string{"one", "two"} {
			page := b.get("/purposes/" + name).want(200)
			for i, text := range want.purposes {
				if has := strings.Contains(page.body, text); has != ((i%2 == 0) == (name == "one")) {
					t.Errorf("%s: %s of purpose %s: %v\n%s", code, text, name, has, page.body)
				}
			}
		}
		b.get("/limits").want(200).has(want.limits...).has(want.numbers)
		b.get("/spending").want(200).has(want.spending...)
		b.get("/tokens").want(200).has(want.tokens...)
		b.get("/webhooks").want(200).has(want.webhooks...)
		b.post("/limits/_new", map[string][]string{"name": {"more"}, "channels": {"texts"}}).want(422).has(want.mistakes...)
		b.post("/people", map[string][]string{"to": {"+15550100009"}}).want(200).has(want.people[2])
	}
}

// A desk and the events of a job are in the language that was chosen, which the history of workers that is kept for other visits
// does not change.
func TestLanguage_OfPagesOfTheRouter(t *testing.T) {
	t.Parallel()
	r := newRig(t, routerScope)
	r.routed()
	b := r.login(routerScope)
	for _, want := range []struct{ code, desk, board, event, state, policy string }{
		{"en", "Desk of ann", ">is offered 1 job ", "was offered job <a", ">queued<", "longest idle; offers expire after 10 min"},
		{"es", "Puesto de ann", ">se le ofrece 1 tarea ", "recibió la oferta de la tarea <a", ">en cola<", "el que más tiempo lleva libre; las ofertas caducan después de 10 min"},
		{"fr", "Poste de ann", ">se voit proposer 1 tâche ", "a reçu la proposition de la tâche <a", ">en attente<", "le plus longtemps libre; les propositions expirent après 10 min"},
		{"pt", "Posto de ann", ">recebe a oferta de 1 tarefa ", "recebeu a oferta da tarefa <a", ">na fila<", "livre há mais tempo; as ofertas expiram após 10 min"},
	} {
		b.cookies["weir_language"] = want.code
		b.get("/router/desk/ann").want(200).has(want.desk)
		b.get("/router/board").want(200).has(want.board)
		b.get("/router/workers/ann").want(200).has(want.event)
		b.get("/router/jobs/one").want(200).has(want.state)
		b.get("/router/policies").want(200).has(want.policy)
	}
}
