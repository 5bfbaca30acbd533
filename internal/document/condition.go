// Package document holds what documents have in common that people set whole, under a name: limits, prices, purposes, surveys, channels.
package document

import "weir"

// Condition is what a request demands of the document that it sets. The store checks it where the change is committed, so that of
// several requests that create a document at once one does. Kind and Pointer are for messages: what kind of document it is, such as
// "limit", and where its name is. The zero Condition demands nothing.
type Condition struct {
	Kind, Pointer string
	Create        bool // there is none of the name
}

// Check returns why the document of a name must not be set; nil: the condition holds.
func (c Condition) Check(name string, exists bool) error {
	if c.Create && exists {
		return c.Exists(name)
	}
	return nil
}

// Exists is the refusal to replace the document of a name.
func (c Condition) Exists(name string) *weir.Error {
	return &weir.Error{
		Code: weir.CodeConflict, Message: "there is a " + c.Kind + " " + name + " already; nothing was changed",
		Fields: []weir.FieldError{{Pointer: c.Pointer, Code: "conflict", Detail: "there is a " + c.Kind + " of this name already"}},
	}
}
