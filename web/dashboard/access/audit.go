package access

import (
	"net/http"
	"net/url"

	"weir/api"
	"weir/web/dashboard/page"
)

// auditData is the data of the audit log page.
type auditData struct {
	Entries  []api.AuditView
	Interval page.Interval
	Pager    page.Pager
}

func loadAudit(v *page.Visit) (*page.Content, error) {
	query, span, err := v.IntervalQuery()
	if err != nil {
		return nil, err
	}
	var list api.AuditList
	if err := v.Get("/v1/audit", query, &list); err != nil {
		return nil, err
	}
	return &page.Content{Title: v.T("Audit log"), Crumbs: []page.Crumb{{Text: v.T("Audit log")}}, Data: &auditData{list.Entries, span, v.More(list.NextCursor)}}, nil
}

func exportAudit(v *page.Visit, w http.ResponseWriter) error {
	span, err := page.ReadInterval(v.Request.URL.Query())
	if err != nil {
		return err
	}
	query := url.Values{}
	span.Put(query, "since", "until")
	return v.Export(w, "/v1/audit.csv", query)
}
