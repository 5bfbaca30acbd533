package web

import (
	"math"
	"net/http"
	"reflect"

	"weir"
)

// routes returns the route table of the JSON API.
func (s *service) routes() []*route {
	all := append(s.channelRoutes(), s.contactRoutes()...)
	all = append(all, s.whoRoutes()...)
	all = append(all, s.holdRoutes()...)
	if s.Minutes != nil {
		all = append(all, s.minuteRoutes()...)
	}
	if s.Dead != nil {
		all = append(all, s.deadRoutes()...)
	}
	if s.Surveys != nil {
		all = append(all, s.surveyRoutes()...)
	}
	if s.Events != nil {
		all = append(all, s.eventRoutes()...)
	}
	if s.Trail != nil {
		all = append(all, s.auditRoutes()...)
	}
	return all
}

func (s *service) channelRoutes() []*route {
	const one = "/v1/channels/{channel}"
	view := typeOf[ChannelView]()
	forced := parameter{name: "force", kind: "boolean", description: "let the channel move to another server or account of the provider although contacts are in flight at the present one"}
	return []*route{
		{
			method: "GET", path: "/v1/channels", id: "list-channels", tag: "channels",
			summary: "List channels by name, with live figures",
			query:   paging(100, 500), handle: s.listChannels,
			answers: []answer{{http.StatusOK, "one page", typeOf[ChannelList]()}},
		},
		{
			method: "PUT", path: one, id: "put-channel", tag: "channels",
			summary: "Create or replace a channel",
			description: "The name in the path is 1 to 63 characters of a-z, 0-9, dot, underscore and hyphen, and begins with a letter or digit. " +
				"A replacement carries the whole channel, secrets included. A channel's type never changes: delete the channel and create it anew.\n\n" + settingsHelp(s.Directory.Types()),
			query: []parameter{forced},
			body:  typeOf[ChannelBody](), bodyTypes: []string{jsonType}, bodyLimit: mostBody, handle: s.putChannel,
			answers: []answer{{http.StatusOK, "replaced", view}, {http.StatusCreated, "created", view}},
			codes:   []weir.Code{weir.CodeConflict},
		},
		{
			method: "GET", path: one, id: "get-channel", tag: "channels",
			summary: "A channel with its live figures", handle: s.getChannel,
			answers: []answer{{http.StatusOK, "the channel", view}},
			codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			method: "PATCH", path: one, id: "patch-channel", tag: "channels",
			summary:     "Change some of a channel",
			description: "A JSON merge patch (RFC 7396). Absent fields and settings stay as they are, secrets too; but a change of where they are sent, such as base_url or the account, must include them again (422 names them).",
			query:       []parameter{forced},
			body:        typeOf[ChannelPatch](), bodyTypes: []string{jsonType, mergePatchType}, bodyLimit: mostBody, handle: s.patchChannel,
			answers: []answer{{http.StatusOK, "changed", view}},
			codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		},
		{
			method: "DELETE", path: one, id: "delete-channel", tag: "channels",
			summary:     "Delete a channel",
			description: "Refused with 409 while contacts are open, unless cancel=true: then the waiting ones end as canceled, the provider is asked to drop the others, and the channel goes when the last has ended.",
			query:       []parameter{{name: "cancel", kind: "boolean", description: "end the open contacts first"}},
			handle:      s.deleteChannel,
			answers:     []answer{{http.StatusNoContent, "deleted", nil}, {http.StatusAccepted, "its open contacts are being ended", typeOf[DeletingView]()}},
			codes:       []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		},
		{
			method: "GET", path: one + "/incoming", id: "list-incoming", tag: "channels",
			summary: "Messages that people sent to a channel, oldest first",
			query: []parameter{
				{name: "after", kind: "integer", maximum: math.MaxInt64, fallback: int64(0), description: "only messages with a greater id"},
				limit(100, 1000),
			},
			handle:  s.listIncoming,
			answers: []answer{{http.StatusOK, "one page", typeOf[IncomingList]()}},
			codes:   []weir.Code{weir.CodeNotFound},
		},
	}
}

func (s *service) contactRoutes() []*route {
	const one = "/v1/contacts/{id}"
	return []*route{
		{
			method: "POST", path: "/v1/channels/{channel}/contacts", id: "post-contacts", tag: "contacts",
			summary: "Queue contacts on a channel",
			description: "1 to 1000 contacts, all or none. They are durable when the answer comes. " +
				"A contact's key makes the request safe to repeat: a key that the channel knows with the same content yields the contact that has it, marked as duplicate, and queues nothing. " +
				"With other content the request is refused (409, key_reused), and errors names for each such contact the fields that differ. " +
				"After a 503 or a lost connection it is not known whether the contacts were queued; repeat the request with the same keys.",
			body: typeOf[ContactsBody](), bodyTypes: []string{jsonType}, bodyLimit: mostContactsBody, handle: s.postContacts,
			answers: []answer{{http.StatusAccepted, "queued durably, in the order of the request", typeOf[AcceptedList]()}},
			codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict, weir.CodeKeyReused},
		},
		{
			method: "GET", path: "/v1/contacts", id: "list-contacts", tag: "contacts",
			summary: "List contacts",
			description: "With order=oldest, which is the default, by channel and then in order of acceptance; with a state or an outcome, and neither since nor until, in the order in which contacts came into it. " +
				"With order=newest the reverse, over all channels: the latest accepted first or, with a state, the latest to enter it first (several states one after the other; with a key by channel). " +
				"With finished_since or finished_until in the order of the ends. " +
				"A page may be short, or empty, and yet not be the last: that one has no next_cursor. Contacts that arrive meanwhile move none between pages.",
			query: append([]parameter{
				{name: "channel", kind: "string", description: "name of the channel"},
				{name: "state", kind: "string", enum: stateWords(), description: "one or more states, joined by commas"},
				{name: "outcome", kind: "string", enum: outcomeWords(), single: true, description: "only contacts that ended so"},
				{name: "survey", kind: "string"},
				{name: "key", kind: "string"},
				{name: "since", kind: "string", format: "date-time", description: "an instant (RFC 3339), to the millisecond: contacts accepted then or later"},
				{name: "until", kind: "string", format: "date-time", description: "an instant (RFC 3339), to the millisecond: contacts accepted before"},
				{name: "finished_since", kind: "string", format: "date-time", description: "an instant (RFC 3339): only contacts that finished at or after it"},
				{name: "finished_until", kind: "string", format: "date-time", description: "an instant (RFC 3339): only contacts that finished before it"},
				{name: "order", kind: "string", enum: []string{"oldest", orderNewest}, single: true, description: "which contacts come first; oldest is the default"},
			}, paging(100, 1000)...),
			handle:  s.listContacts,
			answers: []answer{{http.StatusOK, "one page", typeOf[ContactList]()}},
			codes:   []weir.Code{weir.CodeNotFound},
		},
		s.searchRoute(),
		{
			method: "GET", path: one, id: "get-contact", tag: "contacts",
			summary: "A contact with its attempts", handle: s.getContact,
			answers: []answer{{http.StatusOK, "the contact", typeOf[ContactView]()}},
			codes:   []weir.Code{weir.CodeNotFound},
		},
		s.timelineRoute(),
		{
			method: "DELETE", path: one, id: "cancel-contact", tag: "contacts",
			summary:     "Take a contact back",
			description: "A waiting contact is done at once. Of one in flight the provider is asked, and the contact ends when it is known how. A canceled contact may be canceled again; one that ended otherwise is a conflict.",
			handle:      s.cancelContact,
			answers:     []answer{{http.StatusOK, "it is canceled", typeOf[CanceledView]()}, {http.StatusAccepted, "the provider, or the process that runs the channel, is being asked", typeOf[CanceledView]()}},
			codes:       []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		},
	}
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

func limit(usual, most int64) parameter {
	return parameter{name: "limit", kind: "integer", minimum: 1, maximum: most, fallback: usual, description: "most entries of a page"}
}

func paging(usual, most int64) []parameter {
	return []parameter{limit(usual, most), {name: "cursor", kind: "string", description: "next_cursor of the page before"}}
}
