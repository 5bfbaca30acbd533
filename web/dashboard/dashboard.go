package dashboard

import (
	"embed"
	"html/template"
	"maps"
	"slices"

	"weir/web/dashboard/locale"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed assets/*
var assetFiles embed.FS

// New returns a dashboard. Templates and catalogs are read when they are first used; that all are
// valid is for the tests to say.
func New(o Options) (*Dashboard, error) {
	return newSite(o, sources{pages: pages(o.Prefix), templates: templateFiles, assets: assetFiles, functions: functions, help: helpOf})
}

// functions returns the functions that templates can call, beside those of [display.Functions].
func functions(l *locale.Locale) template.FuncMap {
	all := template.FuncMap{"reason": l.Reason}
	for _, some := range []template.FuncMap{whyFunctions(l), contactFunctions(l), surveyFunctions(l), routerFunctions()} {
		maps.Copy(all, some)
	}
	return all
}

// pages returns all pages, in the order of the navigation.
func pages(prefix string) []*page {
	cards, sender := newSurveyCards(), newFileSender()
	return slices.Concat(
		[]*page{overviewPages(cards)}, channelPages(),
		contactPages(sender), allPeoplePages(), allLimitPages(), surveyPages(cards, sender), routerPages(), accessPages(),
		[]*page{{name: "search", path: searchPath, load: loadSearch, posted: search}, keptPage()},
		helpPages(prefix),
	)
}
