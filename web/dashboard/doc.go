// Package dashboard is Weir in a browser: pages that are made here, and live
// updates of their regions. It needs no file from elsewhere and no JavaScript
// other than for the updates and the dialogs.
//
// # Invariants
//
//   - It is a client of Weir's own API, within the same process: every request
//     carries the token of the session. Scopes, masking of numbers, audit, rate
//     limits and checks are the API's; the dashboard can do nothing that the
//     token cannot. It knows no store and no actor.
//   - Whatever changes something is a POST behind a check of its origin. A GET
//     changes nothing.
//   - The cookie holds the random text of a session, not the token; no script sees
//     it and no other site's request carries it. The gate of the API keeps sessions
//     and ends them: at the log-out, after a time, or with their token.
//   - While there is no token, who serves it lets only browsers in that asked for
//     this machine by a name that no site can give itself: see [web.Nearby].
//   - Pages load nothing but our own files, and run no code and no style that
//     stands in a page.
//   - Titles and paths hold no number of a person and no secret.
//
// # How to add a page
//
// A page is a file <name>.go, its template templates/<name>.html, its test, and
// a line in pages() in dashboard.go:
//
//	func thingPage() *page {
//		return &page{
//			name: "thing", path: "/things/{id}", scopes: readers(),
//			load: loadThing, live: []string{"figures"},
//			actions: []action{{path: "/things/{id}/stop", scopes: …, ask: askStop, do: doStop}},
//		}
//	}
//
// load asks the API with v.get(apiPath("v1", "things", v.r.PathValue("id")),
// query, &into), and gives a title, crumbs and data. An error of the API can be
// handed on as it is: it becomes a page that says so, or the login page.
//
// The template defines "main", and a block for each live region, which stands in
// an element with the block's name as id: <div id="figures">{{template "figures"
// .}}</div>. In both the dot is a view: .Data is the page's, .Link "/things" .ID
// makes paths, .May "surveys:admin" tells whether a button is of use, .Now is
// for {{ago .Now .At}}. parts.html has empty, act, badge, chart, rows, pages and
// wrong; format.go what templates can call; bars.go and chart.go the pictures.
//
// An action's ask says what will happen, to how many, and with which fields;
// its do reads v.r.PostForm, calls v.call(method, path, body, nil) and says what
// was done and where to go. Link to it with {{template "act" dict "id" … "link"
// … "label" …}} within {{if .May …}}. Elements in live regions that can have the
// focus need an id that stays, so that it stays on them.
//
// Lists are paged by the API's cursor: a link with ?cursor=…, made by pageLink.
// A test makes a rig (see rig_test.go), logs in with the scopes that it is about
// and reads the page.
package dashboard
