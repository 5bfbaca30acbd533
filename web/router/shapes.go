package router

import (
	"maps"

	"weir/router/label"
	"weir/router/resource"
)

// resourceShapes returns the shapes of PATCH bodies. Members that are not in
// Microsoft's published schema are extensions of Weir, shown only if set: closed of
// a queue, autoAccept of a distribution policy, the mode shortestIdle, notAfter of
// a job. Pools and the list of ready workers are extensions as a whole.
func resourceShapes(v version) map[resource.Kind]object {
	out := map[resource.Kind]object{
		resource.Worker: {
			"id": nil, "etag": nil, "state": nil, "offers": nil, "assignedJobs": nil, "loadRatio": nil,
			"queues": list(text), "capacity": integer(0), "labels": labels, "tags": labels, "availableForOffers": boolean,
			"channels": list(object{"channelId": text, "capacityCostPerJob": integer(1), "maxNumberOfJobs": integer(1)}.form),
		},
		resource.Job: {
			"id": nil, "etag": nil, "status": nil, "enqueuedAt": nil, "scheduledAt": nil, "assignments": nil, "attachedWorkerSelectors": nil,
			"channelId": text, "channelReference": text, "queueId": text, "classificationPolicyId": text, "priority": integer(-100),
			"requestedWorkerSelectors": list(workerSelector().form), "labels": labels, "tags": labels, "dispositionCode": text,
			"notes": list(object{"message": text, "addedAt": date}.form), "matchingMode": matchingMode,
			"notAfter": date,
		},
		resource.Queue: {
			"id": nil, "etag": nil, "name": text, "distributionPolicyId": text, "exceptionPolicyId": text, "labels": labels,
			"closed": oneOf(string(resource.ClosedHold), string(resource.ClosedRefuse)),
		},
		resource.Distribution: {
			"id": nil, "etag": nil, "name": text, "offerExpiresAfterSeconds": number, "mode": distributionMode().form, "autoAccept": boolean,
		},
		resource.Classification: {
			"id": nil, "etag": nil, "name": text, "fallbackQueueId": text, "prioritizationRule": rule().form,
			"queueSelectorAttachments":  list(attachment("queueSelector", queueSelector(), nil).form),
			"workerSelectorAttachments": list(attachment("workerSelector", workerSelector(), number).form),
		},
		resource.Pool: {
			"id": nil, "etag": nil, "depth": nil, "version": nil,
			"queueId": text, "channelId": text, "selectors": list(workerSelector().form),
		},
		resource.Exception: {
			"id": nil, "etag": nil, "name": text,
			"exceptionRules": list(object{"id": text, "trigger": trigger().form, "actions": list(action().form)}.form),
		},
	}
	if v != version2023 {
		out[resource.Worker]["maxConcurrentOffers"] = integer(0)
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
	return oneOf(string(label.Equal), string(label.NotEqual), string(label.LessThan), string(label.LessOrEqual),
		string(label.GreaterThan), string(label.GreaterOrEqual))
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
			in.wrong(below(at, "kind"), "required", "must be one of queueAndMatch, suspend, scheduleAndSuspend; "+
				`some clients leave it out: in Python pass {"kind": "suspend"}, not SuspendMode()`)
			return nil
		}
		m = maps.Clone(m)
		m["kind"] = string(resource.ScheduleAndSuspend)
		v = m
	}
	return matchingModes().form(in, at, v)
}

func matchingModes() kinds {
	return kinds{
		string(resource.QueueAndMatch): {}, string(resource.Suspend): {},
		string(resource.ScheduleAndSuspend): {"scheduleAt": date},
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
		string(resource.LongestIdle): common(), string(resource.RoundRobin): common(), string(resource.ShortestIdle): common(),
		string(resource.BestWorker): best,
	}
}

func rule() kinds {
	return kinds{
		string(resource.RuleStatic):     {"value": primitive},
		string(resource.RuleDirectMap):  {},
		string(resource.RuleExpression): {"language": language, "expression": text},
		string(resource.RuleFunction): {
			"functionUri": text,
			"credential":  object{"functionKey": secret, "appKey": secret, "clientId": text}.form,
		},
		string(resource.RuleWebhook): {
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
		string(resource.AttachStatic):      {name: selector.form},
		string(resource.AttachConditional): {"condition": rule().form, name + "s": several},
		string(resource.AttachPassThrough): pass,
		string(resource.AttachRuleEngine):  {"rule": rule().form},
		string(resource.AttachWeighted):    {"allocations": list(object{"weight": number, name + "s": several}.form)},
	}
}

func trigger() kinds {
	return kinds{
		string(resource.TriggerQueueLength): {"threshold": integer(0)},
		string(resource.TriggerWaitTime):    {"thresholdSeconds": number},
	}
}

func action() kinds {
	return kinds{
		string(resource.ActionCancel):           {"id": text, "note": text, "dispositionCode": text},
		string(resource.ActionManualReclassify): {"id": text, "queueId": text, "priority": integer(-100), "workerSelectors": list(workerSelector().form)},
		string(resource.ActionReclassify):       {"id": text, "classificationPolicyId": text, "labelsToUpsert": labels},
	}
}

// language accepts only powerFx and stores it as empty, the default.
func language(in *reading, at string, v any) any {
	oneOf("powerFx")(in, at, v)
	return ""
}
