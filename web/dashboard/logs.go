package dashboard

import (
	"weir/ops"
	"weir/web/api"
	"weir/web/surveyapi"
)

func auditPage() *page {
	return &page{name: "audit", path: "/audit", nav: "Audit", scopes: []ops.Scope{ops.ScopeChannelsAdmin}, load: loadAudit, live: []string{"entries"}}
}

// auditData is the data of the audit log page.
type auditData struct {
	Entries  []api.AuditView
	Interval interval
	Pager    pager
}

func loadAudit(v *visit) (*content, error) {
	query, span, err := v.intervalQuery()
	if err != nil {
		return nil, err
	}
	var page api.AuditList
	if err := v.get("/v1/audit", query, &page); err != nil {
		return nil, err
	}
	return &content{title: "Audit log", crumbs: []crumb{{Text: "Audit log"}}, data: &auditData{page.Entries, span, v.more(page.NextCursor)}}, nil
}

func surveyLogPage() *page {
	return &page{name: "survey_log", path: surveyPath + "/log", scopes: surveyReaders(), load: loadSurveyLog}
}

// surveyLog is the data of the page of a survey's log.
type surveyLog struct {
	Survey   string
	Log      []surveyapi.SurveyLogView
	Interval interval
	Pager    pager
}

func loadSurveyLog(v *visit) (*content, error) {
	name := v.r.PathValue("name")
	query, span, err := v.intervalQuery()
	if err != nil {
		return nil, err
	}
	var page surveyapi.SurveyLogList
	if err := v.get(apiPath("v1", "surveys", name, "log"), query, &page); err != nil {
		return nil, err
	}
	return &content{
		title: "Log of " + name, crumbs: surveyCrumbs(name, crumb{Text: "Log"}),
		data: &surveyLog{name, page.Entries, span, v.more(page.NextCursor)},
	}, nil
}
