package api

import (
	"math"
	"net/http"

	"weir"
	"weir/web/route"
	"weir/web/wire"
)

func (s *Service) channelRoutes() []*route.Route {
	const one = "/v1/channels/{channel}"
	view := route.TypeOf[ChannelView]()
	forced := wire.Parameter{Name: "force", Kind: "boolean", Description: "let the channel move to another server or account of the provider although contacts are in flight at the present one"}
	return []*route.Route{
		{
			Method: "GET", Path: "/v1/channels", ID: "list-channels", Tag: "channels",
			Summary: "List channels by name, with live figures",
			Query:   route.Paging(100, 500), Handle: s.listChannels,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[ChannelList]()}},
		},
		{
			Method: "PUT", Path: one, ID: "put-channel", Tag: "channels",
			Summary: "Create or replace a channel",
			Description: "The name in the path is 1 to 63 characters of a-z, 0-9, dot, underscore and hyphen, and begins with a letter or digit. " +
				"A replacement carries the whole channel, secrets included. A channel's type never changes: delete the channel and create it anew.\n\n" + settingsHelp(s.Directory.Types()),
			Query: []wire.Parameter{forced},
			Body:  route.TypeOf[ChannelBody](), BodyTypes: []string{wire.JSONType}, BodyLimit: wire.MaxBody, Handle: s.putChannel,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "replaced", Body: view}, {Status: http.StatusCreated, Description: "created", Body: view}},
			Codes:   []weir.Code{weir.CodeConflict},
		},
		{
			Method: "GET", Path: one, ID: "get-channel", Tag: "channels",
			Summary: "A channel with its live figures", Handle: s.getChannel,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the channel", Body: view}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "PATCH", Path: one, ID: "patch-channel", Tag: "channels",
			Summary:     "Change some of a channel",
			Description: "A JSON merge patch (RFC 7396). Absent fields and settings stay as they are, secrets too; but a change of where they are sent, such as base_url or the account, must include them again (422 names them).",
			Query:       []wire.Parameter{forced},
			Body:        route.TypeOf[ChannelPatch](), BodyTypes: []string{wire.JSONType, wire.MergePatchType}, BodyLimit: wire.MaxBody, Handle: s.patchChannel,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "changed", Body: view}},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		},
		{
			Method: "DELETE", Path: one, ID: "delete-channel", Tag: "channels",
			Summary:     "Delete a channel",
			Description: "Refused with 409 while contacts are open, unless cancel=true: then the waiting ones end as canceled, the provider is asked to drop the others, and the channel goes when the last has ended.",
			Query:       []wire.Parameter{{Name: "cancel", Kind: "boolean", Description: "end the open contacts first"}},
			Handle:      s.deleteChannel,
			Answers:     []route.Answer{{Status: http.StatusNoContent, Description: "deleted"}, {Status: http.StatusAccepted, Description: "its open contacts are being ended", Body: route.TypeOf[DeletingView]()}},
			Codes:       []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		},
		{
			Method: "GET", Path: one + "/incoming", ID: "list-incoming", Tag: "channels",
			Summary: "Messages that people sent to a channel, oldest first",
			Query: []wire.Parameter{
				{Name: "after", Kind: "integer", Maximum: math.MaxInt64, Default: int64(0), Description: "only messages with a greater id"},
				route.LimitParameter(100, 1000),
			},
			Handle:  s.listIncoming,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[IncomingList]()}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
	}
}

func (s *Service) contactRoutes() []*route.Route {
	const one = "/v1/contacts/{id}"
	return []*route.Route{
		{
			Method: "POST", Path: "/v1/channels/{channel}/contacts", ID: "post-contacts", Tag: "contacts",
			Summary: "Queue contacts on a channel",
			Description: "1 to 1000 contacts, all or none. They are durable when the answer comes. " +
				"A contact's key makes the request safe to repeat: a key that the channel knows with the same content yields the contact that has it, marked as duplicate, and queues nothing. " +
				"With other content the request is refused (409, key_reused), and errors names for each such contact the fields that differ. " +
				"After a 503 or a lost connection it is not known whether the contacts were queued; repeat the request with the same keys.",
			Body: route.TypeOf[ContactsBody](), BodyTypes: []string{wire.JSONType}, BodyLimit: wire.MaxBatchBody, Handle: s.postContacts,
			Answers: []route.Answer{{Status: http.StatusAccepted, Description: "queued durably, in the order of the request", Body: route.TypeOf[AcceptedList]()}},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict, weir.CodeKeyReused},
		},
		{
			Method: "GET", Path: "/v1/contacts", ID: "list-contacts", Tag: "contacts",
			Summary: "List contacts",
			Description: "With order=oldest, which is the default, by channel and then in order of acceptance; with a state or an outcome, and neither since nor until, in the order in which contacts came into it. " +
				"With order=newest the reverse, over all channels: the latest accepted first or, with a state, the latest to enter it first (several states one after the other; with a key by channel). " +
				"With finished_since or finished_until in the order of the ends. " +
				"A page may be short, or empty, and yet not be the last: that one has no next_cursor. Contacts that arrive meanwhile move none between pages.",
			Query: append([]wire.Parameter{
				{Name: "channel", Kind: "string", Description: "name of the channel"},
				{Name: "state", Kind: "string", Enum: stateWords(), Description: "one or more states, joined by commas"},
				{Name: "outcome", Kind: "string", Enum: outcomeWords(), Single: true, Description: "only contacts that ended so"},
				{Name: "survey", Kind: "string"},
				{Name: "key", Kind: "string"},
				{Name: "since", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339), to the millisecond: contacts accepted then or later"},
				{Name: "until", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339), to the millisecond: contacts accepted before"},
				{Name: "finished_since", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339): only contacts that finished at or after it"},
				{Name: "finished_until", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339): only contacts that finished before it"},
				{Name: "order", Kind: "string", Enum: []string{"oldest", orderNewest}, Single: true, Description: "which contacts come first; oldest is the default"},
			}, route.Paging(100, 1000)...),
			Handle:  s.listContacts,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[ContactList]()}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		s.searchRoute(),
		{
			Method: "GET", Path: one, ID: "get-contact", Tag: "contacts",
			Summary: "A contact with its attempts", Handle: s.getContact,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the contact", Body: route.TypeOf[ContactView]()}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		s.timelineRoute(),
		{
			Method: "DELETE", Path: one, ID: "cancel-contact", Tag: "contacts",
			Summary:     "Take a contact back",
			Description: "A waiting contact is done at once. Of one in flight the provider is asked, and the contact ends when it is known how. A canceled contact may be canceled again; one that ended otherwise is a conflict.",
			Handle:      s.cancelContact,
			Answers:     []route.Answer{{Status: http.StatusOK, Description: "it is canceled", Body: route.TypeOf[CanceledView]()}, {Status: http.StatusAccepted, Description: "the provider, or the process that runs the channel, is being asked", Body: route.TypeOf[CanceledView]()}},
			Codes:       []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		},
	}
}
