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
// # Where things are
//
// Package page is what every page stands on; files has the pages that send a file. Each
// subject has a folder of its own, which returns its rows of the table of pages: channels,
// contacts, people, limits, surveys, router, access. They import page, and what they share
// stands below them: choices (what forms offer), why (why something waits), form,
// questionnaire, display and locale. This package joins the rows, and has what is of all
// subjects: the overview, the search and the help. Templates and assets are here too.
//
// # How to add a page
//
// A page is a file <name>.go in the folder of its subject, its template
// templates/<name>.html, its test beside the others here, and a row in the subject's
// pages.go:
//
//	{
//		Name: "thing", Path: "/things/{id}", Scopes: page.Readers(),
//		Load: loadThing, Live: []string{"figures"},
//		Actions: []page.Action{{Path: "/things/{id}/stop", Scopes: …, Ask: askStop, Run: stopThing}},
//	},
//
// Load queries the API with v.Get(page.Path("v1", "things", v.Request.PathValue("id")),
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
// An action's Ask returns what will happen, to how many, and the fields to fill in;
// its Run reads v.Request.PostForm, calls v.Call(method, path, body, nil) and returns a
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
// Lists are paged by the API's cursor: a link with ?cursor=…, built by v.More. A
// test creates a rig (see rig_test.go), logs in with the scopes under test and
// reads the page.
package dashboard
