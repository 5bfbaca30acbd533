package router

import (
	"maps"
	"slices"
	"strconv"

	"weir"
	"weir/internal/validation"
	"weir/router"
	"weir/router/resource"
)

// redacted replaces a credential in responses. In a request it means: keep the
// current one.
const redacted = "REDACTED"

// credentials holds the credentials of a policy by the address they are for, in the
// policy's order. They are never sent to another address.
type credentials map[string][]*resource.Credential

// add records the credential of a rule. That of a webhook is recorded with and without
// its authorization server, because a patch may state either.
func (c credentials) add(r *resource.Rule) {
	switch {
	case r == nil:
	case r.Kind == resource.RuleFunction:
		c[r.FunctionURI] = append(c[r.FunctionURI], r.Credential)
	case r.Kind == resource.RuleWebhook:
		for _, at := range []string{r.WebhookURI, webhookAddress(r.WebhookURI, r.AuthorizationServerURI)} {
			c[at] = append(c[at], r.ClientCredential)
		}
	}
}

// webhookAddress joins the two servers that receive something of a webhook's
// credential: the authorization server gets the secret, the webhook a token.
func webhookAddress(webhook, authorization string) string { return webhook + "\n" + authorization }

// webhookOf returns the address of a webhook in a body, including the authorization
// server only if it is stated: without one nothing is sent, or a patch leaves it
// unchanged.
func webhookOf(m map[string]any) any {
	webhook, addressed := m["webhookUri"].(string)
	authorization, stated := m["authorizationServerUri"].(string)
	if addressed && stated {
		return webhookAddress(webhook, authorization)
	}
	return m["webhookUri"]
}

// credentialsOf returns the credentials of a policy as stored; nil for a kind that can
// have none.
func credentialsOf(s *router.State, kind resource.Kind, id string) credentials {
	if kind != resource.Distribution && kind != resource.Classification {
		return nil
	}
	c := credentials{}
	if kind == resource.Distribution {
		d, _ := s.Distribution(id)
		c.add(d.Spec.Mode.ScoringRule)
	}
	if kind == resource.Classification {
		p, _ := s.Classification(id)
		c.add(p.Spec.PrioritizationRule)
		for _, a := range p.Spec.QueueSelectorAttachments {
			c.add(a.Condition)
			c.add(a.Rule)
		}
		for _, a := range p.Spec.WorkerSelectorAttachments {
			c.add(a.Condition)
			c.add(a.Rule)
		}
	}
	return c
}

// credentialRestorer replaces redacted secrets with the known ones.
type credentialRestorer struct {
	known credentials
	used  map[string]int
	err   error
}

// withCredentials returns a patch in which redacted credentials have their known values; a
// copy, unless known is nil.
func withCredentials(patch map[string]any, known credentials) (map[string]any, error) {
	if known == nil {
		return patch, nil
	}
	r := &credentialRestorer{known: known, used: map[string]int{}}
	out, _ := r.walk("", patch).(map[string]any)
	return out, r.err
}

func (r *credentialRestorer) walk(at string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		return r.walkObject(at, v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = r.walk(at, v[i])
		}
		return out
	default:
		return v
	}
}

func (r *credentialRestorer) walkObject(at string, m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) { // in the order of credentialsOf
		here := at + "/" + name
		inside, ok := m[name].(map[string]any)
		switch {
		case ok && name == "credential":
			out[name] = r.credential(here, m["functionUri"], inside)
		case ok && name == "clientCredential":
			out[name] = r.credential(here, webhookOf(m), inside)
		default:
			out[name] = r.walk(here, m[name])
		}
	}
	return out
}

// credential fills in one credential. A patch without an address leaves the address
// unchanged, so redacted members are dropped and stay unchanged too.
func (r *credentialRestorer) credential(at string, address any, m map[string]any) map[string]any {
	uri, addressed := address.(string)
	var known resource.Credential
	if list := r.known[uri]; addressed && len(list) > 0 {
		if c := list[min(r.used[uri], len(list)-1)]; c != nil {
			known = *c
		}
		r.used[uri]++
	}
	secrets := map[string]string{"functionKey": known.FunctionKey, "appKey": known.AppKey, "clientSecret": known.ClientSecret}
	out := maps.Clone(m)
	for name, v := range m {
		is, kept := secrets[name]
		switch {
		case !kept || v != redacted:
		case !addressed:
			delete(out, name)
		case is == "":
			r.err = invalid(at+"/"+name, "required", "redacted, and no credential is stored for this address")
		default:
			out[name] = is
		}
	}
	return out
}

// checkAddressChange returns an error if a patch changes the address of a rule but keeps its
// credential, which would then be sent to the new address. Rules in arrays are
// replaced as a whole and keep no credential.
func checkAddressChange(s *router.State, kind resource.Kind, id string, patch map[string]any) error {
	within := func(m map[string]any, name string) map[string]any {
		inside, _ := m[name].(map[string]any)
		return inside
	}
	switch kind {
	case resource.Distribution:
		d, _ := s.Distribution(id)
		return checkRuleAddress(d.Spec.Mode.ScoringRule, within(within(patch, "mode"), "scoringRule"), "/mode/scoringRule")
	case resource.Classification:
		p, _ := s.Classification(id)
		return checkRuleAddress(p.Spec.PrioritizationRule, within(patch, "prioritizationRule"), "/prioritizationRule")
	default:
		return nil
	}
}

func checkRuleAddress(r *resource.Rule, patch map[string]any, at string) error {
	other := func(name, is string) bool {
		uri, stated := patch[name].(string)
		return stated && uri != is
	}
	switch {
	case r == nil:
	case r.Credential != nil && other("functionUri", r.FunctionURI):
		return requireCredential(r.Credential, patch, "credential", at)
	case r.ClientCredential != nil && (other("webhookUri", r.WebhookURI) || other("authorizationServerUri", r.AuthorizationServerURI)):
		return requireCredential(r.ClientCredential, patch, "clientCredential", at)
	}
	return nil
}

// requireCredential returns an error unless a patch sets or removes every secret of a
// credential.
func requireCredential(known *resource.Credential, patch map[string]any, name, at string) error {
	at += "/" + name
	given, stated := patch[name]
	if stated && given == nil {
		return nil
	}
	members, object := given.(map[string]any)
	for _, x := range []struct{ name, is string }{{"functionKey", known.FunctionKey}, {"appKey", known.AppKey}, {"clientSecret", known.ClientSecret}} {
		v, stated := members[x.name]
		if x.is == "" || stated && v != redacted {
			continue
		}
		if object {
			at += "/" + x.name
		}
		return invalid(at, "required", "a new address requires the credential again, or null for none")
	}
	return nil
}

// addressesOf returns a mistake for each function or webhook address in a patch
// that check refuses: once set, every call to it would fail. Only distribution
// and classification policies are searched, because elsewhere a label may have any
// name.
func addressesOf(kind resource.Kind, patch map[string]any, check func(string) error) []weir.FieldError {
	if check != nil && (kind == resource.Distribution || kind == resource.Classification) {
		return addresses("", patch, check)
	}
	return nil
}

func addresses(at string, v any, check func(string) error) (wrong []weir.FieldError) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			wrong = append(wrong, addresses(at+"/"+strconv.Itoa(i), v[i], check)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			here := at + "/" + validation.Escape(name)
			uri, ok := v[name].(string)
			switch name {
			case "functionUri", "webhookUri", "authorizationServerUri":
				if !ok || uri == "" {
					continue
				}
				if err := check(uri); err != nil {
					wrong = weir.AddMistakes(wrong, weir.FieldError{Pointer: here, Code: "address", Detail: err.Error() + "; WEIR_OUTBOUND_ALLOW lists exceptions"})
				}
			default:
				wrong = append(wrong, addresses(here, v[name], check)...)
			}
		}
	}
	return wrong
}
