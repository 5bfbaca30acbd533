package jobrouter

import (
	"maps"

	"weir/routing"
)

// resourceShapes returns the shapes of PATCH bodies. Members that are not in
// Microsoft's published schema are extensions of Weir, shown only if set: closed of
// a queue, autoAccept of a distribution policy, the mode shortestIdle, notAfter of
// a job. Pools and the list of ready workers are extensions as a whole.
func resourceShapes(v version) map[routing.Resource]object {
	out := map[routing.Resource]object{
		routing.ResourceWorker: {
			"id": nil, "etag": nil, "state": nil, "offers": nil, "assignedJobs": nil, "loadRatio": nil,
			"queues": list(text), "capacity": integer(0), "labels": labels, "tags": labels, "availableForOffers": boolean,
			"channels": list(object{"channelId": text, "capacityCostPerJob": integer(1), "maxNumberOfJobs": integer(1)}.form),
		},
		routing.ResourceJob: {
			"id": nil, "etag": nil, "status": nil, "enqueuedAt": nil, "scheduledAt": nil, "assignments": nil, "attachedWorkerSelectors": nil,
			"channelId": text, "channelReference": text, "queueId": text, "classificationPolicyId": text, "priority": integer(-100),
			"requestedWorkerSelectors": list(workerSelector().form), "labels": labels, "tags": labels, "dispositionCode": text,
			"notes": list(object{"message": text, "addedAt": date}.form), "matchingMode": matchingMode,
			"notAfter": date,
		},
		routing.ResourceQueue: {
			"id": nil, "etag": nil, "name": text, "distributionPolicyId": text, "exceptionPolicyId": text, "labels": labels,
			"closed": oneOf(string(routing.ClosedHold), string(routing.ClosedRefuse)),
		},
		routing.ResourceDistribution: {
			"id": nil, "etag": nil, "name": text, "offerExpiresAfterSeconds": number, "mode": distributionMode().form, "autoAccept": boolean,
		},
		routing.ResourceClassification: {
			"id": nil, "etag": nil, "name": text, "fallbackQueueId": text, "prioritizationRule": rule().form,
			"queueSelectorAttachments":  list(attachment("queueSelector", queueSelector(), nil).form),
			"workerSelectorAttachments": list(attachment("workerSelector", workerSelector(), number).form),
		},
		routing.ResourcePool: {
			"id": nil, "etag": nil, "depth": nil, "version": nil,
			"queueId": text, "channelId": text, "selectors": list(workerSelector().form),
		},
		routing.ResourceException: {
			"id": nil, "etag": nil, "name": text,
			"exceptionRules": list(object{"id": text, "trigger": trigger().form, "actions": list(action().form)}.form),
		},
	}
	if v != version2023 {
		out[routing.ResourceWorker]["maxConcurrentOffers"] = integer(0)
	}
	return out
}

// actionShapes returns the shapes of action bodies.
func actionShapes() map[string]object {
	return map[string]object{
		"cancel":     {"note": short, "dispositionCode": short},
		"reclassify": {},
		"complete":   {"note": short},
		"close":      {"dispositionCode": short, "closeAt": date, "note": short},
		"unassign":   {"suspendMatching": boolean},
		"accept":     {},
		"decline":    {"retryOfferAt": date},
	}
}

func operator() form {
	return oneOf(string(routing.Equal), string(routing.NotEqual), string(routing.LessThan), string(routing.LessOrEqual),
		string(routing.GreaterThan), string(routing.GreaterOrEqual))
}

func queueSelector() object {
	return object{"key": text, "labelOperator": operator(), "value": primitive}
}

func workerSelector() object {
	return object{
		"key": text, "labelOperator": operator(), "value": primitive, "expiresAfterSeconds": number, "expedite": boolean,
		"status": nil, "expiresAt": nil,
	}
}

// matchingMode checks a matching mode. Microsoft's Python client sends {} for both
// SuspendMode() and QueueAndMatchMode(): guessing would either offer jobs that must
// stay suspended, or suspend jobs that should be matched.
func matchingMode(in *reading, at string, v any) any {
	m, ok := v.(map[string]any)
	if _, stated := m["kind"]; ok && !stated {
		if _, scheduled := m["scheduleAt"]; !scheduled {
			in.wrong(in.below(at, "kind"), "required", "it has to be one of queueAndMatch, suspend, scheduleAndSuspend; "+
				`some clients leave it out: in Python pass {"kind": "suspend"}, not SuspendMode()`)
			return nil
		}
		m = maps.Clone(m)
		m["kind"] = string(routing.ScheduleAndSuspend)
		v = m
	}
	return matchingModes().form(in, at, v)
}

func matchingModes() kinds {
	return kinds{
		string(routing.QueueAndMatch): {}, string(routing.Suspend): {},
		string(routing.ScheduleAndSuspend): {"scheduleAt": date},
	}
}

func distributionMode() kinds {
	common := func() object {
		return object{"minConcurrentOffers": integer(1), "maxConcurrentOffers": integer(1), "bypassSelectors": boolean}
	}
	best := common()
	best["scoringRule"] = rule().form
	best["scoringRuleOptions"] = object{
		"batchSize": integer(1), "scoringParameters": list(oneOf("jobLabels", "workerSelectors")),
		"isBatchScoringEnabled": boolean, "descendingOrder": boolean,
	}.form
	return kinds{
		string(routing.LongestIdle): common(), string(routing.RoundRobin): common(), string(routing.ShortestIdle): common(),
		string(routing.BestWorker): best,
	}
}

func rule() kinds {
	return kinds{
		string(routing.RuleStatic):     {"value": primitive},
		string(routing.RuleDirectMap):  {},
		string(routing.RuleExpression): {"language": language, "expression": text},
		string(routing.RuleFunction): {
			"functionUri": text,
			"credential":  object{"functionKey": secret, "appKey": secret, "clientId": text}.form,
		},
		string(routing.RuleWebhook): {
			"authorizationServerUri": text, "webhookUri": text,
			"clientCredential": object{"clientId": text, "clientSecret": secret}.form,
		},
	}
}

// attachment returns the shape of an attachment of queue or worker selectors.
func attachment(name string, selector object, expires form) kinds {
	several := list(selector.form)
	pass := object{"key": text, "labelOperator": operator()}
	if expires != nil {
		pass["expiresAfterSeconds"] = expires
	}
	return kinds{
		string(routing.AttachStatic):      {name: selector.form},
		string(routing.AttachConditional): {"condition": rule().form, name + "s": several},
		string(routing.AttachPassThrough): pass,
		string(routing.AttachRuleEngine):  {"rule": rule().form},
		string(routing.AttachWeighted):    {"allocations": list(object{"weight": number, name + "s": several}.form)},
	}
}

func trigger() kinds {
	return kinds{
		string(routing.TriggerQueueLength): {"threshold": integer(0)},
		string(routing.TriggerWaitTime):    {"thresholdSeconds": number},
	}
}

func action() kinds {
	return kinds{
		string(routing.ActionCancel):           {"id": text, "note": text, "dispositionCode": text},
		string(routing.ActionManualReclassify): {"id": text, "queueId": text, "priority": integer(-100), "workerSelectors": list(workerSelector().form)},
		string(routing.ActionReclassify):       {"id": text, "classificationPolicyId": text, "labelsToUpsert": labels},
	}
}

// language accepts only powerFx and stores it as empty, the default.
func language(in *reading, at string, v any) any {
	oneOf("powerFx")(in, at, v)
	return ""
}
