package dashboard

import (
	"net/http"
	"net/url"

	"weir/api"
)

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
	return &content{title: v.T("Audit log"), crumbs: []crumb{{Text: v.T("Audit log")}}, data: &auditData{page.Entries, span, v.more(page.NextCursor)}}, nil
}

func exportAudit(v *visit, w http.ResponseWriter) error {
	span, err := readInterval(v.r.URL.Query())
	if err != nil {
		return err
	}
	query := url.Values{}
	span.put(query, "since", "until")
	return v.export(w, "/v1/audit.csv", query)
}
