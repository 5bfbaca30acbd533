package dashboard_test

import (
	"net/url"
	"testing"
)

func TestLanguages_OfPagesOfChannelsAndContacts(t *testing.T) {
	t.Parallel()
	const scopes = "contacts:read contacts:write channels:admin pii:read"
	r := newRig(t, scopes)
	r.channel("texts")
	r.api("PATCH", "/v1/channels/texts", `{"capacity":12345,"brake":{"opted_out_percent":5,"reasons":{"quota: 5 %d %s":30}}}`, nil)
	r.queue("texts", "a", 3)
	b := r.login(scopes)
	contact := r.contactsOf("texts")[0].ID
	for code, pages := range map[string]map[string][]string{
		"es": {
			"/":                        {`<html lang="es">`, "<h1>Resumen</h1>", "En pausa · 4 en cola", "0 / 12.345", "Cerrar sesión", `data-live="activo"`},
			"/channels/texts":          {"Canal texts – Weir", "Últimas 3 horas", "Utilización por hora", "Se pone en pausa si, de los últimos 100 contactos y a partir de 20, más del 5 % se da de baja, o más del 30 % termina con el motivo &#34;quota: 5 %d %s&#34;.", "<strong>En pausa:</strong>", "lun"}, //nolint:misspell // Spanish
			"/channels/texts/capacity": {"Cambiar la capacidad del canal texts</h1>", "<dt>En curso</dt><dd>0 de 12.345 plazas</dd>", ">Cambiar</button>", ">Volver</a>"},
			"/channels/_new":           {"<h1>Nuevo canal</h1>", "Un canal conecta Weir con una cuenta"},
			"/contacts/" + contact:     {"Contacto " + contact + "</h1>", "<dt>Prioridad</dt>", "aceptado", "en cola</span>"},
			"/contacts/_import":        {"Enviar un archivo</h1>", "No se envía nada antes de que vea cómo.", ">elegir</option>"},
			"/dead-letters":            {"No hay no entregados"},
			"/audit":                   {"Registro de auditoría</h1>"},
			"/search":                  {"ID o clave de un contacto"},
		},
		"fr": {
			"/":               {"<h1>Vue d’ensemble</h1>", "0 / 12\u00a0345", "En pause · 4 en attente"},
			"/channels/texts": {"plus de 5\u00a0% se désinscrivent", "<strong>En pause\u00a0:</strong>", "Paramètres</h2>"},
			"/contacts":       {"<h1>Contacts</h1>", `<option value="no_answer">pas de réponse</option>`, `<option value="queued">en attente</option>`, `<span class="zone">UTC</span>`},
			"/contacts/_new":  {"Envoyer un contact</h1>", `<option value="high">haute</option>`, "Pas avant, <span"},
		},
		"pt": {
			"/":                      {"<h1>Visão geral</h1>", "0 / 12.345", "<dt>Vagas livres</dt><dd>12.345</dd>"},
			"/channels/texts":        {"Próximos na fila</h2>", "mais de 5 % se descadastram"},
			"/channels/texts/delete": {"Excluir o canal texts</h1>", "Cancelar 4 contatos abertos"},
		},
	} {
		b.cookies["weir_language"] = code
		for path, want := range pages {
			b.get(path).want(200).has(want...)
		}
	}
	b.cookies["weir_language"] = "pt"
	b.get("/contacts/1").has(`<html lang="pt">`, "Ir para a visão geral")
	b.get("/contacts?from=x").want(422).has(">Solicitação inválida</h1>", "o período tem uma hora inválida", "deve ser uma data e hora em UTC")
	delete(b.cookies, "weir_language")
	b.get("/", "Accept-Language", "fr-CA, en;q=0.5").want(200).has(`<html lang="fr">`)
	b.get("/", "Accept-Language", "de").want(200).has(`<html lang="en">`, "<h1>Overview</h1>")
}

func TestLanguages_CountsHaveTheirForms(t *testing.T) {
	t.Parallel()
	const scopes = "contacts:read contacts:write"
	r := newRig(t, scopes)
	r.channel("texts")
	r.queue("texts", "a", 3)
	b := r.login(scopes)
	list := r.contactsOf("texts")
	for code, want := range map[string][2]string{
		"en": {"Cancel 1 contact</h1>", "Cancel 2 contacts</h1>"},
		"es": {"Cancelar 1 contacto</h1>", "Cancelar 2 contactos</h1>"}, //nolint:misspell // Spanish
		"fr": {"Annuler 1 contact</h1>", "Annuler 2 contacts</h1>"},
		"pt": {"Cancelar 1 contato</h1>", "Cancelar 2 contatos</h1>"},
	} {
		b.cookies["weir_language"] = code
		query := url.Values{"contact": {list[0].ID}}
		b.get("/contacts/_cancel?" + query.Encode()).want(200).has(want[0])
		query.Add("contact", list[1].ID)
		b.get("/contacts/_cancel?" + query.Encode()).want(200).has(want[1])
	}
	b.cookies["weir_language"] = "fr"
	to := b.post("/contacts/_cancel?"+url.Values{"contact": {list[0].ID}, "back": {"/contacts"}}.Encode(), nil).want(303).header.Get("Location")
	b.get(to).has("1 contact annulé.")
}

// What a form says of its mistakes is in the language of the reader.
func TestLanguages_OfFormsAndLogin(t *testing.T) {
	t.Parallel()
	const scopes = "contacts:read contacts:write channels:admin"
	r := newRig(t, scopes)
	r.channel("texts")
	v := r.visitor()
	v.cookies["weir_language"] = "es"
	v.get("/login").want(200).has("Iniciar sesión</h1>", "El operador de este servidor", ">Iniciar sesión</button>")
	v.post("/login", url.Values{"token": {"no-such-token"}}).want(401).has("Token no válido: es desconocido, está revocado o venció.")

	b := r.login(scopes)
	b.cookies["weir_language"] = "es"
	b.post("/contacts/_new", url.Values{"channel": {"texts"}, "messages": {"hi"}, "not_after": {"x"}}).want(422).
		has("No se ha enviado nada. Corrija los campos marcados del formulario.", "Indique un número de teléfono u otra dirección.", "Indique una fecha y una hora en UTC")
	b.cookies["weir_language"] = "fr"
	b.post("/channels/_new", url.Values{"type": {"nuntium"}, "name": {"texts"}}).want(422).has("Rien n’a été enregistré. Corrigez les champs signalés", "Un canal porte déjà ce nom")
	b.post("/channels/texts/capacity", url.Values{"capacity": {"x"}}).want(422).has("la capacité doit être un nombre entier", "Modifier la capacité du canal texts</h1>")
}
