package page

import (
	"net/http"

	"weir/operators"
)

// Pages returns the pages of a site.
func (d *Site) Pages() []*Page { return d.pages }

// Subject is what a page is about.
func (p *Page) Subject() (kind, parameter string) { return p.subject() }

// Admits reports whether a page is open with some rights, if it asks for scopes.
func (p *Page) Admits(scopes []operators.Scope, held operators.Rights, r *http.Request) bool {
	return p.need(scopes).about(&Caller{held: held}, r)
}
