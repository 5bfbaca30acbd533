package dashboard

import (
	"embed"
	"html/template"
	"maps"
	"slices"

	"weir/web/dashboard/access"
	"weir/web/dashboard/channels"
	"weir/web/dashboard/contacts"
	"weir/web/dashboard/files"
	"weir/web/dashboard/limits"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
	"weir/web/dashboard/people"
	"weir/web/dashboard/router"
	"weir/web/dashboard/surveys"
	"weir/web/dashboard/why"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed assets/*
var assetFiles embed.FS

// Options configures a dashboard.
type Options = page.Options

// New returns a dashboard. Templates and catalogs are read when they are first used; that all are
// valid is for the tests to say.
func New(o page.Options) (*page.Site, error) {
	return page.New(o, page.Sources{Pages: pages(o.Prefix), Templates: templateFiles, Assets: assetFiles, Functions: functions, Help: helpOf})
}

// functions returns the functions that templates can call, beside those of [display.Functions].
func functions(l *locale.Locale) template.FuncMap {
	all := template.FuncMap{"reason": l.Reason}
	for _, some := range []template.FuncMap{why.Functions(l), contacts.Functions(l), surveys.Functions(l), router.Functions()} {
		maps.Copy(all, some)
	}
	return all
}

// pages returns all pages, in the order of the navigation.
func pages(prefix string) []*page.Page {
	cards, sender := surveys.NewCards(), files.NewSender()
	return slices.Concat(
		[]*page.Page{overviewPages(cards)}, channels.Pages(),
		contacts.Pages(sender), people.Pages(), limits.Pages(), surveys.Pages(cards, sender), router.Pages(), access.Pages(),
		[]*page.Page{{Name: "search", Path: searchPath, Load: loadSearch, Posted: search}, page.KeptPage()},
		helpPages(prefix),
	)
}
