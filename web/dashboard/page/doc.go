// Package page is what every page of the dashboard stands on: the machinery of pages and
// their routes, a visit with its session, the caller of the API within the same process,
// live regions, forms, lists, and messages on the page that follows. It imports no
// subject; package dashboard hands it all pages.
//
// # Invariants
//
//   - What a visit does, it does through the API with the rights of its session. A page's
//     need is checked before its load, and the API checks again.
//   - A GET changes nothing, and a POST is admitted only from the dashboard's own pages.
//   - A form that was posted without a session waits in memory for the log-in, and is sent
//     once. A page has its id; nothing that was typed is sent back.
//   - What is kept for several browsers is kept by their rights: whoever sees it could
//     have asked for it.
package page
