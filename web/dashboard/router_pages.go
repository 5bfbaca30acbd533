package dashboard

import (
	"html/template"

	"weir/operators"
	"weir/router/label"
)

// routerPages returns the pages of the router, whose API also requires pii:read.
func routerPages() []*page {
	const worker, job = "/router/workers/{id}", "/router/jobs/{id}"
	const held = job + "/assignments/{assignment}"
	users := []operators.Scope{operators.ScopeRouter}
	known := &workerHistories{}
	return append([]*page{
		{name: "router", path: "/router", nav: "Router", scopes: users, load: loadRouter, live: []string{"board", "queues"}},
		{name: "router_workers", path: "/router/workers", scopes: users, load: loadWorkers, live: []string{"workers"}},
		{name: "router_queues", path: "/router/queues", scopes: users, load: loadQueues, live: []string{"queues"}},
		{name: "router_jobs", path: "/router/jobs", scopes: users, load: loadJobs, live: []string{"jobs"}},
		{name: "router_policies", path: "/router/policies", scopes: users, load: loadPolicies},
		{
			name: "router_worker", path: worker, scopes: users, load: known.loadWorker, live: []string{"worker"},
			actions: []action{
				{path: worker + "/on", scopes: users, ask: askAvailable(true), run: setAvailable(true)},
				{path: worker + "/off", scopes: users, ask: askAvailable(false), run: setAvailable(false)},
			},
		},
		{name: "router_queue", path: "/router/queues/{id}", scopes: users, load: loadQueue, live: []string{"queue"}},
		{
			name: "router_job", path: job, scopes: users, load: loadJob, live: []string{"job"},
			actions: []action{
				{path: job + "/cancel", scopes: users, ask: askCancelJob, run: cancelJob},
				{path: held + "/complete", scopes: users, ask: askAssignment(1, "Complete", "Complete job %s", "The worker has done the job. Close the job to release the worker's capacity."), run: endAssignment("complete", "Job %s is completed.")},
				{path: held + "/close", scopes: users, ask: askAssignment(2, "Close", "Close job %s", "The job ends, and the worker's capacity is released."), run: endAssignment("close", "Job %s is closed.")},
				{path: held + "/unassign", scopes: users, ask: askAssignment(0, "Unassign", "Unassign job %s", "The job returns to its queue and is offered again. The worker's capacity is released at once."), run: endAssignment("unassign", "Job %s is back in its queue.")},
			},
		},
	}, deskPages(known)...)
}

// deskPages returns the pages for workers themselves, and the board of all of them.
func deskPages(known *workerHistories) []*page {
	const one = deskPath + "/{worker}"
	const me, offer, held = deskPath + "/{id}", one + "/offers/{offer}", one + "/jobs/{id}/assignments/{assignment}"
	users := []operators.Scope{operators.ScopeRouter}
	return []*page{
		{name: "router_board", path: "/router/board", scopes: users, load: known.loadStaffBoard, live: []string{"staff", "queues"}},
		{name: "router_desks", path: deskPath, scopes: users, load: loadDesks, posted: chooseDesk},
		{
			name: "router_desk", path: one, scopes: users, load: loadDesk, live: []string{"desk"},
			actions: []action{
				{path: me + "/on", scopes: users, ask: atDesk("id", askAvailable(true)), run: setAvailableAtDesk(true)},
				{path: me + "/off", scopes: users, ask: atDesk("id", askAvailable(false)), run: setAvailableAtDesk(false)},
				{path: offer + "/accept", scopes: users, ask: atDesk("worker", askOffer("Accept", "Accept job %s", "The job is yours until you close it.")), run: answerOffer("accept", "Job %s is yours.")},
				{path: offer + "/decline", scopes: users, ask: atDesk("worker", askOffer("Decline", "Decline job %s", "The job is offered to others.")), run: answerOffer("decline", "Job %s is declined.")},
				{path: held + "/complete", scopes: users, ask: atDesk("worker", askAssignment(1, "Complete", "Complete job %s", "The work is done. The job stays on your desk until you close it.")), run: completeAtDesk},
				{path: held + "/close", scopes: users, ask: atDesk("worker", askClose), run: closeAtDesk},
			},
		},
	}
}

// routerFunctions are what templates call to show the router.
func routerFunctions() template.FuncMap {
	return template.FuncMap{"labels": func(l label.Set) []fact { return factsOf(l, labelText) }, "labelLine": labelLine, "selector": selectorText}
}
