package router

import (
	"html/template"

	"weir/operators"
	"weir/router/label"
	"weir/web/dashboard/page"
)

// Pages returns the pages of the router, whose API also requires pii:read.
func Pages() []*page.Page {
	const worker, job = "/router/workers/{id}", "/router/jobs/{id}"
	const held = job + "/assignments/{assignment}"
	users := []operators.Scope{operators.ScopeRouter}
	known := &workerHistories{}
	return append([]*page.Page{
		{Name: "router", Path: "/router", Nav: "Router", Scopes: users, Load: loadRouter, Live: []string{"board", "queues"}},
		{Name: "router_workers", Path: "/router/workers", Scopes: users, Load: loadWorkers, Live: []string{"workers"}},
		{Name: "router_queues", Path: "/router/queues", Scopes: users, Load: loadQueues, Live: []string{"queues"}},
		{Name: "router_jobs", Path: "/router/jobs", Scopes: users, Load: loadJobs, Live: []string{"jobs"}},
		{Name: "router_policies", Path: "/router/policies", Scopes: users, Load: loadPolicies},
		{
			Name: "router_worker", Path: worker, Scopes: users, Load: known.loadWorker, Live: []string{"worker"},
			Actions: []page.Action{
				{Path: worker + "/on", Scopes: users, Ask: askAvailable(true), Run: setAvailable(true)},
				{Path: worker + "/off", Scopes: users, Ask: askAvailable(false), Run: setAvailable(false)},
			},
		},
		{Name: "router_queue", Path: "/router/queues/{id}", Scopes: users, Load: loadQueue, Live: []string{"queue"}},
		{
			Name: "router_job", Path: job, Scopes: users, Load: loadJob, Live: []string{"job"},
			Actions: []page.Action{
				{Path: job + "/cancel", Scopes: users, Ask: askCancelJob, Run: cancelJob},
				{Path: held + "/complete", Scopes: users, Ask: askAssignment(1, "Complete", "Complete job %s", "The worker has done the job. Close the job to release the worker's capacity."), Run: endAssignment("complete", "Job %s is completed.")},
				{Path: held + "/close", Scopes: users, Ask: askAssignment(2, "Close", "Close job %s", "The job ends, and the worker's capacity is released."), Run: endAssignment("close", "Job %s is closed.")},
				{Path: held + "/unassign", Scopes: users, Ask: askAssignment(0, "Unassign", "Unassign job %s", "The job returns to its queue and is offered again. The worker's capacity is released at once."), Run: endAssignment("unassign", "Job %s is back in its queue.")},
			},
		},
	}, deskPages(known)...)
}

// deskPages returns the pages for workers themselves, and the board of all of them.
func deskPages(known *workerHistories) []*page.Page {
	const one = deskPath + "/{worker}"
	const me, offer, held = deskPath + "/{id}", one + "/offers/{offer}", one + "/jobs/{id}/assignments/{assignment}"
	users := []operators.Scope{operators.ScopeRouter}
	return []*page.Page{
		{Name: "router_board", Path: "/router/board", Scopes: users, Load: known.loadStaffBoard, Live: []string{"staff", "queues"}},
		{Name: "router_desks", Path: deskPath, Scopes: users, Load: loadDesks, Posted: chooseDesk},
		{
			Name: "router_desk", Path: one, Scopes: users, Load: loadDesk, Live: []string{"desk"},
			Actions: []page.Action{
				{Path: me + "/on", Scopes: users, Ask: atDesk("id", askAvailable(true)), Run: setAvailableAtDesk(true)},
				{Path: me + "/off", Scopes: users, Ask: atDesk("id", askAvailable(false)), Run: setAvailableAtDesk(false)},
				{Path: offer + "/accept", Scopes: users, Ask: atDesk("worker", askOffer("Accept", "Accept job %s", "The job is yours until you close it.")), Run: answerOffer("accept", "Job %s is yours.")},
				{Path: offer + "/decline", Scopes: users, Ask: atDesk("worker", askOffer("Decline", "Decline job %s", "The job is offered to others.")), Run: answerOffer("decline", "Job %s is declined.")},
				{Path: held + "/complete", Scopes: users, Ask: atDesk("worker", askAssignment(1, "Complete", "Complete job %s", "The work is done. The job stays on your desk until you close it.")), Run: completeAtDesk},
				{Path: held + "/close", Scopes: users, Ask: atDesk("worker", askClose), Run: closeAtDesk},
			},
		},
	}
}

// Functions are what templates call to show the router.
func Functions() template.FuncMap {
	return template.FuncMap{"labels": func(l label.Set) []page.Fact { return page.FactsOf(l, labelText) }, "labelLine": labelLine, "selector": selectorText}
}
