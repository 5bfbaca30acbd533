package simulator

import (
	"encoding/xml"
	"net/http"
)

// document is Nuntium's XML form of a batch. A message's id is its guid.
type document struct {
	Messages []struct {
		ID         string `xml:"id,attr"`
		From       string `xml:"from,attr"`
		To         string `xml:"to,attr"`
		Text       string `xml:"text"`
		Properties []struct {
			Name  string `xml:"name,attr"`
			Value string `xml:"value,attr"`
		} `xml:"property"`
	} `xml:"message"`
}

// sendXML accepts a batch in XML.
func (s *Server) sendXML(w http.ResponseWriter, r *http.Request) {
	app, ok := s.inPath(w, r)
	if !ok {
		return
	}
	var d document
	if err := xml.NewDecoder(r.Body).Decode(&d); err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	batch := make([]*message, len(d.Messages))
	for i, m := range d.Messages {
		attributes := map[string]any{}
		for _, p := range m.Properties {
			attributes[p.Name] = p.Value
		}
		attributes["guid"], attributes["from"], attributes["to"], attributes["body"] = m.ID, m.From, m.To, m.Text
		batch[i] = newMessage(attributes)
	}
	s.act(w, r, app, batch, func() {})
}
