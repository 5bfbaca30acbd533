package dashboard_test

import (
	"net/url"
	"testing"
)

func TestSurvey_PagesAreInTheLanguageOfTheReader(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.survey("flu", 3)
	r.api("PATCH", "/v1/surveys/flu", `{"initial_success_rate":0.1,"schedule":{"end_date":"2099-12-30"}}`, nil)
	b := r.login(surveyScope)
	for code, pages := range map[string]map[string][]string{
		"es": {
			"/surveys":                 {"<h1>Encuestas</h1>", "<dt>encuestados</dt><dd>3</dd>", `<option value="draft">`},
			"/surveys/flu":             {"<title>Encuesta flu – Weir</title>", "Cuotas</h2>", "age 18 a 40, sex f", "Importar encuestados</a>", "Respuestas por día de la semana y hora"},
			"/surveys/flu/launch":      {"Lanzar la encuesta flu</h1>", "Cuenta con 3 encuestados; lo que más tarda es el canal texts.", "502; hacen falta unos 5.020 encuestados si el 10 % tiene éxito", " 2099-12-30 20:00 America/Mexico_City"},
			"/surveys/_new":            {"<h1>Nueva encuesta</h1>", "> Lunes</label>", `aria-label="Martes 09:00"`, "Llamadas (ivr)", "en este orden", "<code>{{first_name}}</code> inserta"},
			"/surveys/flu/respondents": {"Encuestados de flu", `<option value="interim partial">`, "Disposición"},
			"/surveys/flu/import":      {"Importar encuestados de flu", "La primera línea nombra"},
			"/surveys/_calendar":       {"Calendario de encuestas", "<caption>La carga es"},
		},
		"fr": {
			"/surveys":                 {"<h1>Enquêtes</h1>", "<dt>répondants</dt><dd>3</dd>"},
			"/surveys/flu":             {"<title>Enquête flu – Weir</title>", "age 18 à 40, sex f", "Jours exclus\u00a0: <time"},
			"/surveys/flu/launch":      {"Lancer l’enquête flu</h1>", "Elle compte 3 répondants\u00a0; c’est le canal texts", "502\u00a0; il faut environ 5\u00a0020 répondants"},
			"/surveys/_new":            {"<h1>Nouvelle enquête</h1>", "> Lundi</label>", "Relances", `JSON de la définition</a>`},
			"/surveys/flu/clone":       {"Dupliquer l’enquête flu</h1>", "Les répondants ne sont pas copiés."},
			"/surveys/flu/definition":  {"Définition de flu", "Modifier en JSON"},
			"/surveys/flu/respondents": {"Répondants de flu", "Prochaine étape"},
		},
		"pt": {
			"/surveys":               {"<h1>Pesquisas</h1>", "<dt>respondentes</dt><dd>3</dd>"},
			"/surveys/flu":           {"<title>Pesquisa flu – Weir</title>", "age 18 a 40, sex f", "Cotas</h2>"},
			"/surveys/flu/launch":    {"Lançar a pesquisa flu</h1>", "Conta 3 respondentes; o que mais demora é o canal texts.", "são precisos cerca de 5.020 respondentes"},
			"/surveys/flu/stop":      {"Parar a pesquisa flu</h1>", "Serão cancelados</dt><dd>3</dd>", "Isso não pode ser desfeito."},
			"/surveys/flu/edit/json": {"Editar a pesquisa flu como JSON", `página da API</a> descreve`},
			"/surveys/flu/log":       {"Registro de flu"},
		},
	} {
		b.cookies["weir_language"] = code
		for path, texts := range pages {
			b.get(path).want(200).has(texts...)
		}
	}
}

// What a form says of mistakes is in the reader's language.
func TestSurvey_MistakesAndResultsAreInTheLanguageOfTheReader(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.channel("texts")
	b := r.login("admin")
	b.cookies["weir_language"] = "fr"
	wrong := filledSurvey()
	wrong.Set("name", "Flu!")
	wrong.Set("window_1_to", "08:00")
	b.post("/surveys/_new", wrong).want(422).has("Rien n’a été enregistré. Corrigez les champs signalés", "De 1 à 63 caractères\u00a0: a-z", "Plage 1\u00a0: ")
	b.post("/surveys/_new/json", url.Values{"name": {"flu"}, "definition": {"{"}}).want(422).has("Ligne 1\u00a0: Le texte finit avant la définition.")
	b.post("/surveys/_new", filledSurvey()).want(303)
	b.get("/surveys/flu").want(200).has("L’enquête flu est créée.")
	r.api("POST", "/v1/surveys/flu/respondents", `{"respondents":[{"phone":"+12125550100","attributes":{"first_name":"Ana"}}]}`, nil)
	b.cookies["weir_language"] = "es"
	b.post("/surveys/flu/launch", nil).want(303)
	b.get("/surveys/flu").want(200).has("La encuesta flu se lanzó.")
}

// Counts have the form that the language has for them.
func TestSurvey_CountsHaveTheFormOfTheLanguage(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.survey("flu", 1)
	b := r.login(surveyScope)
	for code, want := range map[string]struct{ launch, one, two string }{
		"en": {"It counts 1 respondent; channel", "1 respondent was added.", "2 respondents were added."},
		"es": {"Cuenta con 1 encuestado; lo", "Se añadió 1 encuestado.", "Se añadieron 2 encuestados."},
		"fr": {"Elle compte 1 répondant\u00a0; c’est", "1 répondant a été ajouté.", "2 répondants ont été ajoutés."},
		"pt": {"Conta 1 respondente; o", "1 respondente foi adicionado.", "2 respondentes foram adicionados."},
	} {
		b.cookies["weir_language"] = code
		b.get("/surveys/flu/launch").want(200).has(want.launch)
		r.survey(code, 0)
		b.uploadText("/surveys/"+code+"/import/send", "phone\n+12125550101\n", mapped("phone")...).want(200).has(want.one)
		b.uploadText("/surveys/"+code+"/import/send", "phone\n+12125550102\n+12125550103\n", mapped("phone")...).want(200).has(want.two)
	}
}
