package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/api"
	"weir/channels"
	"weir/channels/all"
	"weir/channels/httpgateway"
	"weir/config"
	"weir/people"
	"weir/router"
	"weir/web/httpjson"
	"weir/web/peers"
)

// processes lists the processes of the database, which this one owns.
func (d *Daemon) processes() []api.ProcessView {
	store := d.parts.store
	self := peers.Process{Version: d.o.Version, Schema: store.NewestStep()}
	var standbys []peers.Standby
	if d.peers != nil {
		self, standbys = d.peers.self, d.peers.server.Standbys()
	}
	self.Start = store.Start()
	since, _ := store.Began()
	return processViews(self, since, standbys, time.Now())
}

// processViews shows the owner and the standbys whose last heartbeat is recent.
func processViews(owner peers.Process, since time.Time, standbys []peers.Standby, now time.Time) []api.ProcessView {
	own := viewOf(owner)
	own.Owner, own.OwnerSince = true, httpjson.Instant(since)
	successor := peers.Successor(standbys, now)
	list := []api.ProcessView{own}
	for _, s := range peers.Living(standbys, now) {
		v := viewOf(s.Process)
		age := max(0, now.Sub(s.Seen)).Round(time.Millisecond).Seconds()
		v.HeartbeatAge, v.Successor, v.Differing = &age, s.Start == successor, s.Differing
		v.MayTakeOver, v.TakeOverTrouble = s.Needs == 0, takeOverTrouble(s)
		if s.Unreachable != "" {
			list[0].CannotReach = append(list[0].CannotReach, api.UnreachableView{Start: s.Start, Address: s.Address, Reason: s.Unreachable})
		}
		list = append(list, v)
	}
	return list
}

func viewOf(p peers.Process) api.ProcessView {
	return api.ProcessView{Start: p.Start, Address: p.Address, Version: p.Version, Schema: p.Schema}
}

// takeOverTrouble is why a standby may not take over, or does so last; empty: there is no
// reason.
func takeOverTrouble(s peers.Standby) string {
	switch {
	case s.Needs != 0:
		return fmt.Sprintf("the program is too old for the schema of the database: it knows steps up to %d, and the schema needs one that knows step %d", s.Schema, s.Needs)
	case s.Hindered != "":
		return s.Hindered
	case s.Unreachable != "":
		return "the owner cannot reach it, so it is the last to take over: " + s.Unreachable
	}
	return ""
}

// digests are digests of the settings that have to be the same in all processes, by name.
func digests(o Options) map[string]string {
	c := &o.Config
	list := map[string]string{}
	for name, value := range map[string]any{
		"PUBLIC_URL": c.PublicURL, "WEIR_PATH_PREFIX": c.PathPrefix, "WEIR_RETENTION": c.Retention, "WEIR_EVENT_RETENTION": c.EventRetention,
		"WEIR_CONTACT_EVENTS": c.ContactEvents, "WEIR_OIDC_ISSUER": c.OIDCIssuer, "WEIR_OIDC_CLIENT_ID": c.OIDCClientID, "WEIR_OIDC_SCOPES": c.OIDCScopes, "words": c.Words().Lists(), "version": o.Version, "channel types": channelTypes(o.Types),
	} {
		list[name] = short(fmt.Sprintf("%q", fmt.Sprint(value)))
	}
	list[peers.KeysDigest] = keyIDs(c.PeopleKeys)
	return list
}

// keyIDs are the ids of keys of people, which tell nothing of the keys.
func keyIDs(keys config.AccessKeys) string {
	ids := make([]string, len(keys))
	for i, secret := range keys {
		ids[i] = people.ConfiguredKey(secret).ID()
	}
	slices.Sort(ids)
	return strings.Join(ids, ",")
}

// channelTypes names the channel types of this program, and the templates of the type http.
func channelTypes(types []channels.Type) []string {
	if types == nil {
		types = all.Types(struct{ router.Engine }{}) // the router is not called
	}
	names := httpgateway.Templates()
	for i := range types {
		names = append(names, types[i].Name)
	}
	slices.Sort(names)
	return names
}

func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
