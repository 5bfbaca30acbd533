// Package dashboard serves Weir's browser dashboard: pages rendered on the server,
// and live updates of their regions. It needs no external file, and JavaScript only
// for the updates and the dialogs.
//
// # Invariants
//
//   - It is a client of Weir's own API, within the same process: every request
//     carries the token of the session. Scopes, masking of numbers, audit, rate
//     limits and validation belong to the API; the dashboard can do nothing that
//     the token cannot. It uses no store and no actor.
//   - Every change is a POST behind a check of its origin. A GET changes nothing.
//   - The cookie holds the random text of a session, not the token; no script can
//     read it and no request from another site carries it. The API's gate stores
//     sessions and ends them: at log-out, after a time limit, or with their token.
//   - While no token is needed, whoever serves the dashboard must admit only
//     browsers that requested this machine by a name that no site can give itself:
//     see [auth.LocalOnly].
//   - Pages load only files of the dashboard, and run no inline script or style.
//   - Titles and paths contain no phone number of a person and no secret.
//
// # How to add a page
//
// A page is a file <name>.go, its template templates/<name>.html, its test, and a
// row in the table of its subject in routes.go:
//
//	{
//		name: "thing", path: "/things/{id}", scopes: readers(),
//		load: loadThing, live: []string{"figures"},
//		actions: []action{{path: "/things/{id}/stop", scopes: …, ask: askStop, run: stopThing}},
//	},
//
// load queries the API with v.get(apiPath("v1", "things", v.r.PathValue("id")),
// query, &into), and returns a title, crumbs and data. An error of the API can be
// returned unchanged: it becomes an error page, or the login page.
//
// The template defines "main", and a block for each live region inside an element
// whose id is the name of the block: <div id="figures">{{template "figures"
// .}}</div>. In both, the dot is a view: .Data is the page's data, .Link "/things"
// .ID builds paths, .May "surveys:admin" reports whether to show a button, and
// .MaySurvey .Survey "surveys:admin" one for that survey, .Now is for {{ago .Now .At}}. parts.html has empty, act, badge, chart, rows, pages and
// wrong; package display has the template functions and the pictures.
//
// An action's ask returns what will happen, to how many, and the fields to fill in;
// its run reads v.r.PostForm, calls v.call(method, path, body, nil) and returns a
// message and the next page. Link to it with {{template "act" dict "id" … "link" …
// "label" …}} within {{if .May …}}. Elements in live regions that can have the
// focus need a stable id, so that an update keeps the focus.
//
// Texts are messages, in English, which are translated: {{t "Queued"}}, {{t "%d of %d" .A .B}}, {{markup
// "Ends <strong>%s</strong>" .When}} with HTML; in Go v.T("…"), and l.T("…") where there is no visit. A
// sentence is one message, never put together from parts. catalogs/*.json of package
// locale have the translations, and the forms for a count; TestMessages says what is missing. What the API refuses
// something for is in mistakes/*.json; TestMistakes says what is missing there.
// Names of the API are shown in words with {{words .State}}, which apiWords lists.
//
// Lists are paged by the API's cursor: a link with ?cursor=…, built by pageLink. A
// test creates a rig (see rig_test.go), logs in with the scopes under test and
// reads the page.
package dashboard
