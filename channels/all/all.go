// Package all holds the table of channel types. Only this package lists them:
// a new type is a folder and a line here.
package all

import (
	"weir/channels"
	"weir/channels/httpgateway"
	"weir/channels/kannel"
	"weir/channels/nuntium"
	"weir/channels/twilio"
	"weir/channels/verboice"
	"weir/channels/workers"
	routing "weir/router"
)

// Types returns the table, in the order in which users see it. Without a
// router there is no channel type for workers.
func Types(router routing.Engine) []channels.Type {
	types := []channels.Type{
		verboice.Type(),
		nuntium.Type(),
		kannel.Type(),
		twilio.Type(),
		twilio.VoiceType(),
		httpgateway.Type(),
	}
	if router != nil {
		types = append(types, workers.Type(router))
	}
	return types
}

// JSONSettings lists the keys of settings that are numbers, booleans or objects.
func JSONSettings() []string {
	var keys []string
	add := func(list []channels.Setting) {
		for _, s := range list {
			if s.Kind == channels.Integer || s.Kind == channels.Boolean || s.Kind == channels.Object {
				keys = append(keys, s.Key)
			}
		}
	}
	add(channels.CommonSettings())
	for _, t := range Types(nil) {
		add(t.Settings)
	}
	return keys
}
