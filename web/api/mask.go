package api

import (
	"bytes"
	"encoding/json"

	"weir"
	"weir/web/auth"
)

// maskContact masks the phone numbers in a contact.
func maskContact(v *ContactView) {
	number := v.To
	own := func(text string) string { return auth.MaskOwn(text, number) }
	v.To, v.Key, v.Survey, v.Reason = auth.MaskNumber(number), own(v.Key), own(v.Survey), own(v.Reason)
	labels := auth.MaskValues(v.Labels)
	for name := range labels {
		labels[name] = own(labels[name])
	}
	v.Labels = labels
	v.Messages = append([]string(nil), v.Messages...)
	for i := range v.Messages {
		v.Messages[i] = auth.MaskText(v.Messages[i])
	}
	if v.Call != nil {
		v.Call = &weir.Call{CallbackURL: own(v.Call.CallbackURL), CallFlowID: v.Call.CallFlowID, TwiML: auth.MaskText(v.Call.TwiML)}
	}
	for i := range v.Attempts {
		a := &v.Attempts[i]
		a.ProviderRef, a.Reason = own(a.ProviderRef), own(a.Reason)
	}
}

// maskIncoming masks a message and all other fields that the provider sent with
// it.
func maskIncoming(v *IncomingView) {
	from := v.From
	v.From, v.Body, v.GUID = auth.MaskNumber(from), auth.MaskText(v.Body), auth.MaskOwn(v.GUID, from)
	if v.To != "" {
		v.To = auth.MaskNumber(v.To)
	}
	fields := make(map[string]string, len(v.Fields))
	for name, value := range v.Fields {
		if name == "body" || name == "text" || name == "message" {
			value = auth.MaskText(value)
		}
		fields[name] = auth.MaskOwn(auth.MaskValue(value), from)
	}
	v.Fields = fields
}

// maskEvent masks the phone numbers in an event.
func maskEvent(v *EventView) {
	v.Subject = auth.MaskValue(v.Subject)
	raw, ok := v.Data.(json.RawMessage)
	if !ok {
		return
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // keep numbers as written
	var data any
	if d.Decode(&data) != nil {
		v.Data = nil
		return
	}
	v.Data = maskData(data, "")
}

// maskData masks texts at any depth. JSON numbers stay: a phone number is
// always a text.
func maskData(data any, name string) any {
	switch x := data.(type) {
	case map[string]any:
		for key, value := range x {
			x[key] = maskData(value, key)
		}
	case []any:
		for i := range x {
			x[i] = maskData(x[i], name)
		}
	case string:
		if name == "text" || name == "message" {
			return auth.MaskText(x)
		}
		return auth.MaskValue(x)
	}
	return data
}
